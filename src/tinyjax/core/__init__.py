"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""
