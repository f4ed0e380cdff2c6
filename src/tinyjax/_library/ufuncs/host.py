"""The primitive ``host_ufunc``: a universal function of ``scipy.special``, chosen by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._library.special.declaring import scipy_special
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, ConcreteArray, avals as av
from tinyjax.dtypes import DType, HostArray
from tinyjax.numpy import promotion as pm


@attrs.frozen(eq=False, repr=False)
class HostUfuncParams(prim.Params):
    """The name that SciPy has for the function."""

    name: str


host_ufunc_p: Primitive[HostUfuncParams] = Primitive(
    "host_ufunc", HostUfuncParams, repeatable=True, rules_in="tinyjax._library.ufuncs.formulas"
)

#: The loops of functions that are universal functions inside only.
_OF_FUNCTIONS: Final = ("ld->d", "lD->D")
#: The dtypes of most operands.
_PLAIN: Final = (dtypes.float32, dtypes.float64)
#: How names begin of functions whose loops in single precision lose digits in SciPy, or do not end.
_IN_DOUBLE: Final = (
    *("ber", "bei", "betainc", "btdtri", "fdtr", "it", "kei", "kelvin", "ker", "mathieu"),
    *("modfresnel", "ncfdtr", "nctdtr", "obl", "pb", "pro"),
)
#: Their letters in SciPy, by the dtype of an operand; narrower floats are computed in float32.
_LETTERS: Final = {
    dtypes.float64: "d",
    dtypes.complex64: "F",
    dtypes.complex128: "D",
}


def _function(name: str) -> Any:
    special = scipy_special()
    # with SCIPY_ARRAY_API the public names are functions around them
    found = getattr(special._ufuncs, name, None) or getattr(special, name, None)
    if found is None:
        raise errors.PlatformError(
            f"this SciPy has no {name}. Install a newer one: pip install --upgrade scipy."
        )
    return found


def _loops(name: str) -> Sequence[str]:
    return getattr(_function(name), "types", _OF_FUNCTIONS)


@lru_cache(maxsize=1024)
def kinds(name: str) -> str:
    """Return the kind letter of each operand that the function takes.

    These are ``i`` for integers too, ``f`` for real, ``c`` for complex too, ``C`` for complex only.
    """
    columns = zip(*[loop.partition("->")[0] for loop in _loops(name)], strict=True)
    found = ""
    for column in map(set, columns):
        real = "C" if column <= {"F", "D"} else "c" if "D" in column else "f"
        found += "i" if "l" in column else real
    return found


@attrs.frozen
class _Loop:
    """The evaluator for operands of given dtypes, and the dtypes of its results."""

    call: Callable[..., Any]
    results: tuple[DType, ...]


@lru_cache(maxsize=1024)
def _loop(name: str, operands: tuple[DType, ...]) -> _Loop:
    """Choose SciPy's loop: the one of the operands' dtypes, or of those in double precision."""
    loops = _loops(name)
    letters = "".join(["l" if dtypes.is_integer(x) else _LETTERS.get(x, "f") for x in operands])
    wide = letters.translate(str.maketrans("fF", "dD"))
    wanted = (letters, wide, wide.replace("l", "d"))[name.startswith(_IN_DOUBLE) :]
    fitting = [loop for inputs in wanted for loop in loops if loop.startswith(f"{inputs}->")]
    floats = [x for x in operands if dtypes.is_inexact(x)]
    numbers = len(floats) + letters.count("l") == len(operands)
    chosen = fitting[0] if fitting and floats and numbers else ""
    if not chosen:
        shown = ", ".join([x.name for x in operands])
        raise errors.DtypeError(f"{name} of SciPy takes {', '.join(loops)}, but got {shown}.")
    inputs, _, outputs = chosen.partition("->")
    real = dtypes.real_part(floats[0])
    results = tuple([dtypes.to_complex(real) if c in "FD" else real for c in outputs])
    fun = _function(name)
    named = {"l": np.dtype(int), **{c: np.dtype(c) for c in "fdFD"}}
    plain = operands == tuple([named[c] for c in inputs]) and len(outputs) == 1
    if isinstance(fun, np.ufunc) and plain and results[0] == named[outputs]:
        return _Loop(fun, results)

    def evaluate(*hosts: HostArray) -> Any:
        cast = [x.astype(named[c], copy=False) for x, c in zip(hosts, inputs, strict=True)]
        outs = fun(*cast)
        if len(results) == 1:
            return np.asarray(outs).astype(results[0], copy=False)
        return [np.asarray(x).astype(d, copy=False) for x, d in zip(outs, results, strict=True)]

    return _Loop(evaluate, results)


def _loop_of(avals: prim.Avals, params: HostUfuncParams) -> _Loop:
    return _loop(params.name, tuple([x.dtype for x in avals]))


@host_ufunc_p.def_host
def _host(avals: prim.Avals, params: HostUfuncParams) -> prim.HostCall:
    return prim.HostCall(_loop_of(avals, params).call, fresh=True)


@host_ufunc_p.def_abstract_eval
def _type(avals: prim.Avals, params: HostUfuncParams) -> prim.Avals:
    shape = avals[0].shape
    if any(x.shape != shape for x in avals):
        raise errors.ShapeError(
            f"{params.name} needs operands of one shape, but got {' and '.join(map(str, avals))}."
        )
    weak = all(x.weak_type for x in avals)
    return [av.ShapedArray(shape, x, weak) for x in _loop_of(avals, params).results]


@host_ufunc_p.def_lowering
def _lowering(b: Lowering, operands: hlo.Values, params: HostUfuncParams) -> hlo.Values:
    results = [x.dtype for x in b.results]
    call = _loop(params.name, tuple([x.type.dtype for x in operands])).call

    def evaluate(*hosts: HostArray) -> Sequence[HostArray]:
        with np.errstate(all="ignore"):
            outs = call(*hosts)
        several = outs if isinstance(outs, list) else (outs,)
        return [np.asarray(x, d) for x, d in zip(several, results, strict=True)]

    return b.host_call(evaluate, operands, b.results)


families.def_elementwise_batch(host_ufunc_p)
prim.mark(prim.TRANSCENDENTAL, 5000.0, host_ufunc_p)


@lru_cache(maxsize=1024)
def _params(name: str) -> HostUfuncParams:
    return HostUfuncParams(name)


def apply(name: str, parameters: Sequence[str], values: Sequence[ArrayLike]) -> Sequence[Array]:
    """Promote and broadcast operands, and evaluate a function.

    Args:
        name: the function's name.
        parameters: their names.
        values: the operands.

    Raises:
        DtypeError: an operand is complex where the function takes real numbers.
    """
    takes = kinds(name)
    first = values[0]
    aval = first._aval if type(first) is ConcreteArray else None
    is_plain = aval is not None and aval.dtype in _PLAIN and "C" not in takes
    if is_plain and all(type(x) is ConcreteArray and x._aval is aval for x in values):
        plain: Any = values  # nothing is to be done, which is most often so
        return tr.bind(host_ufunc_p, plain, _params(name))
    labels = [f"{parameter} of {name}" for parameter in parameters]
    xs = [pm.array_of(label, x) for label, x in zip(labels, values, strict=True)]
    floats = [i for i, x in enumerate(xs) if takes[i] != "i" or not dtypes.is_integer(x.dtype)]
    promoted = pm.promote_inexact(*[xs[i] for i in floats])
    dtype = promoted[0].dtype
    real = dtypes.real_part(dtype)
    for i, x in zip(floats, promoted, strict=True):
        if takes[i] in "if":
            xs[i] = pm.real(labels[i], xs[i]) if dtype != real else x
            xs[i] = ew.convert_element_type(xs[i], real, x.weak_type)
        elif takes[i] == "C":
            xs[i] = ew.convert_element_type(x, dtypes.to_complex(dtype), x.weak_type)
        else:
            xs[i] = x
    return tr.bind(host_ufunc_p, pm.broadcast(xs, name), _params(name))
