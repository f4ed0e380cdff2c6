"""Programs for many sizes, for several devices, and for several platforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._extensions.parallel import meshes, named_sharding, sharded_array
from tinyjax._extensions.parallel.constraint import constrain
from tinyjax._extensions.parallel.placement import Placement
from tinyjax._extensions.parallel.sharding import PartitionSpec, on_first
from tinyjax._extensions.parallel.types import OnMesh, across
from tinyjax._extensions.parallel.xla.lowering import CallsPythonError, lowered_for
from tinyjax.core import devices
from tinyjax.core.devices import Device, device_at
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.jaxpr import Jaxpr, effects
from tinyjax.core.values import Array, ShapedArray
from tinyjax.core.xla import lowering
from tinyjax.export import polynomials, symbolic_programs, xla
from tinyjax.export.dims import SymbolicDim, SymbolicScope, is_symbolic_dim, substituted
from tinyjax.export.symbolic_programs import Rewriting, closed
from tinyjax.tree.treedef import leaf_paths

# The platforms that programs are exported for, and their portable form on each.


#: The platforms that XLA has.
PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")


#: Functions of linear algebra, by the beginnings of their names: jaxlib's and its plugins', which
#: have the same meaning in every process.
_OF_LINEAR_ALGEBRA: Final = ("lapack_", "cusolver_", "cusparse_", "cuhybrid_")


def listed(platforms: Sequence[str]) -> str:
    """Return the platforms as text: ``'cpu', 'cuda'``."""
    return ", ".join([f"'{p}'" for p in platforms])


def main_first(platforms: Sequence[str]) -> list[str]:
    """Return the platforms, that of this process first."""
    return sorted(platforms, key=lambda p: p != devices.PLATFORM)


def default_export_platform() -> str:
    """Return the platform that programs are exported for, unless another is requested.

    Example:
        >>> from tinyjax import export
        >>> export.default_export_platform()
        'cpu'
    """
    return devices.traced_platform()


def portable_form(jaxpr: jx.Jaxpr, name: str, platform: str) -> str:
    """Return a program in StableHLO's portable form, as text.

    Raises:
        ExportError: it calls functions that the platform, or another process, does not have.
    """
    text, host_functions = lowering.lowered(jaxpr, name, platform=platform)
    if host_functions:
        raise calls_python(name)
    targets = re.findall(r'call_target_name = "([^"]*)"', text)
    for target in targets:
        if not target.startswith(_OF_LINEAR_ALGEBRA):
            raise errors.ExportError(
                f"'{name}' calls the foreign function '{target}' (ffi_call). Another process may "
                "have another of that name, or none, and nobody there could check what it is "
                "given. Export the parts of the program before and after that call."
            )
    if targets and platform != devices.PLATFORM:
        raise errors.ExportError(
            f"'{name}' calls '{targets[0]}'. Whoever loads an exported program checks its calls of "
            f"linear algebra, and knows those of '{devices.PLATFORM}' alone. Export it for that."
        )
    return xla.to_portable(text)


def calls_python(name: str) -> errors.ExportError:
    """Return the error of a program that calls Python functions."""
    return errors.ExportError(
        f"'{name}' calls Python functions while it runs, which another process does not have. "
        "Leave out its callbacks: pure_callback, io_callback, error_if, debug.print and the like."
    )


# Programs for several devices: exported for a mesh of a form, and called on any devices.
#
# Such a program is a jaxpr whose shardings and types name the grid of a mesh, without its devices.
# A call puts devices in: those that its arguments lie on, or those of the mesh in force.


#: How arguments or results lie; None where that is left to XLA.
Shardings = tuple[named_sharding.NamedSharding | None, ...]


@attrs.frozen(eq=False)
class ShardedForm:
    """A program for several devices.

    Attributes:
        name: the function's name.
        jaxpr: the program; the arrays that the function closed over are its first parameters.
        ins: how its parameters lie.
        outs: how its results lie.
    """

    name: str
    jaxpr: Jaxpr
    ins: Shardings
    outs: Shardings

    @property
    def mesh(self) -> meshes.AnyMesh:
        """The mesh of the first parameter or result that says how it lies."""
        return next(x.mesh for x in (*self.ins, *self.outs) if x is not None)

    @property
    def nr_devices(self) -> int:
        """The number of devices that it runs on."""
        return self.mesh.size

    @property
    def text(self) -> str:
        """The program as StableHLO."""
        whole = named_sharding.NamedSharding(self.mesh, PartitionSpec())
        ins = tuple([x or whole for x in self.ins])
        placement = Placement(self.mesh.ids, ins, self.outs, is_abstract=True)
        return lowered_for(placement, self.jaxpr, self.name)[0]

    def for_devices(self, devices: Sequence[Device]) -> ShardedForm:
        """Return the program for given devices."""

        def with_devices(mesh: meshes.AnyMesh) -> meshes.Mesh:
            grid = np.empty(len(devices), object)
            grid[:] = devices
            return meshes.Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)

        return self._remeshed(with_devices)

    def _remeshed(self, change: Callable[[meshes.AnyMesh], meshes.AnyMesh]) -> ShardedForm:
        other = _Remeshing(change)
        ins, outs = other.value(self.ins), other.value(self.outs)
        return ShardedForm(self.name, other.program(self.jaxpr), ins, outs)


def divided_of(name: str, jaxpr: Jaxpr, placement: Placement) -> ShardedForm:
    """Return a program as it is exported.

    Raises:
        ExportError: it calls Python functions.
    """
    if effects(jaxpr).any:
        raise calls_python(name)
    ins = tuple([x if isinstance(x, named_sharding.NamedSharding) else None for x in placement.ins])
    outs = tuple(
        [x if isinstance(x, named_sharding.NamedSharding) else None for x in placement.outs]
    )
    divided = ShardedForm(name, closed(jaxpr), ins, outs)._remeshed(lambda mesh: mesh.abstract_mesh)
    try:
        assert divided.text, "it can be lowered"
    except CallsPythonError:
        raise calls_python(name) from None
    return divided


class _Remeshing(Rewriting):
    """Programs on other meshes."""

    def __init__(self, change: Callable[[meshes.AnyMesh], meshes.AnyMesh]) -> None:
        super().__init__()
        self._change = change

    def aval(self, aval: ShapedArray) -> ShapedArray:
        if aval.sharding_or_none is None:
            return aval
        sharding = self.value(aval.sharding)
        return aval.with_where(OnMesh(sharding, across(aval)))

    def value(self, value: Any) -> Any:
        if isinstance(value, named_sharding.NamedSharding):
            return value.update(mesh=self._change(value.mesh))
        if isinstance(value, meshes.Mesh | meshes.AbstractMesh):
            return self._change(value)
        return super().value(value)


def platform_of(arrays: Sequence[Array]) -> str:
    """Return the platform that a program is called on, by the name that lowering rules have it by.

    Args:
        arrays: the arguments. Where one was put on a device, the program runs there.
    """
    for x in arrays:
        if (
            devices.platform_in_view.value is None
            and isinstance(x, sharded_array.ShardedArray)
            and x.committed
        ):
            return devices.platform_at(x.sharding.ids[0]).rules
    return devices.traced_platform()


def devices_of(name: str, arrays: Sequence[Array], nr_devices: int) -> tuple[Device, ...] | None:
    """Return the devices that a program is called on; None within a program that does not say it.

    Args:
        name: the program's name.
        arrays: the arguments.
        nr_devices: how many devices it is for.

    Raises:
        ArgumentError: they are not as many.
    """
    ids: tuple[int, ...] | None = None
    for x in arrays:
        value = x
        while isinstance(value, tr.Tracer) and value.components():
            value = value.components()[0]
        sharding = (
            value.sharding if isinstance(value, sharded_array.ShardedArray) else value.aval.sharding
        )
        if isinstance(sharding, named_sharding.NamedSharding) and not sharding.is_abstract:
            ids = sharding.ids
            break
    if ids is None and not (mesh := meshes.get_mesh()).empty:
        ids = mesh.ids
    if ids is None and any(isinstance(x, tr.Tracer) for x in arrays):
        return None
    ids = on_first().ids if ids is None else ids
    if len(ids) != nr_devices:
        raise errors.ArgumentError(
            f"'{name}' was exported for {nr_devices} devices, but is called with arguments "
            f"on {len(ids)}. Put them on a mesh of as many, tinyjax.device_put(x, sharding), or "
            "call it within tinyjax.set_mesh(mesh)."
        )
    return tuple([device_at(i) for i in ids])


def with_shardings(
    arrays: Sequence[Array], shardings: Shardings, mesh: meshes.AnyMesh
) -> list[Array]:
    """Return arrays with a program's shardings of arguments or results; else undivided."""
    whole = named_sharding.NamedSharding(mesh, PartitionSpec())
    return [constrain(x, s or whole) for x, s in zip(arrays, shardings, strict=True)]


# Programs for many sizes, and how the sizes of a call are found from its arguments.


@attrs.frozen(eq=False)
class ProgramFamily:
    """A program for many sizes.

    Attributes:
        jaxpr: the program; the arrays that the function closes over are its first parameters.
        solution: how the sizes of a call are found; None of a program with sizes of another.
        variables: what its sizes depend on.
    """

    jaxpr: Jaxpr
    solution: Solution | None
    variables: frozenset[str]


def family_of(name: str, jaxpr: Jaxpr, in_tree: tree.PyTreeDef, num_consts: int) -> ProgramFamily:
    """Return a program for many sizes, all of which the shapes of its arguments determine.

    Args:
        name: the function's name, for messages.
        jaxpr: the program.
        in_tree: the structure of ``(args, kwargs)``.
        num_consts: how many parameters come before the arguments.

    Raises:
        ArgumentError: there is a size that the shapes do not tell.
        ExportError: the program calls Python functions, or what it does is not known for all sizes.
    """
    if effects(jaxpr).any:
        raise calls_python(name)
    avals = jaxpr.in_avals[num_consts:]
    scope = scope_of(avals, name)
    places: list[SizePosition] = []
    for i, (which, *rest) in enumerate(leaf_paths(in_tree)):
        at = tree.path_str("args" if which == tree.SequenceKey(0) else "kwargs", rest)
        places += [
            SizePosition(f"{at}.shape[{axis}]", i, axis, n)
            for axis, n in enumerate(avals[i].shape)
            if is_symbolic_dim(n)
        ]
    solution = Solution.find(name, scope, places)
    known = {step.variable for step in solution.steps}
    symbolic_programs.inspect(jaxpr, name, scope, known)
    return ProgramFamily(jaxpr, solution, frozenset(known))


@attrs.frozen
class SizePosition:
    """The position of a size among the arguments.

    Attributes:
        name: as a user writes it: ``args[0].shape[1]``.
        argument: the argument, counted by leaves.
        axis: the axis.
        dim: the size in the exported function.
    """

    name: str
    argument: int
    axis: int
    dim: int


def scope_of(avals: Sequence[ShapedArray], name: str) -> SymbolicScope:
    """Return the scope that the symbolic sizes of arguments have in common.

    Raises:
        ArgumentError: they have none.
    """
    dims = [n for aval in avals for n in aval.shape if isinstance(n, SymbolicDim)]
    if not dims:
        raise errors.ArgumentError(
            f"'{name}' uses symbolic sizes, but none of its arguments has any: their values could "
            "not be told at a call. Give an argument the size, such as an array of shape (0, k)."
        )
    for dim in dims:
        if dim.scope is not dims[0].scope:
            raise errors.ArgumentError(
                f"'{name}' is exported for the symbolic sizes '{dims[0]}' of {dims[0].scope}, and "
                f"'{dim}' of {dim.scope}, which are different scopes. Make all sizes by one call "
                "of symbolic_shape or symbolic_args_specs, or give each the scope of the first: "
                "symbolic_shape(..., scope=a.scope)."
            )
    return dims[0].scope


@attrs.frozen
class SolutionStep:
    """The solution for one variable: ``size = factor * variable + rest``.

    Attributes:
        variable: its name.
        place: the position of the size.
        factor: a number.
        rest: a polynomial in variables found before.
    """

    variable: str
    place: SizePosition
    factor: int
    rest: polynomials.Polynomial


@attrs.frozen
class Solution:
    """The solution for the sizes of a call from the shapes of its arguments.

    Attributes:
        name: the function's name.
        scope: the scope of the sizes.
        places: the places of all symbolic sizes.
        steps: the solutions for the variables, one after another.
    """

    name: str
    scope: SymbolicScope
    places: tuple[SizePosition, ...]
    steps: tuple[SolutionStep, ...]

    @classmethod
    def find(cls, name: str, scope: SymbolicScope, places: Sequence[SizePosition]) -> Solution:
        """Find how the sizes of calls are found.

        Raises:
            ArgumentError: there is a variable that the arguments' shapes do not tell.
        """
        steps: list[SolutionStep] = []
        solved: set[str] = set()
        pending = list(places)
        while pending:
            step = next((s for p in pending if (s := _step(p, solved)) is not None), None)
            if step is None:
                break
            steps.append(step)
            solved.add(step.variable)
            pending = [p for p in pending if not variables_of(p.dim) <= solved]
        missing = set().union(*(variables_of(p.dim) for p in places)) - solved
        if missing:
            raise errors.ArgumentError(
                f"'{name}' is exported for symbolic sizes of which {', '.join(sorted(missing))} "
                f"cannot be told from the shapes of its arguments, {_shapes(places)}: a variable "
                "is told by a size that is a multiple of it, plus what other variables tell. Give "
                "an argument such a size; an array of shape (0, k) costs nothing."
            )
        return cls(name, scope, tuple(places), tuple(steps))

    def sizes(self, avals: Sequence[ShapedArray]) -> dict[str, int]:
        """Return the values of the variables for arguments of given types, by name.

        Raises:
            ArgumentError: the types do not fit; the message says where.
        """
        sizes: dict[str, int] = {}
        for step in self.steps:
            size = avals[step.place.argument].shape[step.place.axis]
            excess = size - polynomials.evaluate(step.rest, sizes)
            value, remainder = divmod(excess, step.factor)
            if remainder != 0:
                raise self._error(
                    f"{step.place.name} is {size}, which is not '{step.place.dim}' for any whole "
                    f"number '{step.variable}'",
                    sizes,
                )
            if not value >= 1:
                raise self._error(
                    f"{step.place.name} is {size}, so that '{step.variable}' would be {value}, "
                    "but it is at least 1",
                    sizes,
                )
            sizes[step.variable] = value
        for place in self.places:
            size = avals[place.argument].shape[place.axis]
            expected = substituted(place.dim, sizes)
            if size != expected:
                raise self._error(f"{place.name} is {size}, but '{place.dim}' is {expected}", sizes)
        for constraint in self.scope.constraints:
            if not polynomials.variables(constraint.difference) <= sizes.keys():
                continue
            value = polynomials.evaluate(constraint.difference, sizes)
            if not (value == 0 if constraint.equal else value >= 0):
                raise self._error(f"the constraint '{constraint.text}' does not hold", sizes)
        return sizes

    def _error(self, what: str, sizes: Mapping[str, int]) -> errors.ArgumentError:
        sizes_text = f", and {symbolic_programs.sizes_text(sizes)}" if sizes else ""
        return errors.ArgumentError(
            f"'{self.name}' was exported for {_shapes(self.places)}, and was called with arguments "
            f"of other shapes: {what}{sizes_text}."
        )


def _shapes(places: Sequence[SizePosition]) -> str:
    return ", ".join([f"{place.name} = {place.dim}" for place in places])


def variables_of(dim: int) -> set[str]:
    """Return the names of the variables in a size."""
    return polynomials.variables(dim.polynomial) if isinstance(dim, SymbolicDim) else set()


def _step(place: SizePosition, solved: set[str]) -> SolutionStep | None:
    """Return the solution of a size for a variable that is not known yet, if there is one."""
    dim = place.dim
    assert isinstance(dim, SymbolicDim), "only symbolic sizes have places"
    new = [(t, k) for t, k in dim.polynomial if not polynomials.variables(((t, k),)) <= solved]
    if len(new) != 1:
        return None
    ((term, factor),) = new
    if len(term) != 1 or term[0][1] != 1 or term[0][0].operands:
        return None
    rest = tuple([item for item in dim.polynomial if item != new[0]])
    return SolutionStep(term[0][0].name, place, factor, rest)
