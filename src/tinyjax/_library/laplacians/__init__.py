"""Laplacians in one forward pass; the public functions are in ``tinyjax.autodiff``.

``functions`` has these, ``trace`` interprets primitives, ``loops`` loops and choices, ``numbering``
says which inputs what depends on, and ``rows`` has the derivatives themselves.
"""
