"""Repeated eager calls, and steps of a linearization: recorded, compared, compiled to Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, pycode
from tinyjax._base.pycode import Name
from tinyjax._extensions.host import LARGEST, plans
from tinyjax.core.tracing import Primitive, jaxpr as jx, staging, trace as tr
from tinyjax.core.tracing.kernels import KernelError
from tinyjax.core.tracing.primitive import ZERO, Kernel
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.transforms.linearize import LinearizeTrace, LinearTrace
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.core.values.operands import raw_host


class RecordingTrace(staging.StagingTrace):
    """A trace that records evaluation, and enters functions that have rules of their own."""

    __slots__ = ()

    transformation = "evaluation"
    replays = True

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        with tr.use_trace(self):
            return call.fun(*args)


def make_program(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    hosts: Sequence[dtypes.HostArray],
    result: Any,
) -> Kernel | None:
    """Make a program for calls like a recorded one, if it reproduces its result.

    Args:
        fun: the function.
        args: its arguments.
        kwargs: its keyword arguments.
        hosts: the data of the arrays in them.
        result: its result.

    Raises:
        TinyjaxError: it cannot be staged, since it needs data.
    """
    flat, structure = tree.flatten((list(args), list(kwargs.values())))
    trace = RecordingTrace(tr.EVAL, fun)
    with frames.STAGING_LEVEL, tr.Running(trace):
        # in the order in which a call's signature has the data
        arrays = iter(trace.new_inputs([x.aval for x in flat if isinstance(x, ConcreteArray)]))
        inputs = [next(arrays) if isinstance(x, ConcreteArray) else x for x in flat]
        positional, named = tree.unflatten(structure, inputs)
        out = fun(*positional, **dict(zip(kwargs, named, strict=True)))
        staged = trace.build(tree.leaves(out))
    body = write_staged(staged)
    program = _function(body, result)
    again = tree.leaves(program(*hosts))
    return program if _repeats(tree.leaves(result), again, body) else None


def _repeats(before: Sequence[Array], again: Sequence[Array], body: plans.PythonBody) -> bool:
    """Return whether arrays agree to the last bit, and the second is not owned by a program."""
    return len(before) == len(again) and all(
        x is y
        or (
            type(x) is type(y) is ConcreteArray
            and x.aval is y.aval
            and plans.same_bits(x.host, y.host)
            and not any(np.may_share_memory(y.host, c) for c in body.constants)
        )
        for x, y in zip(before, again, strict=True)
    )


def write_staged(staged: staging.Staged) -> plans.PythonBody:
    """Write a program whose results are expressions of arrays.

    Raises:
        ConcretizationError: it cannot be replayed.
    """
    jaxpr = staged.jaxpr
    largest = max(
        (x.aval.nbytes for e in jaxpr.eqns for x in (*e.inputs, *e.out_binders)), default=0
    )
    if staged.hooks or jx.effects(jaxpr).any or largest > LARGEST:
        raise errors.ConcretizationError("it is evaluated each time.")
    body = plans.PythonBody(jaxpr, staged.consts)
    if any(isinstance(x, Name) and x.name in body.parameters for x in body.results):
        raise errors.ConcretizationError("it gives an operand itself.")
    for i, (x, constant) in enumerate(zip(jaxpr.outs, body.constant_results, strict=True)):
        if constant is not None and not _can_be_copied(constant):
            raise errors.ConcretizationError("it gives a constant itself.")
        body.scope[f"t{i}"] = x.aval
        data = body.results[i]
        copied = data if constant is None else data.attr("copy").call()
        body.results[i] = pycode.call("from_host", copied, Name(f"t{i}"))
    return body


def _function(body: plans.PythonBody, result: Any) -> Kernel:
    """Make the function of a program; the results go into containers like those of ``result``."""
    results, scope = body.results, body.scope
    match result:
        case ConcreteArray() if len(results) == 1:
            (shown,) = results
        case tuple() | list() if type(result) in (tuple, list) and len(result) == len(results):
            items = tuple(results)
            shown = pycode.CollectionDisplay("()" if isinstance(result, tuple) else "[]", items)
        case tuple() if hasattr(result, "_fields") and len(result) == len(results):
            scope["kind"] = type(result)
            shown = pycode.call("kind", *results)
        case _:
            scope |= {"unflatten": tree.unflatten, "structure": tree.structure(result)}
            shown = pycode.call("unflatten", Name("structure"), pycode.list_of(results))
    return body.function("program", body.parameters, [pycode.returned(shown)])


def _can_be_copied(x: Array) -> bool:
    """Return whether a constant is returned as a copy: a splat's copy would lose its form."""
    return isinstance(x, ConcreteArray) and all(raw_host(x).strides) and not hasattr(x, "_number")


# The steps of a linearization that are repeated.


class _Tangents(LinearTrace):
    """A trace that records the operations of a rule on tangents, to be replayed."""

    __slots__ = ()

    replays = True


def make_step(
    primitive: Primitive[Any],
    params: object,
    args: Sequence[Array],
    trace: LinearizeTrace,
    start: int,
    outs: Sequence[Array],
) -> Kernel | None:
    """Make a step for calls like a recorded one, if it reproduces its results.

    Args:
        primitive: the primitive that was called.
        params: its parameters.
        args: its operands.
        trace: the linearization.
        start: how many equations it had recorded before.
        outs: the results.

    Raises:
        TinyjaxError: its rule cannot be staged.
        KernelError: a result with a tangent depends on none.
    """
    recorder, again = trace.parent, LinearTrace(tr.EVAL)
    assert isinstance(recorder, LinearTrace), "it records the tangents"
    pairs = [_parts(x) for x in args]
    tangents = {id(t): t for _, t in pairs if t is not None}
    if not tangents or not all(type(x) is ConcreteArray for x, _ in pairs):
        return None
    tracers = {key: again.new_input(t.aval) for key, t in tangents.items()}
    step, body = _write_step(primitive, params, pairs)
    below = LinearizeTrace(again)
    inputs = [x if t is None else JVPTracer(below, x, tracers[id(t)]) for x, t in pairs]
    results = step(below, again, *inputs)
    before = _recorded(recorder, recorder.eqns[start:], tangents.values(), outs)
    after = _recorded(again, again.eqns, tracers.values(), results)
    return step if before[:2] == after[:2] and _repeats(before[2], after[2], body) else None


def _parts(x: Array) -> tuple[Array, Array | None]:
    """Return a primal and its tangent, if there is one."""
    return (x.primal, x.tangent) if isinstance(x, JVPTracer) else (x, None)


def _recorded(
    recorder: LinearTrace,
    eqns: Sequence[jx.JaxprEqn],
    tangents: Iterable[Array],
    outs: Sequence[Array],
) -> tuple[jx.Jaxpr, list[bool], list[Array]]:
    """Return the recording of a call.

    Args:
        recorder: the trace that has recorded it.
        eqns: the equations.
        tangents: the tangents of the operands.
        outs: the results.

    Returns:
        The equations as a program of tangents and of their factors; which results have a tangent;
        and the results and the values of the factors.
    """
    consts = dict(recorder.consts.values())
    read = dict.fromkeys([x for eqn in eqns for x in eqn.inputs if x in consts])
    pairs = [_parts(x) for x in outs]
    taken, given = [
        [t.binder for t in some if isinstance(t, staging.StagingTracer)]
        for some in (tangents, [t for _, t in pairs])
    ]
    program = jx.Jaxpr((*taken, *read), tuple(eqns), tuple(given))
    values = [*[primal for primal, _ in pairs], *[consts[x] for x in read]]
    return program, [t is None for _, t in pairs], values


def _write_step(
    primitive: Primitive[Any], params: object, pairs: Sequence[tuple[Array, Array | None]]
) -> tuple[Kernel, plans.PythonBody]:
    """Write the operations of a jvp rule.

    Args:
        primitive: the primitive with the rule.
        params: its parameters.
        pairs: its operands, and their tangents.

    Raises:
        KernelError: a result with a tangent depends on none.
    """
    trace = RecordingTrace(tr.EVAL)
    with frames.STAGING_LEVEL, tr.Running(trace):
        primals, linear = trace.new_inputs([x.aval for x, _ in pairs]), _Tangents(trace)
        tangents = [None if t is None else linear.new_input(t.aval) for _, t in pairs]
        with tr.Running(linear):
            tangents_in = [ZERO if t is None else t for t in tangents]
            outs, tangents_out = primitive.rules.jvp(primals, tangents_in, params)
        names = {id(x): Name(f"x{i}") for i, x in enumerate(primals)}
        values = [*outs, *[value for _, value in linear.consts.values()]]
        computed = {id(x): x for x in values if id(x) not in names}
        body = write_staged(trace.build([*computed.values()]))
    names |= {key: Name(f"o{i}") for i, key in enumerate(computed)}
    body.scope |= {"Var": jx.Var, "JaxprEqn": jx.JaxprEqn, "JVPTracer": JVPTracer}
    body.scope |= {"Tracer": staging.StagingTracer, "ConcreteArray": ConcreteArray}
    body.scope["KernelError"] = KernelError
    variables: dict[jx.Atom, pycode.Expression] = {}
    head: list[pycode.StatementNode] = []
    for i, t in enumerate(tangents):
        if t is not None:
            variables[t.binder] = Name(f"s{i}").attr("binder")
        head += _operand(i, None if t is None else body.add("g", t.aval))
    tail: list[pycode.StatementNode] = [
        pycode.Assign(Name(f"o{i}"), result) for i, result in enumerate(body.results)
    ]
    tail += _equations(linear, names, body, variables)
    results: list[pycode.Expression] = []
    for x, tangent in zip(outs, tangents_out, strict=True):
        result: pycode.Expression = names[id(x)]
        if tangent is not ZERO:
            atom = linear.atom(tangent)
            if isinstance(atom, jx.Lit):  # it depends on no tangent
                raise KernelError
            made = (_TRACES[1], variables[atom], body.add("g", tangent.aval))
            result = pycode.call("JVPTracer", _TRACES[0], result, pycode.call("Tracer", *made))
        results.append(result)
    tail.append(pycode.returned(pycode.tuple_of(results)))
    parameters = ["trace", "linear", *[f"x{i}" for i in range(len(primals))]]
    return body.function("step", parameters, tail, head), body


_TRACES: Final = (Name("trace"), Name("linear"))


def _operand(i: int, aval: Name | None) -> Iterator[pycode.StatementNode]:
    """Write the unpacking of an operand, which raises an error if it is not as that recorded.

    Args:
        i: its place.
        aval: the type of its tangent, if it has one.
    """
    primal, tangent = Name(f"x{i}"), Name(f"s{i}")
    if aval is not None:
        yield pycode.Assign(tangent, primal.attr("tangent"))
        others = (
            primal.attr("_trace").binary("is not", _TRACES[0]),
            pycode.call("type", primal.attr("primal")).binary("is not", Name("ConcreteArray")),
            pycode.call("type", tangent).binary("is not", Name("Tracer")),
            tangent.attr("_trace").binary("is not", _TRACES[1]),
            tangent.attr("aval").binary("is not", aval),
        )
        refused = pycode.Simple("raise", Name("KernelError"))
        yield pycode.If(pycode.OperatorExpression("or", others), [refused])
        yield pycode.Assign(primal, primal.attr("primal"))
    data = primal.attr("_host")
    lacking = data.binary("is", pycode.NONE)
    yield pycode.Assign(Name(f"a{i}"), pycode.Conditional(primal.attr("host"), lacking, data))


def _equations(
    linear: LinearTrace,
    names: Mapping[int, Name],
    body: plans.PythonBody,
    variables: dict[jx.Atom, pycode.Expression],
) -> Iterator[pycode.StatementNode]:
    """Write the recording of equations.

    Args:
        linear: the trace that has recorded them.
        names: the names of the values that they read, by identity.
        body: the program that the text belongs to.
        variables: expressions of the tangents; this adds those of the equations.
    """
    for i, (var, value) in enumerate(linear.consts.values()):
        variables[var] = constant = Name(f"k{i}")
        yield pycode.Assign(constant, pycode.call("linear.atom", names[id(value)]))
    for eqn in linear.eqns:
        inputs = [body.add("g", x) if isinstance(x, jx.Lit) else variables[x] for x in eqn.inputs]
        for var in eqn.out_binders:
            variables[var] = binder = Name(f"w{len(variables)}")
            yield pycode.Assign(binder, pycode.call("Var", body.add("g", var.aval)))
        binders = pycode.tuple_of([variables[var] for var in eqn.out_binders])
        fixed = body.add("g", eqn.primitive), body.add("g", eqn.params)
        made = pycode.call("JaxprEqn", fixed[0], pycode.tuple_of(inputs), fixed[1], binders)
        yield pycode.evaluated(pycode.call("linear.eqns.append", made))
