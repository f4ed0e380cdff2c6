"""Errors as values: ``checkify`` makes a function return its failures.

``checkify(f)`` returns an ``Error`` beside the result of ``f``. It finds the checks that ``f``
makes with ``check``, and on request NaNs, divisions by zero and indices out of bounds. An error is
a tree of arrays, so such a function goes through ``jit``, ``vmap`` and every other transformation,
and so do the functions that it is made of. Where an error shall be raised at once, by compiled
programs too, ``tinyjax.error_if`` is shorter.

>>> import tinyjax, tinyjax.numpy as jnp
>>> from tinyjax.experimental import checkify
>>> def log(x):
...     checkify.check(x > 0, "x must be positive, but is {}", x)
...     return jnp.log(x)
>>> error, value = tinyjax.jit(checkify.checkify(log))(-1.0)
>>> error.get()
'x must be positive, but is -1.0 (`check` failed)'
"""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "api": (
            "Error all_checks automatic_checks check check_error checkify debug_check div_checks "
            "float_checks index_checks init_error nan_checks user_checks"
        ),
        "discharge": "ErrorCategory=Category",
        "tinyjax.errors": "JaxRuntimeError=CheckFailedError",
    },
)
