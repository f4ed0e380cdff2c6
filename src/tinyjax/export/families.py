"""Programs for many sizes, and how the sizes of a call are found from its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tinyjax import errors, tree
from tinyjax.core.tracing.jaxpr import Jaxpr, effects
from tinyjax.core.values.avals import ShapedArray
from tinyjax.export import platforms, polynomials, symbolic_programs
from tinyjax.export.dims import SymbolicDim, SymbolicScope, is_symbolic_dim, substituted
from tinyjax.tree import PyTreeDef, SequenceKey, path_str


@attrs.frozen(eq=False)
class Family:
    """A program for many sizes.

    Attributes:
        jaxpr: the program; the arrays that the function closes over are its first parameters.
        solution: how the sizes of a call are found; None of a program with sizes of another.
        variables: what its sizes depend on.
    """

    jaxpr: Jaxpr
    solution: Solution | None
    variables: frozenset[str]


def family_of(name: str, jaxpr: Jaxpr, in_tree: PyTreeDef, num_consts: int) -> Family:
    """Return a program for many sizes, all of which the shapes of its arguments tell.

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
        raise platforms.calls_python(name)
    avals = jaxpr.in_avals[num_consts:]
    scope = scope_of(avals, name)
    leaves = tree.leaves_with_path(tree.unflatten(in_tree, range(in_tree.num_leaves)))
    places: list[Place] = []
    for i, ((which, *rest), _) in enumerate(leaves):
        at = path_str("args" if which == SequenceKey(0) else "kwargs", rest)
        places += [
            Place(f"{at}.shape[{axis}]", i, axis, n)
            for axis, n in enumerate(avals[i].shape)
            if is_symbolic_dim(n)
        ]
    solution = Solution.of(name, scope, places)
    known = {step.variable for step in solution.steps}
    symbolic_programs.inspect(jaxpr, name, scope, known)
    return Family(jaxpr, solution, frozenset(known))


@attrs.frozen
class Place:
    """Where a size stands among the arguments.

    Attributes:
        name: as a user writes it: ``args[0].shape[1]``.
        argument: the argument, counted by leaves.
        axis: the axis.
        dim: the size that the exported function says.
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
class Step:
    """How a variable is found: ``size = factor * variable + rest``.

    Attributes:
        variable: its name.
        place: where the size stands.
        factor: a number.
        rest: a polynomial in variables found before.
    """

    variable: str
    place: Place
    factor: int
    rest: polynomials.Polynomial


@attrs.frozen
class Solution:
    """How the sizes of a call are found from the shapes of its arguments.

    Attributes:
        name: the function's name.
        scope: what is known of the sizes.
        places: the places of all symbolic sizes.
        steps: how the variables are found, one after another.
    """

    name: str
    scope: SymbolicScope
    places: tuple[Place, ...]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, name: str, scope: SymbolicScope, places: Sequence[Place]) -> Solution:
        """Find how the sizes of calls are found.

        Raises:
            ArgumentError: there is a variable that the arguments' shapes do not tell.
        """
        steps: list[Step] = []
        known: set[str] = set()
        pending = list(places)
        while pending:
            step = next((s for p in pending if (s := _step(p, known)) is not None), None)
            if step is None:
                break
            steps.append(step)
            known.add(step.variable)
            pending = [p for p in pending if not variables_of(p.dim) <= known]
        missing = set().union(*(variables_of(p.dim) for p in places)) - known
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
        sizes_text = f", and {symbolic_programs.told(sizes)}" if sizes else ""
        return errors.ArgumentError(
            f"'{self.name}' was exported for {_shapes(self.places)}, and was called with arguments "
            f"of other shapes: {what}{sizes_text}."
        )


def _shapes(places: Sequence[Place]) -> str:
    return ", ".join([f"{place.name} = {place.dim}" for place in places])


def variables_of(dim: int) -> set[str]:
    """Return the names of the variables in a size."""
    return polynomials.variables(dim.polynomial) if isinstance(dim, SymbolicDim) else set()


def _step(place: Place, known: set[str]) -> Step | None:
    """Return how a size tells a variable that is not known yet, if it does."""
    dim = place.dim
    assert isinstance(dim, SymbolicDim), "only symbolic sizes have places"
    new = [(t, k) for t, k in dim.polynomial if not polynomials.variables(((t, k),)) <= known]
    if len(new) != 1:
        return None
    ((term, factor),) = new
    if len(term) != 1 or term[0][1] != 1 or term[0][0].operands:
        return None
    rest = tuple([item for item in dim.polynomial if item != new[0]])
    return Step(term[0][0].name, place, factor, rest)
