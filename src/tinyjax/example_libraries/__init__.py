"""Small libraries for examples, by the names of ``jax.example_libraries``."""
