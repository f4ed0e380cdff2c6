"""Checks of primitives, functions and transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import custom_derivatives, dtypes, errors, lax, tree
from tinyjax._base import frames
from tinyjax._extensions import callbacks, checkpointing
from tinyjax.core import jit
from tinyjax.core.api.mapping import vmap
from tinyjax.core.api.staging import eval_shape
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, operands as opd
from tinyjax.errors import ArgumentError
from tinyjax.testing import rules, specs
from tinyjax.testing.specs import ArraySpec, Case, Operand, Spec, Values, blaming, expanded
from tinyjax.testing.stacks import check_stacks

# ``check_primitive``: every rule of a primitive against the others, and stacks of them.


#: What a primitive without a rule cannot do.
_WITHOUT: Final = {
    "impl": "it is not evaluated eagerly",
    "abstract_eval": "it is not staged, so not compiled",
    "lowering": "it is not compiled",
    "jvp": "it is not differentiated",
    "transpose": "nothing that applies it to tangents is differentiated in reverse",
    "batch": "it is not mapped by vmap",
}
#: Rules that do what others do.
_INSTEAD: Final = {"impl": "evaluate", "jvp": "linearize", "batch": "collective"}
#: Which rules a check needs, and the check, which returns why it was not made where it was not.
_CHECKS: Final[dict[str, tuple[str, Callable[..., str | None]]]] = {
    "values": ("impl abstract_eval", rules.check_values),
    "host": ("impl", rules.check_host),
    "weak types": ("impl abstract_eval", rules.check_weak_types),
    "lowering": ("impl abstract_eval lowering", rules.check_lowering),
    "batch": ("impl batch", partial(rules.check_batch, most=256)),
    "batch of batch": ("impl batch", rules.check_batch_of_batch),
    "no elements, no axes": ("impl abstract_eval lowering", rules.check_sizes),
    "transpose": ("impl jvp transpose", rules.check_linear),
    "tangents by operands": ("impl jvp", rules.check_tangents),
    "cotangents by operands": ("impl jvp", rules.check_cotangents),
    "complex step": ("impl jvp", rules.check_complex_step),
    "derivatives": ("impl jvp", rules.check_derivatives),
    "jaxpr": ("impl abstract_eval", rules.check_jaxpr),
    "jit": ("impl abstract_eval lowering batch", rules.check_jit),
    "types of tangents": ("impl jvp", partial(rules.check_derivative_types, rule="jvp")),
    "types of cotangents": (
        "impl jvp transpose",
        partial(rules.check_derivative_types, rule="transpose"),
    ),
}
_OF_DERIVATIVES: Final = (
    *("derivatives", "tangents by operands", "cotangents by operands", "complex step"),
    *("types of tangents", "types of cotangents"),
)


@attrs.frozen
class Report:
    """The checks that were made, and those that were not.

    Attributes:
        subject: the name of what was checked.
        checked: the checks that were made.
        missing: rules that are not there, with what cannot be done without them.
        left_out: checks that were not made, with the reason.

    Example:
        >>> from tinyjax import testing
        >>> testing.Report("sin", ("impl", "jvp"), {}, {"vjp": "it is slow"})
        Report(subject='sin', checked=('impl', 'jvp'), missing={}, left_out={'vjp': 'it is slow'})
        >>> print(testing.Report("sin", ("impl", "jvp"), {"batch": "no vmap"}, {}))
        sin: checked impl, jvp
          no batch rule: no vmap
    """

    subject: str
    checked: tuple[str, ...]
    missing: dict[str, str]
    left_out: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.subject}: checked {', '.join(self.checked) or 'nothing'}"]
        lines += [f"  no {rule} rule: {why}" for rule, why in self.missing.items()]
        lines += [f"  not checked, {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(lines)


def check_primitive(
    primitive: prim.Primitive[Any],
    *examples: Any,
    fun: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    kinds: str | Iterable[dtypes.DType] | None = None,
    order: int = 2,
    depth: int = 3,
    stacks: int | None = None,
    tol: float = 1.0,
) -> Report:
    """Check every rule of a primitive against the others, and against stacks of transformations.

    It is evaluated and compared with the reference. Its types are compared with its values, weak
    types and arrays without elements among them. It is compiled, and mapped over every choice of
    operands and axes. Its derivatives are compared with finite differences and, where it is
    holomorphic, with complex steps. Its transpose is compared with inner products, for the operands
    in which it is found to be linear. Last, it is put under every stack of ``jit``, ``vmap``,
    ``jvp`` and ``vjp``.

    Args:
        primitive: the primitive.
        examples: operands to try it on: an array, a tuple of arrays, or a ``Case`` of arrays or
            ``ArraySpec`` with the parameters. Do not put them where it has a kink.
        fun: applies it to operands, with the parameters by name; by default it is bound, and the
            parameters of a ``Case`` make its parameter class.
        reference: the same with NumPy. It is given operands in double precision.
        kinds: the dtypes that floats and complex numbers among the operands are tried in: letters
            of ``KINDS``, or dtypes. By default all that it takes of the kind of the examples.
        order: how many times to differentiate.
        depth: how many transformations there are in a stack, at most.
        stacks: how many stacks are tried, of more that there are; by default all.
        tol: by how much tolerances are widened.

    Returns:
        What was checked, which rules are missing, and what was not checked for that reason.

    Raises:
        CheckError: a rule is wrong. The message names the rule and the operands.
        ArgumentError: there are no examples, or the primitive does not take them.

    Example:
        >>> import numpy as np
        >>> from tinyjax.core.primitives.elementwise import tanh
        >>> from tinyjax.testing import check_primitive
        >>> report = check_primitive(tanh, np.linspace(-1, 1, 4), reference=np.tanh, stacks=2)
        >>> print(str(report).splitlines()[1])
          no transpose rule: nothing that applies it to tangents is differentiated in reverse
    """
    if not examples:
        raise errors.ArgumentError(f"check_primitive needs operands to try '{primitive}' on.")
    rules_present = {*primitive.rule_names}
    missing = {
        rule: why
        for rule, why in _WITHOUT.items()
        if rule not in rules_present and _INSTEAD.get(rule) not in rules_present
    }
    apply = partial(bound, primitive) if fun is None else fun
    cases = [as_case(example) for example in examples]
    dtypes_in = expanded(kinds) if kinds is not None else ()
    if kinds is None and "abstract_eval" not in missing:
        dtypes_in = accepted(apply, cases)
    if not dtypes_in:
        cases = [_fixed(case) for case in cases]
    used = dtypes_in or tuple(
        {x.dtype for case in cases for x in case.operands if isinstance(x, np.ndarray)}
    )
    smooth = [d for d in used if dtypes.real_part(d) == dtypes.float64]
    spec = Spec(
        primitive.name,
        primitive,
        apply,
        cases,
        None if reference is None else _in_wide(reference),
        used or (dtypes.float64,),
        grad=order if any(dtypes.is_inexact(d) for d in used) and "jvp" not in missing else 0,
        grad_dtypes=smooth or [d for d in used if dtypes.is_inexact(d)][-1:],
        tol=tol,
        skip={"vmap": "there is no batch rule"} if "batch" in missing else {},
    )
    return _run(spec, missing, depth, stacks)


def _run(spec: Spec, missing: dict[str, str], depth: int, stacks: int | None) -> Report:
    checked: list[str] = []
    left_out: dict[str, str] = {}
    checks: dict[str, tuple[str, Callable[..., object]]] = {
        **_CHECKS,
        "stacks": ("impl abstract_eval lowering", partial(check_stacks, depth=depth, most=stacks)),
    }
    for name, (needs, check) in checks.items():
        lacking = [rule for rule in needs.split() if rule in missing]
        if lacking:
            if name not in ("transpose", "types of cotangents"):  # the missing rule says so
                left_out[name] = f"there is no {' or '.join(lacking)} rule"
        elif not spec.grad and name in _OF_DERIVATIVES:
            left_out[name] = "no operand has derivatives"
        else:
            try:
                why = check(spec)
            except errors.MissingRuleError as error:
                why = f"'{error.primitive}' has no {error.rule} rule"
            if isinstance(why, str) and why:
                left_out[name] = why
            else:
                checked.append(name)
    return Report(spec.name, tuple(checked), missing, left_out)


def bound(primitive: prim.Primitive[Any], *operands: Array, **params: Any) -> Any:
    """Bind a primitive: its one result, or a tuple of them."""
    outs = tr.bind(primitive, operands, primitive.params(**params))
    return outs[0] if len(outs) == 1 else tuple(outs)


def as_case(example: Any) -> Case:
    """Return an example as a case, whose floats are tried in several dtypes."""
    if isinstance(example, Case):
        return Case(*map(_operand, example.operands), **example.params)
    operands = example if isinstance(example, tuple) else (example,)
    return Case(*map(_operand, operands))


def _operand(x: Any) -> Operand:
    if isinstance(x, (ArraySpec, Values)):
        return x
    host: dtypes.HostArray = np.asarray(x)
    return Values(host) if dtypes.is_inexact(host.dtype) else host


def _fixed(case: Case) -> Case:
    """Return the case with the values that it was given, in their own dtypes."""
    operands = [x.values if isinstance(x, Values) else x for x in case.operands]
    return Case(*operands, **case.params)


def accepted(fun: Callable[..., Any], cases: Sequence[Case]) -> tuple[dtypes.DType, ...]:
    """Return the dtypes that a function takes, of the kind of the examples; by their types alone.

    There are none if the examples give values of several dtypes, which have to go together.
    """
    dtypes_in = {x.values.dtype for case in cases for x in case.operands if isinstance(x, Values)}
    is_drawn = any(isinstance(x, ArraySpec) and x.dtype is None for c in cases for x in c.operands)
    if len(dtypes_in) > 1 or not (dtypes_in or is_drawn):
        return ()
    kinds = "".join(dtypes.kind(d) for d in dtypes_in) or "fc"
    result: list[dtypes.DType] = []
    for dtype in expanded(kinds):
        operands = cases[0].sample(np.random.default_rng(0), dtype)
        try:
            eval_shape(lambda *xs: fun(*map(opd.as_array, xs), **cases[0].params), *operands)
        except errors.MissingRuleError:
            raise
        except (TypeError, ValueError):
            continue
        result.append(dtype)
    if not result:
        raise errors.ArgumentError(
            f"no dtype of kind '{kinds}' is taken: give operands that the primitive takes, and its "
            "parameters, as Case(x, axis=0)."
        )
    return tuple(result)


def _in_wide(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference for all precisions: computed in the widest one, and rounded once."""

    def rounded(*operands: dtypes.HostArray, **params: Any) -> Any:
        dtype = next((x.dtype for x in operands if dtypes.is_inexact(x.dtype)), None)
        out = reference(*map(specs.wide, operands), **params)

        def narrow(y: Any) -> dtypes.HostArray:
            host = np.asarray(y)
            if dtype is None or not dtypes.is_inexact(host.dtype):
                return host
            is_real = not dtypes.is_complex(host.dtype)
            return host.astype(dtypes.real_part(dtype) if is_real else dtype)

        return tuple(map(narrow, out)) if isinstance(out, (tuple, list)) else narrow(out)

    return rounded


# ``check_function``: a function's derivatives, and what it is under ``jit`` and ``vmap``.


def check_function(
    f: Callable[..., Any],
    *examples: tuple[Any, ...],
    reference: Callable[..., Any] | None = None,
    order: int = 2,
    depth: int = 2,
    stacks: int | None = 6,
    vmap: bool = True,
    stable: bool = True,
    tol: float = 1.0,
) -> Report:
    """Hold a function of arrays to all that transformations make of it.

    Compiled it must give what it gives eagerly, in single and in double precision; its derivatives
    must be those of finite differences, in both modes and to second order; and ``vmap`` must be a
    loop. Its results must have the precision of its arguments, and be weakly typed only if these
    are.

    Args:
        f: takes and returns arrays in any containers.
        examples: arguments, a tuple for each call. Derivatives are taken there: not at a kink.
        reference: the same with NumPy, which gets the same arguments.
        order: how many times to differentiate; 0 for a function without derivatives.
        depth: how many transformations there are in a stack, at most.
        stacks: how many stacks of ``jit``, ``vmap``, ``jvp`` and ``vjp`` are tried; None for all.
        vmap: whether it can be mapped.
        stable: whether its results have the precision of the arguments.
        tol: by how much tolerances are widened.

    Returns:
        What was checked.

    Raises:
        CheckError: something is wrong. The message says what, and on which arguments.
        DerivativeMismatchError: a derivative is; it is the cause of a ``CheckError``.
        ArgumentError: there are no examples.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> from tinyjax.testing import check_function
        >>> def loss(w, x):
        ...     return jnp.sum(jnp.tanh(x @ w["a"]))
        >>> w, x = {"a": np.array([0.1, 0.2])}, np.array([[0.3, 0.4], [-0.5, 0.6]])
        >>> check_function(loss, (w, x), stacks=1).checked
        ('values', 'jit', 'types', 'derivatives', 'vmap', 'stacks')
    """
    if not examples:
        raise errors.ArgumentError("check_function needs arguments: tuples, one for each call.")
    name = frames.describe_function(f)
    cases = [_case(args) for args in examples]

    def of_leaves(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *leaves, structure: f(*tree.unflatten(structure, leaves)[0])

    spec = specs.Spec(
        name,
        jit.jit_p,
        of_leaves(f),
        cases,
        None if reference is None else of_leaves(reference),
        (dtypes.float64,),
        grad=order,
        tol=tol,
    )
    rules.check_values(spec)
    rules.check_lowering(spec)
    checked, left_out = ["values", "jit"], {}
    for what, is_requested, why, check in (
        ("types", stable, "stable is False", _check_stable),
        ("derivatives", order, "order is 0", rules.check_derivatives),
        ("vmap", vmap, "vmap is False", rules.check_batch),
    ):
        if is_requested:
            check(spec)
            checked.append(what)
        else:
            left_out[what] = why
    if not vmap:
        spec = attrs.evolve(spec, skip={"vmap": "it cannot be mapped"})
    check_stacks(spec, depth, stacks)
    return Report(name, (*checked, "stacks"), {}, left_out)


def _case(args: tuple[Any, ...]) -> specs.Case:
    if not isinstance(args, tuple):
        raise errors.ArgumentError(
            "check_function takes a tuple of arguments for each call, "
            f"but got {errors.shortened(args)}: write "
            "check_function(f, (x,))."
        )
    leaves, structure = tree.flatten_arguments(args, {})
    return specs.Case(*map(np.asarray, leaves), structure=structure)


def _check_stable(spec: specs.Spec) -> None:
    """Hold that results have the precision of arguments, and are no weaker."""
    for case, _, operands in spec.samples():
        fun = spec.applied(case.params)
        if not any(dtypes.is_inexact(x.dtype) for x in operands):
            continue
        for precision in (dtypes.float32, dtypes.float64):
            args = [_of_precision(x, precision.itemsize) for x in operands]
            on = specs.describe({}, args)
            out = fun(*args)
            with blaming(spec.name, "the type of a result", on):
                for i, y in enumerate(map(opd.as_array, tree.leaves(out))):
                    real = dtypes.real_part(y.dtype)
                    if dtypes.is_inexact(y.dtype) and real != precision:
                        raise AssertionError(f"result {i} is {y.dtype}, of another precision")
                    if y.weak_type:
                        raise AssertionError(
                            f"result {i} is weakly typed, though no argument is: convert it by "
                            "jnp.asarray(y, x.dtype)"
                        )
            with blaming(spec.name, "jit", on):
                compiled = rules.jit_compiled(fun)(*args)
                specs.assert_types(compiled, out, "compiled, against eager evaluation")
                specs.compare(compiled, out, spec.tol, "compiled, against eager evaluation")


def _of_precision(x: dtypes.HostArray, size: int) -> dtypes.HostArray:
    match dtypes.kind(x.dtype):
        case "f":
            return x.astype(f"f{size}")
        case "c":
            return x.astype(f"c{2 * size}")
        case _:
            return x


# ``check_transform``: the properties of every transformation, for one that is defined elsewhere.


Function: TypeAlias = Callable[..., Any]


def _in_custom_jvp(fun: Function) -> Function:
    ruled = custom_derivatives.custom_jvp(fun)
    ruled.defjvp(lambda primals, tangents: (fun(*primals), fun(*primals)))
    return ruled


def _in_custom_vjp(fun: Function) -> Function:
    ruled = custom_derivatives.custom_vjp(fun)
    ruled.defvjp(lambda *args: (fun(*args), args), lambda args, _: args)
    return ruled


def _in_scan(fun: Function) -> Function:
    def scanned(*args: Any) -> Any:
        _, outs = lax.scan(lambda carry, _: (carry, fun(*args)), (), None, length=1)
        return tree.map(lambda y: y[0], outs)

    return scanned


def _in_while(fun: Function) -> Function:
    """Return a loop that runs once, from the results at other places."""

    def looped(*args: Any) -> Any:
        start = tree.map(lambda y: 0 * y, fun(*args))
        _, out = lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, fun(*args)), (0, start))
        return out

    return looped


#: The ways in which a function is hidden, without another value: calls, rules, branches, loops.
THROUGH: Final[dict[str, Callable[[Function], Function]]] = {
    "jit": jit.jit,
    "checkpoint": checkpointing.checkpoint,
    "custom_jvp": _in_custom_jvp,
    "custom_vjp": _in_custom_vjp,
    "cond": lambda fun: lambda *args: lax.cond(True, fun, fun, *args),
    "scan": _in_scan,
    "while": _in_while,
}


def check_transform(
    transform: Callable[[Function], Function],
    fun: Function,
    *examples: tuple[Any, ...],
    takes: Callable[..., tuple[Any, ...]] | None = None,
    through: Sequence[str] = tuple(THROUGH),
    vmap_commutes: bool = True,
    effects: bool = True,
    tol: float = 1.0,
) -> Report:
    """Check a transformation, yours for instance, by the properties of tinyjax's own.

    Transformed and then compiled, a function gives what it gives transformed alone; so does one
    that is compiled first. Mapped by ``vmap``, it gives what a loop does. A function hidden in a
    call, a loop, a branch or a custom rule is transformed like itself. Its side effects take place.

    Args:
        transform: takes a function, and returns one.
        fun: what is transformed: of arrays, elementwise or not; with rules for your transformation.
        examples: arguments of the transformed function, a tuple for each call.
        takes: arguments of ``fun`` made of those of the transformed function, to try it before it
            is transformed; by default they are the same.
        through: the ways of hiding a function to be looked through: names in ``THROUGH``.
        vmap_commutes: whether the transformed function can be mapped.
        effects: whether side effects of the function take place when the transformed one is called.
        tol: by how much tolerances are widened.

    Returns:
        What was checked, and what was left out.

    Raises:
        CheckError: one of these does not hold. The message says which, and on which arguments.
        ArgumentError: there are no examples, or a name in ``through`` is unknown.

    Example:
        >>> import numpy as np, tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.testing import check_transform
        >>> slope = lambda fun: lambda x: tinyjax.jvp(fun, (x,), (jnp.ones_like(x),))[1]
        >>> report = check_transform(slope, jnp.sin, (np.array([0.5, 1.0]),), through=("jit",))
        >>> print(report)
        a transformation of sin: checked value, jit, vmap, through jit, effects
          not checked, through checkpoint: not asked for
          not checked, through custom_jvp: not asked for
          not checked, through custom_vjp: not asked for
          not checked, through cond: not asked for
          not checked, through scan: not asked for
          not checked, through while: not asked for
    """
    if not examples:
        raise ArgumentError("check_transform needs arguments: tuples, one for each call.")
    unknown = set(through) - set(THROUGH)
    if unknown:
        raise ArgumentError(f"there is no way called {unknown}; the ways are {tuple(THROUGH)}.")
    subject = f"a transformation of {getattr(fun, '__name__', 'a function')}"
    rng = np.random.default_rng(0)
    for args in examples:
        operands = [np.asarray(x) for x in args]
        on = specs.describe({}, operands)
        with specs.blaming(subject, "the function itself", on):
            fun(*(operands if takes is None else takes(*operands)))
        transformed = _of_arrays(transform(fun))
        with specs.blaming(subject, "the transformed function", on):
            expected = transformed(*operands)
        with specs.blaming(subject, "jit of it", on):
            specs.compare(rules.jit_compiled(transformed)(*operands), expected, tol, "compiled")
        with specs.blaming(subject, "jit of it, of jit,", on):
            got = rules.jit_compiled(_of_arrays(transform(jit.jit(fun))))(*operands)
            specs.compare(got, expected, tol, "compiled inside and outside")
        if vmap_commutes and operands:
            many = [specs.stacked(rng, x, 0, 2) for x in operands]
            with specs.blaming(subject, "vmap of it", f"{on}, each mapped along its first axis"):
                one_by_one = specs.loop(transformed, [0] * len(many), 2, many)
                specs.compare(vmap(transformed)(*many), one_by_one, tol, "vmap against a loop")
        for name in through:
            with specs.blaming(subject, f"through {name}, it", on):
                got = _of_arrays(transform(THROUGH[name](fun)))(*operands)
                specs.compare(got, expected, tol, f"of the function in {name}, against itself")
        if effects:
            _check_effects(transform, fun, operands, subject, on)
    reasons = {f"through {name}": "not asked for" for name in THROUGH if name not in through}
    reasons |= {} if vmap_commutes else {"vmap": "vmap_commutes is False"}
    reasons |= {} if effects else {"effects": "effects is False"}
    checks = ("value", "jit", "vmap", *(f"through {name}" for name in through), "effects")
    return Report(subject, tuple(x for x in checks if x not in reasons), {}, reasons)


def _of_arrays(fun: Function) -> Function:
    return lambda *args: fun(*map(opd.as_array, args))


def _check_effects(
    transform: Callable[[Function], Function],
    fun: Function,
    operands: Sequence[dtypes.HostArray],
    subject: str,
    operands_text: str,
) -> None:
    """Check that a function's effects happen once, eagerly and compiled."""
    calls: list[int] = []

    def noting(*args: Any) -> Any:
        callbacks.io_callback(lambda: calls.append(1), None, ordered=True)
        return fun(*args)

    for how, compiled in (("eagerly", lambda fun: fun), ("compiled", rules.jit_compiled)):
        calls.clear()
        with specs.blaming(subject, f"an effect of the function, {how},", operands_text):
            specs.hosts(compiled(_of_arrays(transform(noting)))(*operands))
            if len(calls) != 1:
                raise AssertionError(f"it took place {len(calls)} times, expected once")
