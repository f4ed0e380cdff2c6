"""The table of primitives: what each one is held to, one row per primitive or way of using it.

A module of this package is a family; its ``SPECS`` are the rows. A row gives the function, operands
to try it on, and independent references; ``tests/primitives/test_primitives.py`` drives every check
of ``tinyjax.testing`` from it.

    Spec(
        "sin", sin_p, lax.sin,
        [Case(ArraySpec((3,)), ArraySpec(()))],   # or, with parameters: Case(x, axes=(0, 2))
        numpy=np.sin, jax=jax.lax.sin, dtypes="fc", grad=2,
    )
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import attrs

from tinyjax import testing
from tinyjax.testing import KINDS, ArraySpec, Case

__all__ = ["KINDS", "ArraySpec", "Case", "Spec", "all_specs"]


@attrs.frozen(eq=False)
class Spec(testing.Spec):
    """One row.

    Attributes:
        jax: a reference through jax, called as ``fun`` is, with NumPy arrays.
    """

    jax: Callable[..., Any] | None = None

    checks: ClassVar[tuple[str, ...]] = (*testing.Spec.checks, "jax")


@cache
def all_specs() -> tuple[Spec, ...]:
    """The rows of every module of this package."""
    rows: list[Spec] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        rows.extend(import_module(f"{__name__}.{module}").SPECS)
    names = [row.name for row in rows]
    repeated = sorted({name for name in names if names.count(name) > 1})
    assert not repeated, f"rows need distinct names, but there are several called {repeated}"
    return tuple(rows)
