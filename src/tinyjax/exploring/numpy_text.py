"""The NumPy program that a function becomes, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core.api.staging import make_jaxpr
from tinyjax.host.text import write_body


def numpy_text(fun: Callable[..., Any]) -> Callable[..., str]:
    """Show what NumPy is given where a function is evaluated again and again.

    Args:
        fun: takes and returns arrays, in any containers.

    Returns:
        A function that takes the same arguments, and returns the text of a Python function of NumPy
        arrays: ``a0`` and so on are the arguments' leaves, ``c7`` and so on numbers that are shown
        first, and a function is named by the primitive that it evaluates.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.extend import numpy_text
        >>> print(numpy_text(lambda x: jnp.sin(x) * x + 1.0)(jnp.ones(3)))
        c8 = 1.0
        def program(a0):
            v2 = add_9(mul_7(sin_6(a0), a0), c8)
            return [v2]
    """

    def text(*args: Any, **kwargs: Any) -> str:
        closed = make_jaxpr(fun)(*args, **kwargs)
        body = write_body(closed.jaxpr, closed.consts)
        after = [f"return [{', '.join(body.results)}]"]
        arity = len(closed.jaxpr.in_binders) - len(closed.consts)
        parameters = ", ".join([f"a{i}" for i in range(arity)])
        numbers = [
            f"{name} = {value.flat[0]}\n"
            for name, value in body.scope.items()
            if isinstance(value, (np.ndarray, np.generic)) and not any(value.strides)
        ]
        lines = [f"def program({parameters}):", *body.text(after), *after]
        return "".join([*numbers, "\n    ".join(lines)])

    return text
