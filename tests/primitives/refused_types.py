"""Every evaluator refuses the types that the type rule of a primitive refuses.

Users' primitives may take more than their type rules say; ours may not.
"""

from functools import partial
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.core.api.mapping import vmap
from tinyjax.core.api.staging import eval_shape, make_jaxpr
from tinyjax.core.tracing import bind
from tinyjax.core.values.operands import as_array
from tinyjax.testing import rules, specs


def misfits(operands: rules.Arrays) -> list[rules.Arrays]:
    """The operands with one of another dtype, with an axis more, and with an axis less."""
    result = []
    for i, x in enumerate(operands):
        others = [np.ones(x.shape, np.int32 if x.dtype == np.float32 else np.float32), x[None]]
        if x.ndim and len(x):
            others.append(np.asarray(x[0]))
        result += [(*operands[:i], other, *operands[i + 1 :]) for other in others]
    return result


def applications(
    spec: specs.Spec, fun: rules.Function, operands: rules.Arrays
) -> list[tuple[rules.Function, rules.Arrays]]:
    """The primitive as a spec's function applies it, and operands of the types that it gets.

    A collective is gone before it is staged, and no NumPy array holds keys.
    """
    rng = spec.rng("misfits")
    return [
        (
            lambda *xs, params=eqn.params: bind(spec.primitive, [as_array(x) for x in xs], params),
            tuple(specs.ArraySpec(x.aval.shape, x.aval.dtype).sample(rng) for x in eqn.inputs),
        )
        for jaxpr in rules.nested(make_jaxpr(fun)(*operands).jaxpr)
        for eqn in jaxpr.eqns
        if eqn.primitive is spec.primitive and not any(dtypes.is_key(a.dtype) for a in eqn.in_avals)
    ]


def same_taken(
    spec: specs.Spec, fun: rules.Function, operands: rules.Arrays, operands_text: str
) -> bool:
    """Hold that a call is refused by its types, evaluated and mapped, or by none of these."""
    with specs.blaming(spec.name, "abstract_eval", operands_text):
        said = rules.refusal(partial(eval_shape, fun), *operands)
    with specs.blaming(spec.name, "abstract_eval or impl", operands_text):
        evaluated = rules.refusal(fun, *operands)
        if bool(said) != bool(evaluated):
            raise AssertionError(f"typed {said or 'it is taken'!r}, evaluated {evaluated!r}")
    if operands:
        with specs.blaming(spec.name, "abstract_eval or batch", operands_text):
            mapped = rules.refusal(vmap(fun), *[np.stack([x, x]) for x in operands])
            if bool(said) != bool(mapped):
                raise AssertionError(f"typed {said or 'it is taken'!r}, mapped {mapped!r}")
    return not said


def check_dtypes(spec: specs.Spec) -> None:
    """Hold that nobody computes what the type rule refuses, and everybody what it takes.

    Operands are tried in every dtype; and with another dtype, an axis more and an axis less.
    """
    rng = spec.rng("every dtype")
    accepted: dict[dtypes.DType, tuple[dict[str, Any], rules.Arrays, Any]] = {}
    for case in spec.cases:
        fun = spec.applied(case.params)
        for dtype in dtypes.ALL if case.generic else spec.dtypes[:1]:
            with np.errstate(all="ignore"):
                operands = case.sample(rng, dtype)
            on = specs.describe(case.params, operands)
            if same_taken(spec, fun, operands, on) and dtype not in spec.dtypes:
                accepted.setdefault(dtype, (case.params, operands, fun(*operands)))
        with np.errstate(all="ignore"):
            for apply, fitting in applications(spec, fun, case.sample(rng, spec.dtypes[0])):
                for operands in misfits(fitting):
                    same_taken(spec, apply, operands, specs.describe(case.params, operands))

    rules.check_compiled(spec, [*accepted.values()])
