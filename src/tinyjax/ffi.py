"""Functions of other languages in programs: XLA's foreign function interface, as in ``jax.ffi``.

A handler is written in C++ against the headers of ``include_dir``, compiled to a shared library,
and registered by name with ``register_ffi_target``. ``ffi_call`` makes a function of it, which
compiled programs call with their own buffers: nothing goes through Python. Without ``jit`` each
call is a compiled program of its own.

A handler has no derivative; declare one with ``custom_jvp`` or ``custom_vjp``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypedDict, Unpack, overload

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames, lazy
from tinyjax._extensions.callbacks import common
from tinyjax._extensions.callbacks.xla import foreign_functions
from tinyjax.core import xla
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering, row_major
from tinyjax.core.tracing import Primitive, checking, primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, avals as av, operands as opd

lazy.answer_for(
    __name__,
    "ffi_call include_dir pycapsule register_ffi_target "
    "register_ffi_target_as_batch_partitionable register_ffi_type",
)

#: The order of an array's axes in memory: the axes, from the one along which elements lie farthest
#: apart; or what has them as ``major_to_minor``; None for NumPy's order.
LayoutLike: TypeAlias = Any


@attrs.frozen(eq=False, repr=False)
class ForeignParams(prim.Params):
    """A call of a foreign function.

    Attributes:
        target: the name it is registered under.
        out_avals: the types of its results.
        attributes: its further arguments: names, and values in MLIR's syntax.
        in_layouts: the axes of each operand in memory, the one whose elements are neighbours first.
        out_layouts: those of the results.
        aliases: pairs of an operand and a result that share memory.
        method: its treatment under ``vmap``; None where that is an error.
        version: of the interface.
        legacy_config: the text that a function of an older version is given in place of attributes.
        location: the user's line, for messages; two programs that differ in it are the same.
    """

    target: str
    out_avals: tuple[av.ShapedArray, ...]
    attributes: tuple[tuple[str, str], ...]
    in_layouts: tuple[hlo.Layout, ...]
    out_layouts: tuple[hlo.Layout, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    method: common.VmapMethod | None = None
    version: int = 4
    legacy_config: str | None = None
    location: frames.Location | None = attrs.field(default=None, eq=False)


# The primitives


ffi_call_p: Primitive[ForeignParams] = Primitive("ffi_call", ForeignParams)
ffi_effect_p: Primitive[ForeignParams] = Primitive("ffi_effect", ForeignParams, effectful=True)


def _declare(primitive: Primitive[ForeignParams]) -> None:
    primitive.def_evaluate(lambda args, params: xla.run_alone(primitive, args, params))
    primitive.def_abstract_eval(lambda avals, params: params.out_avals)

    @primitive.def_lowering
    def lowering_rule(b: Lowering, operands: hlo.Values, params: ForeignParams) -> hlo.Values:
        return b.custom_call(
            params.target,
            operands,
            b.results,
            dict(params.attributes) if params.version >= 4 else params.legacy_config or "",
            (params.in_layouts, params.out_layouts),
            primitive.effectful,
            params.aliases,
            params.version,
        )

    primitive.def_jvp(_refuse_derivative)
    primitive.def_transpose(_refuse_derivative)

    @primitive.def_batch
    def batch_rule(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ForeignParams
    ) -> prim.BatchResult:
        values, is_mapped = sh.batch_axes_in_front(values, axes), [a is not None for a in axes]
        method = common.VmapMethod.SEQUENTIAL if mapped.is_separate else params.method
        match method:
            case common.VmapMethod.SEQUENTIAL | common.VmapMethod.SEQUENTIAL_UNROLLED:
                outs: Sequence[Array] = _one_by_one(primitive, values, is_mapped, params, method)
                return outs, [0] * len(outs)
            case common.VmapMethod.EXPAND_DIMS | common.VmapMethod.BROADCAST_ALL:
                size = mapped.size if method is common.VmapMethod.BROADCAST_ALL else 1
                values = [
                    x if m else broadcast_in_dim(x, (size, *x.shape), tuple(range(1, x.ndim + 1)))
                    for x, m in zip(values, is_mapped, strict=True)
                ]
                is_mapped = [True] * len(values)
            case common.VmapMethod.LEGACY_VECTORIZED:
                pass
            case None:
                raise errors.ForeignCallError(
                    f"the foreign function '{params.target}' is under vmap, but ffi_call does not "
                    'say what to do there. Pass vmap_method="sequential" to call it once for each '
                    'example, "expand_dims" or "broadcast_all" to call it once with one axis more '
                    "in front."
                ).at(params.location)
        layouts = zip(params.in_layouts, is_mapped, strict=True)
        params = attrs.evolve(
            params,
            out_avals=tuple([a.with_shape((mapped.size, *a.shape)) for a in params.out_avals]),
            in_layouts=tuple([_with_front(x) if m else x for x, m in layouts]),
            out_layouts=tuple(map(_with_front, params.out_layouts)),
        )
        outs = tr.bind(primitive, values, params)
        return outs, [0] * len(outs)


def _refuse_derivative(*operands: Any) -> NoReturn:
    params: ForeignParams = operands[-1]
    raise errors.DifferentiationError(
        f"the foreign function '{params.target}' has no derivative. Wrap the function that calls "
        "it in custom_jvp or custom_vjp, or put stop_gradient around the arguments."
    ).at(params.location)


_declare(ffi_call_p)
_declare(ffi_effect_p)


def _with_front(layout: hlo.Layout) -> hlo.Layout:
    """Return the layout of several such arrays, one after the other."""
    return (*[axis + 1 for axis in layout], 0)


def _one_by_one(
    primitive: Primitive[ForeignParams],
    values: Sequence[Array],
    is_mapped: Sequence[bool],
    params: ForeignParams,
    method: common.VmapMethod,
) -> list[Array]:
    def call(_: tuple[()], examples: Sequence[Array]) -> tuple[tuple[()], list[Array]]:
        own = iter(examples)
        args = [next(own) if m else x for x, m in zip(values, is_mapped, strict=True)]
        return (), [*tr.bind(primitive, args, params)]

    mapped = [x for x, m in zip(values, is_mapped, strict=True) if m]
    _, outs = scan(call, (), mapped, unroll=method is common.VmapMethod.SEQUENTIAL_UNROLLED)
    return outs


# Calling


class FfiCallOptions(TypedDict, total=False):
    """Options of ``ffi_call``."""

    has_side_effect: bool
    vmap_method: common.MethodName | None
    input_layouts: Sequence[LayoutLike] | None
    output_layouts: LayoutLike
    input_output_aliases: Mapping[int, int] | None
    custom_call_api_version: int
    legacy_backend_config: str | None


def _check_call(aliases: object, version: int, config: str | None) -> None:
    """Raise where options of ``ffi_call`` do not fit."""
    if not isinstance(aliases, Mapping):
        raise errors.ArgumentError(
            "input_output_aliases maps numbers of inputs to numbers of outputs, but got "
            f"{errors.described(aliases)}."
        )
    if version >= 4 and config is not None:
        raise errors.ArgumentError(
            "legacy_backend_config is for versions of the interface below 4, but "
            f"custom_call_api_version is {version}. Pass attributes by keywords."
        )


@overload
def ffi_call(
    target_name: str, result_shape_dtypes: av.ShapeDtypeStruct, **options: Unpack[FfiCallOptions]
) -> Callable[..., Array]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: tuple[Any, ...], **options: Unpack[FfiCallOptions]
) -> Callable[..., tuple[Array, ...]]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: object, **options: Unpack[FfiCallOptions]
) -> Callable[..., Any]: ...
@checking.explained
def ffi_call(  # noqa: PLR0913 (JAX's signature)
    target_name: str,
    result_shape_dtypes: object,
    *,
    has_side_effect: bool = False,
    vmap_method: common.MethodName | None = None,
    input_layouts: Sequence[LayoutLike] | None = None,
    output_layouts: LayoutLike = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Make a function of a foreign function that was registered by name.

    XLA trusts what is declared here: a handler that checks nothing and gets other shapes, dtypes or
    attributes than it was written for may end the process.

    Args:
        target_name: the name, as it was given to ``register_ffi_target``.
        result_shape_dtypes: the type of the result, such as a ``ShapeDtypeStruct``; or a sequence
            of types where the function has several results.
        has_side_effect: whether it must be called even where its results are not used.
        vmap_method: how to call it under ``vmap``. ``"sequential"`` calls it for one example after
            the other, in a loop, and ``"sequential_unrolled"`` without one. ``"expand_dims"``
            calls it once, with one more axis in front of every argument, of length one where it is
            not mapped; ``"broadcast_all"`` does so with every argument repeated to full length;
            ``"legacy_vectorized"`` adds the axis to mapped arguments only. By default ``vmap`` is
            an error.
        input_layouts: for each argument the order of its axes in memory, from the one along which
            elements lie farthest apart; None for NumPy's order. XLA brings the data into it.
        output_layouts: the same for the result, or for each of several.
        input_output_aliases: positions of arguments that share memory with results, and of these
            results. XLA copies an argument that is still needed.
        custom_call_api_version: of the interface that the function is written for; 4 is the typed
            one.
        legacy_backend_config: the text that a function of a version below 4 is given.

    Returns:
        A function of arrays. Its keyword arguments are the attributes of the call: bools, strings,
        NumPy numbers and arrays, Python ints (int64) and floats (float64), dtypes, and lists and
        dicts of these. It returns an array; or a tuple or list of arrays where
        ``result_shape_dtypes`` is one.

    Raises:
        ArgumentError: a type, a method, a layout, an alias or an attribute is not of these. Also if
            the number of layouts is not that of arrays, or arrays that share memory differ in type
            or layout.
        ForeignCallError: the function is under ``vmap``, without ``vmap_method``.
        DifferentiationError: a derivative is taken that no custom rule declares.
        JaxRuntimeError: no function of this name is registered; or the function itself fails.

    Example:
        >>> import numpy as np
        >>> import tinyjax
        >>> from tinyjax.ffi import ffi_call
        >>> x = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
        >>> potrf = ffi_call(
        ...     "lapack_spotrf_ffi",  # jaxlib registers LAPACK's functions
        ...     (x, tinyjax.ShapeDtypeStruct((), np.int32)),
        ...     input_layouts=[(1, 0)],
        ...     output_layouts=[(1, 0), ()],
        ... )
        >>> factor, status = tinyjax.jit(lambda x: potrf(x, uplo=np.uint8(ord("L"))))(x)
        >>> np.tril(factor), int(status)
        (array([[2., 0.],
               [1., 2.]], dtype=float32), 0)
    """
    method = common.vmap_method_of(vmap_method)
    aliases = {} if input_output_aliases is None else input_output_aliases
    _check_call(aliases, custom_call_api_version, legacy_backend_config)
    several = isinstance(result_shape_dtypes, Sequence)
    declared = (
        result_shape_dtypes if isinstance(result_shape_dtypes, Sequence) else (result_shape_dtypes,)
    )
    out_avals = tuple([_declared(declaration, i) for i, declaration in enumerate(declared)])
    out_layouts = layouts(
        "output_layouts",
        out_avals,
        output_layouts if several or output_layouts is None else (output_layouts,),
    )
    primitive = ffi_effect_p if has_side_effect else ffi_call_p

    def call(*args: ArrayLike, **attributes: Any) -> Any:
        operands = [opd.as_array(x) for x in args]
        avals = [x.aval for x in operands]
        in_layouts = layouts("input_layouts", avals, input_layouts)
        if attributes and custom_call_api_version < 4:
            raise errors.ArgumentError(
                f"the foreign function '{target_name}' was given the attributes "
                f"{', '.join(attributes)}, which those of versions below 4 do not take. Pass "
                "legacy_backend_config."
            )
        params = ForeignParams(
            target_name,
            out_avals,
            tuple([(name, attribute(name, x)) for name, x in sorted(attributes.items())]),
            in_layouts,
            out_layouts,
            _aliases(aliases, (avals, in_layouts), (out_avals, out_layouts)),
            method,
            custom_call_api_version,
            legacy_backend_config,
            frames.user_location(),
        )
        outs = tr.bind(primitive, operands, params)
        if not several:
            return outs[0]
        return tuple(outs) if isinstance(result_shape_dtypes, tuple) else [*outs]

    return call


def _declared(declaration: object, position: int) -> av.ShapedArray:
    aval = common.declared_type(declaration)
    if aval is None:
        raise errors.ArgumentError(
            "result_shape_dtypes must have a shape and a dtype, such as "
            "ShapeDtypeStruct((3,), jnp.float32), or be a sequence of such types, but got "
            f"{errors.described(declaration)} at position {position}."
        )
    return aval


def layouts(
    name: str, avals: Sequence[av.ShapedArray], requested: Sequence[LayoutLike] | None
) -> tuple[hlo.Layout, ...]:
    """Return the layouts of arrays, the axis whose elements are neighbours first."""
    if requested is None:
        return tuple([row_major(aval.shape) for aval in avals])
    if len(requested) != len(avals):
        raise errors.ArgumentError(
            f"{name} has {len(requested)} layouts, but there are {len(avals)} arrays. Give one for "
            "each, or None for NumPy's."
        )
    result: list[hlo.Layout] = []
    for aval, layout in zip(avals, requested, strict=True):
        if layout is None:
            result.append(row_major(aval.shape))
            continue
        axes = tuple(getattr(layout, "major_to_minor", layout))[::-1]
        if sorted(axes) != [*range(aval.ndim)]:
            raise errors.ArgumentError(
                f"{name} has {layout!r} for an array of type {aval}: it must have each of the "
                f"axes 0 to {aval.ndim - 1} once."
                if aval.ndim
                else f"{name} has {layout!r} for an array of type {aval}, which has no axes."
            )
        result.append(axes)
    return tuple(result)


_Described: TypeAlias = tuple[Sequence[av.ShapedArray], Sequence[hlo.Layout]]


def _aliases(
    aliases: Mapping[int, int], ins: _Described, outs: _Described
) -> tuple[tuple[int, int], ...]:
    pairs: list[tuple[int, int]] = []
    for i, j in sorted((int(i), int(j)) for i, j in aliases.items()):
        for position, what, (avals, _) in ((i, "argument", ins), (j, "result", outs)):
            if not 0 <= position < len(avals):
                raise errors.ArgumentError(
                    f"input_output_aliases has {i}: {j}, but there is no {what} {position}: there "
                    f"are {len(avals)}."
                )
        (x, x_layout), (out, out_layout) = ((a[k], ls[k]) for (a, ls), k in ((ins, i), (outs, j)))
        if (x.shape, x.dtype, x_layout) != (out.shape, out.dtype, out_layout):
            raise errors.ArgumentError(
                f"input_output_aliases has {i}: {j}, but argument {i} is {x} and result {j} is "
                f"{out}, or they are laid out differently: only arrays of one type and layout can "
                "share memory."
            )
        pairs.append((i, j))
    return tuple(pairs)


def attribute(name: str, value: object) -> str:
    """Return a foreign function's argument other than arrays as an attribute of MLIR."""
    match value:
        case str():
            return hlo.string(value)
        case bytes():
            return hlo.string(value.decode("latin1"))
        case np.ndarray() if value.dtype in dtypes.ALL:
            return hlo.typed(value)
        case np.generic() if value.dtype in dtypes.ALL and value.dtype not in dtypes.COMPLEXES:
            return hlo.typed(value)
        case bool():
            return hlo.typed(np.bool_(value))
        case int():
            return hlo.typed(np.int64(value))
        case float():
            return hlo.typed(np.float64(value))
        case np.dtype() if value in dtypes.ALL:
            return hlo.element_type(value)
        case Array():
            return attribute(name, value.concrete(name))
        case list() | tuple():
            return f"[{', '.join([attribute(name, x) for x in value])}]"
        case dict():
            inner = [f"{key} = {attribute(f'{name}.{key}', x)}" for key, x in value.items()]
            return f"{{{', '.join(inner)}}}"
        case _:
            raise errors.ArgumentError(
                f"the attribute {name} of a foreign function is {errors.described(value)}. Pass a "
                "bool, a string, a real number, a NumPy array or a dtype, or a list or dict of "
                "these."
            )


# Registering


def _spelled(name: str) -> str:
    """Return a name, if it is a text that C++ can read."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise errors.ArgumentError(
            f"the name of a foreign function is a text in Unicode, but got "
            f"{errors.described(name)}."
        ) from None
    return name


@checking.explained
def register_ffi_target(
    name: str, fn: object, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Register a foreign function under a name.

    Args:
        name: the name, which ``ffi_call`` takes.
        fn: a ``PyCapsule`` around the pointer to the handler (``pycapsule``), or a dict of
            capsules for the stages of a call: ``"instantiate"``, ``"prepare"``, ``"initialize"``
            and ``"execute"``.
        platform: what it runs on. One for other devices than the CPU is never called.
        api_version: 1 for handlers of the typed interface, 0 for older functions.
        kwargs: what else jaxlib takes.

    Raises:
        ArgumentError: ``fn`` is no capsule.

    Example:
        >>> from jaxlib import lapack  # in place of ctypes.cdll.LoadLibrary("./librms_norm.so")
        >>> from tinyjax import ffi
        >>> handlers = {name: capsule for name, capsule, _ in lapack.registrations()["cpu"]}
        >>> ffi.register_ffi_target("cholesky_of_doc", handlers["lapack_spotrf_ffi"])
    """
    for capsule in fn.values() if isinstance(fn, Mapping) else (fn,):
        if type(capsule).__name__ != "PyCapsule":
            raise errors.ArgumentError(
                f"the foreign function '{name}' is {errors.described(capsule)}. Pass a capsule: "
                "pycapsule(function) makes one of a function that ctypes has loaded."
            )
    foreign_functions.register_target(_spelled(name), fn, platform, api_version, **kwargs)


@checking.explained
def register_ffi_type(name: str, type_registration: dict[str, Any], platform: str = "cpu") -> None:
    """Register a type of the state that foreign functions keep between calls.

    Args:
        name: the type's name, of which there is one in a process.
        type_registration: capsules: ``"type_id"`` with the pointer to the type's number, and
            ``"type_info"`` with one to what is known of it.
        platform: what it is for.

    Raises:
        ArgumentError: there is another key, or something else than a capsule.

    Example:
        >>> from tinyjax import errors, ffi
        >>> try:
        ...     ffi.register_ffi_type("my_state", {"type_id": 1})
        ... except errors.ArgumentError:
        ...     print("no capsule")
        no capsule
    """
    for key, capsule in type_registration.items():
        if key not in ("type_id", "type_info") or type(capsule).__name__ != "PyCapsule":
            raise errors.ArgumentError(
                "type_registration has capsules for 'type_id' and 'type_info', but got "
                f"{errors.shortened(capsule)} for {errors.shortened(key)}."
            )
    foreign_functions.register_type(_spelled(name), type_registration, platform)


@checking.explained
def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that on several devices a foreign function is called for each part of its operands.

    Args:
        name: of a function that treats what lies along the first axes one by one, so that operands
            and results may be divided along these.

    Example:
        >>> from tinyjax import ffi
        >>> ffi.register_ffi_target_as_batch_partitionable("my_normalization")
    """
    foreign_functions.register_batch_partitionable(_spelled(name))


def pycapsule(funcptr: Any) -> object:
    """Wrap a function of a shared library for ``register_ffi_target``.

    Args:
        funcptr: a function that ``ctypes`` has loaded. It must be a handler: XLA asks it what it
            takes when it is registered.

    Returns:
        A ``PyCapsule`` around its address.

    Raises:
        ArgumentError: it is no function that ``ctypes`` has loaded, nor the address of one.

    Example:
        >>> import ctypes
        >>> from tinyjax import ffi
        >>> handler = ctypes.pythonapi.Py_IsInitialized  # in place of a handler of your library
        >>> type(ffi.pycapsule(handler)).__name__
        'PyCapsule'
    """
    is_pointer = isinstance(funcptr, int) or hasattr(funcptr, "restype")  # as ctypes' functions
    address = ctypes.cast(funcptr, ctypes.c_void_p).value if is_pointer else None
    if not address:
        raise errors.ArgumentError(
            f"pycapsule takes a function that ctypes has loaded, but got "
            f"{errors.described(funcptr)}."
        )
    return _new_capsule(address, None, None)


_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))


def include_dir() -> str:
    """Return the folder of the C++ headers of XLA's foreign function interface.

    Example:
        >>> from pathlib import Path
        >>> from tinyjax import ffi
        >>> Path(ffi.include_dir(), "xla", "ffi", "api", "ffi.h").exists()
        True
    """
    return foreign_functions.include_dir()
