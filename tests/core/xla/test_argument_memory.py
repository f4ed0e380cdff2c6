"""NumPy arguments are copied once, into memory of earlier calls, and that memory is bounded."""

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.host.xla import call_writer
from tinyjax.core.xla.backend import Backend
from tinyjax.dtypes import HostArray

pytestmark = pytest.mark.usefixtures("compiled")

MIB = 1024 * 1024


def ones(nbytes: int) -> HostArray:
    return np.ones(nbytes // 4, np.float32)


def called(fun: Any, *args: HostArray) -> Any:
    """A compiled function whose calls with such arguments are planned."""
    compiled = tinyjax.jit(fun, tier="compiled")
    for _ in range(4):
        compiled(*args)
    return compiled


def held_bytes() -> int:
    """Return the bytes of memory for arguments of all programs."""
    memories = [*call_writer._memories]
    return sum(m._nbytes * (len(m.free) + len(m.in_use)) for m in memories)


@pytest.fixture
def transfers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is sent to the device."""
    sizes: list[int] = []
    put = Backend.put

    def recorder(self: Backend, host: HostArray, aval: Any) -> Any:
        sizes.append(host.nbytes)
        return put(self, host, aval)

    monkeypatch.setattr(Backend, "put", recorder)
    return sizes


@pytest.mark.parametrize("nbytes", [1024, 16 * 1024, 20_000, 80_000, 400_000, 4 * MIB])
def test_memory_is_made_for_calls_under_way_and_not_again(
    nbytes: int, transfers: list[int]
) -> None:
    x = ones(nbytes)
    double = called(lambda x: x * 2, x)
    for i in range(200):
        x[:] = i
        result = double(x)
        x[:] = -1
        assert float(result[0]) == float(result[-1]) == 2.0 * i
    # the first call sends its argument, and the first that returns early leaves it to XLA
    assert len(transfers) <= 3 + max(2, min(32, 2 * MIB // nbytes))


def test_arguments_beyond_the_room_of_a_call_are_sent(transfers: list[int]) -> None:
    small, large = ones(1024), ones(9 * MIB)
    add = called(lambda x, y, z: x[0] + y[:3] + z[0], large, small, large)
    del transfers[:]
    large[:], small[:] = 2, 3
    result = add(large, small, large)
    large[:] = small[:] = -1
    np.testing.assert_array_equal(result, np.full(3, 7.0))
    assert transfers == [9 * MIB] * 2


def test_memory_of_all_programs_is_bounded() -> None:
    x = ones(4 * MIB)
    for i in range(40):
        add = called(lambda x, i=i: x + i, x)
        x[:] = i
        results = [add(x) for _ in range(4)]
        x[:] = -1
        assert all(float(result[5]) == 2.0 * i for result in results)
        assert held_bytes() <= 64 * MIB


def test_memory_goes_with_its_program() -> None:
    x = ones(MIB)
    gc.collect()  # the programs of other tests
    before = held_bytes()
    double = called(lambda x: x * 2, x)
    for _ in range(20):  # the memory of a first call that goes on behind its return is not kept
        double(x)
    assert held_bytes() > before
    del double
    gc.collect()
    assert held_bytes() <= before


def test_programs_without_results_and_in_threads() -> None:
    nothing = called(lambda x: (), ones(20_000))
    for _ in range(100):
        assert nothing(ones(20_000)) == ()
    slow = called(lambda x: lax.fori_loop(0, 50, lambda i, y: jnp.cos(y), x) + x, ones(20_000))
    y = np.float32(1.0)
    for _ in range(50):
        y = np.cos(y)

    def run(number: int) -> None:
        x = ones(20_000)
        for _ in range(50):
            x[:] = 1.0
            result = slow(x)
            x[:] = number
            np.testing.assert_allclose(result, np.full(5000, y + 1), rtol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
