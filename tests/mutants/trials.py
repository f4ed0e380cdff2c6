"""Mutants and tests brought together, each trial in a process of its own.

A process that has imported what tests import, except ``tinyjax``, is forked for each trial. Its
child changes the module as it is imported, and hands chosen tests to pytest. A child that crashes,
or does not end, has noticed too.
"""

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from mutants.covering import Coverage, Recorder, first_marks, is_search, marked
from mutants.loading import change_imports
from mutants.population import ROOT, Mutant

#: Tests that may meet mutants. The others check text or examples, call programs in other processes,
#: or call XLA when they are imported, after which a process cannot be forked.
TESTS: Final = [
    "tests/primitives",
    "tests/core/transforms",
    "tests/core/control_flow",
    "tests/core",
    "tests/core/jit",
    "tests/lax",
    "tests/custom_derivatives",
    "tests/extensions/callbacks",
    "tests/random",
    "tests/core/xla",
    "tests/autodiff/test_toolbox.py",
    "tests/extensions/parallel/test_communication.py",
    "tests/extensions/parallel/test_derivatives_inside.py",
    "tests/extensions/parallel/test_parts_of_a_mesh.py",
    "tests/extensions/parallel/test_shard_map.py",
    "tests/extensions/parallel/test_sharded_arrays.py",
    "tests/extensions/parallel/test_sharded_programs.py",
    "tests/extensions/parallel/test_shardings.py",
    "tests/extensions/checkpointing/test_checkpoint.py",
    "tests/extensions/state/test_refs.py",
    "tests/messages/test_errors.py",
    "tests/extend/test_extending.py",
    "tests/messages/test_invalid_programs.py",
    "tests/house/test_random_jaxprs.py",
    "tests/base/test_tracebacks.py",
    "tests/extensions/nans/test_debug_nans.py",
    "tests/testing/test_testing.py",
    "tests/testing/test_test_util.py",
    "tests/export/test_export.py",
    "tests/implicit/test_implicit.py",
    "tests/base/test_dtypes.py",
    "tests/base/test_config.py",
    "tests/house/test_counts.py",
    "tests/base/test_narrow_dtypes.py",
    "tests/house/test_interop.py",
    "tests/messages/test_bad_arguments.py",
    "tests/numpy",
    "tests/nn",
    "tests/as_jax/test_facade.py",
    "tests/house/test_fuzz.py",
    "tests/as_jax/test_like_jax.py",
    "tests/export/test_symbolic_sizes.py",
    "tests/autodiff/test_taylor.py",
    "tests/as_jax/test_toplevel.py",
    "tests/tree/test_tree.py",
    "tests/experimental/test_values_in_place.py",
    "tests/experimental/test_hijax.py",
    "tests/experimental/test_sparse.py",
    "tests/extensions/parallel/test_commutation.py",
    "tests/extensions/parallel/test_explicit.py",
    "tests/extensions/parallel/test_exported.py",
    "tests/extensions/parallel/test_many_at_once.py",
    "tests/extensions/parallel/test_sums_of_parts.py",
    "tests/experimental/test_checkify.py",
    "tests/extensions/test_inspecting.py",
    "tests/messages/test_first_mistakes.py",
    "tests/core/jit/test_interrupting.py",
    "tests/extensions/progress/test_progress.py",
    "tests/house/test_types.py",
]
#: So much memory may be allocated; the stacks of a hundred devices' threads are large.
_MEMORY: Final = 256 << 30
#: A test that waits so long, in seconds, waits for ever.
_PATIENCE: Final = "200"


@attrs.frozen
class Result:
    """The outcome of a mutant.

    Attributes:
        killer: what noticed it: a test, "import", "no end" or "crash"; "" if nothing did.
        tests: how many tests it met.
        seconds: what that took, of processors' time.
    """

    mutant: Mutant
    killer: str
    tests: int
    seconds: float


class _Chosen:
    """A plugin of pytest: runs some tests, in an order, and remembers those that fail."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.failed: list[str] = []
        self.passed: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items if not is_search(item)}
        items[:] = [found[name] for name in self.names if name in found]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append("import")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call":
            self.passed.append(report.nodeid)


def prepare() -> None:
    """Import what tests import, and keep compiled modules out of the working tree."""
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(ROOT / ".nox" / "mutants" / "bytecode")
    os.chdir(ROOT)
    os.environ.update(
        TINYJAX_NUM_CPU_DEVICES="4",
        JAX_NUM_CPU_DEVICES="4",
        TF_CPP_MIN_LOG_LEVEL="3",
        XLA_FLAGS="--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1",
    )
    for name in ("jax", "jax.numpy", "jax.scipy.special", "scipy.stats", "scipy.linalg"):
        __import__(name)
    for name in ("hypothesis.strategies", "jax.scipy.stats"):
        __import__(name)


def _pytest(plugin: object, paths: Iterable[str], *options: str) -> int:
    plugins = ("no:cacheprovider", "no:xdist", "no:randomly")
    chosen = [word for name in plugins for word in ("-p", name)]
    timeout = ("--timeout", _PATIENCE, "--timeout-method", "thread")
    quick = ("-m", "not browser and not slow")
    early = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # what prepare() has imported
    return pytest.main(
        ["-q", *chosen, *quick, *early, *timeout, *options, *paths], plugins=[plugin]
    )


def forked(run: Callable[[], object], answer: Path, limit: float) -> int:
    """Run a function in a child process, which writes what it returns to a file as JSON."""
    answer.unlink(missing_ok=True)
    pid = os.fork()
    if pid:
        return pid
    try:
        log = os.open(answer.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        answer.write_text(json.dumps(run()), encoding="utf-8")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)  # without what should be done at the end of the parent


def in_turn(
    jobs: int, runs: Iterator[tuple[int, Callable[[], object], Path, float]]
) -> Iterator[tuple[int, int, float]]:
    """Run functions in children, so many at once; tell the status and the time of each.

    Args:
        jobs: how many may run.
        runs: what each is called, and what ``forked`` takes.
    """
    running: dict[int, int] = {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            if (following := next(runs, None)) is None:
                more = False
            else:
                label, run, answer, limit = following
                running[forked(run, answer, limit)] = label
        if running:
            pid, status, used = os.wait4(-1, 0)
            yield running.pop(pid), status, used.ru_utime + used.ru_stime


def make_map(folder: Path, jobs: int) -> Coverage:
    """Run tests with marks in every block."""
    files = sorted(
        str(path.relative_to(ROOT))
        for name in TESTS
        for path in ((ROOT / name).glob("test_*.py") if (ROOT / name).is_dir() else [ROOT / name])
    )
    maps = [folder / f"map{part}.npz" for part in range(jobs)]

    def record(part: int) -> None:
        places, total = first_marks()
        marks = bytearray(total)
        change_imports(
            lambda file: marked(file, places[file]) if file in places else None,
            {"__marks__": marks},
        )
        recorder = Recorder(marks)
        _pytest(recorder, files[part::jobs])
        recorder.save(maps[part])

    runs = (
        (part, partial(record, part), path.with_suffix(".json"), 36000.0)
        for part, path in enumerate(maps)
    )
    for part, _, seconds in in_turn(jobs, runs):
        print(f"map {part}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return Coverage.load(maps)


def meet(mutant: Mutant | None, names: Sequence[str], stop: bool = True) -> dict[str, Any]:
    """Run tests on a mutant, in this process, and say which failed."""
    if mutant is not None:
        tree = mutant.tree()
        change_imports(lambda file: tree if file == mutant.file else None)
    if not names:
        return {"code": 0, "failed": [], "passed": 0}
    plugin = _Chosen(names)
    files = dict.fromkeys(name.partition("::")[0] for name in names)
    code = _pytest(plugin, files, *(["-x"] if stop else []))
    return {
        "code": int(code),
        "failed": plugin.failed,
        "passed": len(plugin.passed),
    }


def trials(
    mutants: Sequence[Mutant],
    coverage: Coverage,
    folder: Path,
    jobs: int,
    rounds: Sequence[tuple[float, int]],
) -> Iterator[Result]:
    """Let mutants meet tests, and tell what becomes of each.

    Args:
        mutants: which.
        coverage: what to choose tests by.
        folder: where files of these trials may be.
        jobs: how many trials there are at once.
        rounds: for how many seconds, and from how many files, tests meet a mutant. The last of
            these is this trial; before, a mutant met what was chosen for the others.
    """
    answers = [folder / f"trial{i}.json" for i in range(len(mutants))]
    limit = 60 + 5 * rounds[-1][0]

    def choose(mutant: Mutant) -> list[str]:
        chosen: list[str] = []
        previous: set[str] = set()
        for number, (seconds, files) in enumerate(rounds):
            previous.update(chosen)
            chosen = coverage.choose(mutant, seconds, files, previous, plain=not number)
        return chosen

    runs = (
        (i, partial(meet, mutant, choose(mutant)), answers[i], limit)
        for i, mutant in enumerate(mutants)
    )
    for i, status, used in in_turn(jobs, runs):
        if answers[i].exists():
            found = json.loads(answers[i].read_text(encoding="utf-8"))
            killer = found["failed"][0] if found["failed"] else "import" if found["code"] else ""
            yield Result(mutants[i], killer, found["passed"], used)
        else:
            crashed = os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGXCPU
            yield Result(mutants[i], "crash" if crashed else "no end", 0, used)


def untrustworthy(names: Sequence[str], folder: Path) -> set[str]:
    """The tests that fail without a mutant too."""
    answer = folder / "control.json"
    pid = forked(lambda: meet(None, names, stop=False), answer, 36000)
    os.waitpid(pid, 0)
    found = json.loads(answer.read_text(encoding="utf-8"))
    return {*found["failed"]}
