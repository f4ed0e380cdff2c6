"""Types of the parts of jaxlib that tinyjax uses.

jaxlib ships ``py.typed`` but no stubs for its extension modules. What stands here is compared with
the installed jaxlib, name by name and signature by signature, in ``tests/house/test_typings.py``.
"""

__version__: str
