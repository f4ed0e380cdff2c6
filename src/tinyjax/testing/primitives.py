"""``check_primitive``: every rule of a primitive against the others, and stacks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.api.staging import eval_shape
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.testing import comparing, rules
from tinyjax.testing.specs import ArraySpec, Case, Operand, Spec, Values, expanded
from tinyjax.testing.stacks import check_stacks

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
#: Which checks need which rules.
_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "host": ("impl",),
    "values": ("impl", "abstract_eval"),
    "weak types": ("impl", "abstract_eval"),
    "lowering": ("impl", "abstract_eval", "lowering"),
    "batch": ("impl", "batch"),
    "batch of batch": ("impl", "batch"),
    "tangents by operands": ("impl", "jvp"),
    "cotangents by operands": ("impl", "jvp"),
    "complex step": ("impl", "jvp"),
    "transpose": ("impl", "jvp", "transpose"),
    "derivatives": ("impl", "jvp"),
    "no elements, no axes": ("impl", "abstract_eval", "lowering"),
    "jaxpr": ("impl", "abstract_eval"),
    "jit": ("impl", "abstract_eval", "lowering", "batch"),
    "stacks": ("impl", "abstract_eval", "lowering"),
}
_OF_DERIVATIVES: Final = (
    *("derivatives", "tangents by operands", "cotangents by operands", "complex step"),
)


@attrs.frozen
class Report:
    """What was checked, and what was not.

    Attributes:
        subject: the name of what was checked.
        checked: the checks that were made.
        missing: rules that are not there, with what cannot be done without them.
        left_out: checks that were not made, with the reason.
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
    """Hold every rule of a primitive against the others, and against stacks of transformations.

    It is evaluated and compared with the reference; its types are compared with its values, weak
    types and arrays without elements among them; it is compiled, and mapped over every choice of
    operands and axes; its derivatives are compared with finite differences and, where it is
    holomorphic, with complex steps; its transpose with inner products, for the
    operands in which it is found to be linear. Last, it is put under every
    stack of ``jit``, ``vmap``, ``jvp`` and ``vjp``.

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
    checks: dict[str, Callable[[], object]] = {
        "values": lambda: rules.check_values(spec),
        "host": lambda: rules.check_host(spec),
        "weak types": lambda: rules.check_weak_types(spec),
        "lowering": lambda: rules.check_lowering(spec),
        "batch": lambda: rules.check_batch(spec, 256),
        "batch of batch": lambda: rules.check_batch_of_batch(spec),
        "no elements, no axes": lambda: rules.check_sizes(spec),
        "transpose": lambda: rules.check_linear(spec),
        "tangents by operands": lambda: rules.check_tangents(spec),
        "cotangents by operands": lambda: rules.check_cotangents(spec),
        "complex step": lambda: rules.check_complex_step(spec),
        "derivatives": lambda: rules.check_derivatives(spec),
        "jaxpr": lambda: rules.check_jaxpr(spec),
        "jit": lambda: rules.check_jit(spec),
        "stacks": lambda: check_stacks(spec, depth, stacks) and None,
    }
    for name, check in checks.items():
        lacking = [rule for rule in _NEEDS[name] if rule in missing]
        if lacking:
            if name != "transpose":  # the missing rule says so
                left_out[name] = f"there is no {' or '.join(lacking)} rule"
        elif not spec.grad and name in _OF_DERIVATIVES:
            left_out[name] = "no operand has derivatives"
        else:
            try:
                why = check()
            except errors.MissingRuleError as error:
                why = f"'{error.primitive}' has no {error.rule} rule"
            if why:
                left_out[name] = str(why)
            else:
                checked.append(name)
    return Report(spec.name, tuple(checked), missing, left_out)


def bound(primitive: prim.Primitive[Any], *operands: Array, **params: Any) -> Any:
    """Bind a primitive: its one result, or a tuple of them."""
    outs = tr.bind(primitive, operands, primitive.params(**params))
    return outs[0] if len(outs) == 1 else tuple(outs)


def as_case(example: Any) -> Case:
    """An example as a case, whose floats are tried in several dtypes."""
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
    """The case with the values that it was given, in their own dtypes."""
    operands = [x.values if isinstance(x, Values) else x for x in case.operands]
    return Case(*operands, **case.params)


def accepted(fun: Callable[..., Any], cases: Sequence[Case]) -> tuple[dtypes.DType, ...]:
    """The dtypes that a function takes, of the kind of the examples; by their types alone.

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
            eval_shape(lambda *xs: fun(*map(as_array, xs), **cases[0].params), *operands)
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
    """A reference for all precisions: computed in the widest one, and rounded once."""

    def rounded(*operands: dtypes.HostArray, **params: Any) -> Any:
        dtype = next((x.dtype for x in operands if dtypes.is_inexact(x.dtype)), None)
        out = reference(*map(comparing.wide, operands), **params)

        def narrow(y: Any) -> dtypes.HostArray:
            host = np.asarray(y)
            if dtype is None or not dtypes.is_inexact(host.dtype):
                return host
            is_real = not dtypes.is_complex(host.dtype)
            return host.astype(dtypes.real_part(dtype) if is_real else dtype)

        return tuple(map(narrow, out)) if isinstance(out, (tuple, list)) else narrow(out)

    return rounded
