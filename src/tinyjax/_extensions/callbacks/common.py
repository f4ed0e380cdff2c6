"""The common part of all callbacks: their parameters, the call itself, and their rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from types import MethodType
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

import attrs
import numpy as np

from tinyjax import dtypes, tree
from tinyjax._base import frames
from tinyjax.core.primitives import shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av, concrete, integers as ints, operands as opd
from tinyjax.custom_derivatives import closures
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import ArgumentError, CallbackError, DifferentiationError, shortened, type_name
from tinyjax.tree.treedef import leaf_paths

#: Objects that are compared by identity, as long as something holds them.
_identities: WeakValueDictionary[tuple[object, ...], Identity] = WeakValueDictionary()


class Identity:
    """An object as a parameter of a program: the same parameter only where it is the same object.

    Bound methods are created anew on every access, so they are compared by the object and the
    function that they bind. Numbers and strings are compared by value.
    """

    __slots__ = ("__weakref__", "key", "value")

    key: tuple[object, ...]
    value: Any

    def __new__(cls, value: Any) -> Identity:
        match value:
            case Identity():
                return value
            case MethodType():
                key: tuple[object, ...] = (cls, id(value.__self__), id(value.__func__))
            case bool() | int() | str():
                key = (cls, type(value), value)
            case _:
                key = (cls, id(value))
        # One object for equal ones: digests know it by a token, which it must not outlive.
        identity = _identities.get(key)
        if identity is None:
            identity = object.__new__(cls)
            identity.key, identity.value = key, value
            _identities[key] = identity
        return identity

    @property
    def held_objects(self) -> tuple[object, ...]:
        """The object, if it keeps others alive."""
        return (self.value,) if closures.holds_objects(self.value) else ()

    def __reduce__(self) -> tuple[type[Identity], tuple[Any]]:
        return type(self), (self.value,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return frames.describe_function(self.value) if callable(self.value) else repr(self.value)

    def argument(self, x: HostArray) -> Any:
        """Return an operand as the function takes it: as data that it must not write to."""
        view = np.asarray(x, order="C").view()
        view.flags.writeable = False
        return view


class ArrayCallback(Identity):
    """A function that takes arrays of the library, as JAX's callbacks do, instead of NumPy's.

    Such functions may ask an array for its library, as those of the array API do.
    """

    __slots__ = ()

    def argument(self, x: HostArray) -> Any:
        """Return an operand as an array, with a copy of its data."""
        return opd.as_array(x)


class VmapMethod(Enum):
    """The treatment of batch axes of a callback, or a foreign function, under ``vmap``."""

    SEQUENTIAL = "sequential"
    SEQUENTIAL_UNROLLED = "sequential_unrolled"
    EXPAND_DIMS = "expand_dims"
    BROADCAST_ALL = "broadcast_all"
    LEGACY_VECTORIZED = "legacy_vectorized"


_ONE_BY_ONE: Final = (VmapMethod.SEQUENTIAL, VmapMethod.SEQUENTIAL_UNROLLED)
#: The same, as users say it.
MethodName = Literal[
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"
]


def vmap_method_of(name: MethodName | None) -> VmapMethod | None:
    """Return the method of a name.

    Raises:
        ArgumentError: there is none.
    """
    names = [m.value for m in VmapMethod]
    if name is not None and not ints.is_one_of(name, names):
        raise ArgumentError(f"vmap_method must be one of {names}, but got {shortened(name)}.")
    return None if name is None else VmapMethod(name)


@attrs.frozen
class LeadingAxis:
    """A mapped axis: its size, and which operands have it in front."""

    size: int
    mapped: tuple[bool, ...]


@attrs.frozen(eq=False, repr=False)
class CallbackParams(prim.Params):
    """A Python function to be called with arrays.

    Attributes:
        callback: the function, of containers.
        in_tree: the structure of its ``(args, kwargs)``.
        static: the leaves of its arguments that are not operands, with their positions.
        out_tree: the structure of its result.
        out_avals: the types of that result's leaves, without the mapped axes; None where the
            result is ignored.
        leading_axes: the mapped axes, the outermost first; they lead the operands' axes.
        method: the treatment of mapped axes; None where there may be none.
        ordered: whether calls keep the order of the program.
        derivative: the function declared as its derivative, whose closed-over values are among the
            operands, after those of the callback. Without one, operands after those of the callback
            are masks: an example with a false one is inactive.
        location: the user's line, for messages; two programs that differ in it are the same.
    """

    callback: Identity
    in_tree: tree.PyTreeDef
    static: tuple[tuple[int, Identity], ...] = ()
    out_tree: tree.PyTreeDef | None = None
    out_avals: tuple[av.ShapedArray, ...] = ()
    leading_axes: tuple[LeadingAxis, ...] = ()
    method: VmapMethod | None = VmapMethod.SEQUENTIAL
    ordered: bool = False
    derivative: Identity | None = None
    location: frames.Location | None = attrs.field(default=None, eq=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The lengths of the mapped axes."""
        return tuple(axis.size for axis in self.leading_axes)


# Calling


def call_host(params: CallbackParams, operands: Sequence[HostArray]) -> Sequence[HostArray]:
    """Call the function, for every example, and return arrays of exactly the types declared."""
    sizes = params.sizes
    n = params.in_tree.num_leaves - len(params.static)
    if params.derivative is not None:
        operands = operands[:n]
    if not sizes or params.method not in _ONE_BY_ONE:
        return _call_once(params, [_widened(params, x, i) for i, x in enumerate(operands)], sizes)
    outs = [np.zeros((*sizes, *a.shape), a.dtype) for a in params.out_avals]
    for example in np.ndindex(*sizes):
        args = []
        for i, x in enumerate(operands):
            where = tuple(
                k for k, axis in zip(example, params.leading_axes, strict=True) if axis.mapped[i]
            )
            args.append(np.asarray(x[where]) if where else x)
        if not all(args[n:]):
            continue
        for out, value in zip(outs, _call_once(params, args[:n], ()), strict=True):
            out[example] = value
    return outs


def _widened(params: CallbackParams, x: HostArray, position: int) -> HostArray:
    """Give an operand every mapped axis, of length one or repeated where it had none."""
    if params.method is VmapMethod.LEGACY_VECTORIZED:
        return x
    for i, axis in enumerate(params.leading_axes):
        if not axis.mapped[position]:
            x = np.expand_dims(x, i)
            if params.method is VmapMethod.BROADCAST_ALL:
                x = np.broadcast_to(x, (*x.shape[:i], axis.size, *x.shape[i + 1 :]))
    return x


def _call_once(
    params: CallbackParams, operands: Sequence[HostArray], sizes: tuple[int, ...]
) -> list[HostArray]:
    static = dict(params.static)
    with tr.use_trace(tr.EVAL):
        values = iter([params.callback.argument(x) for x in operands])
        leaves = [
            static[i].value if i in static else next(values)
            for i in range(params.in_tree.num_leaves)
        ]
        args, kwargs = tree.unflatten(params.in_tree, leaves)
        out = params.callback(*args, **kwargs)
        if params.out_tree is None:
            return []
        try:
            return _results(params, params.out_tree, out, sizes)
        except CallbackError as error:
            error.location = params.location
            raise


def _results(
    params: CallbackParams, out_tree: tree.PyTreeDef, out: object, sizes: tuple[int, ...]
) -> list[HostArray]:
    leaves, result_tree = tree.flatten(out)
    name = frames.describe_function(params.callback.value)
    if len(leaves) != len(params.out_avals):
        raise CallbackError(
            f"callback {name} returned the structure {result_tree}, but result_shape_dtypes "
            f"declares {out_tree}. Return the containers that were declared."
        )
    results: list[HostArray] = []
    for i, (leaf, aval) in enumerate(zip(leaves, params.out_avals, strict=True)):
        expected = aval.with_shape((*sizes, *aval.shape))
        value = _as_declared(leaf, expected.dtype)
        if value.shape != expected.shape or value.dtype != expected.dtype:
            path = leaf_paths(out_tree)[i]
            under = f" under vmap over axes of length {sizes}" if sizes else ""
            raise CallbackError(
                f"callback {name} returned at {tree.path_str('result', path)} an array of type "
                f"{value.dtype.name}[{','.join(map(str, value.shape))}], but {expected} was "
                f"declared in result_shape_dtypes{under}. Return what was declared, with "
                f".astype(...) or .reshape(...) where needed, or declare what is returned."
            )
        results.append(value)
    return results


_KINDS: Final = "bsiufc"


def _as_declared(leaf: object, dtype: DType) -> HostArray:
    """Return a result as an array; a Python number takes the declared type if its kind fits.

    Without 64-bit types the result has 32 bits, like all data from NumPy.
    """
    value = np.asarray(leaf)
    if isinstance(leaf, bool | int | float | complex) and not isinstance(leaf, np.generic):
        kinds = _KINDS.index(value.dtype.kind), _KINDS.index(dtypes.kind(dtype))
        if kinds[0] <= kinds[1]:
            return value.astype(dtype)
    return value.astype(dtypes.allowed(value.dtype), copy=False)


def _evaluate(args: prim.Arrays, params: CallbackParams) -> prim.Arrays:
    hosts = [arg.concrete("data") for arg in args]
    # What the function returned it may still write to.
    return [concrete.ConcreteArray(np.array(out)) for out in call_host(params, hosts)]


def _type(avals: prim.Avals, params: CallbackParams) -> prim.Avals:
    return [a.with_shape((*params.sizes, *a.shape)) for a in params.out_avals]


def declare(
    primitive: prim.Primitive[CallbackParams],
    check_batch: Callable[[CallbackParams], None] = lambda params: None,
) -> None:
    """Register the rules that all three primitives have in common.

    Args:
        primitive: one of them.
        check_batch: raises where a call cannot be made for all examples at once.
    """
    primitive.def_evaluate(_evaluate)
    primitive.def_abstract_eval(_type)

    @primitive.def_lowering
    def lowering_rule(b: Lowering, operands: hlo.Values, params: CallbackParams) -> hlo.Values:
        def call(*args: HostArray) -> Sequence[HostArray]:
            return call_host(params, args)

        return b.host_call(call, operands, b.results, primitive.effectful, params.ordered)

    @primitive.def_batch
    def batch_rule(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CallbackParams
    ) -> prim.BatchResult:
        if mapped.is_separate:
            params = attrs.evolve(params, method=VmapMethod.SEQUENTIAL)
        else:
            check_batch(params)
        leading = params.leading_axes
        if primitive.effectful and mapped.active is not None:
            values, axes = [*values, mapped.active.mask], [*axes, 0]
            leading = tuple([attrs.evolve(x, mapped=(*x.mapped, False)) for x in leading])
        own = LeadingAxis(mapped.size, tuple(axis is not None for axis in axes))
        operands = sh.batch_axes_in_front(values, axes)
        outs = tr.bind(primitive, operands, attrs.evolve(params, leading_axes=(own, *leading)))
        return outs, [0] * len(outs)

    @primitive.def_transpose
    def transpose_rule(
        cotangents: prim.Tangents, operands: prim.Operands, params: CallbackParams
    ) -> prim.Cotangents:
        raise DifferentiationError(
            f"a derivative depends on tangents through {primitive.name} of {params.callback!r}, "
            "which cannot be transposed for reverse mode. Compute what does not depend on the "
            "tangents in the callback, and what is linear in them with tinyjax.numpy."
        )


def not_differentiable(name: str, params: CallbackParams) -> DifferentiationError:
    """Return the error of a derivative that nobody declared."""
    return DifferentiationError(
        f"{name} of {params.callback!r} has no derivative: Python code cannot be differentiated. "
        "Declare one with pure_callback(..., derivative=...), wrap the function that makes the "
        "call in custom_jvp or custom_vjp, or put stop_gradient around the arguments."
    ).at(params.location)


def declared_type(declaration: object) -> av.ShapedArray | None:
    """Return the type that an object's shape and dtype declare; None where it lacks one of them."""
    shape, dtype = getattr(declaration, "shape", None), getattr(declaration, "dtype", None)
    if shape is None or dtype is None:
        return None
    return av.ShapedArray(ints.integers(shape, "the shape of a result"), dtypes.check(dtype))


def declared_results(declared: object) -> tuple[tree.PyTreeDef, tuple[av.ShapedArray, ...]]:
    """Return the structure and the types that the user declares for a callback."""
    leaves, out_tree = tree.flatten(declared)
    avals: list[av.ShapedArray] = []
    for leaf in leaves:
        aval = declared_type(leaf)
        if aval is None:
            raise ArgumentError(
                "result_shape_dtypes must hold what has a shape and a dtype, such as "
                f"ShapeDtypeStruct((3,), jnp.float32), but it holds {leaf!r} "
                f"({type_name(leaf)})."
            )
        avals.append(aval)
    return out_tree, tuple(avals)
