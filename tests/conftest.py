"""Settings that every test shares."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from zlib import crc32

import hypothesis
import pytest

# Several devices, for the tests of what lies on them; all else is on the first. Read when tinyjax
# is first imported, and jax.
os.environ.setdefault("TINYJAX_NUM_CPU_DEVICES", "4")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")

# XLA prints what it thinks of the machine; read when jaxlib is first imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from fuzz.forgetting import forget
from tinyjax import config, default_dtypes
from tools import searches
from tools.quick import FLAGS

os.environ.setdefault("XLA_FLAGS", FLAGS)  # read when XLA is started

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

#: The run with runtime type checks takes the examples in docstrings, which call every public
#: function. Of other tests it takes one in so many, and of a test with many cases one case in so
#: many: what a function takes and gives is of the same types in most of them.
_EXAMPLES = "tests/house/test_docs.py::test_docstrings"
_TESTS_PER_TYPE_CHECK, _CASES_PER_TYPE_CHECK = 10, 50


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose among the cases of tests with many: the same ones in every run, and spread evenly.

    Of a test marked ``sampled(n)`` plain runs take one case in n, and at least one; the others
    become searches, which ``nox -s fuzz`` makes. ``sampled(n, turn)`` takes other cases than tests
    with other turns, and ``always`` names cases that no other test stands in for. With
    TINYJAX_SAMPLE=n one test in n is run, of all that would be.
    """
    cases_of: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases_of[item.nodeid.partition("[")[0]].append(item)
    for test in cases_of.values():
        mark = test[0].get_closest_marker("sampled")
        sampled = [item for item in test if mark and _sampled(item, *mark.args, **mark.kwargs)]
        sampled = sampled or [min(test, key=lambda item: crc32(item.nodeid.encode()))]
        for item in {*test} - {*sampled}:
            item.add_marker(pytest.mark.fuzz)
    sample = cases = int(os.environ.get("TINYJAX_SAMPLE") or 1)
    examples = sample
    if os.environ.get("TINYJAX_TYPECHECK"):
        sample, cases = _TESTS_PER_TYPE_CHECK * sample, _CASES_PER_TYPE_CHECK * sample
    selected: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        one_in = cases if "[" in item.nodeid else sample
        taken = _chosen(item, examples if item.nodeid.startswith(_EXAMPLES) else one_in)
        (selected if taken else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = selected


def _sampled(
    item: pytest.Item, one_in: int, turn: int | None = None, always: tuple[str, ...] = ()
) -> bool:
    case = item.nodeid.partition("[")[2].removesuffix("]")
    case = case.removeprefix("first-").removeprefix("compiled-")  # by ``each_tier``
    if turn is None:
        return case in always or _chosen(item, one_in)
    return case in always or crc32(case.encode()) % one_in == turn


def _chosen(item: pytest.Item, one_in: int) -> bool:
    return crc32(item.nodeid.encode()) % one_in == 0


@pytest.fixture(scope="module")
def double_precision() -> Iterator[None]:
    """Floats are of double precision, as in NumPy."""
    with default_dtypes("float64"):
        yield


@pytest.fixture(scope="module")
def compiled() -> Iterator[None]:
    """Programs are compiled at their first call, for tests of what XLA makes of them."""
    with config.scoped(tier="compiled"):
        yield


@pytest.fixture(scope="module", params=["first", "compiled"])
def each_tier(request: pytest.FixtureRequest) -> Iterator[str]:
    """The first calls of a program are evaluated by NumPy, and then XLA compiles each.

    For tables that compare with other sources. Other tests have the default, as users do.
    """
    with config.scoped(tier=request.param):
        yield request.param


def pytest_collection_finish() -> None:
    _set_aside()


_tests_run = count(1)
#: After so many tests compiled programs are dropped.
_PROGRAMS_KEPT_FOR = 200


def pytest_runtest_teardown() -> None:
    """Drop compiled programs now and then."""
    if not next(_tests_run) % _PROGRAMS_KEPT_FOR:
        forget()
        _set_aside()


def _set_aside() -> None:
    """Leave out of later garbage collections what outlives a test: modules, tests, reports.

    A full collection over them takes seconds in the end, and hundreds of tests ask for one.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a search tried, for tests/tables/searches.md."""
    if "PYTEST_XDIST_WORKER" in os.environ or not searches.is_to_be_noted():
        return
    search = report.nodeid.rpartition("::")[2]
    if report.when == "call" and search in searches.TRIED:
        if report.failed:
            searches.note_mistake(search)
        elif report.passed:
            _durations[search] = report.duration
    told = report.__dict__.get(searches.STATISTICS)  # with the report of its end
    if told and search in _durations:
        searches.note(search, searches.examples(told), _durations[search])


_durations: dict[str, float] = {}
