"""``nox -s peers``: the programs of NPBench, and loops of our own, beside NumPy, Numba and JAX.

Every program is taken as it is: by NumPy, by Numba without fast-math, by ``jit`` with
``control_flow="source"``, and by JAX where it runs there with ``jax.numpy`` in place of NumPy. All
are in one process, on one thread, in turns; a time is the least of all turns. Values are compared
with those of Python, and gradients with differences of it.

Beside a loop stands the least that XLA takes for so many iterations: of a loop that reads a number,
adds one to it, and writes it, where the loop's own iterations write.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from statistics import geometric_mean
from types import FunctionType, ModuleType
from typing import Any, Final

import attrs
import numpy as np
from rich.progress import track

import tinyjax
from benchmarks import loop_programs, npbench
from benchmarks.command import new_console, parser
from benchmarks.measure import Call, Effort, interleaved
from benchmarks.report import duration, factor, insert, markdown, print_table
from tinyjax import lax, tree

Function = Callable[..., Any]

OWN: Final = "compiled"
GRADIENT: Final = "gradient"
NUMPY, NUMBA, JAX, JAX_GRADIENT = "NumPy", "Numba", "JAX", "JAX's gradient"
THOROUGH: Final = Effort(seconds=2.0, least=3, most=101)
QUICK: Final = Effort(seconds=0.5, least=2, most=25)
#: The largest error of a gradient along a direction, beside differences of Python's values.
_SLOPE_TOLERANCE: Final = 1e-3
_STEP: Final = 1e-6


@attrs.frozen
class Subject:
    """A program that is measured.

    Attributes:
        fun: the program.
        arguments: its arguments.
        tolerance: how much results may differ, relative to the largest element.
        is_for_jax: whether it is a program of arrays, which JAX may take.
        is_smooth: whether differences of its values tell its slopes.
    """

    fun: Function
    arguments: Sequence[Any]
    tolerance: float = 1e-8
    is_for_jax: bool = False
    is_smooth: bool = True

    @property
    def static(self) -> tuple[int, ...]:
        """The places of arguments that are numbers of steps or sizes."""
        return tuple([i for i, x in enumerate(self.arguments) if isinstance(x, int)])

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The places of arguments that are arrays of real numbers."""
        places = enumerate(self.arguments)
        return tuple([i for i, x in places if isinstance(x, np.ndarray) and x.dtype.kind == "f"])


@cache
def _module_for(path: str, library: str) -> ModuleType:
    """Import a module of programs once more, with another library in place of NumPy's functions."""
    spec = spec_from_file_location(f"programs_for_{library}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if library == "jax":
        import jax

        vars(module)["np"] = jax.numpy
    else:
        import numba

        functions = [(k, f) for k, f in vars(module).items() if isinstance(f, FunctionType)]
        for name, fun in functions:
            if fun.__module__ == spec.name:
                setattr(module, name, numba.njit(fun))
    return module


def _fun_for(fun: Function, library: str) -> Function:
    path = sys.modules[fun.__module__].__file__
    assert path is not None, fun
    program: Function = getattr(_module_for(path, library), fun.__name__)
    return program


def _total(library: Any, result: Any) -> Any:
    """Return the sum of all real numbers of a result."""
    leaves = [x for x in tree.leaves(result) if library.asarray(x).dtype.kind == "f"]
    return sum([library.sum(x) for x in leaves])


def _agree(subject: Subject, result: Any, expected: Any) -> bool:
    """Return whether results are equal, but for roundings relative to the largest number."""
    largest = 1e-300
    for y in map(np.asarray, tree.leaves(expected)):
        largest = max(largest, float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0)))
    most = subject.tolerance * largest
    for x, y in zip(tree.leaves(result), tree.leaves(expected), strict=True):
        a, b = np.asarray(x), np.asarray(y)
        if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=most, equal_nan=True):
            return False
    return True


def _slopes_agree(subject: Subject, gradients: Sequence[Any]) -> bool:
    """Return whether a gradient has the slope that Python's values have along a direction."""
    rng = np.random.default_rng(1)
    args = [*subject.arguments]
    directions = [rng.standard_normal(args[i].shape) for i in subject.differentiable]
    if any(args[i].dtype != np.float64 for i in subject.differentiable):
        return True
    values = []
    for h in (_STEP, -_STEP):
        moved = [*args]
        for i, d in zip(subject.differentiable, directions, strict=True):
            moved[i] = args[i] + h * d
        values.append(float(_total(np, subject.fun(*moved))))
    expected = (values[0] - values[1]) / (2 * _STEP)
    pairs = list(zip(gradients, directions, strict=True))
    slope = sum([float(np.sum(np.asarray(g) * d)) for g, d in pairs])
    scale = math.sqrt(sum([float(np.sum(np.asarray(g) ** 2)) for g, _ in pairs]))
    rounding = 1e-15 * max(map(abs, values)) / _STEP
    return abs(slope - expected) <= _SLOPE_TOLERANCE * max(abs(expected), scale) + 10 * rounding


def _calls(subject: Subject) -> tuple[dict[str, Call], str]:
    """Compile a program by all that take it; return calls, and who gives other values."""
    fun, args, static = subject.fun, subject.arguments, subject.static
    expected = fun(*args)
    calls: dict[str, Call] = {NUMPY: lambda: fun(*args)}
    results: dict[str, Any] = {}
    operands = tree.map(
        lambda x: tinyjax.numpy.asarray(x) if isinstance(x, np.ndarray) else x, [*args]
    )
    places = subject.differentiable
    compiled = tinyjax.jit(fun, control_flow="source", static_argnums=static)
    calls[OWN] = lambda: tinyjax.block_until_ready(compiled(*operands))
    results[OWN] = calls[OWN]()
    wrong = []
    if places and any(np.asarray(x).dtype.kind == "f" for x in tree.leaves(expected)):

        def loss(*args: Any) -> Any:
            return _total(tinyjax.numpy, compiled(*args))

        slopes = tinyjax.jit(tinyjax.grad(loss, places), static_argnums=static)
        calls[GRADIENT] = lambda: tinyjax.block_until_ready(slopes(*operands))
        if subject.is_smooth and not _slopes_agree(subject, slopes(*operands)):
            wrong.append(GRADIENT)
    of_numba = _fun_for(fun, "numba") if find_spec("numba") is not None else None
    if of_numba is not None and _takes_numba(of_numba, args):
        results[NUMBA] = of_numba(*args)
        calls[NUMBA] = lambda: of_numba(*args)
    if subject.is_for_jax:
        calls |= _calls_of_jax(subject, results, GRADIENT in calls)
    wrong += [name for name, result in results.items() if not _agree(subject, result, expected)]
    return calls, ", ".join(wrong)


def _takes_numba(fun: Any, args: Sequence[Any]) -> bool:
    from numba.core.errors import NumbaError

    try:
        fun(*args)
    except (NumbaError, AssertionError):  # it asserts that masks have one axis
        return False
    return True


def _calls_of_jax(
    subject: Subject, results: dict[str, Any], differentiated: bool
) -> dict[str, Call]:
    """Compile a program by JAX; return no calls where JAX refuses it, as where it writes."""
    import jax

    args, static = subject.arguments, subject.static
    fun = _fun_for(subject.fun, "jax")
    operands = jax.tree.map(
        lambda x: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x, [*args]
    )
    compiled = jax.jit(fun, static_argnums=static)
    try:
        results[JAX] = compiled(*operands)
    except (AttributeError, IndexError, TypeError, ValueError):
        return {}
    calls: dict[str, Call] = {JAX: lambda: jax.block_until_ready(compiled(*operands))}
    if differentiated:

        def loss(*args: Any) -> Any:
            return _total(jax.numpy, fun(*args))

        slopes = jax.jit(jax.grad(loss, subject.differentiable), static_argnums=static)
        calls[JAX_GRADIENT] = lambda: jax.block_until_ready(slopes(*operands))
    return calls


def measured(subject: Subject, effort: Effort) -> tuple[dict[str, float], str]:
    """Return the least time of each contender, and who gives other values than Python."""
    calls, wrong = _calls(subject)
    samples = interleaved(calls, effort, False)
    return {name: min(seconds) for name, seconds in samples.items()}, wrong


def floor(turns: int, writes: bool, effort: Effort) -> float:
    """Measure the least loop of XLA's: of so many iterations, which write or do not."""
    x = tinyjax.numpy.arange(float(turns))

    def write(x: Any) -> Any:
        def body(i: Any, out: Any) -> Any:
            number = lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)
            return lax.dynamic_update_index_in_dim(
                out, number + 1.0, i, 0, allow_negative_indices=False
            )

        return lax.fori_loop(0, turns, body, tinyjax.numpy.zeros(turns))

    def add(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            return total + lax.dynamic_index_in_dim(
                x, i, keepdims=False, allow_negative_indices=False
            )

        return lax.fori_loop(0, turns, body, 0.0)

    compiled = tinyjax.jit(write if writes else add)
    calls = {"floor": lambda: tinyjax.block_until_ready(compiled(x))}
    return min(interleaved(calls, effort, False)["floor"])


# Tables --------------------------------------------------------------------------------------


def _cell(seconds: Mapping[str, float], name: str) -> str:
    return duration(seconds[name]) if name in seconds else ""


def _ratio(seconds: Mapping[str, float], name: str, *others: str) -> float | None:
    """Return a time over the least of others; None where there is none."""
    least = min([seconds[x] for x in others if x in seconds], default=None)
    return None if least is None or name not in seconds else seconds[name] / least


#: By heading, the ratios of the rows that have one.
Ratios = dict[str, dict[str, float]]


def _summary(ratios: Ratios) -> str:
    """Tell the means of columns of ratios, and their worst rows."""
    lines = []
    for heading, by_row in ratios.items():
        worst = max(by_row, key=lambda row: by_row[row])
        mean = geometric_mean(by_row.values())
        lines.append(
            f"- {heading}: {factor(mean)} in the geometric mean of {len(by_row)}, "
            f"{factor(by_row[worst])} at worst ({worst})"
        )
    return "\n".join(lines)


@attrs.frozen
class Column:
    """A column of a table: a time, or one over the least of others.

    Attributes:
        heading: what it is called.
        name: whose time.
        others: over whose; none for a time.
    """

    heading: str
    name: str
    others: tuple[str, ...] = ()


_PROGRAM_COLUMNS: Final = (
    Column(NUMPY, NUMPY),
    Column(NUMBA, NUMBA),
    Column(JAX, JAX),
    Column(OWN, OWN),
    Column("over the best of three", OWN, (NUMPY, NUMBA, JAX)),
    Column(GRADIENT, GRADIENT),
    Column("over the function", GRADIENT, (OWN,)),
    Column(JAX_GRADIENT, JAX_GRADIENT),
    Column("gradient over JAX's", GRADIENT, (JAX_GRADIENT,)),
)
_LOOP_COLUMNS: Final = (
    Column("Python", NUMPY),
    Column(NUMBA, NUMBA),
    Column("least loop of XLA", "floor"),
    Column(OWN, OWN),
    Column("over Numba", OWN, (NUMBA,)),
    Column("over the least loop", OWN, ("floor",)),
    Column(GRADIENT, GRADIENT),
    Column("over the function", GRADIENT, (OWN,)),
)


def _row(
    title: str, seconds: Mapping[str, float], columns: Sequence[Column], ratios: Ratios
) -> list[str]:
    cells = [title]
    for column in columns:
        ratio = _ratio(seconds, column.name, *column.others) if column.others else None
        if ratio is not None:
            ratios.setdefault(column.heading, {})[title] = ratio
        is_time = not column.others
        cells.append(
            _cell(seconds, column.name) if is_time else "" if ratio is None else factor(ratio)
        )
    return cells


def _subjects(only: Sequence[str]) -> Iterator[tuple[Subject, loop_programs.Loop | None]]:
    """Yield the programs, drawing arguments where they are needed; loops of our own with theirs."""
    for program in npbench.PROGRAMS:
        if not only or program.fun.__name__ in only:
            args = program.arguments(np.random.default_rng(42))
            flags = program.is_for_jax, program.is_smooth
            yield Subject(program.fun, args, program.tolerance, *flags), None
    for loop in loop_programs.PROGRAMS:
        if not only or loop.fun.__name__ in only:
            yield Subject(loop.fun, loop.arguments), loop


def main() -> int:
    options = parser("benchmarks.peers", __doc__, "measure for a sixth as long")
    options.add_argument("only", nargs="*", metavar="NAME", help="only programs of these names")
    arguments = options.parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    console = new_console(200)
    import jax

    jax.config.update("jax_enable_x64", True)
    tinyjax.config.update("default_dtypes", "float64")
    tinyjax.config.update("tier", "compiled")
    tables: dict[str, tuple[tuple[Column, ...], list[list[str]], Ratios]] = {
        "programs of NPBench": (_PROGRAM_COLUMNS, [], {}),
        "loops of Python": (_LOOP_COLUMNS, [], {}),
    }
    wrong = []
    total = len(npbench.PROGRAMS) + len(loop_programs.PROGRAMS)
    subjects = _subjects(arguments.only)
    for subject, loop in track(subjects, "measuring", total, console=console, transient=True):
        title = subject.fun.__name__.replace("_", " ")
        seconds, others = measured(subject, effort)
        wrong += [f"{title}: {others}"] if others else []
        if loop is not None:
            seconds["floor"] = floor(loop.turns, loop.writes, effort)
        columns, rows, ratios = tables["programs of NPBench" if loop is None else "loops of Python"]
        rows.append(_row(title, seconds, columns, ratios))
        console.print("  ".join(filter(None, rows[-1])), highlight=False)
    for name, (columns, rows, ratios) in tables.items():
        headings = ["", *[column.heading for column in columns]]
        caption = f"Float64 but for networks, one thread.\n\n{_summary(ratios)}"
        print_table(headings, rows, caption, console)
        if arguments.docs is not None:
            page = arguments.docs / "performance-tables.md"
            insert(page, name, f"{markdown(headings, rows)}\n\n{caption}")
    for line in wrong:
        console.print(f"Other values than Python's: {line}", style="red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
