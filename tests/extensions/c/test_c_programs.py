"""``export.c``: whole programs, their text, their memory, and what is refused."""

import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import STRICT, results

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.c_programs import kalman, newton, pendulum, ray
from raising import raises
from tinyjax import export, lax, random, tree
from tinyjax.autodiff import jacobian
from tinyjax.errors import ArgumentError, ExportError, PlatformError

pytestmark = pytest.mark.usefixtures("double_precision")
RNG = np.random.default_rng(0)


def volume(a: Any) -> Any:
    return jnp.linalg.slogdet(a)[1] + jnp.sum(jnp.linalg.cholesky(a @ a.T))


def product_of_neighbours(x: Any) -> Any:
    return x[1:] * x[:-1] + jnp.sin(x[1:])


def in_place(x: Any) -> Any:
    return lax.fori_loop(1, 300, lambda i, a: a.at[i].set(0.5 * a[i - 1] + x[i]), x)


def swapped(u: Any, v: Any) -> Any:
    """Each next value reads the other's old one."""
    return lax.scan(lambda c, _: ((c[1] * 0.9, c[0] + c[1]), c[0]), (u, v), None, length=5)


def branches(x: Any) -> Any:
    return lax.cond(x[0] > 0, jnp.sin, lambda x: x @ jnp.ones((3, 3)), x), lax.switch(
        jnp.int32(3 * x[1]), [lambda: 1.0, lambda: 2.0, lambda: x[2]]
    )


def shared(x: Any) -> Any:
    """An array that is updated, and read afterwards by another name."""
    y = jnp.sin(x)
    z = y.reshape(4, 25).T
    w = y.at[3].set(7.0).at[5:8].multiply(2.0)
    return w, z, y[::-1] + w


def stacked_and_read(c: Any) -> Any:
    """A stack's row is read in another order, by the loop that writes it."""

    def step(c: Any, _: None) -> Any:
        y = jnp.sin(c)
        return 0.9 * c, (y, 2 * y[::-1] + 1, jnp.cos(c))

    return lax.scan(step, c, None, length=5)


def carried_and_read(a: Any, c: Any, rows: Any) -> Any:
    """An old value is read in another order than that in which the new one is written."""
    return lax.scan(lambda s, r: ((3 * r + 1, 2 * s[0][::-1] + s[1]), None), (c, a), rows)[0]


ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def written_at_itself(places: Any) -> Any:
    """An array that is updated holds the places."""

    def step(q: Any, _: None) -> Any:
        values = jnp.arange(10)[::-1] * 3 % 10
        return lax.scatter(q, q[:, None], values, ELEMENTS, mode="promise_in_bounds"), None

    return lax.scan(step, places, None, length=2)[0]


def viewed(x: Any) -> Any:
    """A view of another shape is read at equal indices."""
    y = jnp.sin(x)
    return lax.pad(y.reshape(4, 3), 0.0, ((0, -1, 0), (0, 1, 0))) + y, 2 * y


def counted(x: Any) -> Any:
    """Loops within each other have counters, and values have names like these."""
    t1, t2 = 2.0 * x, x + 1.0

    def inner(d: Any, _: None) -> Any:
        return d + t1 * t2, None

    def outer(c: Any, _: None) -> Any:
        return lax.scan(inner, c, None, length=3)[0], None

    return lax.scan(outer, x, None, length=4)[0]


def noise(seed: Any) -> Any:
    key = random.key(seed)
    first, second = random.split(key)
    return random.normal(first, (7,)), random.randint(second, (5,), 0, 100)


@tinyjax.custom_jvp
def root(x: Any) -> Any:
    return jnp.sqrt(x)


root.defjvps(lambda t, out, x: t / (2 * out))

POINT = (RNG.normal(size=6), np.eye(6), RNG.normal(size=3))
PENDULUM = (np.array([9.81, 0.1]), np.array([1.0, 0.0]))
SCENE = (np.zeros(3), np.array([0.6, 0.6, 0.5]), RNG.normal(5, 1, (50, 3)), RNG.random(50))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "pendulum": (pendulum, PENDULUM),
    "its gradient": (tinyjax.grad(pendulum, (0, 1)), PENDULUM),
    "its hessian": (tinyjax.hessian(pendulum), PENDULUM),
    "many of them": (tinyjax.vmap(pendulum, (None, 0)), (PENDULUM[0], RNG.normal(size=(3, 2)))),
    "a Kalman step": (kalman, POINT),
    "its jacobian": (tinyjax.jacfwd(kalman, 2), POINT),
    "Newton": (newton, (3.0,)),
    "many of it": (tinyjax.vmap(newton), (np.array([1.0, 8.0, 30.0]),)),
    "in place": (in_place, (RNG.random(300),)),
    "its vjp": (tinyjax.jacrev(in_place), (RNG.random(300),)),
    "swapped": (swapped, (RNG.random(5), RNG.random(5))),
    "stacked and read": (stacked_and_read, (RNG.random(100),)),
    "carried and read": (carried_and_read, (RNG.random(9), RNG.random(9), RNG.random((5, 9)))),
    "written at itself": (written_at_itself, (RNG.permutation(10),)),
    "viewed": (viewed, (RNG.random((3, 4)),)),
    "counted": (counted, (1.5,)),
    "a branch": (branches, (np.array([0.3, 0.1, 0.2]),)),
    "another": (branches, (np.array([-0.3, 0.7, 0.2]),)),
    "branches of many": (tinyjax.vmap(branches), (RNG.normal(size=(4, 3)),)),
    "memory": (shared, (RNG.random(100),)),
    "spheres": (ray, SCENE),
    "their derivative": (tinyjax.grad(lambda *xs: ray(*xs)[0], 2), SCENE),
    "random numbers": (noise, (np.int32(3),)),
    "a custom rule": (tinyjax.grad(lambda x: jnp.sum(root(x) ** 3)), (RNG.random(3) + 1,)),
    "a checkpoint": (
        tinyjax.grad(lambda x: jnp.sum(tinyjax.checkpoint(jnp.sin)(x) ** 2)),
        (RNG.random(9),),
    ),
    "single precision": (
        tinyjax.grad(lambda w, x: jnp.sum(jnp.tanh(w @ x) ** 2)),
        (np.float32(RNG.random((20, 30))), np.float32(RNG.random(30))),
    ),
    "sorting": (
        lambda x: (jnp.sort(x), jnp.argsort(x), jnp.cumsum(x), jnp.median(x)),
        (RNG.normal(size=33).round(1),),
    ),
    "a factorization": (
        tinyjax.grad(volume),
        (RNG.normal(size=(5, 5)) + 4 * np.eye(5),),
    ),
    "a sparse jacobian": (jacobian(product_of_neighbours, sparse=True), (RNG.random(9),)),
    "a mask in memory": (
        lambda x: jnp.sum(jnp.where(jnp.sort(x > 0.5)[::-1], x, 0.0)),
        (RNG.random(90),),
    ),
    "nothing": (lambda x: x, (RNG.random((2, 3)),)),
    "constants": (lambda x: (jnp.arange(5), 1.0, x), (2.0,)),
    "no elements": (lambda x: (x[:0], jnp.sum(x[:0])), (RNG.random(3),)),
    "containers": (
        lambda weights, x: {"y": [weights["a"] * x, -x], "z": None},
        ({"a": RNG.random(3)}, RNG.random(3)),
    ),
}


@pytest.fixture(scope="module")
def c_programs() -> dict[str, export.CProgram]:
    made = {}
    for number, (name, (fun, args)) in enumerate(PROGRAMS.items()):
        made[name] = export.c(fun, name=f"program_{number}")(*args)
    return made


@pytest.fixture(scope="module")
def outputs(
    c_programs: dict[str, export.CProgram], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Any]]:
    arguments = [[*map(np.asarray, tree.leaves(args))] for _, args in PROGRAMS.values()]
    values = results([*c_programs.values()], arguments, tmp_path_factory.mktemp("c"))
    return dict(zip(PROGRAMS, values, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, outputs: dict[str, list[Any]]) -> None:
    fun, args = PROGRAMS[name]
    expected = tree.leaves(fun(*tree.map(jnp.asarray, args)))
    for out, y in zip(outputs[name], expected, strict=True):
        single = np.asarray(y).dtype == np.float32
        np.testing.assert_allclose(out, y, 1e-5 if single else 1e-9, 1e-6 if single else 1e-12)


def test_calls_from_python() -> None:
    step = export.c(kalman)(*POINT).compile()
    expected = kalman(*map(jnp.asarray, POINT))
    result = step(*POINT)
    assert result.keys() == expected.keys()
    np.testing.assert_allclose(result["covariance"], expected["covariance"], 1e-12)
    again = step(POINT[0] + 1, POINT[1], POINT[2])
    assert not np.allclose(again["state"], result["state"])  # the first results are not overwritten
    # columns, numbers, and arrays of tinyjax's
    transposed = step(POINT[0], np.asfortranarray(POINT[1]), jnp.asarray(POINT[2]))
    np.testing.assert_array_equal(transposed["covariance"], result["covariance"])
    double = export.c(lambda x: 2 * x)(1.0).compile()
    assert double(3) == 6.0
    # data that nobody may write to, and a type that has two names
    fixed = np.frombuffer(np.arange(3).tobytes(), np.longlong)
    np.testing.assert_array_equal(
        export.c(lambda x: 2 * x)(np.arange(3)).compile()(fixed), [0, 2, 4]
    )
    large = export.c(lambda x, y: (jnp.cumsum(x), x[::2] + y))(np.zeros(9000), 0.0).compile()
    data = RNG.random(18000)[::2]
    sums, others = large(data, 2.0)
    np.testing.assert_allclose(sums, np.cumsum(data))
    np.testing.assert_array_equal(others, data[::2] + 2)


def test_threads_have_workspaces_of_their_own() -> None:
    program = export.c(tinyjax.grad(lambda x: jnp.sum(lax.cumprod(x) ** 2)))(np.ones(5000))
    assert "workspace" in program.header
    gradient = program.compile()
    inputs = [1 + 1e-4 * RNG.normal(size=5000) for _ in range(8)]
    expected = [gradient(x) for x in inputs]
    results: list[Any] = [None] * 8

    def call(i: int) -> None:
        for _ in range(20):
            results[i] = gradient(inputs[i])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value)


# The text


def test_text() -> None:
    def energy(mass: Any, speed: Any) -> Any:
        kinetic = 0.5 * mass * speed**2
        return kinetic + 0.1 * mass

    program = export.c(energy)(1.0, 2.0)
    assert "const double kinetic = (0.5 * mass_0) * power_2_f64(speed_0);" in program.source
    assert "test_c_programs.py" in program.source
    assert ": kinetic = 0.5 * mass * speed**2 */" in program.source
    assert float.fromhex("0x1.999999999999ap-4") == 0.1
    assert "0x1.999999999999ap-4 /* 0.1 */" in program.source
    prototype = "int energy(const double *restrict mass, const double *restrict speed, "
    assert prototype + "double *restrict out);" in program.header
    assert program.source == export.c(energy)(1.0, 2.0).source
    assert repr(program) == "<C program energy: (float64[], float64[]) -> (float64[])>"


def test_products_with_zeros() -> None:
    """They are kept, as zero times infinity is NaN, unless all numbers are finite."""
    rng = np.random.default_rng(1)

    def moved(angle: Any, x: Any) -> Any:
        c, s = jnp.cos(angle), jnp.sin(angle)
        turn = jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return turn @ x - 0.0 * x, jnp.cross(x, turn @ jnp.array([1.0, 0.0, 0.0])), x / 1.0

    args = 0.3, rng.normal(size=3)
    exact, finite = (export.c(moved, assume_finite=x)(*args) for x in (False, True))
    texts = [re.sub(r"/\*.*?\*/", "", x.source, flags=re.DOTALL) for x in (exact, finite)]
    assert "* 0.0" in texts[0]
    assert "0.0" not in texts[1]
    assert "for (" not in texts[0]
    expected = moved(*args)
    for program in exact, finite:
        for x, y in zip(program.compile()(*args), expected, strict=True):
            np.testing.assert_allclose(x, y, 1e-14)
    infinite = args[0], np.array([np.inf, 0.0, 1.0])
    with np.errstate(invalid="ignore"):
        expected = moved(*infinite)
    for x, y in zip(exact.compile()(*infinite), expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_chains_of_operations_are_one_loop() -> None:
    program = export.c(lambda x, y: jnp.sin(x) * y + jnp.exp(-x) / (1 + y * y))(
        np.ones(100), np.ones(100)
    )
    assert program.source.count("for (") == 1
    assert "workspace" not in program.header


def test_arrays_share_the_workspace() -> None:
    """A chain of products needs two places, however long it is."""

    def chain(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = x @ x
        return x

    def size(steps: int) -> int:
        header = export.c(lambda x: chain(x, steps), name="f")(np.eye(20)).header
        return int(re.findall(r"double f64\[(\d+)\]", header)[0])

    assert size(3) == size(9) == 800


def _recurrence(a: Any, b: Any) -> Any:
    return lax.fori_loop(1, 40, lambda i, x: x.at[i].set(x[i - 1] * b[i]), a)


def _branches(a: Any, b: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        return lax.cond(b[i] > 0, lambda: x.at[i].add(x[i + 1]), lambda: x)

    return lax.fori_loop(0, 39, body, a)


def _smoothing(a: Any, b: Any) -> Any:
    def row(j: Any, x: Any) -> Any:
        return lax.fori_loop(1, 39, lambda i, x: x.at[i].set(0.5 * (x[i - 1] + x[i + 1])), x)

    return lax.fori_loop(0, 3, row, a) + b


def _reads_in_branches(a: Any, b: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        return x.at[i].set(lax.cond(b[i] > 0, lambda: x[i + 1] * x[i] * b[i], lambda: 0.5))

    return lax.fori_loop(0, 39, body, a)


@pytest.mark.parametrize("fun", [_recurrence, _branches, _reads_in_branches, _smoothing])
@pytest.mark.parametrize("is_slope", [False, True])
def test_loops_copy_no_arrays(fun: Callable[[Any, Any], Any], is_slope: bool) -> None:
    slope = tinyjax.grad(lambda a, b: jnp.sum(fun(a, b)), (0, 1))
    source = export.c(slope if is_slope else fun)(jnp.ones(40), jnp.ones(40)).source
    inside = re.findall(r"\n    for \(int t(?:_\d+)? .*?\n    }", source, re.DOTALL)
    assert inside
    assert not any("memcpy" in loop or "int i " in loop for loop in inside), source


def test_only_the_branch_that_is_taken_is_computed() -> None:
    program = export.c(lambda p, x: lax.cond(p, jnp.sin, jnp.exp, x))(True, 1.0)
    text = program.source
    assert re.search(r"if \(p_0\) \{[^}]*sin[^}]*\}\s*else \{[^}]*exp", text)


#: Compilers with their options, among them one for a microcontroller without an operating system.
COMMANDS = (
    "gcc -O0",
    "gcc -O2 -ffreestanding",
    "gcc -O1 -Wshadow -Wconversion -Wno-sign-conversion -Wno-float-conversion",
    "clang -O1 -Wshadow",
    "arm-none-eabi-gcc -O1 -mcpu=cortex-m4 -mthumb -ffreestanding",
)


@pytest.mark.parametrize("command", [x for x in COMMANDS if shutil.which(x.split()[0])])
def test_compiles_strictly(
    command: str, c_programs: dict[str, export.CProgram], tmp_path: Path
) -> None:
    for program in c_programs.values():
        (tmp_path / f"{program.name}.c").write_text(program.source)
        assert "malloc" not in program.source
    sources = [f"{program.name}.c" for program in c_programs.values()]
    subprocess.run([*command.split(), *STRICT, "-c", *sources], cwd=tmp_path, check=True)


def test_header_and_source_go_together(tmp_path: Path) -> None:
    """A program in C that includes the header, and calls the function in a workspace of its own."""
    gradient = tinyjax.grad(lambda speed: jnp.sum(lax.cumsum(speed) ** 2))
    program = export.c(gradient, name="slope")(np.ones(200))
    (tmp_path / "slope.h").write_text(program.header)
    (tmp_path / "slope.c").write_text(program.source)
    (tmp_path / "main.c").write_text(
        """
#include <stdio.h>
#include "slope.h"
int main(void) {
    double speed[SLOPE_SIZE_speed], out[SLOPE_SIZE_out], other[SLOPE_SIZE_out];
    struct slope_workspace workspace;
    for (int i = 0; i < SLOPE_SIZE_speed; ++i) speed[i] = 0.01 * i;
    if (slope(speed, out) || slope_in(&workspace, speed, other)) return 1;
    printf("%.17g %.17g\\n", out[0], other[0]);
    return 0;
}
"""
    )
    compiler = shutil.which("cc")
    assert compiler is not None
    files = [str(tmp_path / "main.c"), str(tmp_path / "slope.c")]
    binary = str(tmp_path / "main")
    subprocess.run([compiler, *STRICT, *files, "-o", binary, "-lm"], check=True)
    done = subprocess.run([binary], check=True, capture_output=True, text=True)
    first, second = map(float, done.stdout.split())
    expected = gradient(0.01 * jnp.arange(200.0))[0]
    np.testing.assert_allclose([first, second], expected, 1e-12)


# Refusals


@pytest.mark.parametrize(
    ("fun", "args", "message"),
    [
        (jnp.fft.fft, (np.ones(4),), "complex128"),
        (lambda x: x * 1j, (np.ones(2),), r"complex128\[2\]"),
        (lambda x: x.astype("float16"), (np.ones(2),), r"float16\[2\]"),
        (jnp.linalg.eigh, (np.eye(2),), "cannot write eigh"),
        (
            lambda x: tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((), x.dtype), x),
            (1.0,),
            "cannot write pure_callback",
        ),
        (lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.linalg.svd(x)[0], x), (np.eye(2),), "svd"),
    ],
)
def test_refuses(fun: Callable[..., Any], args: tuple[Any, ...], message: str) -> None:
    with raises(ExportError, match=message):
        export.c(fun)(*args)


def test_refuses_arguments_of_other_types() -> None:
    program = export.c(lambda scale, x: scale * x, name="scaled")(2.0, np.ones(3))
    scaled = program.compile()
    with raises(ArgumentError, match=r"x of type float64\[3\], but got float64\[4\]"):
        scaled(2.0, np.ones(4))
    with raises(ArgumentError, match=r"x of type float64\[3\], but got int64\[3\]"):
        scaled(2.0, np.arange(3))
    with raises(ArgumentError, match="scaled takes arguments of the structure"):
        scaled(2.0)
    with raises(ArgumentError, match="is no name in C"):
        export.c(jnp.sin, name="two words")


def test_names_the_compiler_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = export.c(jnp.sin)(1.0)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with raises(PlatformError, match="compile needs a C compiler"):
        program.compile()


def test_primitives_of_others() -> None:
    """A primitive has a rule for C like those of the library."""
    treble_p = tinyjax.extend.Primitive("treble_in_c", tinyjax.extend.NoParams)
    treble_p.def_abstract_eval(lambda avals, params: avals)

    def treble(x: Any) -> Any:
        return tinyjax.extend.bind1(treble_p, [x], tinyjax.extend.NO_PARAMS)

    with raises(ExportError, match="cannot write treble_in_c"):
        export.c(treble)(1.0)

    @treble_p.def_rule(tinyjax.extend.C)
    def write(w: Any, operands: Any, eqn: Any) -> Any:
        (x,) = operands
        return [x.moved(x.shape, lambda index: f"(3 * {x.element(index)})", cost=1)]

    assert export.c(lambda x: treble(x) + 1)(1.0).compile()(2.0) == 7.0
