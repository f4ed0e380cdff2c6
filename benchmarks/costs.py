"""``python -m benchmarks.costs``: fit the quantities of the cost models to programs.

The programs are those of ``real_programs``, and single operations. Each is evaluated by NumPy and
compiled by XLA, and what the model says of it is linear in its quantities. They are fitted to the
times, the processor's, by least squares of relative errors, without negative ones. The tables show
them beside the model's, and by how much both are wrong about a program.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy.optimize import nnls

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.libraries import OWN, library
from benchmarks.real_programs import PROGRAMS
from tinyjax import lax
from tinyjax._extensions import costs
from tinyjax._extensions.host.plans import ProgramEvaluation
from tinyjax.core import xla
from tinyjax.core.tracing.jaxpr import Jaxpr

Floats = NDArray[np.float64]
#: Programs that NumPy takes longer for are not evaluated, in seconds.
LONGEST: Final = 5.0
#: So often is a program evaluated; from its second run on it is a Python function.
RUNS: Final = 20
#: The quantities that are fitted, by the name of the model's record of them.
FITTED: Final = {
    "NUMPY": ("line", "number", "function", "element", "flop", "run", "step"),
    "XLA": (*("program", "arithmetic", "product", "scatter", "reduction", "function", "solution"),),
    "ROLLING": ("equation", "control_flow"),
}


@attrs.frozen(eq=False)
class Measured:
    """A program, and the seconds that it takes.

    Attributes:
        title: names it.
        jaxpr: the program.
        evaluating: the seconds of an evaluation by NumPy; None where that takes too long.
        compiling: the seconds of XLA.
    """

    title: str
    jaxpr: Jaxpr
    evaluating: float | None
    compiling: float


def single_operations() -> Iterator[tuple[str, Callable[..., Any], Sequence[Any]]]:
    """Yield programs of one operation, many times: of numbers, of few elements and of many."""
    operations: dict[str, Callable[[Any], Any]] = {
        "multiply": lambda x: x * x,
        "exp": lambda x: 0.1 * jnp.exp(x),
        "sum": lambda x: x - x.sum(),
        "sort": lambda x: 0.5 * jnp.sort(x, axis=None).reshape(x.shape),
        "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    }
    for title, operation in operations.items():
        for shape in ((), (30,), (100_000,)):

            def fun(x: Any, operation: Callable[[Any], Any] = operation) -> Any:
                for _ in range(20):
                    x = operation(x)
                return x

            yield f"{title} {shape}", fun, (np.full(shape, 0.5, np.float32),)
    matrix = np.eye(40, dtype=np.float32)
    for title in ("cholesky", "inv", "qr", "eigvalsh"):
        yield title, getattr(jnp.linalg, title), (matrix,)


def seconds(call: Callable[[], object], turns: int = 1) -> float:
    """Return the least time of a call."""
    gc.collect()
    times = []
    for _ in range(turns):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def measured(title: str, fun: Callable[..., Any], args: Sequence[Any]) -> Measured:
    """Measure a program."""
    closed = tinyjax.make_jaxpr(fun)(*args)
    jaxpr = closed.jaxpr
    hosts = [np.asarray(x) for x in (*closed.consts, *tinyjax.tree.leaves(args))]
    lowered = tinyjax.jit(fun).lower(*args)
    xla.cache_clear()
    compiling = seconds(lowered.compile)
    cost = costs.cost_of(jaxpr)
    if not cost.bounded or cost.seconds_to_evaluate > LONGEST:
        return Measured(title, jaxpr, None, compiling)
    evaluation = ProgramEvaluation(float("inf"))
    evaluation.on_hosts(jaxpr, hosts, 1_000)  # is a Python function now
    return Measured(
        title, jaxpr, seconds(lambda: evaluation.on_hosts(jaxpr, hosts), RUNS), compiling
    )


def counts(record: str, programs: Sequence[Measured], total: Callable[[Jaxpr], float]) -> Floats:
    """Return how often each quantity is in what the model says of each program."""
    model, whole = getattr(costs, record), costs.cost_of
    none: dict[str, Any] = dict.fromkeys(FITTED[record], 0)
    columns = []
    try:
        costs.cost_of = costs._cost  # nothing is remembered
        for name in FITTED[record]:
            setattr(costs, record, attrs.evolve(model, **{**none, name: 1}))
            columns.append([total(program.jaxpr) for program in programs])
    finally:
        setattr(costs, record, model)
        costs.cost_of = whole
    return np.array(columns).T


def fit(matrix: Floats, times: Floats) -> Floats:
    """Return the quantities that are not negative, with the least relative errors."""
    quantities, _ = nnls(matrix / times[:, None], np.ones(len(times)))
    return np.asarray(quantities)


def error(predicted: Floats, times: Floats) -> float:
    """Return the factor by which a prediction is wrong, in the median."""
    return float(np.exp(np.median(np.abs(np.log(np.maximum(predicted, 1e-9) / times)))))


def show(
    record: str, matrix: Floats, times: Floats, power: float, offset: float, per_second: float = 1
) -> None:
    """Fit quantities, and print them beside the model's.

    Args:
        record: the model's quantities.
        matrix: how often they are in each program.
        times: what each takes.
        power: that of the sum which is a program's time.
        offset: what is added to it.
        per_second: the units of the quantities in a second.
    """
    model = np.array([getattr(getattr(costs, record), name) for name in FITTED[record]])
    sums = per_second * np.maximum(times - offset, 1e-4) ** (1 / power)
    fitted = fit(matrix, sums)
    predicted = [(matrix @ x / per_second) ** power + offset for x in (model, fitted)]
    wrong = [error(x, times) for x in predicted]
    unit = "milliseconds" if per_second > 1 else "seconds"
    title = f"{record}: {unit}; wrong by factors of {wrong[0]:.1f} and {wrong[1]:.1f}"
    table = Table("quantity", "model", "fitted", "programs", title=title)
    for name, old, new, column in zip(FITTED[record], model, fitted, matrix.T, strict=True):
        table.add_row(name, f"{old:.2g}", f"{new:.2g}", str(int(np.count_nonzero(column))))
    new_console().print(table)


def main() -> int:
    parser("benchmarks.costs", __doc__).parse_args()
    own = library(OWN)
    programs = [measured(p.title, p.build(own.module), p.data()) for p in PROGRAMS]
    programs += [measured(*program) for program in single_operations()]
    evaluated = [program for program in programs if program.evaluating is not None]
    matrix = counts("NUMPY", evaluated, lambda jaxpr: costs._cost(jaxpr).compiled_seconds)
    show("NUMPY", matrix, np.array([p.evaluating for p in evaluated], float), 1.0, 0.0)
    empty = measured("empty", lambda x: x, (np.float32(0.5),)).compiling
    matrix = counts("XLA", programs, lambda jaxpr: costs._cost(jaxpr).weight)
    compiling = np.array([program.compiling for program in programs])
    show("XLA", matrix, compiling, costs.XLA.growth, empty)
    matrix = counts("ROLLING", programs, lambda jaxpr: costs.milliseconds_unrolled(jaxpr.eqns))
    show("ROLLING", matrix, compiling, 1.0, empty, 1e3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
