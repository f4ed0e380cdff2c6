"""SciPy's universal functions: rows for their one primitive."""

from typing import Any

import scipy.special

from specs import ArraySpec, Case, Spec
from tinyjax._library.ufuncs.host import HostUfuncParams, host_ufunc_p as declared_p
from tinyjax.core.tracing import bind1

host_ufunc_p = declared_p.with_rules()

SMALL = ArraySpec((3, 4), low=0.5, high=3)
UNIT = ArraySpec((3, 4), low=0.1, high=0.9)


def named(name: str) -> Any:
    return lambda *xs: bind1(host_ufunc_p, xs, HostUfuncParams(name))


SPECS = [
    Spec(
        f"host_ufunc {name}",
        host_ufunc_p,
        named(name),
        [Case(*operands)],
        numpy=getattr(scipy.special, name),
        dtypes=("float32", "float64"),
        grad=2,
        tol=64,
    )
    for name, operands in (
        ("k0", (SMALL,)),
        ("ellipe", (UNIT,)),
        ("agm", (SMALL, SMALL)),
    )
]
