"""A stranger's transformations: custom rules hold through them, in any order with our own."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    jit,
    lax,
    pure_callback,
    value_and_grad,
    vmap,
)
from tinyjax._jax.linear_util import wrap_init
from tinyjax.core.lowering import write_module
from tinyjax.core.primitives.elementwise import sin
from tinyjax.core.primitives.families import Elementwise
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing.primitive import registry
from tinyjax.errors import MissingRuleError
from tinyjax.extend import (
    NO_PARAMS,
    Array,
    Lowering,
    NoParams,
    Primitive,
    RuleKey,
    Running,
    ShapedArray,
    Trace,
    Tracer,
    as_array,
    bind1,
    current_trace,
    elementwise,
    use_trace,
)
from tinyjax.extend.core import CallPrimitive, Token
from tinyjax.testing import Case, check_primitive

P = TypeVar("P")
Function = Callable[..., Any]


class CountTrace(Trace):
    """Counts primitives; it has no tracers."""

    __slots__ = ("counts",)

    def __init__(self, parent: Trace, fun: Function) -> None:
        super().__init__(parent, fun)
        self.counts: Counter[str] = Counter()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        self.counts[primitive.name] += 1
        return self.parent.process(primitive, args, params)


@attrs.define
class Counted:
    """A function, and what its last call counted."""

    fun: Function
    counts: Counter[str] = attrs.Factory(Counter)

    def __call__(self, *args: Any) -> Any:
        trace = CountTrace(current_trace(), self.fun)
        with Running(trace):
            out = self.fun(*args)
        self.counts = trace.counts
        return out


class BoxTracer(Tracer):
    """A value in a box."""

    __slots__ = ("value",)

    def __init__(self, trace: Trace, value: Array) -> None:
        self._trace, self.value = trace, value

    @property
    def aval(self) -> ShapedArray:
        return self.value.aval

    def concrete(self, purpose: str) -> Any:
        return self.value.concrete(purpose)


class BoxTrace(Trace):
    """Takes values out of their boxes, and puts results into boxes."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if not any(self.owns(x) for x in args):
            return self.parent.process(primitive, args, params)
        with use_trace(self.parent):
            outs = self.parent.process(primitive, [self.open(x) for x in args], params)
        return [BoxTracer(self, out) for out in outs]

    def open(self, x: Array) -> Array:
        return x.value if isinstance(x, BoxTracer) and x._trace is self else x


def boxed(fun: Function) -> Function:
    def run(*args: Any) -> Any:
        trace = BoxTrace(current_trace(), fun)
        with Running(trace):
            return trace.open(fun(*[BoxTracer(trace, as_array(x)) for x in args]))

    return run


# Rules that are not the derivatives of their functions, so that one sees which was taken.


@custom_jvp
def forward(x: Any) -> Any:
    return jnp.sin(x) if lax.stop_gradient(x) > 0 else jnp.cos(x)


@forward.defjvp
def forward_rule(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return forward(x), 100.0 * t if lax.stop_gradient(x) > 0 else 7.0 * t


@custom_vjp
def reverse(x: Any) -> Any:
    return x * 2.0


reverse.defvjp(lambda x: (reverse(x), None), lambda _, ct: (ct * 5.0,))


@pytest.mark.parametrize(("fun", "slope"), [(forward, 100.0), (reverse, 5.0)])
def test_a_trace_without_tracers_leaves_rules_to_those_below_and_above(
    fun: Function, slope: float
) -> None:
    counted = Counted(fun)
    np.testing.assert_allclose(counted(1.0), fun(1.0))
    assert counted.counts.total() > 0
    assert value_and_grad(counted)(1.0) == value_and_grad(fun)(1.0)
    assert grad(Counted(fun))(1.0) == Counted(grad(fun))(1.0) == slope
    assert grad(grad(Counted(fun)))(1.0) == 0.0


LAYERS: dict[str, Callable[[Function], Function]] = {
    "c": Counted,
    "v": vmap,
    "j": jit,
    "g": lambda fun: grad(lambda x: jnp.sum(fun(x))),
}


@pytest.mark.parametrize("stack", ["vg", "gv", "jg", "gj", "vgj", "jvg"])
@pytest.mark.parametrize("place", range(4))
def test_rules_hold_wherever_a_stranger_stands(stack: str, place: int) -> None:
    layers = [*stack[:place], "c", *stack[place:]]
    fun: Function = reverse
    for layer in reversed(layers):
        fun = LAYERS[layer](fun)
    x = jnp.ones(3) if "v" in stack else 1.0
    np.testing.assert_array_equal(fun(x), np.full(np.shape(x), 5.0))


def test_a_trace_with_tracers_looks_into_calls_on_its_own() -> None:
    assert boxed(forward)(1.0) == jnp.sin(1.0)
    assert boxed(forward)(-1.0) == jnp.cos(-1.0)  # Python's if, on data in a box
    assert boxed(grad(forward))(1.0) == 100.0
    np.testing.assert_allclose(grad(boxed(forward))(1.0), np.cos(1.0), rtol=1e-6)


def test_a_trace_with_tracers_hands_on_calls_on_what_is_not_its_own() -> None:
    assert grad(lambda y: boxed(lambda x: x + forward(y))(2.0))(1.0) == 100.0

    def around(y: Any) -> Any:
        def inner(x: Any) -> Any:
            @custom_jvp
            def times(z: Any) -> Any:
                return z * x

            times.defjvp(lambda primals, tangents: (times(*primals), tangents[0] * 3.0))
            return times(y)

        return boxed(inner)(2.0)

    assert around(4.0) == 8.0
    # what is closed over is its own, so that the function's operations are differentiated
    assert grad(around)(4.0) == 2.0


# The guide's example, on everything that a program is made of


@pytest.fixture(scope="module")
def count_flops() -> Callable[[Function], Function]:
    page = Path(__file__).resolve().parents[2] / "docs" / "transformations.md"
    (block,) = re.findall(
        r"```python\n([^`]*class FlopTrace.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert len(block.splitlines()) <= 50
    imported = re.findall(r"^(?:from|import) (tinyjax\S*)", block, re.MULTILINE)
    assert set(imported) == {"tinyjax.extend"}
    namespace: dict[str, Any] = {}
    exec(block, namespace)
    count_flops: Callable[[Function], Function] = namespace["count_flops"]
    return count_flops


def everything(x: Any) -> Any:
    """A loop of each kind, a choice, custom rules, a checkpoint, a callback."""
    x = jit(lambda x: x * 2.0)(x)
    x = lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0]
    x = lax.while_loop(lambda c: jnp.sum(c) < 4.0, lambda c: c + 1.0, x)
    x = lax.cond(jnp.sum(x) > 0.0, lambda x: x * 3.0, lambda x: x, x)
    x = checkpoint(lambda x: jnp.cos(x) * x)(x)
    x = x + 0.0 * pure_callback(lambda x: x, x, lax.stop_gradient(x), vmap_method="sequential")
    return reverse(x)


@pytest.mark.parametrize("stack", ["c", "gc", "cg", "jc", "cj", "jgc", "gcj", "cjg", "vc", "cv"])
def test_the_guides_example_composes_with_everything(
    count_flops: Callable[[Function], Function], stack: str
) -> None:
    counts: list[int] = []

    def counted(fun: Function) -> Function:
        def run(*args: Any) -> Any:
            out, flops = count_flops(fun)(*args)
            counts.append(flops)
            return out

        return run

    own = fun = everything
    for layer in reversed(stack):
        fun = counted(fun) if layer == "c" else LAYERS[layer](fun)
        own = own if layer == "c" else LAYERS[layer](own)
    x = jnp.linspace(0.1, 0.3, 3) if "v" in stack else jnp.asarray(0.3)
    np.testing.assert_allclose(fun(x), own(x), rtol=1e-6)
    assert counts[0] > 10


def test_a_custom_jvp_with_an_if_is_counted(count_flops: Callable[[Function], Function]) -> None:
    assert count_flops(forward)(1.0) == (forward(1.0), 3)  # stop_gradient, gt, sin
    assert grad(count_flops(forward), has_aux=True)(1.0)[0] == 100.0


def test_a_lowering_rule_for_one_platform() -> None:
    same_p: Primitive[NoParams] = Primitive("same", NoParams)
    del registry["same"]  # a primitive of this test only
    same_p.def_abstract_eval(lambda avals, params: avals)
    same_p.def_lowering(lambda b, operands, params: [b.neg(operands[0])])

    @same_p.def_lowering(platform="cuda")
    def for_cuda(b: Lowering, operands: Values, params: NoParams) -> Values:
        return [b.op(f"{b.platform}.same", *operands)]

    jaxpr = tinyjax.make_jaxpr(lambda x: bind1(same_p, (x,), NO_PARAMS))(1.0).jaxpr
    assert "stablehlo.negate" in write_module(jaxpr, "f", platform="cpu")[0]
    assert "cuda.same" in write_module(jaxpr, "f", platform="cuda")[0]
    assert same_p.rule_names == ("abstract_eval", "lowering", "lowering for cuda")


def test_a_name_given_again_does_not_find_the_programs_of_the_primitive_before() -> None:
    def made(factor: float) -> Any:
        times_p: Primitive[NoParams] = Primitive("times", NoParams)
        del registry["times"]
        times_p.def_abstract_eval(lambda avals, params: avals)
        times_p.def_lowering(
            lambda b, operands, params: [b.mul(operands[0], b.full_like(operands[0], factor))]
        )
        return jit(lambda x: bind1(times_p, (x,), NO_PARAMS))(jnp.ones(3))

    np.testing.assert_array_equal(made(2.0), [2.0] * 3)
    np.testing.assert_array_equal(made(3.0), [3.0] * 3)


def test_a_missing_rule_of_a_strangers_names_the_call_that_registers_it() -> None:
    key: RuleKey[Callable[[], int]] = RuleKey("cost")
    with raises(MissingRuleError, match=r"@p\.def_rule\(KEY\), where p is the Primi"):
        sin.rule(key)


def test_an_elementwise_primitive_with_a_parameter_takes_few_lines() -> None:
    """The guide's example has types and tests, and no explicit rule."""
    guide = Path(__file__).parents[2] / "docs" / "new-primitive.md"
    section = guide.read_text(encoding="utf-8").partition("## A parameter, and a test")[2]
    block = section.partition("```python")[2].partition("```")[0]
    lines = [
        line for line in block.splitlines() if line and not line.startswith(("import", "from"))
    ]
    assert "params=" in block
    assert "check_primitive(" in block
    assert len(lines) <= 15


def test_an_elementwise_primitive_with_parameters_and_a_transpose() -> None:
    @attrs.frozen
    class FactorParams:
        factor: float

    scaled_p: Elementwise = elementwise(
        "scaled",
        lambda x, p: x * x.dtype.type(p.factor),
        lambda b, x, p: b.mul(x, b.full_like(x, p.factor)),
        "f",
        transposes=[lambda ct, x, p: bind1(scaled_p, (ct,), p)],
        params=FactorParams,
    )
    del registry["scaled"]
    example = Case(np.linspace(0.5, 2.0, 4), factor=3.0)
    check_primitive(scaled_p, example, reference=lambda x, factor: factor * x, stacks=2)


def test_a_primitive_that_calls_a_function_stays_a_call() -> None:
    region_p = CallPrimitive("region")
    del registry["region"]

    def f(x: Any, y: Any) -> Any:
        fun = wrap_init(lambda a: [jnp.sin(a) * y, a + 1])
        return sum(region_p.bind(x, subfuns=(fun,)))

    def plain(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y + x + 1

    for g, h in (
        (f, plain),
        (jit(f), plain),
        (grad(f), grad(plain)),
        (jit(grad(grad(f))), grad(grad(plain))),
        (grad(f, argnums=1), grad(plain, argnums=1)),
    ):
        np.testing.assert_allclose(g(0.7, 2.0), h(0.7, 2.0), rtol=1e-6)
    x, y = np.arange(3.0), np.arange(3.0) + 1
    np.testing.assert_allclose(vmap(f)(x, y), plain(x, y), rtol=1e-6)
    staged = tinyjax.make_jaxpr(vmap(f))(x, y)
    assert staged.eqns[0].primitive is region_p
    (eqn,) = (eqn for eqn in staged.eqns if eqn.primitive is region_p)
    again = region_p.bind(*[jnp.asarray(a) for a in (y, x)], **eqn.params)
    np.testing.assert_allclose(sum(again), plain(x, y), rtol=1e-6)


def test_tokens_go_through_programs() -> None:
    def f(x: Any) -> Any:
        token = lax.after_all(lax.create_token(), lax.create_token())
        return tinyjax.lax.scan(lambda t, y: (lax.after_all(t), 2 * y), token, x)

    token, doubled = jit(f)(jnp.arange(3))
    assert isinstance(token.block_until_ready(), Token)
    np.testing.assert_array_equal(doubled, [0, 2, 4])
