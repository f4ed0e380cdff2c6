"""Settings that every test shares."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from zlib import crc32

import hypothesis
import pytest

from tinyjax import default_dtypes

# LLVM's optimisation, and the lowering by way of MLIR of what XLA fuses, are two thirds of the time
# of a compilation (docs/jaxlib.md). Small programs that run once repay neither.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)

# XLA prints what it thinks of the machine; read when jaxlib is first imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

# The suite takes the same examples in every run, so that a failure is the change's and no dice's.
hypothesis.settings.register_profile(
    "suite", deadline=None, derandomize=True, database=None, print_blob=True
)
# `nox -s fuzz` takes new ones each time, and remembers in .hypothesis/ those that failed.
hypothesis.settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(os.environ.get("TINYJAX_FUZZ_EXAMPLES") or 2000),
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")

#: Of a test with many cases the run with runtime type checks takes one in so many, other ones of
#: each test: what a function takes and gives is of the same types in most of them.
_ONE_CASE_IN = 6


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("TINYJAX_TYPECHECK"):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.split("[")[0]
        seen[test] += 1
        taken = (seen[test] + crc32(test.encode())) % _ONE_CASE_IN == 0
        (kept if "[" not in item.nodeid or taken else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture(scope="module")
def double_precision() -> Iterator[None]:
    """Floats are of double precision, as in NumPy."""
    with default_dtypes("float64"):
        yield


_tests_run = count(1)
#: After so many tests compiled programs are dropped.
_PROGRAMS_KEPT_FOR = 200


def pytest_runtest_teardown() -> None:
    """Drop compiled programs now and then: Linux gives a process 65,530 mappings of memory.

    A program takes about ten, the reference programs that jax compiles are never dropped by
    themselves, and LLVM aborts the process when it gets no more.
    """
    if next(_tests_run) % _PROGRAMS_KEPT_FOR:
        return
    for name, clear in (("jax", "clear_caches"), ("tinyjax.xla", "cache_clear")):
        if name in sys.modules:
            getattr(sys.modules[name], clear)()
    gc.collect()
