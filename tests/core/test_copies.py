"""Arrays that are deleted or donated take nothing with them: neither copies nor references."""

import copy
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import Array, jit, lax, vmap
from tinyjax.config import Tier
from tinyjax.errors import DonatedArrayError

Function: TypeAlias = Callable[[Array], Array]

#: What promises a copy.
COPIES: Final[dict[str, Function]] = {
    "array": lambda x: jnp.array(x, copy=True),
    "array of a dtype": lambda x: jnp.array(x, x.dtype),
    "asarray": lambda x: jnp.asarray(x, copy=True),
    "copy": jnp.copy,
    "method": lambda x: x.copy(),
    "astype": lambda x: jnp.astype(x, x.dtype, copy=True),
    "astype method": lambda x: x.astype(x.dtype, copy=True),
    "device_put": lambda x: tinyjax.device_put(x, may_alias=False),
    "device_put on a device": lambda x: tinyjax.device_put(
        x, tinyjax.devices()[0], may_alias=False
    ),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "from_dlpack": lambda x: jnp.from_dlpack(x, copy=True),
}


def with_a_rule(f: Function) -> Function:
    """The function by its rule for tangents, which are copied, too."""
    g = tinyjax.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return lambda x: tinyjax.jvp(g, (x,), (x,))[1]


#: Transformations of the identity that are the identity again.
TRANSFORMATIONS: Final[
    dict[str, Callable[[Callable[[Array], Array]], Callable[[Array], Array]]]
] = {
    "eager": lambda f: f,
    "jit": lambda f: jit(f, tier="compiled"),
    "first tier": lambda f: jit(f, tier="first"),
    "vmap": vmap,
    "jvp": lambda f: lambda x: tinyjax.jvp(f, (x,), (x,))[0],
    "tangents": lambda f: lambda x: tinyjax.jvp(f, (jnp.ones_like(x),), (x,))[1],
    "linearize": lambda f: lambda x: tinyjax.linearize(f, x)[0],
    "vjp": lambda f: lambda x: tinyjax.vjp(f, x)[0],
    "cotangents": lambda f: lambda x: tinyjax.vjp(f, jnp.ones_like(x))[1](x)[0],
    "vmap of vjp": lambda f: vmap(lambda x: tinyjax.vjp(f, x)[0]),
    "checkpoint": tinyjax.checkpoint,
    "cond": lambda f: lambda x: lax.cond(True, f, f, x),
    "vmap of cond": lambda f: vmap(lambda x: lax.cond(True, f, f, x)),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "map": lambda f: lambda x: lax.map(f, x),
    "custom_jvp": with_a_rule,
}


def doubled(tier: Tier) -> Any:
    return jit(lambda x: 2 * x, donate_argnums=0, tier=tier)


#: What takes the memory of an array.
TAKING: Final[dict[str, Callable[[Array], object]]] = {
    "delete": lambda x: x.delete(),
    "donate": doubled("compiled"),
    "donate at the first tier": doubled("first"),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_copies_are_others(way: str, transformation: str) -> None:
    function = TRANSFORMATIONS[transformation](COPIES[way])
    for take in (TAKING["delete"], TAKING["donate"]):
        x = 1.0 + jnp.arange(3.0)
        take(function(x))
        np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
        y = function(x)
        take(x)
        np.testing.assert_array_equal(y, [1.0, 2.0, 3.0])
        with pytest.raises(DonatedArrayError):
            function(x)


Held: TypeAlias = tuple[Any, np.ndarray[Any, Any]]
Step: TypeAlias = tuple[str, str, int, int]


def numbers(x: Any) -> np.ndarray[Any, Any]:
    return np.array(x, copy=True)


class Run:
    """Arrays and references, beside what they are to hold."""

    def __init__(self) -> None:
        self.arrays: list[Held] = []
        self.refs: list[Held] = []
        self.add(1.0 + jnp.arange(3.0), np.array([1.0, 2.0, 3.0]))

    def add(self, x: Any, expected: Any) -> None:
        self.arrays.append((x, np.array(expected, np.float32)))

    def check(self) -> None:
        for x, expected in self.arrays:
            np.testing.assert_array_equal(jit(lambda x: x + 0, tier="compiled")(x), expected)
        for ref, expected in self.refs:
            np.testing.assert_array_equal(numbers(ref[...]), expected)

    def array(self, step: Step) -> None:
        """Make an array of another, or delete or donate one."""
        kind, way, i, _ = step
        x, expected = self.arrays[i % len(self.arrays)]
        match kind:
            case "copy":
                self.add(TRANSFORMATIONS[way](COPIES[[*COPIES][i % len(COPIES)]])(x), expected)
            case "sum":
                self.add(x + 1, expected + 1)
            case "compiled":
                self.add(jit(lambda x: x + 1, tier="compiled")(x), expected + 1)
            case "read":
                self.add(np.asarray(x), expected)
            case "new_ref":
                self.refs.append((tinyjax.new_ref(x), expected))
            case "delete" | "donate" | "donate at the first tier" if len(self.arrays) > 1:
                del self.arrays[i % len(self.arrays)]
                if isinstance(x, Array):
                    TAKING[kind](x)
            case _:
                pass

    def ref(self, step: Step) -> None:
        """Read or write a reference, in this place or in a program."""
        kind, _, i, j = step
        ref, before = self.refs[i % len(self.refs)]
        x, expected = self.arrays[j % len(self.arrays)]
        after = before

        def add(y: Any) -> Any:
            ref[...] += y
            return ref[...]

        match kind:
            case "get":
                self.add(ref[...], before)
            case "get all":
                self.add(ref[:], before)
            case "set":
                ref[...] = x
                after = expected
            case "swap":
                self.add(tinyjax.ref.swap(ref, None, x), before)
                after = expected
            case "add":
                self.add(add(x), before + expected)
                after = before + expected
            case "add in jit":
                self.add(jit(add)(x), before + expected)
                after = before + expected
            case "set in jit":
                self.add(jit(lambda x: [ref.__setitem__(..., x), x][1])(x), expected)
                after = expected
            case "argument of jit":
                self.add(jit(lambda r, x: tinyjax.ref.swap(r, None, x))(ref, x), before)
                after = expected
            case "set in scan":
                out = lax.scan(lambda c, _: ([ref.__setitem__(..., c), c][1], c), x, None, length=2)
                self.add(out[0], expected)
                self.add(out[1][1], expected)
                after = expected
            case "set in cond":
                self.add(
                    lax.cond(True, lambda x: [ref.__setitem__(..., x), ref[...]][1], jnp.sin, x),
                    expected,
                )
                after = expected
            case "get in jvp":
                self.add(tinyjax.jvp(lambda x: (x, ref[...])[1], (x,), (x,))[0], before)
            case "get in vmap":
                self.add(vmap(lambda _: ref[...], out_axes=None)(x), before)
            case _:
                del self.refs[i % len(self.refs)]
                self.add(tinyjax.freeze(ref), before)
                return
        self.refs[i % len(self.refs)] = ref, after


OF_ARRAYS: Final = ("copy", "sum", "compiled", "read", "new_ref", *TAKING)
OF_REFS: Final = (
    *("get", "get all", "set", "swap", "add", "add in jit", "set in jit", "argument of jit"),
    *("set in scan", "set in cond", "get in jvp", "get in vmap", "freeze"),
)
STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from((*OF_ARRAYS, *OF_REFS)),
        st.sampled_from([*TRANSFORMATIONS]),
        st.integers(0, 10),
        st.integers(0, 10),
    ),
    min_size=2,
    max_size=16,
)


def run(steps: list[Step]) -> None:
    state = Run()
    for step in steps:
        if step[0] in OF_ARRAYS:
            state.array(step)
        elif state.refs:
            state.ref(step)
        state.check()


@settings(max_examples=15)
@given(STEPS)
def test_what_is_donated_takes_nothing_with_it(steps: list[Step]) -> None:
    run(steps)


@pytest.mark.fuzz
@given(STEPS)
def test_what_is_donated_takes_nothing_with_it_at_length(steps: list[Step]) -> None:
    run(steps)
    forget_sometimes()
