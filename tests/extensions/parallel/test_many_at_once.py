"""Many programs under way at once, from several threads, with arguments that lie anywhere.

Each computes what NumPy does, or is refused: XLA itself notices neither that an argument lies
otherwise than a program was compiled for, nor that programs wait for each other.
"""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import NamedSharding, P, lax
from tinyjax.errors import ShardingError
from tinyjax.sharding import AxisType, Mesh

DEVICES = tinyjax.devices()
GRID = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
ROW = tinyjax.make_mesh((4,), ("i",), AxisType.Auto)
BACKWARD = Mesh(np.array(DEVICES[::-1]), "i")
TURNED = Mesh(np.array([DEVICES[i] for i in (2, 0, 3, 1)]).reshape(2, 2), ("x", "y"))
PAIR = tinyjax.make_mesh((2,), ("i",), AxisType.Auto, devices=DEVICES[2:])
PLACES: list[Any] = [
    None,
    DEVICES[1],
    *[
        NamedSharding(mesh, P(*spec))
        for mesh in (GRID, TURNED)
        for spec in [(), ("x",), ("y", "x"), (None, ("x", "y")), (("y", "x"),)]
    ],
    *[
        NamedSharding(mesh, P(*spec))
        for mesh in (ROW, BACKWARD, PAIR)
        for spec in [(), ("i",), (None, "i")]
    ],
]


def ring_over(mesh: Mesh) -> Callable[..., Any]:
    """A program with collectives of its own, on a mesh that may not be the arguments'."""

    @tinyjax.shard_map(mesh=mesh, in_specs=(P("i"), P(None, "i")), out_specs=P("i"))
    def ring(x: Any, y: Any) -> Any:
        n = lax.axis_size("i")
        turned = lax.ppermute(x, "i", [(i, (i + 1) % n) for i in range(n)])
        return turned @ lax.all_gather(y, "i", axis=1, tiled=True) + lax.psum(x.sum(), "i")

    return ring


def shifted(x: Any, y: Any, parts: int) -> Any:
    return np.roll(x, len(x) // parts, 0) @ y + x.sum()


#: programs, and what they compute
PROGRAMS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda x, y: x @ y, lambda x, y: x @ y),
    (lambda x, y: x.T @ y - x.sum(), lambda x, y: x.T @ y - x.sum()),
    (lambda x, y: jnp.sin(x) + y.T, lambda x, y: np.sin(x) + y.T),
    (lambda x, y: (x - x.mean(0)) * y.max(1), lambda x, y: (x - x.mean(0)) * y.max(1)),
    (
        tinyjax.grad(lambda x, y: jnp.sum(jnp.tanh(x @ y))),
        lambda x, y: (1 - np.tanh(x @ y) ** 2) @ y.T,
    ),
    (ring_over(ROW), lambda x, y: shifted(x, y, 4)),
    (ring_over(BACKWARD), lambda x, y: shifted(x, y, 4)),
    (ring_over(PAIR), lambda x, y: shifted(x, y, 2)),
]
JITTED = [tinyjax.jit(program) for program, _ in PROGRAMS]


def call(dice: random.Random) -> tuple[Any, Any] | None:
    """Start a program, and return its result, not awaited, with NumPy's; None where refused."""
    numbers = np.random.default_rng(dice.randrange(1 << 30))
    x, y = [(numbers.standard_normal((8, 8)) / 4).astype(np.float32) for _ in range(2)]
    which = dice.randrange(len(PROGRAMS))
    places = [dice.choice(PLACES) for _ in range(2)]
    given = [
        v if where is None else tinyjax.device_put(v, where)
        for v, where in zip((x, y), places, strict=True)
    ]
    program = JITTED[which] if dice.random() < 0.9 else PROGRAMS[which][0]
    try:
        return program(*given), PROGRAMS[which][1](x, y)
    except ShardingError:
        return None


@pytest.mark.parametrize("programs", [80, pytest.param(500, marks=[pytest.mark.fuzz])])
def test_many_programs_from_four_threads(programs: int) -> None:
    results: list[tuple[Any, Any] | None] = []
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        try:
            results.extend([call(dice) for _ in range(programs // 4)])
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    computed = [one for one in results if one is not None]
    assert len(results) == programs
    assert len(computed) > programs // 2
    for result, expected in computed:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("programs", [20, pytest.param(500, marks=[pytest.mark.fuzz])])
def test_one_program_many_times_over(programs: int) -> None:
    # nothing is awaited, and each call waits for the results of the one before; those without
    # collectives are not counted among what is under way
    doubled, halved = tinyjax.jit(lambda x: x * 2), tinyjax.jit(lambda x: x / 2)
    step = tinyjax.jit(lambda x, y: (x @ y) / 8, donate_argnums=0)
    ones = np.ones((8, 8), np.float32)
    y = tinyjax.device_put(ones, NamedSharding(GRID, P("x", "y")))
    results: list[Any] = []

    def work(where: Any) -> None:
        x = tinyjax.device_put(ones, where)
        for _ in range(programs // 4):
            x = step(halved(halved(doubled(doubled(x)))), y)
        results.append(x)

    specs = [P("x"), P(None, "y"), P(("x", "y")), P()]
    threads = [threading.Thread(target=work, args=(NamedSharding(GRID, s),)) for s in specs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for x in results:
        np.testing.assert_array_equal(np.asarray(x), ones)


@pytest.mark.slow
def run_alone(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, with four devices."""
    environment = {**os.environ, "TINYJAX_NUM_CPU_DEVICES": "4", "XLA_FLAGS": ""}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_programs_as_xla_compiles_them_by_default() -> None:
    # at the level of the tests a device that waits takes fewer threads
    program = """
import threading
import numpy as np, tinyjax
from tinyjax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
halved, step = tinyjax.jit(lambda x: x / 2), tinyjax.jit(lambda x, y: x @ y, donate_argnums=0)
ones, results = np.ones((8, 8), np.float32), []
y = tinyjax.device_put(ones / 4, NamedSharding(mesh, P("x", "y")))
def work(spec):
    x = tinyjax.device_put(ones, NamedSharding(mesh, spec))
    for _ in range(100):
        x = step(halved(x), y)
    results.append(x)
specs = P("x"), P(None, "y"), P(("x", "y")), P()
threads = [threading.Thread(target=work, args=(spec,)) for spec in specs]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(bool((np.asarray(x) == ones).all()) for x in results))
"""
    ran = run_alone(program)
    assert ran.stdout.strip() == "4", ran.stderr[-2000:]


@pytest.mark.parametrize("called", ["vmap(f)(x)", "grad(lambda x: vmap(f)(x).sum())(x)"])
def test_the_first_type_of_a_process_that_says_where_values_lie(called: str) -> None:
    """It may be made under transformations that run already: how results lie follows as later."""
    ran = run_alone(f"""
import numpy as np
from tinyjax import P, grad, lax, make_mesh, reshard, set_mesh, vmap
kernel = np.ones((4, 3, 3), np.float32)
f = lambda x: lax.conv_general_dilated(reshard(x, P("x")), kernel, (1,), "SAME")
x = np.ones((2, 8, 3, 8), np.float32)
with set_mesh(make_mesh((2, 2), ("x", "y"))):
    print(float({called}.sum()), float({called}.sum()))
""")
    total = 2 * 8 * 4 * (6 * 9 + 2 * 6)  # of the windows, those at both ends reach outside
    assert [*map(float, ran.stdout.split())] == [total, total], ran.stderr[-2000:]
