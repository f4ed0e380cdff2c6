"""The view of a mistake's author: their own lines, in Python, in IPython and in pytest."""

import gc
import linecache
import math
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, grad, jit, lax, make_jaxpr, vmap
from tinyjax._base import tracebacks
from tinyjax._base.frames import is_ours, run_text
from tinyjax.errors import ArgumentError, TinyjaxError

OURS = str(Path(tinyjax.__file__ or "").parent)

PRELUDE = """
import tinyjax
import tinyjax.numpy as jnp

def loss(w, x):
    {mistake}
    return jnp.sum(h)

@tinyjax.jit
def step(w, x):
    value, gradient = tinyjax.value_and_grad(loss)(w, x)
    return w - gradient

"""
CALL = "step(jnp.ones((3, 4)), jnp.ones((5, 2)))\n"
#: Each mistake, and how many lines of a terminal it may take in IPython and in Python.
MISTAKES = {
    "shapes": ("h = x @ w", 21, 17),
    "if": ("h = x if jnp.sum(x) > 0 else w", 22, 17),
    "python": ("h = x + [][0]", 19, 15),
}


def untyped(value: object) -> Any:
    """Return a value whose type no checker knows."""
    return value


def height(text: str) -> int:
    """Return the number of lines of 80 characters that a text takes."""
    return sum(max(1, math.ceil(len(line) / 80)) for line in text.strip().splitlines())


def program(name: str) -> str:
    return PRELUDE.format(mistake=MISTAKES[name][0]).lstrip()


@pytest.mark.parametrize("name", MISTAKES)
def test_python_shows_the_lines_of_the_user(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(name) + CALL, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert OURS not in done.stderr
    assert height(done.stderr.replace(str(path), "program.py")) <= MISTAKES[name][2]
    assert MISTAKES[name][0] in done.stderr
    assert "config.update('tracebacks', 'full')" in done.stderr


@pytest.fixture(scope="module")
def shell() -> Any:
    return InteractiveShell.instance(colors="nocolor", history_length=0)


@pytest.mark.parametrize("name", MISTAKES)
def test_ipython_shows_the_lines_of_the_user(name: str, shell: Any) -> None:
    with capture_output() as captured:
        shell.run_cell(program(name), store_history=True)
        shell.run_cell(CALL, store_history=True)
    text = captured.stdout
    assert OURS not in text
    assert height(text) <= MISTAKES[name][1]
    if name != "python":
        assert re.search(r"  at Cell In\[\d+\], line 5 in loss: h = ", text)


def frames(error: BaseException) -> list[str]:
    return [entry.filename for entry in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize(
    "call",
    [
        lambda fun: grad(fun)(1.0),
        lambda fun: jit(fun)(1.0),
        lambda fun: vmap(fun)(jnp.ones(3)),
        lambda fun: tinyjax.jvp(fun, (1.0,), (1.0,)),
        lambda fun: make_jaxpr(fun)(1.0),
        lambda fun: tinyjax.eval_shape(fun, 1.0),
        lambda fun: tinyjax.hessian(fun)(1.0),
        lambda fun: tinyjax.checkpoint(fun)(1.0),
        lambda fun: tinyjax.custom_gradient(fun)(1.0),
        lambda fun: lax.fori_loop(0, 3, lambda _, x: fun(x), 1.0),
        lambda fun: lax.scan(lambda c, _: (fun(c), None), 1.0, length=3),
        lambda fun: lax.cond(True, fun, fun, 1.0),
        lambda fun: lax.while_loop(lambda x: x < 2, fun, 1.0),
    ],
)
def test_every_transformation_folds(call: Any) -> None:
    def fails(x: object) -> object:
        raise KeyError(x)

    with pytest.raises(KeyError) as caught:
        call(fails)
    assert frames(caught.value).count(__file__) == len(frames(caught.value))
    with config.scoped(tracebacks="full"), pytest.raises(KeyError) as caught:
        call(fails)
    assert any(path.startswith(OURS) for path in frames(caught.value))
    assert not hasattr(caught.value, "__notes__")


def test_causes_are_folded_too() -> None:
    def fails(x: object) -> object:
        try:
            return grad(lambda y: y.nothing)(x)
        except AttributeError as error:
            raise RuntimeError("sum") from error

    with pytest.raises(RuntimeError) as caught:
        jit(fails)(1.0)
    assert caught.value.__cause__ is not None
    assert set(frames(caught.value) + frames(caught.value.__cause__)) == {__file__}


def test_ipython_and_pytest_know_the_frames_of_eager_functions() -> None:
    with pytest.raises(TinyjaxError) as caught:
        jnp.ones(3) @ jnp.ones(4)
    hidden = [e.frame.f_locals.get("__tracebackhide__", False) for e in caught.traceback]
    assert hidden == [False] + [True] * (len(hidden) - 1)
    assert len(hidden) > 1


def test_the_setting_has_a_name_of_jax() -> None:
    assert config.read("jax_traceback_filtering") == "auto"
    config.update("jax_traceback_filtering", "off")
    try:
        assert config.settings().tracebacks == "full"
    finally:
        config.update("jax_traceback_filtering", "auto")
    with raises(ArgumentError, match="'folded' or 'full'"):
        config.update("jax_traceback_filtering", "sometimes")


@pytest.mark.parametrize(
    ("transformed", "spec", "seen"),
    [
        (grad, "", "JVPTracer<float32[]>(primal=2.0)"),
        (grad, ".2f", "2.00"),
        (
            lambda fun: lambda x: tinyjax.jvp(fun, (x,), (1.0,)),
            "",
            "JVPTracer<float32[]>(primal=2.0, tangent=1.0)",
        ),
        (
            lambda fun: lambda x: vmap(fun)(jnp.array([x, 3.0])),
            "",
            "BatchTracer<float32[]>(batch=[2. 3.], axis=0)",
        ),
        (jit, "", "StagingTracer<float32[]>"),
        (lambda fun: jit(grad(fun)), "", "JVPTracer<float32[]>"),
    ],
)
def test_tracers_show_the_values_they_hold(transformed: Any, spec: str, seen: str) -> None:
    shown: list[str] = []

    def show(x: Any) -> Any:
        shown.append(format(x, spec))
        return x

    transformed(show)(2.0)
    assert shown == [seen]


def test_a_format_wants_a_value() -> None:
    with raises(TinyjaxError, match="a formatted number needs the data"):
        jit(lambda x: f"{x:.2f}")(1.0)


ONES = jnp.ones((2, 3))
KEPT: list[Any] = []
jit(lambda x: KEPT.append(jnp.exp(x)))(1.0)


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (lambda: jnp.ones(3) @ jnp.ones(4), 3),
        (lambda: ONES + jnp.ones((2, 2)), 0),
        (lambda: jnp.einsum("ij,jk->ik", ONES, ONES), 0),
        (lambda: jnp.array([[1, 2], [3]]), 0),
        (lambda: jnp.concatenate([jnp.ones(3), ONES]), 0),
        (lambda: jnp.var(untyped("a")), 0),
        (lambda: jnp.reshape(ONES, untyped("ab")), 4),
        (lambda: jnp.linalg.inv(ONES), 0),
        (lambda: lax.add(ONES, jnp.ones(3)), 2),
        (lambda: lax.rev(ONES, (0, 0)), 3),
        (lambda: KEPT[0] + 1, 3),
        (lambda: jnp.sin(KEPT[0]), 2),
    ],
)
@pytest.mark.wrong_types
def test_errors_of_eager_functions_are_short_in_python(call: Any, most: int) -> None:
    """They show few lines of ours, and tell nothing twice."""
    with pytest.raises(TinyjaxError) as caught:
        call()
    ours = [path for path in frames(caught.value) if path.startswith(OURS)]
    assert len(ours) <= most, ours
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    with config.scoped(tracebacks="full"), pytest.raises(TinyjaxError) as caught:
        call()
    assert any(path.startswith(OURS) for path in frames(caught.value))


def test_staged_errors_tell_nothing_twice() -> None:
    """A type rule that refuses is called only where the lookup of the types failed."""
    for transformed in (jit, make_jaxpr, grad):
        with pytest.raises(TinyjaxError) as caught:
            transformed(lambda x: jnp.sum(lax.concatenate([x, jnp.ones((3, 7))], 0)))(ONES)
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_leaked_value_says_where_it_was_made() -> None:
    with raises(TinyjaxError, match=r"created by exp on line .*test_tracebacks\.py:\d+"):
        jnp.sin(KEPT[0])


def depends(call: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TinyjaxError) as caught:
        call(*args)
    return str(re.findall(r"depends on the (values? of the arguments? .*?)\. ", str(caught.value)))


def test_concretization_names_the_arguments_that_a_value_depends_on() -> None:
    def outer(a: Any) -> Any:
        return jit(lambda b: float(a["n"] * b))(2.0)

    def loop(c: Any, y: Any) -> Any:
        return (c if y > 0 else y), y

    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("value of the argument y", jit(lambda x, y: x if y > 0 else y), (1.0, 2.0)),
        ("value of the argument y['n']", jit(lambda x, y: x + jnp.ones(y["n"])), (1.0, {"n": 2})),
        ("values of the arguments x and z", jit(lambda x, y, *, z: y + float(x - z)), (1.0, 2.0)),
        ("value of the argument y", jit(lambda n, y: bool(y * n), static_argnums=0), (3, 2.0)),
        ("value of the argument y", grad(jit(lambda y: float(jnp.sin(y)))), (2.0,)),
        ("value of the argument y", lambda y: lax.scan(loop, 0.0, y), (ONES[0],)),
        ("value of the argument x[1]", make_jaxpr(lambda *x: int(x[1])), (1, 2)),
        ("values of the arguments b and a['n'] of ", jit(outer), ({"n": 1.0},)),
        (
            "values of the arguments x[0], x[1], x[2], x[3], x[4], x[5] and 3 more",
            jit(lambda x: float(sum(x))),
            ([1.0] * 9,),
        ),
    ]
    for words, call, args in cases:
        kwargs = {"z": 1.0} if " z" in words else {}
        assert words in depends(partial(call, **kwargs), *args).replace("\\", "")


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        (tinyjax, "vmpa", "vmap"),
        (jnp, "sine", "sin"),
        (jnp.linalg, "nrom", "norm"),
        (jnp.fft, "ffft", "fft"),
        (lax, "scn", "scan"),
        (lax.linalg, "choleksy", "cholesky"),
        (tinyjax.nn.initializers, "glorot_norml", "glorot_normal"),
        (tinyjax.random, "noraml", "normal"),
    ],
)
def test_a_misspelt_name_is_answered_once(module: Any, name: str, near: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    text = "".join(traceback.format_exception(caught.value))
    assert re.findall("Did you mean:? '(.*?)'", text) == [near]


def test_written_functions_show_their_lines() -> None:
    """Tracebacks find the line of a text that was run, as long as what it defines is there."""
    scope: dict[str, Any] = {}
    filename = run_text("core", "example", "def made(x):\n    return (lambda: 1 / x)\n", scope)
    inner = scope.pop("made")(0)
    del scope
    with pytest.raises(ZeroDivisionError) as caught:
        inner()
    assert "return (lambda: 1 / x)" in "".join(traceback.format_exception(caught.value))
    del inner, caught
    gc.collect()
    assert not linecache.getlines(filename)


def test_endless_tracing_is_told_after_work_that_grows_with_the_depth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def walk(x: Any) -> Any:
        return jit(lambda y: walk(y * 2.0))(x)

    def descend(x: Any) -> Any:
        return lax.cond(x > 0, lambda: descend(x - 1.0), lambda: x)

    calls: list[object] = []

    def ask(frame: FrameType) -> bool:
        calls.append(None)
        return is_ours(frame)

    monkeypatch.setattr(tracebacks, "is_ours", ask)
    for fun in (walk, jit(descend)):
        with raises(RecursionError, match="calls itself without end") as caught:
            fun(1.0)
        assert len(calls) < 1_000_000  # 2,000 levels, of which each left several million before
        assert len(traceback.extract_tb(caught.tb)) < 200
        calls.clear()
