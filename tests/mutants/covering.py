"""The blocks that each test runs: a map, made by running the tests with marks in every block."""

import ast
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt
import pytest

from mutants.population import Block, Mutant, anatomy, dissected, module_files, parse

#: What changed modules call the marks.
_MARKS: Final = "__marks__"
#: What it takes to import another file of tests, in seconds.
_OPENING: Final = 1.0
#: Of the tests that run a branch of the statement with the mistake, so many come before others.
_OF_EACH_BRANCH: Final = 8


def first_marks() -> tuple[dict[str, int], int]:
    """The place of each module's marks among those of all modules, and how many there are."""
    places: dict[str, int] = {}
    total = 0
    for file in module_files():
        places[file] = total
        total += len(dissected(file).blocks)
    return places, total


def marked(file: str, first: int) -> ast.Module:
    """The tree of a module that sets the mark of every block that it runs."""
    tree = parse(file)
    for block in reversed(anatomy(tree).blocks[1:]):
        place = first + block.number
        if isinstance(block.body, ast.Lambda):
            mark = ast.parse(f"{_MARKS}.__setitem__({place}, 1) or 0", mode="eval").body
            assert isinstance(mark, ast.BoolOp)
            mark.values[1] = block.body.body
            block.body.body = ast.fix_missing_locations(ast.copy_location(mark, block.body.body))
        else:
            (stmt,) = ast.parse(f"{_MARKS}[{place}] = 1").body
            old = block.body[block.start]
            block.body.insert(block.start, ast.copy_location(stmt, old))
    return ast.fix_missing_locations(tree)


def _case(name: str) -> tuple[str, str]:
    """The file of a test and its case, or its name."""
    file, _, test = name.partition("::")
    return file, test.partition("[")[2] or test


def is_search(item: pytest.Item) -> bool:
    """Return whether a test searches at random; cases that plain runs leave out do not."""
    return item.get_closest_marker("fuzz") is not None and not _is_left_out(item)


def _is_left_out(item: pytest.Item) -> bool:
    """Return whether a test is a case that plain runs leave out, and ``nox -s fuzz`` does not."""
    sampled = item.get_closest_marker("sampled")
    return sampled is not None and item.get_closest_marker("fuzz") is not None


class Recorder:
    """A plugin of pytest: records which blocks each test runs, and how long it takes."""

    def __init__(self, marks: bytearray) -> None:
        self.marks = marks
        self.left_out: list[str] = []
        self.names: list[str] = []
        self.seconds: list[float] = []
        self.blocks: list[npt.NDArray[np.uint16]] = []
        self.failed: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        run: list[pytest.Item] = []
        for item in items:
            if is_search(item):
                continue
            if _is_left_out(item):
                self.left_out.append(item.nodeid)
            else:
                run.append(item)
        items[:] = run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.marks[:] = bytes(len(self.marks))
        start = time.process_time()
        done = yield
        self.names.append(item.nodeid)
        self.seconds.append(time.process_time() - start)
        self.blocks.append(np.flatnonzero(np.frombuffer(bytes(self.marks), np.uint8)).astype("u2"))
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def save(self, path: Path) -> None:
        kept = [i for i, name in enumerate(self.names) if name not in self.failed]
        np.savez_compressed(
            path,
            left_out=np.array(self.left_out, np.str_),
            names=np.array([self.names[i] for i in kept], np.str_),
            seconds=np.array([self.seconds[i] for i in kept]),
            counts=np.array([len(self.blocks[i]) for i in kept], np.int64),
            blocks=np.concatenate([np.zeros(0, "u2"), *(self.blocks[i] for i in kept)]),
        )


@attrs.frozen(eq=False)
class Coverage:
    """The blocks that each test runs.

    Attributes:
        names: the tests, as pytest calls them.
        seconds: how long each takes.
        tests: the tests that run each block, by the block's place.
        places: the place of each module's first block.
        left_out: the tests that plain runs leave out.
    """

    names: Sequence[str]
    seconds: npt.NDArray[np.float64]
    tests: dict[int, npt.NDArray[np.int64]]
    places: dict[str, int]
    left_out: frozenset[str] = frozenset()

    @classmethod
    def load(cls, paths: Sequence[Path]) -> "Coverage":
        """Read what recorders saved."""
        names: list[str] = []
        seconds: list[float] = []
        blocks: list[npt.NDArray[np.uint16]] = []
        left_out: list[str] = []
        for path in paths:
            part = np.load(path)
            names += part["names"].tolist()
            seconds += part["seconds"].tolist()
            blocks += np.split(part["blocks"], np.cumsum(part["counts"])[:-1])
            left_out += part["left_out"].tolist()
        # A case that plain runs leave out is taken to run what other tests of its file do in this
        # case, or what the same test does in others.
        alike: dict[tuple[str, str], list[int]] = defaultdict(list)
        own: dict[str, list[int]] = defaultdict(list)
        for i, name in enumerate(names):
            alike[_case(name)].append(i)
            own[name.partition("[")[0]].append(i)
        for name in left_out:
            cases = own[name.partition("[")[0]]
            like = alike.get(_case(name), cases)
            if cases:
                names.append(name)
                blocks.append(np.unique(np.concatenate([blocks[i] for i in like])))
                seconds.append(float(np.mean([seconds[i] for i in cases])))
        flat = np.concatenate(blocks)
        by_block = np.argsort(flat, kind="stable")
        tests = np.repeat(np.arange(len(names)), [*map(len, blocks)])[by_block]
        places, starts = np.unique(flat[by_block], return_index=True)
        split = dict(zip(places.tolist(), np.split(tests, starts[1:]), strict=True))
        places_of_files = first_marks()[0]
        return cls(names, np.array(seconds), split, places_of_files, frozenset(left_out))

    def excluding(self, names: Iterable[str]) -> "Coverage":
        """Leave some tests out."""
        left_out = frozenset(names)
        kept = np.array([name not in left_out for name in self.names])
        return attrs.evolve(self, tests={b: found[kept[found]] for b, found in self.tests.items()})

    def choose(
        self,
        mutant: Mutant,
        seconds: float,
        files: int,
        previous: Collection[str] = (),
        plain: bool = True,
    ) -> list[str]:
        """Choose tests for a mutant: those nearest to the mistake, of many kinds, quick ones first.

        Args:
            mutant: what they shall notice.
            seconds: how long they may take together.
            files: how many files they may be from.
            previous: tests that it has met, and that did not notice it.
            plain: whether to choose of plain runs' tests only.
        """
        chosen: dict[str, None] = {}
        opened: set[str] = set()
        left = seconds
        for tests in self._ranked(mutant):
            for i in tests:
                name = self.names[i]
                file = name.partition("::")[0]
                cost = self.seconds[i] + (0.0 if file in opened else _OPENING)
                if name in chosen or name in previous or cost > left:
                    continue
                if plain and name in self.left_out:
                    continue
                if file not in opened and len(opened) == files:
                    continue
                left -= cost
                opened.add(file)
                chosen[name] = None
        return [*chosen]

    def _ranked(self, mutant: Mutant) -> Iterator[list[int]]:
        """The tests near a mistake; then others that have the same case, as of a primitive."""
        ranked: set[int] = set()
        first = self.places[mutant.file]
        within = [
            self._varied([first + block.number], mutant.file) for block in mutant.blocks_within
        ]
        for tests in sorted(within, key=len):
            yield tests[:_OF_EACH_BRANCH]
        for blocks in self._nearest(mutant):
            tests = self._varied(blocks, mutant.file)
            yield tests
            ranked.update(tests)
        cases = {_case(self.names[i]) for i in ranked}
        yield [i for i, name in enumerate(self.names) if "[" in name and _case(name) in cases]

    def _nearest(self, mutant: Mutant) -> list[list[int]]:
        """The blocks that are near a mistake: its own, its function's; else those around it."""
        blocks, first = dissected(mutant.file).blocks, self.places[mutant.file]

        def places(nearby: list[Block]) -> list[int]:
            return [first + block.number for block in nearby]

        own = mutant.block
        nearest = [[first + own.number]]
        if own.function:
            nearest.append(places([x for x in blocks if x.function.startswith(own.function)]))
        if not any(block in self.tests for near in nearest for block in near):
            nearest.append(places([x for x in blocks if x.top == own.top]))
            nearest.append(places(blocks))
        return nearest

    def _varied(self, blocks: list[int], file: str) -> list[int]:
        """The tests that run one of some blocks: of each test function a case, then another.

        Those come first that are quick, and that run little but the mutant's module.
        """
        hits = [self.tests[block] for block in blocks if block in self.tests]
        found = np.unique(np.concatenate(hits)).tolist() if hits else []
        found.sort(key=(self.seconds / self._shares(file)).__getitem__)
        cases: dict[str, int] = defaultdict(int)
        ranks: dict[int, int] = {}
        for i in found:
            function = self.names[i].partition("[")[0]
            ranks[i] = cases[function]
            cases[function] += 1
        found.sort(key=ranks.__getitem__)
        return found

    def _shares(self, file: str) -> npt.NDArray[np.float64]:
        """Return a module's share of the blocks that each test runs; at least a little."""
        first = self.places[file]
        own = self._count(range(first, first + len(dissected(file).blocks)))
        return (own + 1) / (self._totals + 1)

    @cached_property
    def _totals(self) -> npt.NDArray[np.int64]:
        return self._count(self.tests)

    def _count(self, blocks: Iterable[int]) -> npt.NDArray[np.int64]:
        """Return the number of these blocks that each test runs."""
        counts = np.zeros(len(self.names), np.int64)
        for block in blocks:
            if block in self.tests:
                counts[self.tests[block]] += 1
        return counts
