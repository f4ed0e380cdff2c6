"""What the pages of JAX's documentation do, as programs that take the module.

Each module has functions of one argument: jax, or tinyjax. What they return is compared.
"""
