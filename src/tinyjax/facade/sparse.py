"""What ``jax.experimental.sparse`` has beyond tinyjax's module of this name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from tinyjax import tree
from tinyjax.experimental.sparse import JAXSparse

__all__ = ["sparsify"]

F = TypeVar("F", bound=Callable[..., Any])


def sparsify(f: F, use_tracer: bool = False) -> F:
    """Return a function of dense arrays as it is, which refuses sparse ones.

    Libraries decorate what they define by this, and mostly give it dense arrays.

    Raises:
        NotImplementedError: when an argument of the function is sparse.
    """

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for leaf in tree.leaves((args, kwargs), is_leaf=lambda x: isinstance(x, JAXSparse)):
            if isinstance(leaf, JAXSparse):
                raise NotImplementedError(
                    f"sparsify of {getattr(f, '__name__', f)!r}: tinyjax's sparse arrays have "
                    "operations of their own, and functions of dense arrays do not take them: "
                    "use these, or give it x.todense()."
                )
        return f(*args, **kwargs)

    return cast("F", checked)
