"""Every primitive against its row of the table in ``tests/specs``, and a row for every primitive.

The checks are those of ``tinyjax.testing``; jax's own functions are one more oracle here.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from refused_types import check_dtypes

import tinyjax
from raising import raises
from specs import KINDS, ArraySpec, Spec, all_specs, elementwise as elementwise_rows
from tinyjax import dtypes
from tinyjax.core.primitives import elementwise, reduce
from tinyjax.core.primitives.broadcast import reduce_params, reduce_sum_p
from tinyjax.core.primitives.shape import full
from tinyjax.core.primitives.slicing import pad
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.errors import MissingRuleError
from tinyjax.test_util import check_grads
from tinyjax.testing import compare, rules
from tinyjax.testing.specs import axes_to_map, describe, hosts
from tinyjax.testing.stacks import check_stacks
from tools.rule_coverage import primitives

#: Rows of primitives whose lowerings no other test of a plain run writes.
COMPILED_HERE_ONLY = (
    "clz",
    "mulhi",
    "cholesky_update",
    "ormqr",
    "geqrf",
    "tridiagonal_solve",
    "fresnel_sine",
    "fresnel_cosine",
    "cosine_integral",
    "expn",
    "le_to",
    "eq_to",
    "recast",
    "pvary",
    "unvary",
    "padded",
    "memory_budget",
    "scatter_sub",
    "conv_general_dilated",
)
#: Rows of primitives whose batch rules no other test of a plain run asks.
MAPPED_HERE_ONLY = (
    "cholesky_update",
    "cummax",
    "iota",
    "le_to",
    "lu",
    "ormqr",
    "ppermute",
    "reduce_xor",
    "tridiagonal",
)


def rows(check: str) -> pytest.MarkDecorator:
    """Parametrise over the rows that take part in a check."""
    needed: dict[str, Callable[[Spec], object]] = {
        "jax": lambda row: row.jax,
        "grad": lambda row: row.grad,
        "linear": lambda row: row.linear,
        # a program has the types that it was made for
        "dtypes": lambda row: row.primitive.rules.evaluate is None,
        "sizes": lambda row: row.primitive.rules.evaluate is None,
        "weak": lambda row: row.primitive.rules.evaluate is None,
        "host": lambda row: row.primitive.rules.host,
    }
    need = needed.get(check)
    chosen = [
        row for row in all_specs() if check not in row.skip and (need is None or bool(need(row)))
    ]
    return pytest.mark.parametrize("row", chosen, ids=[row.name for row in chosen])


@pytest.mark.sampled(4)
@rows("host")
def test_the_host_rule_gives_the_bits_of_the_impl_rule(row: Spec) -> None:
    rules.check_host(row)


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
        host = primitive.host_call([aval, aval], NO_PARAMS)
        assert host is not None
        for x, y in product(layouts, layouts):
            found = np.asarray(host.call(x, y))
            assert found.dtype == dtype
            assert found.tobytes() == fun(x, y).tobytes()
    for axis, x in product(range(len(shape)), layouts):
        (total,) = reduce_sum_p.rules.impl((x,), reduce_params((axis,)))
        assert np.asarray(total).tobytes() == np.add.reduce(x, axis, dtype).tobytes()


def test_reductions_start_from_what_changes_nothing_in_every_dtype() -> None:
    """Rows are compiled in some dtypes, but where a reduction starts depends on the dtype."""
    given = {
        (primitive, kind, dtype): np.repeat(_ends(dtype)[:, None], 2, axis=1)
        for primitive, kinds in (
            (reduce.reduce_max_p, "biuf"),
            (reduce.reduce_min_p, "biuf"),
            (reduce.reduce_and_p, "biu"),
            (reduce.reduce_or_p, "biu"),
        )
        for kind in kinds
        for dtype in KINDS[kind]
    }

    @tinyjax.jit
    def reduced(*arrays: Any) -> Any:
        return [
            bind1(primitive, (x,), reduce_params((1,)))
            for (primitive, *_), x in zip(given, arrays, strict=True)
        ]

    for found, x in zip(reduced(*given.values()), given.values(), strict=True):
        np.testing.assert_array_equal(np.asarray(found), x[:, 0], strict=True)


def _ends(dtype: dtypes.DType) -> HostArray:
    """The least and the greatest value of a type, and others."""
    if dtype == np.bool_:
        return np.array([False, True])
    if np.issubdtype(dtype, np.integer):
        return np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 1], dtype)
    return np.array([-np.inf, np.inf, -2, 1]).astype(dtype)


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_equal_elements_of_a_window_the_first_counts(name: str) -> None:
    x = np.tile(np.eye(2, dtype=np.float32)[::-1], (2, 3))
    factors = np.arange(6, dtype=np.float32).reshape(2, 3)
    start = -np.inf if name == "max" else np.inf

    def pooled(library: Any) -> Any:
        def f(x: Any) -> Any:
            combine = getattr(library.lax, name)
            found = library.lax.reduce_window(x, start, combine, (2, 2), (2, 2), "VALID")
            return (found * factors).sum()

        return np.asarray(library.grad(f)(x))

    np.testing.assert_array_equal(pooled(tinyjax), pooled(jax))


@pytest.mark.sampled(4)
@rows("numpy")
def test_evaluates_as_numpy_does(row: Spec) -> None:
    rules.check_values(row)


@pytest.mark.sampled(6, always=COMPILED_HERE_ONLY)
@rows("compiled")
def test_compiles_to_what_it_evaluates_to(row: Spec) -> None:
    rules.check_lowering(row)


@pytest.mark.sampled(10)
@rows("dtypes")
def test_takes_the_same_whoever_evaluates(row: Spec) -> None:
    check_dtypes(row)


@pytest.mark.sampled(16)
@rows("sizes")
def test_arrays_without_elements_and_without_axes(row: Spec) -> None:
    rules.check_sizes(row)


@pytest.mark.sampled(6)
@rows("weak")
def test_weak_types(row: Spec) -> None:
    rules.check_weak_types(row)


@pytest.mark.sampled(6)
@rows("jax")
def test_agrees_with_jax(row: Spec) -> None:
    assert row.jax is not None, "chosen by rows()"
    samples, theirs = row.samples(rules.DTYPES_COMPILED), row.jax

    def run(all_operands: list[Any]) -> list[Any]:
        """Call jax in every case: one compilation in place of many."""
        pairs = zip(samples, all_operands, strict=True)
        return [theirs(*operands, **case.params) for (case, _, _), operands in pairs]

    with jax.enable_x64(True):
        expected = jax.jit(run)([operands for _, _, operands in samples])
        expected = [hosts(tuple(jax.tree.leaves(x))) for x in expected]
    for (case, _, given), answer in zip(samples, expected, strict=True):
        got = row.applied(case.params)(*given)
        compare(got, answer, row.tol, f"against jax {describe(case.params, given)}")


@pytest.mark.sampled(6, 0)
@rows("grad")
def test_derivatives(row: Spec) -> None:
    rules.check_derivatives(row)


@pytest.mark.sampled(6, 1)
@rows("grad")
def test_derivatives_by_each_operand(row: Spec) -> None:
    rules.check_tangents(row)
    rules.check_cotangents(row)


@pytest.mark.sampled(6, 2)
@rows("grad")
def test_derivatives_by_complex_steps(row: Spec) -> None:
    rules.check_complex_step(row)


@pytest.mark.sampled(4)
@rows("linear")
def test_linear_in_what_the_row_says(row: Spec) -> None:
    rules.check_linear(row)


@pytest.mark.sampled(6, 3, always=MAPPED_HERE_ONLY)
@rows("vmap")
def test_vmap_is_a_loop(row: Spec) -> None:
    rules.check_batch(row)


@pytest.mark.sampled(6, 4)
@rows("vmap")
def test_vmap_of_vmap_is_two_loops(row: Spec) -> None:
    rules.check_batch_of_batch(row)


@pytest.mark.sampled(6, 5)
@rows("vmap")
def test_vmap_over_no_examples(row: Spec) -> None:
    """The results have the shapes of one example's, whichever operands and axes are mapped."""
    for case, _, operands in row.smooth_samples():
        fun = row.applied(case.params)
        shapes = [x.shape for x in tinyjax.tree.leaves(tinyjax.eval_shape(fun, *operands))]
        for axes in axes_to_map([x.ndim for x in operands], 6, row.rng("none")) if operands else ():
            mapped = [
                x if a is None else np.zeros((*x.shape[:a], 0, *x.shape[a:]), x.dtype)
                for x, a in zip(operands, axes, strict=True)
            ]
            results = tinyjax.tree.leaves(tinyjax.vmap(fun, in_axes=axes)(*mapped))
            assert [x.shape for x in results] == [(0, *shape) for shape in shapes], axes


@pytest.mark.sampled(10)
@rows("compose")
def test_jit_composes_with_the_others(row: Spec) -> None:
    rules.check_jit(row)


@pytest.mark.sampled(16)
@rows("compose")
def test_stacks_of_transformations(row: Spec) -> None:
    check_stacks(row, most=4)


@pytest.mark.fuzz
@rows("compose")
def test_all_stacks_of_transformations(row: Spec) -> None:
    check_stacks(row)


@pytest.mark.sampled(4)
@rows("jaxpr")
def test_jaxpr_is_typed_and_stable(row: Spec) -> None:
    rules.check_jaxpr(row)


# Derivatives where formulas break

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-300, 1e300])


def slope(fun: Callable[..., Any], *points: HostArray) -> HostArray:
    ones = [np.ones_like(x) for x in points]
    return np.asarray(tinyjax.jvp(fun, points, ones)[1])


#: The rows in whose derivatives we differ on purpose: the next test says how.
DIFFERENT = ("abs", "abs_right", "acosh", "atan2", "div", "logaddexp", "pow", "root", "root_right")
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
    # arctan2 has slopes where the squares of its operands leave the range
    first, second = np.meshgrid([0.5, -2.0, 1e-300, -1e300], [2.0, -1.0, 1e-300, 1e300])
    wide = np.array([first, second], np.longdouble)
    angles = (wide[1] - wide[0]) / np.sum(wide**2, 0)
    np.testing.assert_allclose(slope(elementwise.atan2, first, second), angles, 1e-14)
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


def test_every_primitive_has_a_row() -> None:
    covered = {id(row.primitive) for row in all_specs()}
    missing = [name for name, primitive in primitives().items() if id(primitive) not in covered]
    assert not missing, (
        f"these primitives have no row in tests/specs: {', '.join(missing)}. A row is a Spec in "
        "the SPECS of their family's module."
    )


def test_a_missing_rule_is_an_error_that_names_it() -> None:
    with raises(MissingRuleError, match=r"primitive 'lonely' has no impl rule"):
        lonely().rules.impl((), None)


def lonely() -> Primitive[Any]:
    from tinyjax.core.tracing.primitive import NoParams

    primitive = Primitive("lonely", NoParams)
    del registry["lonely"]
    return primitive
