"""The sixth set: splines, distances of curves, integrated equations, and difference operators."""

import warnings
from typing import Any, Final

import extensisq
import numpy as np
import similaritymeasures
import splines
from findiff import PDE, BoundaryConditions, Coef, Diff, FinDiff, Gradient, Laplacian
from findiff.compact import CompactScheme
from scipy.integrate import solve_ivp
from splines.quaternion import CatmullRom as Tumble, Squad, UnitQuaternion, slerp

from packages.row import Row

warnings.filterwarnings("ignore")

NOISE: Final = np.array([0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22])
POINTS: Final = (NOISE, np.sin(3.0 * NOISE) + 0.1, NOISE[::-1] ** 2 + 0.2 * NOISE)
RATES: Final = (np.array([0.8, 0.5]), np.array([1.1, 0.3]), np.array([0.6, 0.9]))
MIXES: Final = (np.array([1.0, 0.4]), np.array([0.5, -0.8]), np.array([-0.7, 0.9]))
GRID: Final = np.linspace(0.0, 2.0, 21)
STRETCHED: Final = GRID + 0.1 * np.sin(2.0 * GRID)


def corners(numbers: Any) -> Any:
    return numbers.reshape(5, 2) + np.array([[0, 0], [1, 2], [3, 2], [4, 0], [6, 1]])


def passed(numbers: Any) -> Any:
    uniform = splines.CatmullRom(corners(numbers))
    centripetal = splines.CatmullRom(corners(numbers), alpha=0.5, endconditions="closed")
    times = np.linspace(0.2, 3.7, 9)
    middle = centripetal.evaluate(0.4 * centripetal.grid[-1])
    return np.sum(uniform.evaluate(times) ** 2) + np.sum(middle) + np.sum(uniform.evaluate(1.3, 1))


def relaxed(numbers: Any) -> Any:
    natural = splines.Natural(corners(numbers), [0.0, 1.0, 2.5, 3.0, 5.0])
    tense = splines.KochanekBartels(corners(numbers), tcb=(0.2, 0.1 * numbers[0], -0.3))
    unit = splines.UnitSpeedAdapter(natural)
    return (
        np.sum(natural.evaluate([0.7, 2.1, 4.4]) ** 2) + np.sum(tense.evaluate(2.3)) + unit.grid[2]
    )


def rising(numbers: Any) -> Any:
    heights = np.cumsum(numbers**2 + 0.1)
    curve = splines.MonotoneCubic(heights, list(range(10)))
    piecewise = splines.PiecewiseMonotoneCubic(numbers, alpha=0, closed=False)
    return curve.evaluate(3.4) + curve.get_time(0.5 * heights[-1]) + piecewise.evaluate(5.3)


def tumbling(numbers: Any) -> Any:
    turns = [UnitQuaternion.from_axis_angle(x, 0.4) for x in numbers[:9].reshape(3, 3)]
    turns.append(UnitQuaternion.exp_map(0.3 * numbers[:3]))
    smooth = Tumble(turns, endconditions="natural").evaluate(1.4)
    between = slerp(turns[0], turns[1], 0.3)
    return (
        np.sum(smooth.rotate_vector([1, 2, 3])) + between.angle + Squad(turns).evaluate(0.6).scalar
    )


def curve(numbers: Any) -> Any:
    times = np.linspace(0.0, 3.0, 10)
    return np.column_stack([times + 0.1 * np.sin(times), 2.0 + np.cos(times) + 0.3 * numbers])


REFERENCE: Final = curve(np.cos(np.arange(10.0)))


def warped(numbers: Any) -> Any:
    distance, costs = similaritymeasures.dtw(REFERENCE, curve(numbers))
    return distance + costs[4, 5]


def leashed(numbers: Any) -> Any:
    return similaritymeasures.frechet_dist(REFERENCE, curve(numbers))


def enclosed(numbers: Any) -> Any:
    area = similaritymeasures.area_between_two_curves(REFERENCE, curve(numbers))
    return area + similaritymeasures.mse(REFERENCE, curve(numbers))


def mapped(numbers: Any) -> Any:
    partial = similaritymeasures.pcm(REFERENCE, curve(numbers))
    return partial + similaritymeasures.curve_length_measure(REFERENCE, curve(numbers))


def hunted(rate: Any) -> Any:
    def change(_: float, y: Any) -> Any:
        return np.array([y[0] * (1.0 - rate[0] * y[1]), y[1] * (rate[1] * y[0] - 1.0)])

    solution = solve_ivp(
        change, (0.0, 3.0), [1.2, 0.7], method=extensisq.Ts5, rtol=1e-8, atol=1e-10
    )
    return np.sum(solution.y[:, -1] ** 2)


def stiff(rate: Any) -> Any:
    def change(_: float, y: Any) -> Any:
        return np.array([-40.0 * rate[0] * y[0] + y[1] ** 2, y[0] - rate[1] * y[1]])

    solution = solve_ivp(
        change, (0.0, 1.0), [1.0, 0.5], method=extensisq.Kv3I, rtol=1e-7, atol=1e-9,
        t_eval=[0.3, 1.0],
    )  # fmt: skip
    return 10.0 * np.sum(solution.y**2)


def swinging(rate: Any) -> Any:
    def acceleration(_: float, y: Any, v: Any) -> Any:
        return -rate[0] * np.sin(y) - 0.1 * rate[1] * v

    def change(t: float, state: Any) -> Any:
        return np.concatenate([state[2:], acceleration(t, state[:2], state[2:])])

    solution = solve_ivp(
        change, (0.0, 4.0), np.array([0.4, 1.1, 0.0, 0.2]), method=extensisq.Pr7,
        rtol=1e-9, atol=1e-10, dense_output=True,
    )  # fmt: skip
    return np.sum(solution.sol(2.7) * [1.0, 2.0, 3.0, 4.0])


def sensitive(rate: Any) -> Any:
    slopes, final, _ = extensisq.sens_forward(
        lambda t, y, a, b: np.array([-a * y[0] + b * y[1], a * y[0] - 2.0 * b * y[1]]),
        (0.0, 1.5),
        np.array([1.0, 0.3]),
        lambda t, y, a, b: np.array([[-a, b], [a, -2.0 * b]]),
        lambda t, y, a, b: np.array([[-y[0], y[1]], [y[0], -2.0 * y[1]]]),
        np.zeros((2, 2)),
        rate,
        atol=1e-10,
        rtol=1e-9,
    )
    return np.sum(slopes**2) + np.sum(final)


def signal(mix: Any, x: Any) -> Any:
    return mix[0] * np.sin(2.0 * x) + mix[1] * np.exp(0.4 * x) + 0.3 * mix[0] * mix[1] * x**2


def differentiated(mix: Any) -> Any:
    second = Diff(0, GRID[1], acc=4) ** 2
    uneven = Diff(0, STRETCHED, acc=4)
    curvature = second(signal(mix, GRID))
    return np.sum(curvature**2) + np.sum(uneven(signal(mix, STRETCHED)) ** 2)


def implicit(mix: Any) -> Any:
    scheme = CompactScheme(
        deriv=1,
        left={-1: 1 / 3, 0: 1, 1: 1 / 3},
        right={-2: -1 / 36, -1: -7 / 9, 1: 7 / 9, 2: 1 / 36},
    )
    slope = Diff(0, GRID[1], scheme=scheme, acc=4)
    return np.sum(slope(signal(mix, GRID)) ** 2)


def surface(mix: Any) -> Any:
    x, y = np.meshgrid(GRID, GRID, indexing="ij")
    heights = signal(mix, x) * np.cos(y) + mix[1] * x * y**2
    slopes = Gradient(h=[GRID[1], GRID[1]], acc=4)(heights)
    return np.mean(slopes**2) + np.mean(Laplacian(h=[GRID[1], GRID[1]])(heights) ** 2)


def oscillator(mix: Any) -> Any:
    equation = FinDiff(0, GRID[1], 2) - Coef(3.0 + mix[0] * GRID) * FinDiff(0, GRID[1])
    edges = BoundaryConditions(GRID.shape)
    edges[0] = 0.0
    edges[-1] = 1.0
    return np.sum(PDE(equation, signal(mix, GRID), edges).solve() ** 2)


ROWS: Final = (
    Row("splines", "CatmullRom", passed, POINTS),
    Row("splines", "Natural", relaxed, POINTS),
    Row("splines", "MonotoneCubic", rising, POINTS),
    Row("splines", "quaternion", tumbling, POINTS),
    Row("similaritymeasures", "dtw", warped, POINTS),
    Row("similaritymeasures", "frechet_dist", leashed, POINTS),
    Row("similaritymeasures", "area_between_two_curves", enclosed, POINTS),
    Row("similaritymeasures", "pcm", mapped, POINTS, step=1e-5),
    Row("extensisq", "Ts5", hunted, RATES, tolerance=1e-4),
    Row("extensisq", "Kv3I", stiff, RATES, tolerance=1e-4),
    Row("extensisq", "Pr7", swinging, RATES, tolerance=1e-4),
    Row("extensisq", "sens_forward", sensitive, RATES, tolerance=1e-4),
    Row("findiff", "Diff", differentiated, MIXES),
    Row("findiff", "CompactScheme", implicit, MIXES),
    Row("findiff", "Gradient", surface, MIXES),
    Row("findiff", "PDE.solve", oscillator, MIXES),
)
