"""Indices of all kinds in all orders, read and written, against NumPy: a search.

The source is which elements NumPy's own indexing takes from an array of their numbers; what is
read, written and differentiated follows from that. Behind each axis that array has an edge of -1,
to which an index out of bounds goes.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, Literal

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax as tj
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax.dtypes import HostArray

pytestmark = pytest.mark.usefixtures("each_tier")

KINDS: Final = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max", "apply")
MODES: Final = (None, "clip", "drop", "fill", "promise_in_bounds")


@attrs.define
class Indexed:
    """An array's shape, an index, and how it is read and written there.

    Attributes:
        shape: of the array.
        index: as it is written.
        is_data: of each entry, whether it can be an argument of a compiled function.
        places: the index that takes the same from the array with edges.
        nearest: the same, where what is out of bounds goes to the nearest element.
        kind: the method of ``x.at[index]`` that changes the array.
        mode: its mode.
        of_numbers: whether the array is changed by one number.
    """

    shape: tuple[int, ...]
    index: list[Any] = attrs.field(factory=list)
    is_data: list[bool] = attrs.field(factory=list)
    places: list[Any] = attrs.field(factory=list)
    nearest: list[Any] = attrs.field(factory=list)
    kind: str = "set"
    mode: str | None = None
    of_numbers: bool = False

    def append(self, value: Any, places: Any, nearest: Any = None, is_data: bool = False) -> None:
        self.index.append(value)
        self.is_data.append(is_data)
        self.places.append(places)
        self.nearest.append(places if nearest is None else nearest)

    @property
    def data(self) -> list[HostArray]:
        """The entries that can be arguments."""
        return [
            np.asarray(x) for x, is_data in zip(self.index, self.is_data, strict=True) if is_data
        ]

    def with_data(self, data: Any) -> tuple[Any, ...]:
        """The index with others in their place."""
        rest = iter(data)
        entries = zip(self.index, self.is_data, strict=True)
        return tuple([next(rest) if is_data else entry for entry, is_data in entries])

    def numbers_at(self, index: list[Any]) -> HostArray:
        """The number of the element that each element of the result is; -1 where there is none."""
        numbers = np.arange(np.prod(self.shape, dtype=int)).reshape(self.shape)
        edged = np.full([n + 1 for n in self.shape], -1)
        edged[tuple(map(whole, self.shape))] = numbers
        return np.asarray(edged[tuple(index)])


def whole(n: int) -> slice:
    """The slice of a whole axis that leaves out the edge."""
    return slice(0, n)


@st.composite
def indexed(draw: st.DrawFn) -> Indexed:
    case = Indexed(tuple(draw(st.lists(st.integers(1, 4), max_size=4))))
    batch = draw(st.sampled_from([(), (2,), (3,), (2, 2), (3, 1), (1, 2), (0,)]))
    beyond = draw(st.sampled_from([0, 0, 3]))
    count = batch[-1] if batch else draw(st.integers(0, 2))
    anywhere = ["end", "...", "None", "scalar mask"]
    of_axes = ["all", *["slice"] * 3, *["number"] * 4, *["integers"] * 5, *["mask"] * 4]
    axis, skips = 0, False
    while True:
        rest = case.shape[axis:]
        kinds = anywhere + of_axes if rest else anywhere
        if skips:  # what nothing else is about, the Ellipsis stands for
            kinds = [kind for kind in kinds if kind != "..." and not (kind == "end" and rest)]
        kind = draw(st.sampled_from(kinds))
        if kind == "end":
            break
        if kind == "...":
            skips = True
            size = draw(st.integers(0, len(rest)))
            case.append(..., ...)
            if size:
                edges = [whole(n) for n in rest[:size]]
                case.places[-1:] = case.nearest[-1:] = edges
            axis += size
        elif kind == "None":
            case.append(None, None)
        elif kind == "scalar mask":
            draw_scalar_mask(draw, case, count)
        elif kind == "mask":
            shape = rest[: draw(st.integers(1, 3))]
            draw_mask(draw, case, shape, count)
            axis += len(shape)
        else:
            n = rest[0]
            if kind == "all":
                case.append(slice(None), whole(n))
            elif kind == "slice":
                draw_slice(draw, case, n)
            elif kind == "number":
                draw_integers(draw, case, n, (), beyond)
            else:
                shape = draw(st.sampled_from([batch, batch[1:], (1,) * len(batch)]))
                draw_integers(draw, case, n, shape, beyond)
            axis += 1
    for n in case.shape[axis:]:
        case.places.append(whole(n))
        case.nearest.append(whole(n))
    case.kind = draw(st.sampled_from(KINDS))
    case.mode = draw(st.sampled_from(MODES))
    case.of_numbers = draw(st.booleans())
    return case


def draw_slice(draw: st.DrawFn, case: Indexed, n: int) -> None:
    bounds = st.none() | st.integers(-n - 1, n + 1)
    value = slice(draw(bounds), draw(bounds), draw(st.sampled_from([None, 1, 2, -1, -2, 3])))
    start, stop, stride = value.indices(n)
    is_empty = not range(start, stop, stride)
    case.append(
        value, slice(0, 0) if is_empty else slice(start, None if stop < 0 else stop, stride)
    )


def draw_integers(
    draw: st.DrawFn, case: Indexed, n: int, shape: tuple[int, ...], beyond: int
) -> None:
    size = int(np.prod(shape))
    elements = st.lists(st.integers(-n - beyond, n - 1 + beyond), min_size=size, max_size=size)
    dtype = draw(st.sampled_from([np.int32, np.int32, np.int64, np.int8]))
    host = np.array(draw(elements), dtype).reshape(shape)
    value = value_for(draw, host) if shape else draw_number(draw, host)
    wrapped = np.where(host < 0, host.astype(int) + n, host)
    inside = (wrapped >= 0) & (wrapped < n)
    nearest = np.clip(wrapped, 0, n - 1)
    case.append(value, np.where(inside, wrapped, n), nearest, not isinstance(value, list))


def draw_number(draw: st.DrawFn, host: HostArray) -> Any:
    kinds: list[Callable[[HostArray], Any]] = [int, lambda x: x[()], lambda x: x, jnp.asarray]
    return draw(st.sampled_from(kinds))(host)


def value_for(draw: st.DrawFn, value: HostArray) -> Any:
    """NumPy's array, ours, or a list."""
    kinds: list[Callable[[HostArray], Any]] = [lambda x: x, jnp.asarray]
    return draw(st.sampled_from([*kinds, lambda x: x.tolist()] if value.size else kinds))(value)


def draw_mask(draw: st.DrawFn, case: Indexed, shape: tuple[int, ...], count: int) -> None:
    """Draw a mask of so many true elements, as far as it has so many."""
    mask = np.zeros(int(np.prod(shape)), bool)
    mask[draw(st.permutations(range(mask.size)))[: count if count <= mask.size else 1]] = True
    mask = mask.reshape(shape)
    case.append(value_for(draw, mask), np.pad(mask, [(0, 1)] * mask.ndim))


def draw_scalar_mask(draw: st.DrawFn, case: Indexed, count: int) -> None:
    value = count > 1 or draw(st.booleans())
    kinds: list[Callable[[bool], Any]] = [bool, np.bool_, np.array, jnp.asarray]
    case.append(draw(st.sampled_from(kinds))(value), value)


def changed(case: Indexed, x: HostArray, places: HostArray, value: HostArray) -> HostArray:
    """Change what is not out of bounds."""
    out = x.reshape(-1).copy()
    value = np.broadcast_to(value, places.shape)[places >= 0]
    places = places[places >= 0]
    match case.kind:
        case "set":
            out[places] = value
        case "apply":
            out[places] = np.sin(out[places])
        case "power":
            exponents = np.ones_like(out)
            np.multiply.at(exponents, places, value)
            out = out**exponents
        case "min" | "max":
            {"min": np.minimum, "max": np.maximum}[case.kind].at(out, places, value)
        case _:
            getattr(np, case.kind).at(out, places, value)
    return out.reshape(x.shape)


def summed(x: HostArray, places: HostArray, weights: HostArray) -> HostArray:
    """The gradient of a weighted sum of what is read."""
    out = np.zeros(x.size)
    np.add.at(out, places[places >= 0], weights[places >= 0])
    return out.reshape(x.shape)


def same(got: Any, expected: Any, what: str) -> None:
    expected = np.asarray(expected)
    assert got.shape == expected.shape, (what, got.shape, expected.shape)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-6, atol=1e-6, err_msg=what)


def check(case: Indexed, compiles: bool) -> None:
    """Hold reading, changing and their derivatives against the elements' numbers."""
    strict, nearest = case.numbers_at(case.places), case.numbers_at(case.nearest)
    size = int(np.prod(case.shape))
    x = (np.arange(size).reshape(case.shape) * 0.7 + 0.5).astype(np.float32)
    weights = np.cos(np.arange(strict.size)).reshape(strict.shape).astype(np.float32)
    value = np.array(1.5, np.float32) if case.of_numbers else weights + 2
    written_to = nearest if case.mode == "clip" else strict
    # otherwise JAX drops the cotangents of what is out of bounds, though it reads the nearest
    is_told = case.mode in ("clip", "drop", "fill") or (strict >= 0).all()
    fills = case.mode in ("fill", "drop")
    read_from = strict if fills else nearest

    def get(x: Any, index: Any) -> Any:
        return x.at[index].get(mode=case.mode)

    def weighed(x: Any, index: Any) -> Any:
        return jnp.where(read_from < 0, 0, get(x, index) * weights).sum()

    def change(x: Any, value: Any, index: Any) -> Any:
        if case.kind == "apply":
            return x.at[index].apply(jnp.sin, mode=case.mode)
        return getattr(x.at[index], case.kind)(value, mode=case.mode)

    def everything(x: Any, value: Any, data: Any) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for name, index in {"known": tuple(case.index), "data": case.with_data(data)}.items():
            results[f"take {name}"] = x[index]
            results[f"get {name}"] = get(x, index)
            results[f"change {name}"] = change(x, value, index)
            _, results[f"jvp {name}"] = tj.jvp(partial(get, index=index), (x,), (2 * x,))
            if is_told:
                results[f"grad {name}"] = tj.grad(weighed)(x, index)
        return results

    flat = x.reshape(-1)
    read = flat[read_from]
    expected: dict[str, Any] = {
        "take": flat[nearest],
        "get": np.where(read_from < 0, np.float32(np.nan), read),
        "change": changed(case, x, written_to, value),
        "jvp": np.where(read_from < 0, 0, 2 * read),
    }
    if is_told:
        expected["grad"] = summed(x, read_from, np.where(read_from < 0, 0, weights))

    def hold(results: dict[str, Any], what: str) -> None:
        for name, got in results.items():
            same(got, expected[name.split()[0]], f"{name} {what} {case}")

    ours = jnp.asarray(x)
    hold(everything(ours, value, case.data), "eagerly")
    if compiles:
        hold(tj.jit(everything)(ours, value, case.data), "compiled")
        hold(tj.jit(everything, tier="first")(ours, value, case.data), "first")
    two = [np.stack([np.zeros_like(d), d]) for d in case.data]
    both = tj.vmap(everything, in_axes=(0, None, 0))(np.stack([x + 1, x]), value, two)
    hold({name: got[1] for name, got in both.items()}, "batched")


def check_bounds(case: Indexed, tiers: Sequence[Literal["first", "compiled"]]) -> None:
    """With ``debug_bounds`` what NumPy refuses is refused, unless a mode says what to do."""
    host = np.zeros(case.shape, np.float32)
    try:
        host[tuple([np.asarray(x) if isinstance(x, tj.Array) else x for x in case.index])]
    except IndexError:
        is_refused = case.mode in (None, "promise_in_bounds")
    else:
        is_refused = False

    def read(x: Any, data: Any) -> Any:
        return x.at[case.with_data(data)].get(mode=case.mode)

    def change(x: Any, data: Any) -> Any:
        at = x.at[case.with_data(data)]
        if case.kind == "apply":
            return at.apply(jnp.sin, mode=case.mode)
        return getattr(at, case.kind)(1.0, mode=case.mode)

    two = [np.stack([np.zeros_like(d), d]) for d in case.data]
    with tj.debug_bounds():
        for fun in (read, change):
            mapped = tj.vmap(fun, in_axes=(None, 0)) if two else fun
            calls = [(fun, case.data), (mapped, two)]
            calls += [(tj.jit(fun, tier=tier), data) for fun, data in calls for tier in tiers]
            for call, data in calls:
                with pytest.raises(IndexError) if is_refused else nullcontext():
                    call(jnp.asarray(host), data)


@settings(max_examples=30, report_multiple_bugs=False)
@given(indexed())
def test_random_indices_out_of_bounds(case: Indexed) -> None:
    check_bounds(case, ["first"])


@pytest.mark.fuzz
@given(indexed())
def test_random_indices_out_of_bounds_at_length(case: Indexed) -> None:
    check_bounds(case, ["first", "compiled"])
    forget_sometimes()


@settings(max_examples=30, report_multiple_bugs=False)
@given(indexed())
def test_random_indices(case: Indexed) -> None:
    check(case, compiles=False)


@pytest.mark.fuzz
@given(indexed())
def test_random_indices_at_length(case: Indexed) -> None:
    check(case, compiles=True)
    forget_sometimes()
