"""Why a call of a jitted function was traced or compiled: ``explain``."""

import logging
import sys
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import config, lax
from tinyjax.core.xla import cache_info

X = np.ones((3, 4), np.float32)


def loss(params: Any, x: Any, n: int = 1) -> Any:
    return sum((v * x).sum() for v in tinyjax.tree.leaves(params)) * n


PARAMS = {"w": X, "b": X[0]}


@pytest.fixture
def fun() -> Any:
    f = tinyjax.jit(loss, static_argnames="n", tier="compiled")
    f(PARAMS, X)
    return f


def test_a_call_like_an_earlier_one(fun: Any) -> None:
    found = fun.explain(PARAMS, X)
    assert (found.traces, found.compiles, found.differences) == (False, False, ())
    assert "traced and compiled before" in str(found)
    assert found.function.startswith(f"loss ({__file__}:")


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        (
            ({"w": X.astype("f8"), "b": X[0]}, X),
            {},
            ["params['w']: float64[3,4] instead of float32[3,4]"],
        ),
        (
            ({"w": X, "b": X}, X[:1]),
            {},
            [
                "params['b']: float32[3,4] instead of float32[4]",
                "x: float32[1,4] instead of float32[3,4]",
            ],
        ),
        (
            (PARAMS, 1.0),
            {},
            ["x: float32[] instead of float32[3,4]"],
        ),
        ((PARAMS, X), {"n": 2}, ["static n: 2 instead of its default"]),
        (
            ({"w": X, "b": [X[0]]}, X),
            {},
            ["params['b']: list of length 1 instead of a leaf"],
        ),
        (
            (7.0, X),
            {},
            ["params: a leaf instead of dict with keys ['b', 'w']"],
        ),
        (
            (PARAMS,),
            {"x": X},
            ["1 positional arguments instead of 2", "keywords x instead of none"],
        ),
    ],
)
def test_differences(fun: Any, args: Any, kwargs: Any, expected: list[str]) -> None:
    found = fun.explain(*args, **kwargs)
    assert found.traces
    assert list(found.differences) == expected


def test_the_most_similar_call_is_compared(fun: Any) -> None:
    fun(PARAMS, X, n=5)
    found = fun.explain({"w": X, "b": X}, X, n=5)
    assert list(found.differences) == ["params['b']: float32[3,4] instead of float32[4]"]


def test_a_number_where_there_was_an_array() -> None:
    f = tinyjax.jit(lambda x: x * 2)
    f(jnp.float32(1.0))
    (line,) = f.explain(1.0).differences
    assert line.endswith("a Python number, where there was an array")
    f = tinyjax.jit(lambda x: x * 3)
    f(1.0)
    (line,) = f.explain(jnp.float32(1.0)).differences
    assert line.endswith("an array, where there was a Python number")


def test_settings_and_axes() -> None:
    f = tinyjax.jit(lambda x: x * jnp.ones(1))
    f(X)
    with config.scoped(default_dtypes="float64"):
        assert f.explain(X).differences == (
            "setting default_dtypes: 'float64' instead of 'float32'",
        )
    inside: list[Any] = []

    def ask(x: Any) -> Any:
        inside.append(f.explain(X))
        return x

    tinyjax.vmap(ask, axis_name="i")(X)
    assert inside[0].differences == ("named axes around the call: 'i' of length 3 instead of none",)


def test_first_calls() -> None:
    found = tinyjax.jit(lambda x: x * 17.5).explain(X)
    assert (found.traces, found.compiles) == (True, True)
    assert "the first call of this function object" in str(found)
    tinyjax.jit(lambda x: x * 17.5, tier="compiled")(X)
    found = tinyjax.jit(lambda x: x * 17.5).explain(X)
    assert (found.traces, found.compiles) == (True, False)
    assert "an equal program was compiled before" in str(found)


def test_a_closed_over_tracer() -> None:
    seen: list[Any] = []

    def outer(w: Any) -> Any:
        f = tinyjax.jit(lambda x: x * w)
        f(X)
        seen.append(f.explain(X))
        return f(X).sum()

    tinyjax.grad(outer)(2.0)
    assert seen[0].traces


def test_explaining_compiles_and_keeps_nothing() -> None:
    f = tinyjax.jit(lambda x: x * 19.5)
    before = cache_info().misses
    assert f.explain(X).traces
    assert f.explain(X).traces
    assert cache_info().misses == before


def test_the_setting_tells_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    f = tinyjax.jit(loss)
    with caplog.at_level(logging.WARNING, "tinyjax"), config.scoped(explain=True):
        f(PARAMS, X)
        f(PARAMS, X)
        f(PARAMS, X[:1])
    first, *rest = [r.getMessage() for r in caplog.records if "this call" in r.getMessage()]
    assert "the first call of this function object" in first
    (second,) = rest
    assert "x: float32[1,4] instead of float32[3,4]" in second


def test_many_threads_are_told_of_their_calls(caplog: pytest.LogCaptureFixture) -> None:
    f = tinyjax.jit(lambda x, k: x["w"] * k + x["b"], static_argnums=1)
    failures: list[Exception] = []

    def call(first: int) -> None:
        try:
            for n in range(12):
                x = np.arange(1.0 + (first + n) % 12, dtype=np.float32)
                ordered = OrderedDict({"w": x, "b": x} if n % 2 else {"b": x, "w": x})
                with config.scoped(explain=True, default_dtypes=f"float{32 << n % 2}"):
                    np.testing.assert_array_equal(f(ordered, n % 3), x * (n % 3) + x)
        except Exception as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with caplog.at_level(logging.WARNING, "tinyjax"):
            threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert len([r for r in caplog.records if "instead of" in r.getMessage()]) > 12


def test_reasons_of_the_strategies_of_reverse_mode(caplog: pytest.LogCaptureFixture) -> None:
    """Each loop is named once, with what is kept of it and why."""

    def loop(x: Any) -> Any:
        return lax.while_loop(
            lambda s: s[1] ** 2 < 90, lambda s: (jnp.sin(s[0]), s[1] + 1), (x, 0)
        )[0]

    def counted(x: Any) -> Any:
        return lax.while_loop(lambda s: s[1] < 9, lambda s: (jnp.sin(s[0]), s[1] + 1), (x, 0))[0]

    def table(x: Any) -> Any:
        start = (jnp.full(4096, x), x, 0)
        step = lambda s: (s[0].at[s[2]].set(s[1]), jnp.sin(s[1] * s[0][0]), s[2] + 1)  # noqa: E731
        return lax.while_loop(lambda s: s[2] ** 2 < 90, step, start)[1]

    def observed(x: Any) -> Any:
        def step(s: Any) -> Any:
            tinyjax.debug.callback(lambda: None)
            return jnp.sin(s[0]), s[1] + 1

        return lax.while_loop(lambda s: s[1] < 9, step, (x, 0))[0]

    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 9, checkpoints=3)[0]

    expected = {
        loop: "256 states are kept, equally far apart",
        counted: "residuals of up to 9 iterations are stacked: 36 bytes",
        table: "residuals of 1,024 iterations are stacked; if there are more, all run again",
        observed: "256 states are kept, placed while it runs: its iterations have effects",
        scanned: "3 states are kept, as checkpoints says",
    }
    with config.scoped(explain=True), caplog.at_level(logging.WARNING, "tinyjax"):
        for fun, reason in expected.items():
            caplog.clear()
            tinyjax.jit(tinyjax.grad(fun))(1.0)
            lines = [x for x in caplog.messages if x.startswith("reverse mode")]
            kind = "scan" if fun is scanned else "while_loop"
            assert lines == [f"reverse mode of a {kind}: {reason}"]
