"""Numerical truth: values and derivatives at the edges, and accuracy."""
