"""Sharding constraints inside a program, and the axes of the mesh that types track."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, overload

import attrs

from tinyjax import errors, tree
from tinyjax._base.frames import describe_function
from tinyjax._base.tracebacks import folded
from tinyjax._extensions.parallel import meshes, named_sharding, sharded_array, types, xla
from tinyjax._extensions.parallel.lowering import sharding_text
from tinyjax._extensions.parallel.sharding import Sharding, on_first
from tinyjax._extensions.parallel.types import (
    hidden,
    is_hidden,
    manual_axes,
    with_varying,
    without_sums,
)
from tinyjax.config import block
from tinyjax.core.devices import first_device, is_place
from tinyjax.core.primitives.rules import def_linear, def_transposes
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import bind, bind1, primitive as prim, program_rules, staging, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.errors import ArgumentError, ShardingError, check_function, described

# Where a value lies, said inside a program; and where XLA is to choose it again.


@attrs.frozen(eq=False, repr=False)
class ConstraintParams(prim.Params):
    """The sharding of the operand.

    Attributes:
        sharding: the sharding.
        source: the previous sharding, if it is on other devices: cotangents return to it.
    """

    sharding: Sharding
    source: Sharding | None = None


sharding_constraint_p: prim.Primitive[ConstraintParams] = prim.Primitive(
    "sharding_constraint", ConstraintParams
)


@sharding_constraint_p.def_impl
def _impl(operands: prim.Hosts, params: ConstraintParams) -> prim.Hosts:
    return operands


@sharding_constraint_p.def_evaluate
def _evaluate(args: prim.Arrays, params: ConstraintParams) -> prim.Arrays:
    (x,) = args
    return [xla.moving.put(x, params.sharding.decided(x.sharding))]


@sharding_constraint_p.def_abstract_eval
def _type(avals: prim.Avals, params: ConstraintParams) -> prim.Avals:
    (x,) = avals
    if params.sharding.in_types(x.ndim) is not None:  # else XLA pads
        params.sharding.check(x.shape)
    return (params.sharding.typed(x.plain),)


@sharding_constraint_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: ConstraintParams) -> Values:
    (x,) = operands
    text = sharding_text(b.module, params.sharding, x.ndim)
    if text is None or params.sharding.is_explicit:  # its type says it
        return operands
    return [b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{text}")]


sharding_constraint_p.def_rule(program_rules.PLACES)(
    lambda params: ((params.sharding,), (params.sharding,))
)


@sharding_constraint_p.def_jvp
def _jvp(primals: prim.Arrays, tangents: prim.Tangents, params: ConstraintParams) -> prim.JvpResult:
    (x,) = primals
    if isinstance(x, sharded_array.ShardedArray) and {*x.sharding.ids} != {*params.sharding.ids}:
        params = ConstraintParams(params.sharding, x.sharding)
    return (
        bind(sharding_constraint_p, primals, params),
        bind(sharding_constraint_p, prim.present(tangents), params),
    )


def _transpose(ct: Array, x: object, params: ConstraintParams) -> Array:
    if params.source is not None:
        return bind1(sharding_constraint_p, (ct,), ConstraintParams(params.source, params.sharding))
    if params.sharding.in_types(ct.ndim):  # the operand's type says how its cotangent lies
        return ct
    return bind1(sharding_constraint_p, (ct,), params)


prim.mark(prim.MOVES, False, sharding_constraint_p)
def_transposes(sharding_constraint_p, _transpose)


@sharding_constraint_p.def_batch
def _batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ConstraintParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    assert axis is not None, "the operand is batched"
    # where types do not say how the examples lie, XLA divides them as it likes
    names = types.entries(x.aval)[axis] or mapped.where or types.spmd_of(mapped)
    source = params.source and params.source.batched(axis)
    return (constrain(x, params.sharding.batched(axis, names), source),), axes


def as_typed(sharding: Sharding, ndim: int) -> Sharding:
    """Return the same sharding with an entry for each axis, if types record it."""
    typed = sharding.in_types(ndim) if sharding.is_explicit else None
    return typed if typed is not None and typed.memory_kind == sharding.memory_kind else sharding


def check_inside(sharding: Sharding) -> None:
    """Check that a value can have a sharding within a program along some axes of a mesh.

    Raises:
        ShardingError: it names such an axis, or is of another mesh.
    """
    names = manual_axes() if sharding.axis_names else ()
    wrong = names and {*sharding.spec.names}.intersection(names)
    if wrong or not {*names} <= {*sharding.axis_names}:
        shown = " and ".join(map(repr, sorted(names)))
        raise ShardingError(
            f"a value is to lie by {sharding.spec} on a mesh of {sharding.axis_names}, inside a "
            f"function that each device along {shown} runs on its own part. Name the other axes of "
            "that mesh only; along these use lax.all_gather, lax.psum_scatter or lax.all_to_all."
        )


def constrain(
    x: Array, sharding: Sharding, source: Sharding | None = None, *, as_given: bool = False
) -> Array:
    """Constrain the sharding of a value; within ``shard_map``, along the other axes of the mesh.

    Args:
        x: the value.
        sharding: the sharding.
        source: the previous sharding, if it is on other devices.
        as_given: whether results of programs have the sharding in this form, or in that of types
            and XLA.

    Raises:
        ShardingError: within ``shard_map``, it names an axis along which each device runs the
            function.
    """
    if manual_axes():
        check_inside(sharding)
        inner = sharding.part_sharding(manual_axes())
        if inner is None:  # the function sees to all that there is
            return x
        sharding = inner
    if isinstance(x, staging.StagingTracer) and not as_given:
        sharding = as_typed(sharding.stripped(), x.ndim)
    own = x.aval.sharding
    if sharding.summed and own.summed and own.spec.unreduced != sharding.spec.unreduced:
        # XLA makes sums of what devices have, or parts of a sum, but not at once
        x = constrain(x, sharding.update(spec=sharding.spec.without_sums), source)
    return bind1(sharding_constraint_p, (x,), ConstraintParams(sharding, source))


# Types that do not say any more where values lie


@attrs.frozen(eq=False, repr=False)
class HideParams(prim.Params):
    """The axes of the mesh that the type does not track."""

    names: tuple[str, ...]


hide_p: prim.Primitive[HideParams] = prim.Primitive("hide_axes", HideParams)

hide_p.def_impl(lambda operands, params: operands)


@hide_p.def_evaluate
def _hide(args: prim.Arrays, params: HideParams) -> prim.Arrays:
    (x,) = args
    if isinstance(x, sharded_array.ShardedArray):
        return [sharded_array.ShardedArray(x.aval.plain, x.sharding.hidden(params.names), x.shards)]
    if x.aval.sharding_or_none is not None:  # one number everywhere
        return [opd.splat(opd.first_element(x.concrete("data")), x.aval.plain)]
    return args


@hide_p.def_abstract_eval
def _hidden_type(avals: prim.Avals, params: HideParams) -> prim.Avals:
    (x,) = avals
    return (hidden(x, params.names),)


hide_p.def_lowering(lambda b, operands, params: operands)

def_linear(hide_p, repeats=False)
def_transposes(hide_p, lambda ct, x, params: ct)


@hide_p.def_batch
def _hide_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: HideParams
) -> prim.BatchResult:
    return (bind1(hide_p, values, params),), axes


def hide(x: Array, names: tuple[str, ...]) -> Array:
    """Return an array whose type does not track its sharding along some axes of the mesh."""
    if hidden(x.aval, names) is x.aval:
        return x
    if x.aval.sharding.summed:  # XLA could take each device's part for the whole
        x = constrain(x, without_sums(x.aval).sharding)
    return bind1(hide_p, (x,), HideParams(names))


def unspecified(x: Array) -> Array:
    """Return an array whose type does not track its sharding."""
    return hide(x, x.aval.sharding.axis_names) if x.aval.sharding_or_none is not None else x


def lie_as(x: Array, aval: av.ShapedArray) -> Array:
    """Return an array with the sharding of a type."""
    if aval.sharding_or_none is None:
        return x
    own = x.aval
    if own is with_varying(aval.with_dtype(own.dtype, own.weak_type), types.across(own)):
        return x
    if not is_hidden(aval):
        return constrain(x, aval.sharding)
    return hide(x, aval.sharding.axis_names)


# ``with_sharding_constraint`` and ``reshard``: where a value lies, said inside a program.
#
# The arguments ``in_shardings`` and ``out_shardings`` of ``jit`` are such constraints, of
# arguments and of results, so that they hold in derivatives, under ``vmap`` and in programs within
# programs.


R = TypeVar("R")
T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class ShardedCall:
    """The shardings that ``jit`` is given for a function's arguments and results.

    Attributes:
        ins: of the positional arguments that are not static, a prefix of their tuple.
        outs: of the result, a prefix of its tree.
    """

    ins: Any
    outs: Any

    def around(self, fun: Callable[..., R]) -> Callable[..., R]:
        """Return the function with its arguments and results constrained."""

        def placed(*args: Any, **kwargs: Any) -> R:
            operands = constrained(args, self.ins, "jit's in_shardings", "args")
            return constrained(fun(*operands, **kwargs), self.outs, "jit's out_shardings", "result")

        return placed

    @property
    def options(self) -> Hashable:
        """The key that distinguishes them from others."""
        leaves, structure = tree.flatten((self.ins, self.outs), is_place)
        return tuple(leaves), structure


def placed_call(ins: Any, outs: Any) -> ShardedCall | None:
    """Return the shardings of arguments and results; None for the first device, or without any."""
    first = (None, first_device(), on_first())
    said = [
        None if all(where in first for where in tree.leaves(places, is_place)) else places
        for places in (ins, outs)
    ]
    return None if all(places is None for places in said) else ShardedCall(*said)


def with_sharding_constraint(x: T, shardings: Any) -> T:
    """Return arrays with the given shardings; within programs, these are constraints for XLA.

    Args:
        x: arrays in any containers.
        shardings: a sharding, a device, or a ``PartitionSpec`` of the mesh in force
            (``tinyjax.set_mesh``), or a tree of these, each of which applies to all leaves below
            it. None leaves arrays as they are, and ``PartitionSpec.UNCONSTRAINED`` leaves the
            division of an axis to XLA. Along axes of a mesh that are ``Explicit`` the types of
            arrays determine their shardings: nothing is moved, and the sharding must be that of the
            type.

    Raises:
        ShardingError: an axis of an array cannot be divided so, or no mesh is in force.
        ShardingTypeError: the type of an array has another sharding.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P, lax
        >>> from tinyjax.sharding import AxisType
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("data",), AxisType.Auto), P("data"))
        >>> @tinyjax.jit
        ... def f(x):
        ...     return lax.with_sharding_constraint(jnp.sin(x), rows) + 1
        >>> f(jnp.zeros(4)).sharding.spec
        P()
    """
    return constrained(x, shardings, "with_sharding_constraint", checks=True, form="staged")


def reshard(xs: T, out_shardings: Any) -> T:
    """Return arrays with the given shardings, which are also recorded in their types.

    This works in programs, outside of them and in derivatives: a cotangent of the result has the
    result's sharding, and is moved to that of the argument.

    Args:
        xs: arrays in any containers.
        out_shardings: a sharding, or a ``PartitionSpec`` of the mesh in force, or a tree of these,
            each of which applies to all leaves below it. None leaves arrays as they are.

    Raises:
        ShardingError: an axis of an array cannot be divided so, or no mesh is in force.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Explicit)):
        ...     print(tinyjax.typeof(tinyjax.reshard(jnp.ones((4, 2)), P("data"))))
        float32[4@data,2]
    """
    return constrained(xs, out_shardings, "reshard", "xs", form="typed")


def constrained(
    x: T,
    shardings: Any,
    function: str,
    what: str = "x",
    *,
    checks: bool = False,
    form: str = "given",
) -> T:
    """Return a tree whose arrays have the shardings of a prefix tree.

    Args:
        x: arrays in any containers.
        shardings: the prefix.
        function: the function that takes it, for messages.
        what: what messages call the tree.
        checks: whether the shardings in the types of arrays must be the given ones.
        form: the form of the results' specifications: as ``given``; as XLA or types print them
            within programs, ``staged``; or as types do everywhere, ``typed``.

    Raises:
        ShardingTypeError: one does not.
    """
    treedef = tree.structure(x)
    places = tree.flatten_prefix(shardings, treedef, is_place, "shardings")
    placed: list[Any] = []
    for (path, leaf), where in zip(tree.leaves_with_path(x), places, strict=True):
        if where is None:
            placed.append(leaf)
            continue
        array = opd.as_array(leaf)
        name = tree.path_str(what, path)
        pads = form == "staged" and tr.is_in_program()
        sharding = named_sharding.checked(where, array.shape, function, name, pads)
        check_inside(sharding)
        own = array.aval
        if checks and own.sharding_or_none is not None:
            sharding = sharding.beside(types.entries(own))
        asked = sharding.typed(own.plain)
        both_say = own.sharding_or_none is not None and asked.sharding_or_none is not None
        if checks and both_say and not av.lie_alike(own, asked):
            raise errors.ShardingTypeError(
                f"{function}: {name} is of type {own}, and was to be {asked}. It moves nothing "
                "whose type says how it lies: use tinyjax.reshard."
            )
        if form == "typed":
            sharding = as_typed(sharding, array.ndim)
        placed.append(constrain(array, sharding, as_given=form == "given"))
    result: T = tree.unflatten(treedef, placed)
    return result


# Axes of the mesh whose types are others for a while: ``auto_axes`` and ``explicit_axes``.


P = ParamSpec("P")


def get_abstract_mesh() -> meshes.AbstractMesh:
    """Return the mesh in force, without its devices; the empty mesh where there is none.

    The types of traced values refer to this mesh, since programs are traced without devices.

    Example:
        >>> import tinyjax
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     print(tinyjax.sharding.get_abstract_mesh())
        AbstractMesh('data': 1, axis_types=(Explicit,))
    """
    return meshes.get_mesh().abstract_mesh


@block
@contextmanager
def use_abstract_mesh(mesh: meshes.AbstractMesh) -> Iterator[None]:
    """Arrange the devices of the mesh in force otherwise, within a block.

    Args:
        mesh: the axes: as many devices in all as there are.

    Raises:
        ShardingError: there is no mesh in force, or it has another number of devices.

    Example:
        >>> import tinyjax
        >>> from tinyjax.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     with use_abstract_mesh(AbstractMesh((1, 1), ("rows", "columns"))):
        ...         print(get_abstract_mesh())
        AbstractMesh('rows': 1, 'columns': 1, axis_types=(Auto, Auto))
    """
    before = meshes.get_mesh()
    if not isinstance(mesh, meshes.AbstractMesh):
        raise ShardingError(f"use_abstract_mesh takes an AbstractMesh, but got {described(mesh)}.")
    if before.size != mesh.size:
        raise ShardingError(
            f"use_abstract_mesh arranges the devices of the mesh in force otherwise, but {mesh} is "
            f"of {mesh.size}, and that has {before.size}."
        )
    with meshes.use_mesh(
        meshes.mesh_of_ids(before.ids, mesh.axis_sizes, mesh.axis_names, mesh.axis_types)
    ):
        yield


@overload
def auto_axes(
    f: Callable[P, R], /, *, axes: str | Sequence[str] | None = ..., out_sharding: Any = ...
) -> Callable[..., R]: ...
@overload
def auto_axes(
    *, axes: str | Sequence[str] | None = ..., out_sharding: Any = ...
) -> Callable[[Callable[P, R]], Callable[..., R]]: ...
def auto_axes(
    f: Callable[P, R] | None = None,
    /,
    *,
    axes: str | Sequence[str] | None = None,
    out_sharding: Any = None,
) -> Callable[..., R] | Callable[[Callable[P, R]], Callable[..., R]]:
    """Let XLA choose how values lie within a function: axes of the mesh are ``Auto`` there.

    Args:
        f: takes and returns arrays in any containers. Without it, a decorator is returned.
        axes: the axes of the mesh; by default all.
        out_sharding: the results' sharding: a sharding, or a ``PartitionSpec`` of the mesh in
            force, or a prefix of the result's tree with these. It may be given at each call
            instead.

    Returns:
        The function, which takes ``out_sharding=`` besides its arguments.

    Raises:
        ArgumentError: when called, if no sharding of the results is given.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType, auto_axes
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Explicit)):
        ...     x = tinyjax.reshard(jnp.ones((4, 4)), P("data"))
        ...     print(tinyjax.typeof(auto_axes(jnp.matmul)(x, x.T, out_sharding=P(None, "data"))))
        float32[4,4@data]
    """
    if f is None:
        return lambda f: auto_axes(f, axes=axes, out_sharding=out_sharding)
    fun, names = _function(f, "auto_axes"), _names(axes)

    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> R:
        if out_sharding is None:
            raise ArgumentError(
                f"{describe_function(fun)}, given to auto_axes, needs out_sharding=P(...): how "
                "its results lie, which XLA chooses within it."
            )
        mesh = meshes.get_mesh()
        args, kwargs = tree.map(lambda x: _hidden(x, names), (args, kwargs))
        types = _types(mesh, names, meshes.AxisType.Auto)
        with meshes.use_mesh(mesh if mesh.empty else mesh.of_types(types)):
            result: R = fun(*args, **kwargs)
        return constrained(result, out_sharding, "auto_axes", "result", form="typed")

    return folded(call, fun)


@overload
def explicit_axes(
    f: Callable[P, R], /, *, axes: str | Sequence[str] | None = ..., in_sharding: Any = ...
) -> Callable[..., R]: ...
@overload
def explicit_axes(
    *, axes: str | Sequence[str] | None = ..., in_sharding: Any = ...
) -> Callable[[Callable[P, R]], Callable[..., R]]: ...
def explicit_axes(
    f: Callable[P, R] | None = None,
    /,
    *,
    axes: str | Sequence[str] | None = None,
    in_sharding: Any = None,
) -> Callable[..., R] | Callable[[Callable[P, R]], Callable[..., R]]:
    """Let types track shardings within a function: axes of the mesh are ``Explicit`` there.

    Args:
        f: takes arrays in any containers, positionally, and returns such. Without it, a decorator
            is returned.
        axes: the axes of the mesh in force; by default all.
        in_sharding: the arguments' sharding: a ``PartitionSpec`` for all of them, or a prefix of
            their tuple with these. It may be given at each call instead.

    Returns:
        The function, which takes ``in_sharding=`` besides its arguments. The types of its results
        have no sharding along these axes.

    Raises:
        ArgumentError: when called, if no sharding of the arguments is given.
        ShardingError: when called, if it has no such axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType, explicit_axes
        >>> @explicit_axes(in_sharding=P("data"))
        ... def twice(x):
        ...     print(tinyjax.typeof(x))
        ...     return 2 * x
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Auto)):
        ...     print(tinyjax.typeof(twice(jnp.ones((4, 2)))))
        float32[4@data,2]
        float32[4,2]
    """
    if f is None:
        return lambda f: explicit_axes(f, axes=axes, in_sharding=in_sharding)
    fun, names = _function(f, "explicit_axes"), _names(axes)

    def call(*args: Any, in_sharding: Any = in_sharding) -> R:
        mesh = meshes.get_mesh()
        if in_sharding is None or mesh.empty:
            raise ArgumentError(
                f"{describe_function(fun)}, given to explicit_axes, needs in_sharding=P(...), how "
                "its arguments lie, on the mesh in force: `with tinyjax.set_mesh(mesh):`."
            )
        with meshes.use_mesh(mesh.of_types(_types(mesh, names, meshes.AxisType.Explicit))):
            result = fun(*constrained(args, in_sharding, "explicit_axes", "args"))
        hidden: R = tree.map(lambda x: _hidden(x, names or mesh.axis_names), result)
        return hidden

    return folded(call, fun)


def _function(f: Callable[..., R], name: str) -> Callable[..., R]:
    check_function(name, f, "f")
    return f


def _names(axes: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return (axes,) if isinstance(axes, str) else None if axes is None else tuple(axes)


def _types(
    mesh: meshes.Mesh, names: tuple[str, ...] | None, axis_type: meshes.AxisType
) -> list[meshes.AxisType]:
    """Return the types of a mesh's axes, where some of them, or all, are to be of one type."""
    for name in names or ():
        if name not in mesh.axis_names and not mesh.empty:
            raise ShardingError(f"the mesh in force, {mesh}, has no axis {name!r}.")
    manual = mesh.manual_axes  # along which each device runs what is staged
    chosen = mesh.axis_names if names is None else names
    return mesh.types_with({name: axis_type for name in chosen if name not in manual})


def _hidden(x: Any, names: tuple[str, ...] | None) -> Any:
    """Return an array whose type does not track its sharding along some or all axes of the mesh."""
    if not isinstance(x, Array):
        return x
    return unspecified(x) if names is None else hide(x, names)
