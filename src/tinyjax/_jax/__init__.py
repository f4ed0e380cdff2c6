"""JAX's modules for libraries written for it, made of tinyjax's: see ``tinyjax.as_jax``."""
