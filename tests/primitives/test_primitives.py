"""Every primitive against its row of the table in ``tests/specs``, and a row for every primitive.

``impl`` (NumPy) and ``lowering`` (XLA) are written apart, so each is the other's oracle; NumPy's
and jax's own functions are the oracles of both. Derivatives are held against finite differences,
batch rules against loops, and transformations against each other.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from specs import ArraySpec, Spec, all_specs
from specs import elementwise as elementwise_rows
from tinyjax import dtypes, make_jaxpr, tree
from tinyjax.core.array import Array, as_array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Lit, eval_jaxpr, typecheck_jaxpr
from tinyjax.core.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.trace import bind
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import MissingRuleError, TinyjaxError
from tinyjax.jit import jit
from tinyjax.primitives import elementwise, reduce
from tinyjax.primitives.broadcast import over, reduce_sum_p
from tinyjax.primitives.shape import full
from tinyjax.primitives.slicing import pad
from tinyjax.test_util import check_grads
from tinyjax.transforms.linearize import linearize_flat

Arrays = tuple[HostArray, ...]

# In how many of a row's dtypes its third and further cases are compiled, in turn.
DTYPES_COMPILED = 2


def rows(check: str) -> pytest.MarkDecorator:
    """Parametrise over the rows that take part in a check."""
    needed: dict[str, Callable[[Spec], object]] = {
        "jax": lambda row: row.jax,
        "grad": lambda row: row.grad,
        "linear": lambda row: row.linear,
        # a program has the types that it was made for
        "dtypes": lambda row: row.primitive.rules.evaluate is None,
        "kernel": lambda row: row.primitive.rules.kernel,
    }
    need = needed.get(check)
    chosen = [
        row for row in all_specs() if check not in row.skip and (need is None or bool(need(row)))
    ]
    return pytest.mark.parametrize("row", chosen, ids=[row.name for row in chosen])


# Comparing


def tolerance(dtype: DType, tol: float) -> float:
    """Some units in the last place of a type; exact where it holds no fractions."""
    match dtypes.real_part(dtype):
        case dtypes.float64:
            return 64 * 2.0**-52 * tol
        case dtypes.float32:
            return 32 * 2.0**-23 * tol
        case dtypes.float16:
            return 3 * 2.0**-10 * tol
        case dtypes.bfloat16:
            return 3 * 2.0**-7 * tol
        case narrow if narrow in dtypes.FLOAT8:
            return 0.26 * tol
        case _:
            return 0.0


def wide(x: HostArray) -> HostArray:
    kind = dtypes.kind(x.dtype)
    if kind == "f":
        return x.astype(np.float64)
    return x.astype(np.complex128) if kind == "c" else x


def assert_close(got: HostArray, expected: Any, rtol: float, what: str) -> None:
    """Equal shape and dtype, and values within the tolerance; NaN and infinities in one place."""
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, expected {expected.dtype}"
    if rtol == 0.0:
        np.testing.assert_array_equal(wide(got), wide(expected), err_msg=what)
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                wide(got), wide(expected), rtol, atol_of(expected, rtol), err_msg=what
            )


def atol_of(expected: HostArray, rtol: float) -> float:
    """Sums and sines come near zero with an error of the size of what they are made of."""
    sizes = np.abs(wide(expected))
    sizes = sizes[np.isfinite(sizes)]
    return rtol * min(1.0, float(sizes.max())) if sizes.size else rtol


def hosts(value: Any) -> list[HostArray]:
    """The arrays of a result, which may be an array or a tree of them."""
    return [x if isinstance(x, np.ndarray) else np.asarray(x) for x in tree.leaves(value)]


def compare(got: Any, expected: Any, tol: float, what: str) -> None:
    got, expected = hosts(got), hosts(expected)
    assert len(got) == len(expected), f"{what}: {len(got)} results, expected {len(expected)}"
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert_close(a, b, tolerance(b.dtype, tol), f"{what}, result {i}")


def describe(params: dict[str, Any], operands: Sequence[HostArray]) -> str:
    given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in operands)
    return f"({given}) {params or ''}"


# What a row says


def applied(row: Spec, params: dict[str, Any]) -> Callable[..., Any]:
    """The row's function on Arrays, which NumPy operands are made into first."""

    def fun(*operands: Any) -> Any:
        return row.fun(*(as_array(x) for x in operands), **params)

    return fun


@rows("kernel")
def test_a_kernel_gives_the_bits_of_the_impl_rule(row: Spec) -> None:
    for case, _, operands in row.samples():
        jaxpr = make_jaxpr(applied(row, case.params))(*map(as_array, operands)).jaxpr
        known = dict(zip(jaxpr.in_binders, operands, strict=False))
        for eqn in jaxpr.eqns:
            kernel = eqn.primitive.kernel([x.aval for x in eqn.inputs], eqn.params)
            given = [x.value.host if isinstance(x, Lit) else known.get(x) for x in eqn.inputs]
            hosts = [x for x in given if x is not None]
            if kernel is None or len(hosts) < len(given):
                continue
            columns = [np.array(x, order="F") for x in hosts]
            backwards = [np.flip(np.flip(x).copy()) if x.ndim else x for x in hosts]
            for laid_out in (hosts, columns, backwards):
                with np.errstate(all="ignore"):
                    (expected,) = eqn.primitive.rules.impl(laid_out, eqn.params)
                    got, expected = np.asarray(kernel(*laid_out)), np.asarray(expected)
                what = describe(case.params, operands)
                assert (got.shape, got.dtype) == (expected.shape, expected.dtype), what
                assert got.tobytes() == expected.tobytes(), what


@pytest.mark.parametrize("shape", [(40, 30, 3), (30, 2, 20, 5), (600, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_short_last_axes_change_no_bit(shape: tuple[int, ...], dtype: type) -> None:
    """Kernels that choose another order of loops give what NumPy's own function gives."""
    whole: HostArray = (np.random.default_rng(0).standard_normal(shape) * 9 + 20).astype(dtype)
    layouts = [
        whole,
        np.broadcast_to(whole[..., :1, :], shape),
        np.broadcast_to(whole[..., :1], shape),
        np.broadcast_to(whole[0], shape),
        np.broadcast_to(dtype(3), shape),
        np.repeat(whole, 2, axis=-1)[..., ::2],
        np.moveaxis(np.ascontiguousarray(np.moveaxis(whole, 0, -1)), -1, 0),
    ]
    aval = ShapedArray(shape, np.dtype(dtype))
    functions = [
        (elementwise.add, np.add),
        (elementwise.sub, np.subtract),
        (elementwise.mul, np.multiply),
    ]
    if dtype is not np.int32:
        functions.append((elementwise.div, np.true_divide))
    for primitive, fun in functions:
        kernel = primitive.kernel([aval, aval], NO_PARAMS)
        assert kernel is not None
        for x, y in product(layouts, layouts):
            found = np.asarray(kernel(x, y))
            assert found.dtype == dtype
            assert found.tobytes() == fun(x, y).tobytes()
    for axis, x in product(range(len(shape)), layouts):
        (total,) = reduce_sum_p.rules.impl((x,), over((axis,)))
        assert np.asarray(total).tobytes() == np.add.reduce(x, axis, dtype).tobytes()


@rows("numpy")
def test_evaluates_as_numpy_does(row: Spec) -> None:
    for case, _, operands in row.samples():
        what = describe(case.params, operands)
        copies = [x.copy() for x in operands]
        out = applied(row, case.params)(*operands)
        structs = tinyjax.eval_shape(applied(row, case.params), *operands)
        for x, struct in zip(tree.leaves(out), tree.leaves(structs), strict=True):
            said = struct.shape, struct.dtype, struct.weak_type
            assert (x.shape, x.dtype, x.weak_type) == said, f"{what}: abstract_eval says {struct}"
        for x, copy in zip(operands, copies, strict=True):
            np.testing.assert_array_equal(
                wide(x), wide(copy), err_msg=f"{what}: an operand was written to"
            )
        if row.numpy is not None:
            with np.errstate(all="ignore"):
                expected = row.numpy(*operands, **case.params)
            compare(out, expected, row.tol, f"eager {what}")


def every_case(row: Spec, fun: Callable[..., Any]) -> tuple[Callable[..., Any], list[Arrays]]:
    """One function that runs every case: one compilation in place of many."""
    samples = row.samples(DTYPES_COMPILED)

    def run(all_operands: list[Arrays]) -> list[Any]:
        return [
            fun(*operands, **case.params)
            for (case, _, _), operands in zip(samples, all_operands, strict=True)
        ]

    return run, [operands for _, _, operands in samples]


@rows("compiled")
def test_compiles_to_what_it_evaluates_to(row: Spec) -> None:
    run, operands = every_case(row, row.fun)
    compiled = jit(run)(operands)
    samples = row.samples(DTYPES_COMPILED)
    for (case, _, given), got in zip(samples, compiled, strict=True):
        expected = applied(row, case.params)(*given)
        compare(got, expected, row.tol, f"compiled {describe(case.params, given)}")


def refusal(fun: Callable[..., Any], *operands: HostArray) -> str:
    """The error that a call ends in; nothing where it does not."""
    try:
        fun(*operands)
    except TinyjaxError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def misfits(operands: Arrays) -> list[Arrays]:
    """The operands with one of another dtype, with an axis more, and with an axis less."""
    found = []
    for i, x in enumerate(operands):
        others = [np.ones(x.shape, np.int32 if x.dtype == np.float32 else np.float32), x[None]]
        if x.ndim and len(x):
            others.append(x[0])
        found += [(*operands[:i], other, *operands[i + 1 :]) for other in others]
    return found


def applications(
    row: Spec, fun: Callable[..., Any], operands: Arrays
) -> list[tuple[Callable[..., Any], Arrays]]:
    """The primitive as a row's function applies it, and operands of the types that it gets.

    A collective is gone before it is staged, and no NumPy array holds keys.
    """
    rng = row.rng("misfits")
    return [
        (
            lambda *xs, params=eqn.params: bind(row.primitive, [as_array(x) for x in xs], params),
            tuple(ArraySpec(x.aval.shape, x.aval.dtype).sample(rng) for x in eqn.inputs),
        )
        for jaxpr in nested(tinyjax.make_jaxpr(fun)(*operands).jaxpr)
        for eqn in jaxpr.eqns
        if eqn.primitive is row.primitive and not any(dtypes.is_key(a.dtype) for a in eqn.in_avals)
    ]


def assert_same_taken(fun: Callable[..., Any], operands: Arrays, what: str) -> bool:
    """Hold that a call is refused by its types, evaluated and mapped, or by none of these."""
    said = refusal(partial(tinyjax.eval_shape, fun), *operands)
    evaluated = refusal(fun, *operands)
    assert bool(said) == bool(evaluated), f"{what}: typed {said!r}, evaluated {evaluated!r}"
    if operands:
        mapped = refusal(tinyjax.vmap(fun), *[np.stack([x, x]) for x in operands])
        assert bool(said) == bool(mapped), f"{what}: typed {said!r}, mapped {mapped!r}"
    return not said


@pytest.mark.sampled(2)
@rows("dtypes")
def test_takes_the_same_whoever_evaluates(row: Spec) -> None:
    """Nobody computes what the type rule refuses, and everybody what it takes, in any dtype."""
    rng = row.rng("every dtype")
    taken: dict[DType, tuple[dict[str, Any], Arrays, Any]] = {}
    for case in row.cases:
        fun = applied(row, case.params)
        for dtype in dtypes.ALL if case.generic else row.dtypes[:1]:
            with np.errstate(all="ignore"):
                operands = case.sample(rng, dtype)
            what = describe(case.params, operands)
            if assert_same_taken(fun, operands, what) and dtype not in row.dtypes:
                taken.setdefault(dtype, (case.params, operands, fun(*operands)))
        with np.errstate(all="ignore"):
            for apply, fitting in applications(row, fun, case.sample(rng, row.dtypes[0])):
                for operands in misfits(fitting):
                    assert_same_taken(apply, operands, describe(case.params, operands))

    def run(all_operands: list[Arrays]) -> list[Any]:
        pairs = zip(taken.values(), all_operands, strict=True)
        return [row.fun(*operands, **params) for (params, _, _), operands in pairs]

    compiled = jit(run)([operands for _, operands, _ in taken.values()]) if taken else []
    for (params, operands, expected), got in zip(taken.values(), compiled, strict=True):
        compare(got, expected, row.tol, f"compiled {describe(params, operands)}")


@rows("jax")
def test_agrees_with_jax(row: Spec) -> None:
    assert row.jax is not None, "chosen by rows()"
    run, operands = every_case(row, row.jax)
    with jax.enable_x64(True):
        expected = jax.jit(run)(operands)
        expected = [hosts(tuple(jax.tree.leaves(x))) for x in expected]
    samples = row.samples(DTYPES_COMPILED)
    for (case, _, given), answer in zip(samples, expected, strict=True):
        got = applied(row, case.params)(*given)
        compare(got, answer, row.tol, f"against jax {describe(case.params, given)}")


@rows("grad")
def test_derivatives(row: Spec) -> None:
    for case, _, operands in row.smooth_samples(row.grad_cases):
        check_grads(applied(row, case.params), operands, row.grad)


# Linearity


def tangent_like(rng: np.random.Generator, x: HostArray) -> HostArray:
    direction: HostArray = np.asarray(rng.standard_normal(x.shape))
    if dtypes.is_complex(x.dtype):
        direction = direction + 1j * rng.standard_normal(x.shape)
    return direction.astype(x.dtype)


def pairing(xs: Sequence[HostArray], ys: Sequence[HostArray]) -> float:
    return sum(float(np.sum(wide(x) * wide(y)).real) for x, y in zip(xs, ys, strict=True))


@rows("linear")
def test_linear_in_what_the_row_says(row: Spec) -> None:
    rng = row.rng("linear")
    for case, _, operands in row.smooth_samples():
        what = describe(case.params, operands)

        def of_linear(
            *xs: Any, operands: Arrays = operands, params: dict[str, Any] = case.params
        ) -> Any:
            given: list[Any] = list(operands)
            for i, x in enumerate(xs):
                given[row.linear[i]] = x
            return applied(row, params)(*given)

        linear = [i for i in row.linear if i < len(operands)]
        xs = [tangent_like(rng, operands[i]) for i in linear]
        ys = [tangent_like(rng, operands[i]) for i in linear]
        a, b = 1.25, -0.75
        combined = hosts(of_linear(*(a * x + b * y for x, y in zip(xs, ys, strict=True))))
        apart = zip(hosts(of_linear(*xs)), hosts(of_linear(*ys)), strict=True)
        compare(combined, [a * fx + b * fy for fx, fy in apart], 4 * row.tol, f"linearity {what}")

        out, tangent = tinyjax.jvp(of_linear, xs, ys)
        compare(tangent, of_linear(*ys), row.tol, f"the derivative is the function itself {what}")
        cts = [tangent_like(rng, x) for x in hosts(out)]
        ct = tree.unflatten(tree.structure(out), cts)
        pull_back = tinyjax.vjp(of_linear, *xs)[1]
        pulled = hosts(pull_back(ct))
        left, right = pairing(cts, hosts(tangent)), pairing(pulled, ys)
        np.testing.assert_allclose(left, right, 1e-10, 1e-10, err_msg=f"transpose {what}")
        # transposing twice is doing nothing
        twice = tinyjax.vjp(pull_back, ct)[1](tuple(ys))
        compare(twice, (tangent,), 4 * row.tol, f"transposed twice {what}")


# Batching


def stacked(rng: np.random.Generator, x: HostArray, axis: int, size: int) -> HostArray:
    """Several operands in one: the operand with its elements in another order, ``size`` times."""
    copies = [rng.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(size)]
    return np.stack(copies, axis)


def loop(
    fun: Callable[..., Any], axes: Sequence[int | None], size: int, operands: Sequence[HostArray]
) -> list[HostArray]:
    """What vmap means: the function of every slice, stacked."""
    outs = [
        hosts(
            fun(
                *(
                    x if axis is None else np.take(x, i, axis)
                    for x, axis in zip(operands, axes, strict=True)
                )
            )
        )
        for i in range(size)
    ]
    return [np.stack([out[k] for out in outs]) for k in range(len(outs[0]))]


def subsets(n: int) -> list[tuple[int, ...]]:
    """Which operands to map over: all, each alone, and for few operands every subset."""
    if n <= 3:
        return [c for k in range(1, n + 1) for c in combinations(range(n), k)]
    return [tuple(range(n)), *((i,) for i in range(n))]


@rows("vmap")
def test_vmap_is_a_loop(row: Spec) -> None:
    rng = row.rng("vmap")
    size = 2
    for case, _, operands in row.smooth_samples():
        fun = applied(row, case.params)
        if not operands:
            got = tinyjax.vmap(fun, axis_size=size)()
            compare(got, loop(fun, (), size, ()), row.tol, "vmap without operands")
        for chosen in subsets(len(operands)):
            for place in ("first", "last", "mixed"):
                axes: list[int | None] = [None] * len(operands)
                mapped = list(operands)
                for k, i in enumerate(chosen):
                    last = place == "last" or (place == "mixed" and k % 2 == 0)
                    axes[i] = operands[i].ndim if last else 0
                    mapped[i] = stacked(rng, operands[i], axes[i] or 0, size)
                what = f"vmap over {axes} of {describe(case.params, operands)}"
                got = tinyjax.vmap(fun, in_axes=tuple(axes))(*mapped)
                compare(got, loop(fun, axes, size, mapped), row.tol, what)


@rows("vmap")
def test_vmap_of_vmap_is_two_loops(row: Spec) -> None:
    rng = row.rng("vmap of vmap")
    for case, _, operands in row.smooth_samples():
        fun = applied(row, case.params)
        if not operands:
            continue
        # the operands in turn mapped by the outer, by the inner, and by both
        inner = [0 if i % 3 != 1 else None for i in range(len(operands))]
        outer = [1 if i % 3 != 2 and axis == 0 else 0 for i, axis in enumerate(inner)]
        mapped = []
        for x, a in zip(operands, inner, strict=True):
            x = x if a is None else stacked(rng, x, a, 3)
            mapped.append(x)
        mapped = [stacked(rng, x, b, 2) for x, b in zip(mapped, outer, strict=True)]
        once = partial(loop, fun, inner, 3)
        got = tinyjax.vmap(tinyjax.vmap(fun, in_axes=tuple(inner)), in_axes=tuple(outer))(*mapped)
        expected = loop(lambda *xs, once=once: once(xs), outer, 2, mapped)
        compare(got, expected, row.tol, f"vmap of vmap of {describe(case.params, operands)}")


# Transformations of transformations


@pytest.mark.sampled(2)
@rows("compose")
def test_transformations_compose(row: Spec) -> None:
    rng = row.rng("compose")
    for case, _, operands in row.smooth_samples():
        inexact = [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]
        if not row.grad or not inexact:
            continue
        fun = applied(row, case.params)
        what = describe(case.params, operands)

        def of_inexact(
            *xs: Any,
            fun: Callable[..., Any] = fun,
            operands: Arrays = operands,
            inexact: list[int] = inexact,
        ) -> Any:
            given: list[Any] = list(operands)
            for i, x in zip(inexact, xs, strict=True):
                given[i] = x
            return tuple(y for y in tree.leaves(fun(*given)) if dtypes.is_inexact(y.dtype))

        xs = [operands[i] for i in inexact]
        ts = [tangent_like(rng, x) for x in xs]
        out, tangent = tinyjax.jvp(of_inexact, xs, ts)
        cts = tuple(tangent_like(rng, x) for x in hosts(out))

        value, tangent_map = tinyjax.linearize(of_inexact, *xs)
        compare(value, out, row.tol, f"the value of linearize {what}")
        compare(tangent_map(*ts), tangent, 4 * row.tol, f"linearize is jvp {what}")
        pull_back = tinyjax.vjp(of_inexact, *xs)[1]
        left, right = pairing(cts, hosts(tangent)), pairing(hosts(pull_back(cts)), ts)
        np.testing.assert_allclose(left, right, 1e-9, 1e-9, err_msg=f"vjp is jvp transposed {what}")

        # jvp of vmap is vmap of jvp; vjp of vmap is vmap of vjp
        size = 2
        many = [stacked(rng, x, 0, size) for x in xs]
        many_ts = [tangent_like(rng, x) for x in many]

        def push(xs: Any, ts: Any, f: Callable[..., Any] = of_inexact) -> Any:
            return tinyjax.jvp(f, xs, ts)[1]

        def pull(xs: Any, cts: Any, f: Callable[..., Any] = of_inexact) -> Any:
            return tinyjax.vjp(f, *xs)[1](cts)

        outside = tinyjax.jvp(tinyjax.vmap(of_inexact), many, many_ts)[1]
        inside = tinyjax.vmap(push)(many, many_ts)
        compare(inside, outside, 4 * row.tol, f"vmap of jvp {what}")
        expected = loop(
            lambda *leaves: push(leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]),
            [0] * (2 * len(many)),
            size,
            [*many, *many_ts],
        )
        compare(inside, expected, 4 * row.tol, f"vmap of jvp against a loop {what}")
        many_cts = tuple(np.stack([ct, -2 * ct]) for ct in cts)
        outside = pull(many, many_cts, tinyjax.vmap(of_inexact))
        inside = tinyjax.vmap(pull)(many, many_cts)
        compare(inside, outside, 4 * row.tol, f"vmap of vjp {what}")


@pytest.mark.sampled(2)
@rows("compose")
def test_jit_composes_with_the_others(row: Spec) -> None:
    """Staged under jvp, vjp and vmap, and over them: all in one compiled function per row."""
    rng = row.rng("jit")
    case, _, operands = row.smooth_samples()[0]
    fun = applied(row, case.params)
    inexact = [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]
    what = describe(case.params, operands)
    many = tuple(stacked(rng, x, 0, 2) for x in operands)

    def everything(f: Callable[..., Any], operands: Arrays, many: Arrays) -> list[Any]:
        found = [f(*operands), tinyjax.vmap(f)(*many)] if operands else [f()]
        if row.grad and inexact:

            def of_inexact(*xs: Any) -> Any:
                given: list[Any] = list(operands)
                for i, x in zip(inexact, xs, strict=True):
                    given[i] = x
                return tuple(y for y in tree.leaves(f(*given)) if dtypes.is_inexact(y.dtype))

            xs = [as_array(operands[i]) for i in inexact]
            ones = [full(x.shape, 1, x.dtype) for x in xs]
            found.append(tinyjax.jvp(of_inexact, xs, ones))
            out, pull_back = tinyjax.vjp(of_inexact, *xs)
            found.append(pull_back(tuple(full(y.shape, 1, y.dtype) for y in out)))
        return found

    expected = everything(fun, operands, many)
    under = jit(partial(everything, jit(fun)))(operands, many)
    compare(under, expected, 8 * row.tol, f"jit under and over transformations {what}")


# Jaxprs


def assert_linear(jaxpr: Jaxpr, residuals: Sequence[Array], rng: np.random.Generator) -> None:
    """A tangent map as linearize records it: well-typed, and linear in the tangents."""
    typecheck_jaxpr(jaxpr)
    rest = jaxpr.in_avals[len(residuals) :]
    xs = [tangent_like(rng, np.zeros(a.shape, a.dtype)) for a in rest]
    ys = [tangent_like(rng, np.zeros(a.shape, a.dtype)) for a in rest]

    def apply(tangents: Sequence[HostArray]) -> list[HostArray]:
        return hosts(eval_jaxpr(jaxpr, [*residuals, *(as_array(t) for t in tangents)]))

    combined = apply([2.0 * x - 0.5 * y for x, y in zip(xs, ys, strict=True)])
    apart = [2.0 * fx - 0.5 * fy for fx, fy in zip(apply(xs), apply(ys), strict=True)]
    for got, expected in zip(combined, apart, strict=True):
        assert_close(got, expected, 1e-10, "a tangent map is linear")


@rows("jaxpr")
def test_jaxpr_is_typed_and_stable(row: Spec) -> None:
    rng = row.rng("jaxpr")
    for case, _, operands in row.smooth_samples():
        what = describe(case.params, operands)
        fun = applied(row, case.params)
        closed = tinyjax.make_jaxpr(fun)(*operands)
        typecheck_jaxpr(closed.jaxpr)
        assert any(
            eqn.primitive is row.primitive for jaxpr in nested(closed.jaxpr) for eqn in jaxpr.eqns
        ), f"{what}: the function does not use {row.primitive}:\n{closed}"
        outs = closed(*(as_array(x) for x in operands))
        compare(list(outs), fun(*operands), row.tol, f"the jaxpr evaluated {what}")
        again = tinyjax.make_jaxpr(fun)(*operands)
        assert again.jaxpr == closed.jaxpr, f"{what}: staged twice, two different programs"
        assert again.jaxpr.digest == closed.jaxpr.digest
        assert row.primitive.name in repr(closed)
        if row.grad and any(dtypes.is_inexact(x.dtype) for x in operands):
            flat = linearize_flat(
                lambda *xs, fun=fun: tree.leaves(fun(*xs)), [as_array(x) for x in operands]
            )
            assert_linear(flat.jaxpr, flat.residuals, rng)


def nested(jaxpr: Jaxpr) -> list[Jaxpr]:
    """A jaxpr and those inside it."""
    from tinyjax.core.jaxpr import subjaxprs

    inside = [j for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params) for j in nested(sub)]
    return [jaxpr, *inside]


# Derivatives where formulas break

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-300, 1e300])


def slope(fun: Callable[..., Any], *points: HostArray) -> HostArray:
    ones = [np.ones_like(x) for x in points]
    return np.asarray(tinyjax.jvp(fun, points, ones)[1])


#: The rows in whose derivatives we differ on purpose: the next test says how.
DIFFERENT = ("abs", "acosh", "div", "logaddexp", "pow")
SMOOTH = [
    row
    for row in elementwise_rows.SPECS
    if row.name not in DIFFERENT
    and row.grad
    and row.jax is not None
    and row.primitive.params is NoParams
    and dtypes.float64 in row.dtypes
    and all(isinstance(x, ArraySpec) and x.dtype is None for x in row.cases[0].operands)
]


@pytest.mark.parametrize("row", SMOOTH, ids=[row.name for row in SMOOTH])
def test_derivatives_at_singular_points_are_those_of_jax(row: Spec) -> None:
    assert row.jax is not None, "chosen above"
    points = [np.ravel(x) for x in np.meshgrid(*[POINTS] * len(row.cases[0].operands))]
    with jax.enable_x64(True):
        _, expected = jax.jvp(row.jax, points, [np.ones_like(x) for x in points])
    np.testing.assert_allclose(slope(row.fun, *points), np.asarray(expected), 1e-9, 1e-12)


def test_derivatives_where_ours_are_not_those_of_jax() -> None:
    zero = np.zeros(())
    assert slope(elementwise.abs_, zero) == 0
    # logaddexp(x + t, y + t) = logaddexp(x, y) + t, of infinities too
    x, y = (np.ravel(points) for points in np.meshgrid(POINTS, POINTS))
    shifted = np.where(np.isnan(x) | np.isnan(y), np.nan, 1.0)
    np.testing.assert_allclose(slope(elementwise.logaddexp, x, y), shifted, 1e-15)
    bases = np.array([0.0, -0.0, 2.0, np.inf, -np.inf])
    of_base = slope(lambda x: elementwise.pow_(x, full(x.shape, 0, x.dtype)), bases)
    np.testing.assert_array_equal(of_base, np.zeros(5))
    squares = slope(lambda x: elementwise.pow_(x, full(x.shape, 2, x.dtype)), bases)
    np.testing.assert_array_equal(squares, 2 * bases)
    exponents = np.array([0.0, 1.0, 2.5])
    of_exponent = slope(lambda y: elementwise.pow_(full(y.shape, 0, y.dtype), y), exponents)
    np.testing.assert_array_equal(of_exponent, np.zeros(3))
    x, y = np.array([1e-300, 0.0, np.inf]), np.array([1e-300, 1e-300, 1e300])
    quotient = slope(lambda y: elementwise.div(as_array(x), y), y)
    np.testing.assert_allclose(quotient, [-1e300, 0.0, -np.inf])
    # the derivative of a complex sign is not zero, and acosh has one for Re z < 0 too
    check_grads(elementwise.sign, (np.array([-0.5 + 0.25j, 2.0 - 1.0j]),), 2)
    check_grads(elementwise.acosh, (np.array([-0.5 + 0.25j, -2.0 - 1.0j]),), 2)
    assert slope(elementwise.sign, np.zeros((), np.complex128)) == 0


def test_ties_share_the_derivative() -> None:
    x = as_array(np.array([1.0, 3.0, 3.0, 3.0]))
    for fun in (reduce.reduce_max, lambda x, axes: elementwise.neg(reduce.reduce_min(-x, axes))):
        share = tinyjax.grad(lambda x, fun=fun: fun(x, (0,)))(x)
        np.testing.assert_allclose(share, [0, 1 / 3, 1 / 3, 1 / 3])
    pulled = tinyjax.vjp(elementwise.max_, x, x)[1](full((4,), 1, x.dtype))
    np.testing.assert_array_equal(pulled, np.full((2, 4), 0.5))


def test_a_padding_does_not_see_what_it_pads() -> None:
    x, value = as_array(np.ones(3)), as_array(np.float64(2.0))
    ct = as_array(np.array([1.0, np.inf, np.nan, np.inf, 2.0]))
    _, of_value = tinyjax.vjp(lambda x, v: pad(x, v, [(1, 1, 0)]), x, value)[1](ct)
    assert float(of_value) == 3.0


# Completeness


def belongs_to_tinyjax(primitive: Primitive[Any]) -> bool:
    """Whether the package defines it, rather than a test or an example of the documentation."""
    rules = primitive.rules
    found = (rules.impl, rules.evaluate, rules.abstract_eval, rules.lowering)
    modules = {rule.__module__ for rule in found if rule is not None}
    registered = primitive.rule_names
    return bool(registered) and all(module.startswith("tinyjax.") for module in modules)


def test_every_primitive_has_a_row() -> None:
    for module in pkgutil.walk_packages(tinyjax.__path__, "tinyjax."):
        if module.name != "tinyjax.as_jax":  # which is for processes without jax
            importlib.import_module(module.name)
    covered = {id(row.primitive) for row in all_specs()}
    missing = sorted(
        name
        for name, primitive in registry.items()
        if belongs_to_tinyjax(primitive) and id(primitive) not in covered
    )
    assert not missing, (
        f"these primitives have no row in tests/specs: {', '.join(missing)}. A row is a Spec in "
        "the SPECS of their family's module."
    )


def test_a_missing_rule_is_an_error_that_names_it() -> None:
    with pytest.raises(MissingRuleError, match=r"primitive 'lonely' has no impl rule"):
        lonely().rules.impl((), None)


def lonely() -> Primitive[Any]:
    from tinyjax.core.primitive import NoParams

    primitive = Primitive("lonely", NoParams)
    del registry["lonely"]
    return primitive
