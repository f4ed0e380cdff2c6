"""Programs for many sizes: jaxprs whose types and parameters hold symbolic sizes.

Such a program is never compiled. ``with_sizes`` substitutes sizes for its variables everywhere, and
checks the types of the result anew. That is an ordinary program, or, if the sizes belong to another
exported function, one for many sizes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs

from tinyjax import errors, tree
from tinyjax._base import frames, records
from tinyjax._extensions.parallel.inside import on_axes
from tinyjax._extensions.parallel.primitive import ShardMapParams
from tinyjax.core import jit
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.export import dims, polynomials, unsized

#: Axes of this size are counted in int64, which programs for many sizes do not.
_LARGEST: Final = 2**31


@attrs.frozen(repr=False)
class ExportedProgram:
    """An exported program, as the primitive that calls it sees it.

    Attributes:
        name: the function's name; programs that differ in name only are the same.
        portable: the program in portable form.
        in_avals: the types of its parameters.
        out_avals: the types of its results.
        num_consts: how many of the parameters are arrays that came with it.
        text: returns the program in StableHLO.
        pull_back: calls the program of its derivative, where there is one, with the arguments and
            the cotangents.
        jaxpr: of a program for many sizes, in place of its text, the program; it is called so only
            in a program for many sizes.
        of_sizes: of a program for many sizes, returns the one for some of them.
        divided: of a program for several devices, in place of its text, the program.
    """

    name: str = attrs.field(eq=False)
    portable: str
    in_avals: tuple[av.ShapedArray, ...]
    out_avals: tuple[av.ShapedArray, ...]
    num_consts: int
    text: Callable[[], str] = attrs.field(eq=False)
    pull_back: Callable[..., Any] | None = attrs.field(eq=False)
    jaxpr: jx.Jaxpr | None = None
    of_sizes: Callable[[Mapping[str, int]], ExportedProgram] | None = attrs.field(
        default=None, eq=False
    )
    divided: jx.Jaxpr | None = None

    def with_sizes(self, sizes: Mapping[str, int]) -> ExportedProgram:
        """Return the same with sizes in place of variables."""
        return self if self.of_sizes is None else self.of_sizes(sizes)

    def __repr__(self) -> str:
        return f"<{self.name}, {len(self.portable)} bytes>"


def is_symbolic(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program takes or returns arrays of symbolic sizes."""
    avals = (*jaxpr.in_avals, *jaxpr.out_avals)
    return any(isinstance(n, ints.SymbolicSize) for aval in avals for n in aval.shape)


def with_sizes(jaxpr: jx.Jaxpr, sizes: Mapping[str, int]) -> jx.Jaxpr:
    """Put sizes in place of the variables of a program.

    Args:
        jaxpr: the program.
        sizes: by variable; they may be symbolic.

    Raises:
        ExportError: the program is not well typed for these sizes.
    """
    result = Substitution(sizes).program(jaxpr)
    check(result, f"for the sizes {sizes_text(sizes)}")
    return result


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return sizes as text: ``a = 3, b = 4``."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def check(jaxpr: jx.Jaxpr, when: str) -> None:
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
            jx.typecheck_jaxpr(program)
        except (errors.TinyjaxError, ArithmeticError, AttributeError) as error:
            text = error.message if isinstance(error, errors.TinyjaxError) else str(error)
            raise errors.ExportError(f"the exported program is not valid {when}: {text}") from error
        for eqn in program.eqns:
            if isinstance(eqn.params, ShardMapParams):  # types within depend on what varies
                inside = eqn.params
                with on_axes(inside.mesh, inside.axes, inside.checks):
                    check(inside.jaxpr, when)
            else:
                pending += jx.subjaxprs(eqn.params)


class Rewriting:
    """Programs rebuilt with sizes, each once."""

    def __init__(self) -> None:
        self._results: dict[int, tuple[jx.Jaxpr, jx.Jaxpr]] = {}

    def program(self, jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        entry = self._results.get(id(jaxpr))
        if entry is None:
            with frames.LEVEL:
                entry = self._results[id(jaxpr)] = jaxpr, self._rewritten(jaxpr)
        return entry[1]

    def _rewritten(self, jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        env: dict[jx.Var, jx.Var] = {}

        def binder(var: jx.Var) -> jx.Var:
            fresh = env[var] = jx.Var(self.aval(var.aval))
            return fresh

        def atom(x: jx.Atom) -> jx.Atom:
            return env[x] if isinstance(x, jx.Var) else self.literal(x)

        ins = tuple(map(binder, jaxpr.in_binders))
        eqns: list[jx.JaxprEqn] = []
        for eqn in jaxpr.eqns:
            inputs = tuple(map(atom, eqn.inputs))
            primitive, params = self.applied(eqn)
            outs = tuple(map(binder, eqn.out_binders))
            eqns.append(jx.JaxprEqn(primitive, inputs, params, outs, eqn.source))
        return jx.Jaxpr(ins, tuple(eqns), tuple(map(atom, jaxpr.outs)), jaxpr.num_consts)

    def applied(self, eqn: jx.JaxprEqn) -> tuple[prim.Primitive[Any], Any]:
        """Return the primitive and the parameters of an equation."""
        return eqn.primitive, self.value(eqn.params)

    def aval(self, aval: av.ShapedArray) -> av.ShapedArray:
        """Return a type."""
        return aval

    def literal(self, x: jx.Lit) -> jx.Lit:
        """Return a literal."""
        aval = self.aval(x.aval)
        if aval is x.aval:
            return x
        return jx.Lit(unsized.literal_splat(opd.first_element(x.value.host), aval), aval)

    def value(self, value: Any) -> Any:
        """Return a parameter, or something that one holds."""
        if type(value) is jx.Jaxpr:
            return self.program(value)
        if type(value) is tuple:
            return tuple(map(self.value, value))
        if isinstance(value, av.ShapedArray):
            return self.aval(value)
        if isinstance(value, ExportedProgram):
            return self.sized(value)
        if isinstance(value, prim.Params) or (
            records.has_fields(type(value)) and not isinstance(value, tree.PyTreeDef)
        ):
            return self._record(value)
        return self.size(value) if isinstance(value, dims.SymbolicDim) else value

    def sized(self, value: ExportedProgram) -> ExportedProgram:
        """Return a parameter that contains a program for many sizes."""
        return value

    def size(self, value: dims.SymbolicDim) -> int:
        """Return a size."""
        return value

    def _record(self, record: Any) -> Any:
        changes: dict[str, Any] = {}
        for field in records.fields(type(record)):
            if field.init:
                before = getattr(record, field.name)
                after = self.value(before)
                if after is not before and after != before:
                    changes[field.alias or field.name] = after
        return attrs.evolve(record, **changes) if changes else record


class Substitution(Rewriting):
    """Sizes put in place of variables."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes
        self._avals: dict[av.ShapedArray, av.ShapedArray] = {}

    def aval(self, aval: av.ShapedArray) -> av.ShapedArray:
        substitute = self._avals.get(aval)
        if substitute is None:
            if not any(isinstance(n, ints.SymbolicSize) for n in aval.shape):
                return aval
            shape = tuple([dims.substituted(n, self._sizes) for n in aval.shape])
            if any(not isinstance(n, ints.SymbolicSize) and not 0 <= n < _LARGEST for n in shape):
                raise errors.ExportError(
                    f"an array of the exported program, of type {aval}, would have the shape "
                    f"{shape} for the sizes {sizes_text(self._sizes)}. Programs for many sizes "
                    "have axes of less than 2**31 elements, and not less than none."
                )
            substitute = self._avals[aval] = aval.with_shape(shape)
        return substitute

    def size(self, value: dims.SymbolicDim) -> int:
        return dims.substituted(value, self._sizes)

    def sized(self, value: ExportedProgram) -> ExportedProgram:
        return value.with_sizes(self._sizes)


class _Inspection(Rewriting):
    """Looks at every size, and changes none."""

    def __init__(self, name: str, scope: dims.SymbolicScope, variables: set[str]) -> None:
        super().__init__()
        self._name = name
        self._scope = scope
        self._variables = variables

    def aval(self, aval: av.ShapedArray) -> av.ShapedArray:
        self.value(aval.shape)
        return aval

    def size(self, value: dims.SymbolicDim) -> int:
        if value.scope is not self._scope:
            raise errors.ArgumentError(
                f"'{self._name}' uses the symbolic size '{value}' of {value.scope}, but is "
                f"exported for sizes of {self._scope}. Take sizes from the shapes of arguments."
            )
        unknown = polynomials.variables(value.polynomial) - self._variables
        if unknown:
            raise errors.ArgumentError(
                f"'{self._name}' uses the symbolic size '{value}', but '{min(unknown)}' is in the "
                "shape of no argument, so that a call could not tell it. Give an argument the "
                "size, such as an array of shape (0, k)."
            )
        return value


def inspect(jaxpr: jx.Jaxpr, name: str, scope: dims.SymbolicScope, variables: set[str]) -> None:
    """Check that the sizes in a program are of one scope, and of variables that are known.

    Raises:
        ArgumentError: one is not.
    """
    _Inspection(name, scope, variables).program(jaxpr)


class _Closing(Rewriting):
    """Programs freed from functions of this process, such as rules for derivatives."""

    def applied(self, eqn: jx.JaxprEqn) -> tuple[prim.Primitive[Any], Any]:
        params = eqn.params
        if eqn.primitive.name == "checkpoint":
            return eqn.primitive, self.value(attrs.evolve(params, policy=None))
        if eqn.primitive.name == "jit":
            return jit.jit_p, jit.JitParams(self.program(params.jaxpr), params.name)
        if eqn.primitive.name == "custom_call":
            called = eqn.primitive.rule(program_rules.INLINING)(params)
            assert called is not None, "a call with rules of its own calls a program"
            return jit.jit_p, jit.JitParams(self.program(called), params.name)
        if eqn.primitive.name == "call_exported" and params.program.jaxpr is not None:
            return jit.jit_p, jit.JitParams(self.program(params.program.jaxpr), eqn.primitive.name)
        return eqn.primitive, self.value(params)


def closed(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program without functions of this process: rules for derivatives are left out.

    The programs of derivatives are exported by themselves.
    """
    return _Closing().program(jaxpr)


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Refuse a program where something of it cannot be computed with: it may be anybody's."""
    try:
        yield
    except errors.ExportError:
        raise
    except Exception as error:  # of rules, of MLIR
        text = error.message if isinstance(error, errors.TinyjaxError) else str(error)
        raise errors.ExportError(f"{what}: {text}") from error
