"""``x.at[index]`` with a mask whose values are not known, against NumPy's updates in place."""

import operator
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax as tj
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from raising import raises
from tinyjax import errors

pytestmark = pytest.mark.usefixtures("each_tier")

#: NumPy's update of what an index takes, by method.
KINDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "set": lambda _, value: value,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "min": np.minimum,
    "max": np.maximum,
}


@attrs.frozen
class Case:
    """An array's shape, an index with the mask at ``place``, a method and the update's shape."""

    shape: tuple[int, ...]
    index: tuple[Any, ...]
    place: int
    kind: str
    update: tuple[int, ...]

    def with_mask(self, mask: Any) -> Any:
        index = (*self.index[: self.place], mask, *self.index[self.place + 1 :])
        return index[0] if len(index) == 1 else index


@st.composite
def masked(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    start = draw(st.integers(0, len(shape)))
    rank = draw(st.integers(0, len(shape) - start))
    mask = draw(
        st.lists(
            st.booleans(), min_size=(n := int(np.prod(shape[start : start + rank]))), max_size=n
        )
    )
    sides: list[list[Any]] = [[], []]
    for side, sizes in zip(sides, (shape[:start], shape[start + rank :]), strict=True):
        for n in sizes:
            if draw(st.integers(0, 5)) == 0:
                side.append(None)
            kinds = [
                slice(None),
                slice(None, None, -1),
                slice(0, n, 2),
                draw(st.integers(-n, n - 1)),
            ]
            side.append(draw(st.sampled_from(kinds)))
    dots = draw(st.sampled_from(["none", "before", "behind"]))
    if dots == "before":
        keeps = draw(st.integers(0, len(sides[0])))
        sides[0] = [...] if keeps == 0 else [*sides[0], ...]
    elif dots == "behind":
        sides[1] = [...]
    index = (*sides[0], np.array(mask, bool).reshape(shape[start : start + rank]), *sides[1])
    case = Case(shape, index, len(sides[0]), draw(st.sampled_from(sorted(KINDS))), ())
    # one mask element stands for all of them, so that the axis of what it takes has size one
    whole = np.ones((1,) * rank, bool)
    edge = tuple(1 if start <= i < start + rank else n for i, n in enumerate(shape))
    taken = np.zeros(edge)[case.with_mask(whole)].shape
    update = taken[draw(st.integers(0, len(taken))) :]
    return attrs.evolve(case, update=tuple(draw(st.sampled_from([1, n])) for n in update))


def check(case: Case, compiles: bool) -> None:
    """Hold updates, reads and gradients of updates against NumPy's with the mask's values."""
    mask = case.index[case.place]
    known, whole = case.with_mask(mask), [slice(None)] * mask.ndim
    spans = (*case.index[: case.place], *whole, *case.index[case.place + 1 :])
    x = np.arange(np.prod(case.shape), dtype=np.float32).reshape(case.shape) * 0.5 + 0.25
    value = np.cos(np.arange(np.prod(case.update), dtype=np.float32)).reshape(case.update) + 2
    weights = np.sin(x)
    expected, holds = np.array(x), np.zeros(x.shape, bool)
    expected[known] = KINDS[case.kind](x[known], value)
    holds[known] = True
    read = np.where(holds[spans], x[spans], -7)

    def change(x: Any, mask: Any) -> Any:
        return getattr(x.at[case.with_mask(mask)], case.kind)(value)

    def everything(x: Any, mask: Any) -> dict[str, Any]:
        gradient = tj.grad(lambda x: (change(x, mask) * weights).sum())(x)
        taken = x.at[case.with_mask(mask)].get(fill_value=-7)
        return {"change": change(x, mask), "get": taken, "grad": gradient}

    ours = everything(jnp.asarray(x), mask)
    # the gradient with known masks is that of indices, which have a search of their own
    results = {"batched": tj.vmap(everything, (None, 0))(jnp.asarray(x), np.stack([~mask, mask]))}
    results["batched"] = {name: result[1] for name, result in results["batched"].items()}
    if compiles:
        results["compiled"] = tj.jit(everything)(x, mask)
    for how, result in {"eagerly": ours, **results}.items():
        for name, other in {"change": expected, "get": read, "grad": ours["grad"]}.items():
            np.testing.assert_allclose(
                result[name], other, rtol=2e-6, atol=1e-6, err_msg=f"{name} {how} {case}"
            )


@settings(max_examples=60, report_multiple_bugs=False)
@given(masked())
def test_random_masks(case: Case) -> None:
    check(case, compiles=False)


@pytest.mark.fuzz
@given(masked())
def test_random_masks_at_length(case: Case) -> None:
    check(case, compiles=True)
    forget_sometimes()


def test_where_the_number_of_elements_matters() -> None:
    x, mask = jnp.arange(6.0).reshape(2, 3), np.array([True, False])
    for change in (
        lambda x, m: x.at[m].set(jnp.ones((2, 3))),
        lambda x, m: x.at[m, np.array([0, 1])].set(0.0),
        lambda x, m: x.at[m, m].set(0.0),
        lambda x, m: x.at[m].get(),
        lambda x, m: x.at[m].apply(jnp.sin),
    ):
        with raises(errors.ConcreteIndexError, match=r"jnp\.where\(mask"):
            tj.jit(change)(x, mask)


def test_ints_out_of_bounds_are_filled() -> None:
    """Beside a mask they are read as the options say, as they are without one."""
    x, mask = jnp.arange(1.0, 7.0).reshape(2, 3), np.array([True, False, True])

    def read(m: Any, row: int, **options: Any) -> Any:
        return x.at[row, m].get(fill_value=-9.0, **options)

    for known in (read, lambda m, row, **options: tj.jit(lambda m: read(m, row, **options))(m)):
        np.testing.assert_array_equal(known(mask, -1), [4, -9, 6])
        np.testing.assert_array_equal(known(mask, -1, wrap_negative_indices=False), [-9] * 3)
        np.testing.assert_array_equal(known(mask, 7), [-9] * 3)
        np.testing.assert_array_equal(known(mask, 7, mode="clip"), [4, -9, 6])


def test_shapes_that_do_not_fit() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    with raises(errors.IndexingError, match="must have the shape of the axes"):
        tj.jit(lambda x, m: x.at[m].set(0.0))(x, np.array([True, False, True]))
    with raises(errors.ShapeError, match="does not broadcast"):
        tj.jit(lambda x, m: x.at[m].set(jnp.ones(2)))(x, np.array([True, False]))
    with pytest.raises(errors.AxisError):
        tj.jit(lambda x, m: x.at[0, 0, m].set(0.0))(x, np.array([True, False]))
