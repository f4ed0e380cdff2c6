"""Programs for many sizes: jaxprs whose types and parameters hold symbolic sizes.

Such a program is never compiled. ``with_sizes`` puts sizes in place of its variables, wherever they
stand, and checks the types of the result anew; that is an ordinary program, or, where the sizes
belong to another exported function, one for many sizes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from tinyjax.core.array import first_element, literal_splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.integers import SymbolicSize
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var, subjaxprs, typecheck_jaxpr
from tinyjax.core.nesting import LEVEL
from tinyjax.core.primitive import Params, Primitive, field_names
from tinyjax.core.programs import INLINED
from tinyjax.errors import ArgumentError, ExportError, TinyjaxError
from tinyjax.export import polynomials
from tinyjax.export.dims import SymbolicDim, SymbolicScope, substituted
from tinyjax.jit import JitParams, jit_p
from tinyjax.tree import PyTreeDef

#: Axes of this size are counted in int64, which programs for many sizes do not.
_LARGEST: Final = 2**31


class Sized:
    """A parameter that may contain a program for many sizes."""

    __slots__ = ()

    def with_sizes(self, sizes: Mapping[str, int]) -> Sized:
        """Return the same with sizes in place of variables."""
        raise NotImplementedError

    @property
    def inlined(self) -> Jaxpr | None:
        """The program that it stands for, if it is for many sizes."""
        raise NotImplementedError


def is_symbolic(jaxpr: Jaxpr) -> bool:
    """Say whether a program takes or returns arrays of symbolic sizes."""
    avals = (*jaxpr.in_avals, *jaxpr.out_avals)
    return any(isinstance(n, SymbolicSize) for aval in avals for n in aval.shape)


def with_sizes(jaxpr: Jaxpr, sizes: Mapping[str, int]) -> Jaxpr:
    """Put sizes in place of the variables of a program.

    Args:
        jaxpr: the program.
        sizes: by variable; they may be symbolic.

    Raises:
        ExportError: the program is not well typed for these sizes.
    """
    found = _Substitution(sizes).program(jaxpr)
    check(found, f"for the sizes {told(sizes)}")
    return found


def told(sizes: Mapping[str, int]) -> str:
    """Return sizes as text: ``a = 3, b = 4``."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def check(jaxpr: Jaxpr, when: str) -> None:
    """Check the types of a program and of the programs in it.

    Raises:
        ExportError: one is not well typed; ``when`` says under which circumstances.
    """
    checked: set[int] = set()
    pending = [jaxpr]
    while pending:
        program = pending.pop()
        if id(program) in checked:
            continue
        checked.add(id(program))
        try:
            typecheck_jaxpr(program)
        except (TinyjaxError, ArithmeticError, AttributeError) as error:
            text = error.message if isinstance(error, TinyjaxError) else str(error)
            raise ExportError(f"the exported program is not valid {when}: {text}") from error
        pending += [p for eqn in program.eqns for p in subjaxprs(eqn.params)]


class _Rewriting:
    """Programs written anew, each once."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Jaxpr, Jaxpr]] = {}

    def program(self, jaxpr: Jaxpr) -> Jaxpr:
        found = self._done.get(id(jaxpr))
        if found is None:
            with LEVEL:
                found = self._done[id(jaxpr)] = jaxpr, self._rewritten(jaxpr)
        return found[1]

    def _rewritten(self, jaxpr: Jaxpr) -> Jaxpr:
        env: dict[Var, Var] = {}

        def binder(var: Var) -> Var:
            made = env[var] = Var(self.aval(var.aval))
            return made

        def atom(x: Atom) -> Atom:
            return env[x] if isinstance(x, Var) else self.literal(x)

        ins = tuple(map(binder, jaxpr.in_binders))
        eqns: list[JaxprEqn] = []
        for eqn in jaxpr.eqns:
            inputs = tuple(map(atom, eqn.inputs))
            primitive, params = self.applied(eqn)
            outs = tuple(map(binder, eqn.out_binders))
            eqns.append(JaxprEqn(primitive, inputs, params, outs, eqn.source))
        return Jaxpr(ins, tuple(eqns), tuple(map(atom, jaxpr.outs)), jaxpr.num_consts)

    def applied(self, eqn: JaxprEqn) -> tuple[Primitive[Any], Any]:
        """Return the primitive and the parameters of an equation."""
        return eqn.primitive, self.value(eqn.params)

    def aval(self, aval: ShapedArray) -> ShapedArray:
        """Return a type."""
        return aval

    def literal(self, x: Lit) -> Lit:
        """Return a literal."""
        return x

    def value(self, value: Any) -> Any:
        """Return a parameter, or something that one holds."""
        if type(value) is Jaxpr:
            return self.program(value)
        if type(value) is tuple:
            return tuple(map(self.value, value))
        if isinstance(value, ShapedArray):
            return self.aval(value)
        if isinstance(value, Sized):
            return self.sized(value)
        if isinstance(value, Params) or (
            attrs.has(type(value)) and not isinstance(value, PyTreeDef)
        ):
            return self._record(value)
        return self.size(value) if isinstance(value, SymbolicDim) else value

    def sized(self, value: Sized) -> Sized:
        """Return a parameter that contains a program for many sizes."""
        return value

    def size(self, value: SymbolicDim) -> int:
        """Return a size."""
        return value

    def _record(self, record: Any) -> Any:
        changes: dict[str, Any] = {}
        for field in attrs.fields(type(record)):
            if field.init:
                before = getattr(record, field.name)
                after = self.value(before)
                if after is not before and after != before:
                    changes[field.alias or field.name] = after
        return attrs.evolve(record, **changes) if changes else record


class _Substitution(_Rewriting):
    """Sizes put in place of variables."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes
        self._avals: dict[ShapedArray, ShapedArray] = {}

    def aval(self, aval: ShapedArray) -> ShapedArray:
        found = self._avals.get(aval)
        if found is None:
            if not any(isinstance(n, SymbolicSize) for n in aval.shape):
                return aval
            shape = tuple([substituted(n, self._sizes) for n in aval.shape])
            if any(not isinstance(n, SymbolicSize) and not 0 <= n < _LARGEST for n in shape):
                raise ExportError(
                    f"an array of the exported program, of type {aval}, would have the shape "
                    f"{shape} for the sizes {told(self._sizes)}. Programs for many sizes have "
                    "axes of less than 2**31 elements, and not less than none."
                )
            found = self._avals[aval] = aval.with_shape(shape)
        return found

    def literal(self, x: Lit) -> Lit:
        aval = self.aval(x.aval)
        if aval is x.aval:
            return x
        return Lit(literal_splat(first_element(x.value.host), aval), aval)

    def size(self, value: SymbolicDim) -> int:
        return substituted(value, self._sizes)

    def sized(self, value: Sized) -> Sized:
        return value.with_sizes(self._sizes)


class _Inspection(_Rewriting):
    """Looks at every size, and changes none."""

    def __init__(self, name: str, scope: SymbolicScope, known: set[str]) -> None:
        super().__init__()
        self._name = name
        self._scope = scope
        self._known = known

    def aval(self, aval: ShapedArray) -> ShapedArray:
        self.value(aval.shape)
        return aval

    def literal(self, x: Lit) -> Lit:
        self.aval(x.aval)
        return x

    def size(self, value: SymbolicDim) -> int:
        if value.scope is not self._scope:
            raise ArgumentError(
                f"'{self._name}' uses the symbolic size '{value}' of {value.scope}, but is "
                f"exported for sizes of {self._scope}. Take sizes from the shapes of arguments."
            )
        unknown = polynomials.variables(value.polynomial) - self._known
        if unknown:
            raise ArgumentError(
                f"'{self._name}' uses the symbolic size '{value}', but '{min(unknown)}' is in the "
                "shape of no argument, so that a call could not tell it. Give an argument the "
                "size, such as an array of shape (0, k)."
            )
        return value


def inspect(jaxpr: Jaxpr, name: str, scope: SymbolicScope, known: set[str]) -> None:
    """Check that the sizes in a program are of one scope, and of variables that are known.

    Raises:
        ArgumentError: one is not.
    """
    _Inspection(name, scope, known).program(jaxpr)


class _Closing(_Rewriting):
    """Programs freed from functions of this process, such as rules for derivatives."""

    def applied(self, eqn: JaxprEqn) -> tuple[Primitive[Any], Any]:
        params = eqn.params
        if eqn.primitive.name == "checkpoint":
            return eqn.primitive, self.value(attrs.evolve(params, policy=None))
        if eqn.primitive.name == "jit":
            return jit_p, JitParams(self.program(params.jaxpr), params.name)
        if eqn.primitive.name == "custom_call":
            called = eqn.primitive.rule(INLINED)(params)
            assert called is not None, "a call with rules of its own calls a program"
            return jit_p, JitParams(self.program(called), params.name)
        for name in field_names(type(params)):
            value = getattr(params, name)
            if isinstance(value, Sized) and value.inlined is not None:
                return jit_p, JitParams(self.program(value.inlined), eqn.primitive.name)
        return eqn.primitive, self.value(params)


def closed(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program without functions of this process: rules for derivatives are left out.

    The programs of derivatives are exported by themselves.
    """
    return _Closing().program(jaxpr)


# Which sizes a call has


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
        raise ArgumentError(
            f"'{name}' uses symbolic sizes, but none of its arguments has any: their values could "
            "not be told at a call. Give an argument the size, such as an array of shape (0, k)."
        )
    for dim in dims:
        if dim.scope is not dims[0].scope:
            raise ArgumentError(
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
            raise ArgumentError(
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
            given = avals[step.place.argument].shape[step.place.axis]
            over = given - polynomials.evaluate(step.rest, sizes)
            value, remainder = divmod(over, step.factor)
            if remainder != 0:
                raise self._error(
                    f"{step.place.name} is {given}, which is not '{step.place.dim}' for any whole "
                    f"number '{step.variable}'",
                    sizes,
                )
            if not value >= 1:
                raise self._error(
                    f"{step.place.name} is {given}, so that '{step.variable}' would be {value}, "
                    "but it is at least 1",
                    sizes,
                )
            sizes[step.variable] = value
        for place in self.places:
            given = avals[place.argument].shape[place.axis]
            expected = substituted(place.dim, sizes)
            if given != expected:
                raise self._error(
                    f"{place.name} is {given}, but '{place.dim}' is {expected}", sizes
                )
        for constraint in self.scope.constraints:
            if not polynomials.variables(constraint.difference) <= sizes.keys():
                continue
            value = polynomials.evaluate(constraint.difference, sizes)
            if not (value == 0 if constraint.equal else value >= 0):
                raise self._error(f"the constraint '{constraint.text}' does not hold", sizes)
        return sizes

    def _error(self, what: str, sizes: Mapping[str, int]) -> ArgumentError:
        found = f", and {told(sizes)}" if sizes else ""
        return ArgumentError(
            f"'{self.name}' was exported for {_shapes(self.places)}, and was called with arguments "
            f"of other shapes: {what}{found}."
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
