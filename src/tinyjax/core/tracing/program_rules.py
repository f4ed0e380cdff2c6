"""Programs in equations: the rules by which primitives describe them, and dependence analysis.

A primitive whose parameters hold programs has rules for them: how it runs them, which results
depend on which operands, and how to drop unused ones. So dead code in programs is eliminated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from operator import is_
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import attrs

from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.tracing.primitive import RuleKey
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array

P = TypeVar("P")

#: The rule of a primitive that represents a program: returns the program, given the parameters, or
#: None where it must not be inlined. The program has the equation's operands and results.
INLINING: Final[RuleKey[Callable[[Any], jx.Jaxpr | None]]] = RuleKey("inlining")

#: The rule of a primitive that runs one of several programs, by its first operand, and hands them
#: its other operands: returns the parameters for other programs. No index is out of range.
CHOICE: Final[RuleKey[Callable[[tuple[jx.Jaxpr, ...]], Any]]] = RuleKey("choice")

#: The rule of a primitive that does nothing but call the one jaxpr in its parameters: it returns
#: the parameters with another jaxpr in its place.
CALLED: Final[RuleKey[Callable[[Any, jx.Jaxpr], Any]]] = RuleKey("called")

#: The dependence of results on operands, of a primitive with programs in its parameters: says, of
#: the parameters and of which operands are marked, which results depend on those. Without a rule,
#: and not called, all do.
DEPENDENCE: Final[RuleKey[Callable[[Any, tuple[bool, ...]], tuple[bool, ...]]]] = RuleKey(
    "dependence"
)

#: The forwarding of operands, by a primitive with programs in its parameters: says, of the
#: parameters, which results are operands that nothing changes: for each the operand's number, or
#: None.
FORWARDING: Final[RuleKey[Callable[[Any], tuple[int | None, ...]]]] = RuleKey("forwarding")

#: The rule of a primitive that can do without some of its results: an equation, and which are used.
#: Only of those must what it returns be an equation.
PRUNE: Final[RuleKey[Callable[[jx.JaxprEqn, tuple[bool, ...]], jx.JaxprEqn]]] = RuleKey("prune")

#: The rule of a loop that chooses how reverse mode goes back through it: linearizes it.
REVERSAL: Final[RuleKey[prim.LinearizeRule[Any]]] = RuleKey("reversal")

#: The rule of a primitive that says where its operands and its results lie: of the parameters, the
#: places of both, in order.
PLACES: Final[RuleKey[Callable[[Any], tuple[Sequence[Any], Sequence[Any]]]]] = RuleKey("places")

#: The rule of a primitive whose transpose is a root of liveness: it is applied even where all
#: cotangents are known to be zero, because the user's rule for reverse mode decides. From the
#: parameters to whether it is one.
LIVE_ROOT: Final[RuleKey[Callable[[Any], bool]]] = RuleKey("live_root")

#: The rule of a primitive that is a loop: of the parameters, how often its programs run, or None
#: where that is not known before it runs.
ITERATIONS: Final[RuleKey[Callable[[Any], int | None]]] = RuleKey("iterations")


# Arrays that loops update

#: The rule of a primitive that puts values into an array: takes an equation, an array, and a
#: variable; returns equations that add what is put among zeros to the array, and give the variable,
#: or none where it is not put among zeros.
ADDED: Final[RuleKey[Callable[[jx.JaxprEqn, jx.Atom, jx.Var], Sequence[jx.JaxprEqn]]]] = RuleKey(
    "added"
)

#: The rule of a loop for the parts of its state: takes an equation; returns the place of each part
#: among the operands of the loop, among its results, and among the parameters and the results of
#: its body.
STATE: Final[RuleKey[Callable[[jx.JaxprEqn], tuple[Sequence[State], jx.Jaxpr]]]] = RuleKey("state")

#: The rule of a primitive that is lowered as a program among its parameters: returns that of an
#: equation.
LOWERED: Final[RuleKey[Callable[[jx.JaxprEqn], jx.Jaxpr]]] = RuleKey("lowered")

#: The rule of a primitive that updates its first operand at some places: takes an equation, and the
#: variable of that operand; returns an equation that reads what is overwritten, and one that puts
#: it back into the result, which gives the variable.
OVERWRITTEN: Final[RuleKey[Callable[[jx.JaxprEqn, jx.Var], tuple[jx.JaxprEqn, jx.JaxprEqn]]]] = (
    RuleKey("overwritten")
)


@attrs.frozen
class State:
    """The places of a part of a loop's state.

    Attributes:
        operand: its first value among the loop's operands.
        result: its last value among the loop's results, and the next one among the body's.
        parameter: its value among the body's parameters.
    """

    operand: int
    result: int
    parameter: int


# Evaluation


class ProgramEvaluator(Protocol):
    """An evaluator of a program, which gets the number of its evaluations where it is known."""

    def __call__(self, jaxpr: jx.Jaxpr, args: Sequence[Any], times: int = 1, /) -> list[Any]: ...


def by_equation(jaxpr: jx.Jaxpr, args: Sequence[Any], times: int = 1) -> list[Any]:
    """Evaluate a program one equation at a time, under the current trace."""
    return jx.eval_jaxpr(jaxpr, args)


#: What a primitive does with the programs in its parameters: ``rule(operands, params, run)`` gives
#: the results. The compiler for NumPy has ``run`` take NumPy arrays, a debugger arrays.
ProgramRule: TypeAlias = Callable[[Sequence[Any], P, ProgramEvaluator], Sequence[Any]]
PROGRAM: Final[RuleKey[ProgramRule[Any]]] = RuleKey("program")


def evaluate_stepwise(
    primitive: prim.Primitive[P],
    args: Sequence[Array],
    params: P,
    run: ProgramEvaluator = by_equation,
) -> list[Array]:
    """Evaluate a primitive that holds programs on arrays.

    Args:
        primitive: it has a ``PROGRAM`` rule.
        args: its operands.
        params: its parameters.
        run: evaluates its programs.
    """
    return [opd.as_array(x) for x in primitive.rule(PROGRAM)(args, params, run)]


def def_program(primitive: prim.Primitive[P], rule: ProgramRule[P]) -> None:
    """Register a primitive's rules for the programs in its parameters.

    The rule also evaluates it, unless it has an ``evaluate`` rule already.

    Args:
        primitive: the primitive.
        rule: takes the operands, the parameters, and a function that evaluates a program. The
            operands, and the arguments and results of that function, are either all NumPy arrays
            or all arrays.
    """
    primitive.def_rule(PROGRAM)(rule)
    if primitive.rules.evaluate is None:
        primitive.def_evaluate(lambda args, params: rule(args, params, by_equation))


#: The rule of a primitive that is evaluated by one of the programs in its parameters: returns it.
EVALUATED: Final[RuleKey[Callable[[Any], jx.Jaxpr]]] = RuleKey("evaluated")


def def_evaluated(primitive: prim.Primitive[P], program: Callable[[P], jx.Jaxpr]) -> None:
    """Register which of the programs in its parameters evaluates a primitive."""
    primitive.def_rule(EVALUATED)(program)
    def_program(primitive, lambda args, params, run: run(program(params), args))


#: The rule of a primitive whose lowering is a program of other primitives: returns it, of the types
#: of the operands and the parameters, or None where it has constants.
COMPOSITION: Final[RuleKey[Callable[[prim.Avals, Any], jx.Jaxpr | None]]] = RuleKey("composition")


T = TypeVar("T")


# What is the same


def equal_values(jaxpr: jx.Jaxpr) -> dict[jx.Atom, jx.Var]:
    """Return of each variable that is computed as another one before it is, that one."""
    same: dict[jx.Atom, jx.Var] = {}
    computed: dict[object, jx.Var] = {}
    for eqn in jaxpr.eqns:
        if len(eqn.out_binders) != 1 or eqn.primitive.effectful or jx.subjaxprs(eqn.params):
            continue
        (out,) = eqn.out_binders
        operands = [_identity(same.get(x, x)) for x in eqn.inputs]
        try:
            first = computed.setdefault((eqn.primitive, eqn.params, out.aval, *operands), out)
        except TypeError:  # parameters that have no hash
            continue
        if first is not out:
            same[out] = first
    return same


def _identity(x: jx.Atom) -> object:
    if isinstance(x, jx.Var):
        return x
    host = x.value.host
    return x.aval, opd.first_element(host).tobytes() if host.size else b""


def renamed(
    jaxpr: jx.Jaxpr, names: Mapping[Any, jx.Atom]
) -> tuple[tuple[jx.JaxprEqn, ...], tuple[jx.Atom, ...]]:
    """Return the equations and the results of a program that reads variables for others."""
    if not names:
        return jaxpr.eqns, jaxpr.outs
    eqns = [
        attrs.evolve(eqn, inputs=tuple([names.get(x, x) for x in eqn.inputs])) for eqn in jaxpr.eqns
    ]
    return tuple(eqns), tuple([names.get(x, x) for x in jaxpr.outs])


def defining(
    jaxpr: jx.Jaxpr, inputs: Sequence[jx.Atom], outs: Sequence[jx.Atom]
) -> list[jx.JaxprEqn]:
    """Return the equations of a program, of other operands, that define other results.

    Args:
        jaxpr: the program.
        inputs: its operands.
        outs: the variables of those of its results that its equations define.
    """
    names: dict[jx.Atom, jx.Atom] = dict(zip(jaxpr.in_binders, inputs, strict=True))
    results = {x: y for x, y in zip(jaxpr.outs, outs, strict=True) if isinstance(y, jx.Var)}
    eqns: list[jx.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = tuple([names.get(x, x) for x in eqn.inputs])
        binders = tuple([results.get(x) or jx.Var(x.aval) for x in eqn.out_binders])
        eqns.append(attrs.evolve(eqn, inputs=operands, out_binders=binders))
        names.update(zip(eqn.out_binders, binders, strict=True))
    return eqns


# What depends on what


def depends(jaxpr: jx.Jaxpr, marks: Sequence[bool]) -> tuple[bool, ...]:
    """Return the mask of the results that depend on the marked parameters."""

    def make() -> tuple[bool, ...]:
        atoms = dependents(jaxpr.eqns, prim.marked(jaxpr.in_binders, marks))
        return tuple([x in atoms for x in jaxpr.outs])

    return jaxpr.derive(("depends", tuple(marks)), make)


def dependents(
    eqns: Iterable[jx.JaxprEqn],
    start: Iterable[jx.Atom],
    as_well: Callable[[jx.JaxprEqn], object] | None = None,
) -> set[jx.Atom]:
    """Return some atoms, and all that depend on them.

    Args:
        eqns: the equations of a program.
        start: the atoms.
        as_well: returns whether all results of an equation count as dependent.
    """
    atoms = set(start)
    for eqn in eqns:
        if as_well is not None and as_well(eqn):
            atoms.update(eqn.out_binders)
        elif not atoms.isdisjoint(eqn.inputs):
            atoms.update(dependent_results(eqn, atoms))
    return atoms


def independent_part(eqn: jx.JaxprEqn, atoms: Set[jx.Atom]) -> jx.JaxprEqn | None:
    """Return the part of an equation that does not depend on atoms, given all dependents.

    A call, a loop or a conditional can have results of both kinds. The independent ones are
    computed by an equation without the others.
    """
    if atoms.isdisjoint(eqn.inputs):
        return eqn
    others = tuple([var not in atoms for var in eqn.out_binders])
    return prune_eqn(eqn, others) if any(others) else None


def dependent_results(eqn: jx.JaxprEqn, operands: Collection[jx.Atom]) -> Sequence[jx.Var]:
    """Return the results of an equation that depend on some of its operands."""
    rules, results = eqn.primitive.rules.extensions, eqn.out_binders
    if len(results) == 1 or not (DEPENDENCE in rules or CALLED in rules):
        return results
    marks = tuple([x in operands for x in eqn.inputs])
    if DEPENDENCE in rules:
        return prim.marked(results, eqn.primitive.rule(DEPENDENCE)(eqn.params, marks))
    (inner,) = jx.subjaxprs(eqn.params)
    return prim.marked(results, depends(inner, marks))


def forwarded_parameters(jaxpr: jx.Jaxpr) -> tuple[int | None, ...]:
    """Return for each result the number of the parameter that it is, or None where it is computed.

    This includes values that are forwarded by calls, loops and conditionals.
    """

    def make() -> tuple[int | None, ...]:
        places: dict[jx.Atom, int] = {var: i for i, var in enumerate(jaxpr.in_binders)}
        for eqn in jaxpr.eqns:
            for i, var in zip(_forwarded_operands(eqn), eqn.out_binders, strict=False):
                if i is not None and eqn.inputs[i] in places:
                    places[var] = places[eqn.inputs[i]]
        return tuple([places.get(x) for x in jaxpr.outs])

    return jaxpr.derive("forwarded_parameters", make)


def _forwarded_operands(eqn: jx.JaxprEqn) -> tuple[int | None, ...]:
    rules = eqn.primitive.rules.extensions
    if FORWARDING in rules:
        return eqn.primitive.rule(FORWARDING)(eqn.params)
    if CALLED not in rules:
        return ()
    (inner,) = jx.subjaxprs(eqn.params)
    return forwarded_parameters(inner)


def is_live_root(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation is transposed though no cotangent reaches it (``LIVE_ROOT``)."""
    rule = eqn.primitive.rules.extensions.get(LIVE_ROOT)
    return rule is not None and bool(rule(eqn.params))


def has_live_root(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation, or one of the programs in it, is a root of liveness."""
    return is_live_root(eqn) or any(map(contains_live_root, jx.subjaxprs(eqn.params)))


def contains_live_root(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program has an equation that is a root of liveness."""
    return jx.some_eqn(jaxpr, "live root", is_live_root)


def selects(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation, or one in its programs, selects among its operands' elements."""
    return eqn.primitive.selects or any(map(selects_within, jx.subjaxprs(eqn.params)))


def selects_within(jaxpr: jx.Jaxpr) -> bool:
    """Return whether an equation of a program selects among its operands' elements."""
    return jx.some_eqn(jaxpr, "selects", lambda eqn: eqn.primitive.selects)


def inlined(
    jaxpr: jx.Jaxpr,
    called: Callable[[jx.JaxprEqn], jx.Jaxpr | None],
    key: Callable[[jx.JaxprEqn], Hashable | None] = lambda eqn: None,
) -> jx.Jaxpr:
    """Inline programs in the places of equations, with variables of their own.

    Args:
        jaxpr: the program.
        called: returns the program to inline for an equation; None for one that stays.
        key: returns a common key for equations that compute the same, which are merged; None for an
            equation that stays.
    """
    eqns: list[jx.JaxprEqn] = []
    available: dict[Hashable, tuple[jx.Var, ...]] = {}

    def run(jaxpr: jx.Jaxpr, args: tuple[jx.Atom, ...]) -> tuple[jx.Atom, ...]:
        env: dict[jx.Atom, jx.Atom] = dict(zip(jaxpr.in_binders, args, strict=True))
        for eqn in jaxpr.eqns:
            inputs = tuple([env.get(x, x) for x in eqn.inputs])
            program = called(eqn)
            if program is None:
                binders = tuple([jx.Var(v.aval) for v in eqn.out_binders])
                renamed = attrs.evolve(eqn, inputs=inputs, out_binders=binders)
                common = key(renamed)
                same = binders if common is None else available.setdefault(common, binders)
                if same is binders:
                    eqns.append(renamed)
                env.update(zip(eqn.out_binders, same, strict=True))
            else:
                env.update(zip(eqn.out_binders, run(program, inputs), strict=True))
        return tuple([env.get(x, x) for x in jaxpr.outs])

    outs = run(jaxpr, jaxpr.in_binders)
    return jx.Jaxpr(jaxpr.in_binders, tuple(eqns), outs)


def same_eqns(a: Sequence[jx.JaxprEqn], b: Sequence[jx.JaxprEqn]) -> bool:
    """Return whether two lists hold the same equations, and not just equal ones."""
    return len(a) == len(b) and all(map(is_, a, b))


def dce(jaxpr: jx.Jaxpr, used: Sequence[bool] | None = None) -> jx.Jaxpr:
    """Eliminate dead code, inside nested programs too.

    Equations with effects stay. A program of which nothing is dropped is returned itself.

    Args:
        jaxpr: the program; its parameters stay as they are.
        used: which results to keep; all by default.
    """
    if used is not None and not all(used):
        return prune_results(jaxpr, tuple(used))[0]

    def make() -> jx.Jaxpr:
        live = {x for x in jaxpr.outs if isinstance(x, jx.Var)}
        eqns: list[jx.JaxprEqn] = []
        for eqn in reversed(jaxpr.eqns):
            used = tuple([var in live for var in eqn.out_binders])
            if not any(used) and not jx.effects_of(eqn).any:
                continue
            kept = eqn if all(used) else prune_eqn(eqn, used)
            eqns.append(kept)
            live.update(x for x in kept.inputs if isinstance(x, jx.Var))
        eqns.reverse()
        if same_eqns(eqns, jaxpr.eqns):
            return jaxpr
        return jx.Jaxpr(jaxpr.in_binders, tuple(eqns), jaxpr.outs)

    return jaxpr.derive("dce", make)


def prune_eqn(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Return an equation without unused results, where its primitive can drop them."""
    rules = eqn.primitive.rules.extensions
    if PRUNE in rules:
        return eqn.primitive.rule(PRUNE)(eqn, used)
    if CALLED not in rules:
        return eqn
    (inner,) = jx.subjaxprs(eqn.params)
    _, needed = prune_results(inner, used)
    return attrs.evolve(
        eqn,
        inputs=prim.marked(eqn.inputs, needed),
        params=eqn.primitive.rule(CALLED)(eqn.params, shorten(inner, used, needed)),
        out_binders=prim.marked(eqn.out_binders, used),
    )


def prune_results(jaxpr: jx.Jaxpr, used: tuple[bool, ...]) -> tuple[jx.Jaxpr, tuple[bool, ...]]:
    """Return a program without unused results, and the mask of the parameters that it needs."""

    def make() -> tuple[jx.Jaxpr, tuple[bool, ...]]:
        pruned = dce(jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, prim.marked(jaxpr.outs, used)))
        mentioned = {x for e in pruned.eqns for x in e.inputs} | set(pruned.outs)
        return pruned, tuple([var in mentioned for var in pruned.in_binders])

    return jaxpr.derive(("prune", used), make)


def shorten(jaxpr: jx.Jaxpr, used: tuple[bool, ...], needed: tuple[bool, ...]) -> jx.Jaxpr:
    """Return the program of ``prune_results`` with these parameters, which include all it needs."""

    def make() -> jx.Jaxpr:
        pruned, _ = prune_results(jaxpr, used)
        return jx.Jaxpr(prim.marked(pruned.in_binders, needed), pruned.eqns, pruned.outs)

    return jaxpr.derive(("shorten", used, needed), make)
