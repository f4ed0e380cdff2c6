"""Plain NumPy programs that assign to items in place, as scientists write them, with a table.

Each is a function of arrays: most change arrays that they were given, or fill in new ones. The
table has for each a scalar loss, inputs by size, and words for what the program does to arrays. A
loss whose traits have "parameter" changes its own arguments: give it copies.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
ComplexArray: TypeAlias = npt.NDArray[np.complex128]
Indices: TypeAlias = npt.NDArray[np.int64]

TRAITS: Final = {
    "alias": "writes through another name: a view of a row, a column, a block or a transpose",
    "augmented": "`+=` and its like, on elements or slices",
    "branch": "takes branches by values of arrays",
    "complex": "has arrays of complex numbers",
    "data index": "reads or writes where values of arrays say",
    "downwards": "has loops that count down",
    "empty": "fills in an array by np.empty or np.empty_like",
    "helper": "calls functions that return nothing and change their arguments",
    "history": "stores the states of all times, or all partial results, in one table",
    "mask": "assigns where a boolean array is true",
    "nested bounds": "has loops or slices whose bounds depend on variables of other loops",
    "out": "gives functions of NumPy arrays for their results, by `out=`",
    "overlap": "assigns to a slice what is computed from one that overlaps it",
    "parameter": "the loss changes arrays that it is given",
    "strides": "assigns to slices with steps",
    "swap": "swaps arrays, rows or elements",
    "while": "has a loop that counts by other than ones",
}


def score(a: Array) -> np.float64:
    """Weigh the elements of an array, each differently."""
    weights = np.cos(np.arange(a.size)).reshape(a.shape)
    return np.sum(weights * a + 0.5 * a * a)


def log_sum_exp(terms: Array) -> np.float64:
    """Add numbers of which the logarithms are given."""
    top = np.max(terms)
    total: np.float64 = top + np.log(np.sum(np.exp(terms - top)))
    return total


# Stencils ------------------------------------------------------------------------------------


def gauss_seidel(u: Array, f: Array, sweeps: int) -> None:
    """Relax a line towards the solution of u'' = -f, each point by its neighbours' last values."""
    for _ in range(sweeps):
        for i in range(1, u.size - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + f[i])


def gauss_seidel_loss(u: Array, f: Array) -> np.float64:
    u = u.copy()
    gauss_seidel(u, f, sweeps=u.size // 4)
    return score(u)


def seidel_2d(u: Array, sweeps: int) -> None:
    """Replace each inner point by the mean of the nine around it, sweep after sweep."""
    rows, columns = u.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = np.sum(u[i - 1 : i + 2, j - 1 : j + 2]) / 9.0


def seidel_2d_loss(u: Array) -> np.float64:
    u = u.copy()
    seidel_2d(u, sweeps=u.shape[0] // 3)
    return score(u)


def jacobi_1d(u: Array, steps: int) -> Array:
    """Smooth a line, from one array into another and back."""
    u, smoothed = u.copy(), u.copy()
    for _ in range(steps):
        smoothed[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3.0
        u, smoothed = smoothed, u
    return u


def jacobi_1d_loss(u: Array) -> np.float64:
    return score(jacobi_1d(u, steps=u.size // 3))


def jacobi_1d_in_arrays(u: Array) -> np.float64:
    for _ in range(u.size // 3):
        u = np.concatenate([u[:1], (u[:-2] + u[1:-1] + u[2:]) / 3.0, u[-1:]])
    return score(u)


def jacobi_2d(u: Array, f: Array, steps: int) -> Array:
    """Relax a grid towards the solution of Poisson's equation, zero at the edges."""
    u, relaxed = u.copy(), np.zeros_like(u)
    u[0] = u[-1] = 0.0
    u[:, 0] = u[:, -1] = 0.0
    for _ in range(steps):
        relaxed[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] + f)
        u, relaxed = relaxed, u
    return u


def jacobi_2d_loss(u: Array, f: Array) -> np.float64:
    return score(jacobi_2d(u, f, steps=u.shape[0] // 2))


def jacobi_2d_in_arrays(u: Array, f: Array) -> np.float64:
    u = np.pad(u[1:-1, 1:-1], 1)
    for _ in range(u.shape[0] // 2):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = np.pad(0.25 * (around + f), 1)
    return score(u)


def heat_3d(u: Array, new: Array, steps: int) -> Array:
    """Let heat spread in a block whose sides keep their temperature."""
    inner = (slice(1, -1), slice(1, -1), slice(1, -1))
    for _ in range(steps):
        centre = u[inner]
        new[inner] = centre + 0.1 * (u[2:, 1:-1, 1:-1] - 2.0 * centre + u[:-2, 1:-1, 1:-1])
        new[inner] += 0.1 * (u[1:-1, 2:, 1:-1] - 2.0 * centre + u[1:-1, :-2, 1:-1])
        new[inner] += 0.1 * (u[1:-1, 1:-1, 2:] - 2.0 * centre + u[1:-1, 1:-1, :-2])
        u, new = new, u
    return u


def heat_3d_loss(u: Array) -> np.float64:
    return score(heat_3d(u.copy(), u.copy(), steps=u.shape[0] - 1))


def maxwell_2d(ex: Array, ey: Array, hz: Array, drive: Array) -> None:
    """Step electric and magnetic fields on a grid that is driven at one of its edges."""
    for t in range(drive.size):
        ey[0, :] = drive[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def maxwell_2d_loss(ex: Array, ey: Array, hz: Array, drive: Array) -> np.float64:
    maxwell_2d(ex, ey, hz, drive)
    return score(hz) + score(ex) + score(ey)


def solve_lines(u: Array, r: float) -> None:
    """Solve (1 + 2r) x[i] - r (x[i-1] + x[i+1]) = u[i] along the first axis, x in place of u."""
    n = u.shape[0]
    factor = np.empty(n)
    factor[0] = r / (1.0 + 2.0 * r)
    u[0] /= 1.0 + 2.0 * r
    for i in range(1, n):
        pivot = 1.0 + 2.0 * r - r * factor[i - 1]
        factor[i] = r / pivot
        u[i] = (u[i] + r * u[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        u[i] += factor[i] * u[i + 1]


def alternating_directions(u: Array, steps: int, r: float = 0.4) -> None:
    """Let heat spread on a grid, implicitly along one direction and then along the other."""
    for _ in range(steps):
        for lines in (u, u.T):
            lines[:, 1:-1] += r * (lines[:, 2:] - 2.0 * lines[:, 1:-1] + lines[:, :-2])
            solve_lines(lines, r)


def alternating_directions_loss(u: Array) -> np.float64:
    u = u.copy()
    alternating_directions(u, steps=u.shape[0] // 3)
    return score(u)


def alternating_directions_in_arrays(u: Array, r: float = 0.4) -> np.float64:
    n = u.shape[0]
    second = np.eye(n, k=1) - 2.0 * np.eye(n) + np.eye(n, k=-1)
    explicit = np.eye(n) + r * np.pad(second[:, 1:-1], ((0, 0), (1, 1)))
    implicit = np.eye(n) - r * second
    for _ in range(2 * (n // 3)):
        u = (np.linalg.inv(implicit) @ u @ explicit).T
    return score(u)


def heat_adjoint(conductivity: Array, start: Array, target: Array, steps: int) -> Array:
    """Differentiate a rod's misfit with respect to its conductivity, by the adjoint equation."""
    states = np.empty((steps + 1, start.size))
    states[0] = start
    for t in range(steps):
        flux = conductivity * np.diff(states[t])
        states[t + 1] = states[t]
        states[t + 1, :-1] += flux
        states[t + 1, 1:] -= flux
    adjoint = states[-1] - target
    gradient = np.zeros_like(conductivity)
    for t in range(steps - 1, -1, -1):
        gradient -= np.diff(adjoint) * np.diff(states[t])
        flux = conductivity * np.diff(adjoint)
        adjoint[:-1] += flux
        adjoint[1:] -= flux
    return gradient


def heat_adjoint_loss(conductivity: Array, start: Array, target: Array) -> np.float64:
    return score(heat_adjoint(conductivity, start, target, steps=start.size // 2))


def limit_flux(flux: Array, difference: Array) -> None:
    """Stop the flux where it would run up the slope."""
    flux[flux * difference > 0.0] = 0.0


def horizontal_diffusion(field: Array, coefficient: Array) -> Array:
    """Diffuse a field of the weather twice over, with limited fluxes."""
    laplacian = np.zeros_like(field)
    laplacian[1:-1, 1:-1] = field[2:, 1:-1] + field[:-2, 1:-1] - 4.0 * field[1:-1, 1:-1]
    laplacian[1:-1, 1:-1] += field[1:-1, 2:] + field[1:-1, :-2]
    east = laplacian[2:-1, 2:-2] - laplacian[1:-2, 2:-2]
    limit_flux(east, field[2:-1, 2:-2] - field[1:-2, 2:-2])
    north = laplacian[2:-2, 2:-1] - laplacian[2:-2, 1:-2]
    limit_flux(north, field[2:-2, 2:-1] - field[2:-2, 1:-2])
    diffused = field.copy()
    diffused[2:-2, 2:-2] -= coefficient * (np.diff(east, axis=0) + np.diff(north, axis=1))
    return diffused


def horizontal_diffusion_loss(field: Array, coefficient: Array) -> np.float64:
    return score(horizontal_diffusion(field, coefficient))


def horizontal_diffusion_in_arrays(field: Array, coefficient: Array) -> np.float64:
    around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    laplacian, inner = around - 4.0 * field[1:-1, 1:-1], field[1:-1, 1:-1]
    east, slope_east = np.diff(laplacian, axis=0)[:, 1:-1], np.diff(inner, axis=0)[:, 1:-1]
    north, slope_north = np.diff(laplacian, axis=1)[1:-1], np.diff(inner, axis=1)[1:-1]
    gain = np.diff(np.where(east * slope_east > 0.0, 0.0, east), axis=0)
    gain = gain + np.diff(np.where(north * slope_north > 0.0, 0.0, north), axis=1)
    return score(field - np.pad(coefficient * gain, 2))


def vertical_advection(u: Array, wind: Array, s: float = 0.25) -> Array:
    """Advect columns of air up and down by one implicit step."""
    levels = u.shape[0]
    factor, right = np.zeros_like(u), np.empty_like(u)
    for k in range(levels):
        right[k] = u[k]
        pivot = np.ones_like(u[k])
        if k > 0:
            lower = -s * wind[k]
            right[k] -= lower * (u[k - 1] - u[k])
            pivot -= lower * (1.0 + factor[k - 1])
            right[k] -= lower * right[k - 1]
        if k < levels - 1:
            upper = s * wind[k + 1]
            right[k] -= upper * (u[k + 1] - u[k])
            pivot -= upper
            factor[k] = upper / pivot
        right[k] /= pivot
    for k in range(levels - 2, -1, -1):
        right[k] -= factor[k] * right[k + 1]
    return right


def vertical_advection_loss(u: Array, wind: Array) -> np.float64:
    return score(vertical_advection(u, wind))


# Factorisations and solutions ----------------------------------------------------------------


def cholesky_by_elements(a: Array) -> None:
    """Factor a positive definite matrix, the factor in place of its lower triangle."""
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])


def cholesky_by_elements_loss(a: Array) -> np.float64:
    a = 0.5 * (a + a.T)
    cholesky_by_elements(a)
    return score(np.tril(a))


def cholesky_by_columns(a: Array) -> None:
    """Factor a positive definite matrix column by column, in place."""
    for j in range(a.shape[0]):
        column = a[j:, j]
        column -= a[j:, :j] @ a[j, :j]
        column /= np.sqrt(column[0])
        a[j, j + 1 :] = 0.0


def cholesky_by_columns_loss(a: Array) -> np.float64:
    a = 0.5 * (a + a.T)
    cholesky_by_columns(a)
    return score(a)


def lu(a: Array) -> None:
    """Factor a matrix into lower and upper triangles, both in its place."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]


def lu_loss(a: Array) -> np.float64:
    lu(a)
    return score(a)


def substitute(factors: Array, b: Array) -> None:
    """Solve for a right side, in its place, by both triangles of a factored matrix."""
    n = b.size
    for i in range(n):
        for j in range(i):
            b[i] -= factors[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= factors[i, j] * b[j]
        b[i] /= factors[i, i]


def solve_by_lu_loss(a: Array, b: Array) -> np.float64:
    factors, x = a.copy(), b.copy()
    lu(factors)
    substitute(factors, x)
    return score(x)


def eliminate(a: Array, b: Array) -> None:
    """Solve a system by elimination with partial pivoting, the solution in place of b."""
    n = b.size
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        a[[k, pivot]] = a[[pivot, k]]  # type: ignore[index]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - a[i, i + 1 :] @ b[i + 1 :]) / a[i, i]


def eliminate_loss(a: Array, b: Array) -> np.float64:
    eliminate(a, b)
    return score(b)


def gram_schmidt(a: Array) -> tuple[Array, Array]:
    """Orthogonalise columns one after the other; what is left of them stays in a."""
    rows, columns = a.shape
    q, r = np.empty((rows, columns)), np.zeros((columns, columns))
    for k in range(columns):
        r[k, k] = np.sqrt(np.sum(a[:, k] ** 2))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, columns):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= r[k, j] * q[:, k]
    return q, r


def gram_schmidt_loss(a: Array) -> np.float64:
    q, r = gram_schmidt(a.copy())
    return score(q) + score(r)


def gram_schmidt_in_arrays(a: Array) -> np.float64:
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diagonal(r))
    return score(q * signs) + score(r * signs[:, None])


def householder(a: Array) -> None:
    """Reduce a matrix to its triangular factor by reflections."""
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        v /= np.sqrt(v @ v)
        block = a[k:, k:]
        block -= 2.0 * np.outer(v, v @ block)


def householder_loss(a: Array) -> np.float64:
    a = a.copy()
    householder(a)
    factor = np.triu(a[: a.shape[1]])
    return score(factor * np.sign(np.diagonal(factor))[:, None])


def householder_in_arrays(a: Array) -> np.float64:
    factor = np.linalg.qr(a)[1]
    return score(factor * np.sign(np.diagonal(factor))[:, None])


def solve_triangular(lower: Array, b: Array, x: Array) -> None:
    """Solve a lower triangular system into x."""
    for i in range(b.size):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]


def solve_triangular_loss(lower: Array, b: Array) -> np.float64:
    x = np.empty(b.shape)
    solve_triangular(lower, b, x)
    return score(x)


def thomas(lower: Array, diagonal: Array, upper: Array, right: Array) -> None:
    """Solve a tridiagonal system, the solution in place of the right side."""
    n = right.size
    for i in range(1, n):
        factor = lower[i] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    right[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - upper[i] * right[i + 1]) / diagonal[i]


def thomas_loss(lower: Array, diagonal: Array, upper: Array, right: Array) -> np.float64:
    x = right.copy()
    thomas(lower, diagonal.copy(), upper, x)
    return score(x)


def thomas_in_arrays(lower: Array, diagonal: Array, upper: Array, right: Array) -> np.float64:
    matrix = np.diag(lower[1:], -1) + np.diag(diagonal) + np.diag(upper[:-1], 1)
    return score(np.linalg.inv(matrix) @ right)


def spline_moments(x: Array, y: Array) -> Array:
    """Find the second derivatives of the natural cubic spline through points."""
    n, h = x.size, np.diff(x)
    lower, diagonal, upper, moments = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        lower[i], upper[i] = h[i - 1], h[i]
        diagonal[i] = 2.0 * (h[i - 1] + h[i])
        moments[i] = 6.0 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    thomas(lower, diagonal, upper, moments)
    return moments


def cubic_spline(x: Array, y: Array, places: Array) -> Array:
    """Evaluate the natural cubic spline through points, at places between them."""
    moments, values = spline_moments(x, y), np.empty_like(places)
    for k in range(places.size):
        i = np.searchsorted(x, places[k]) - 1
        h, left, right = x[i + 1] - x[i], places[k] - x[i], x[i + 1] - places[k]
        values[k] = (moments[i] * right**3 + moments[i + 1] * left**3) / (6.0 * h)
        values[k] += (y[i] / h - moments[i] * h / 6.0) * right
        values[k] += (y[i + 1] / h - moments[i + 1] * h / 6.0) * left
    return values


def cubic_spline_loss(x: Array, y: Array, places: Array) -> np.float64:
    return score(cubic_spline(x, y, places))


# Recurrences ---------------------------------------------------------------------------------


def linear_recurrence(a: Array, b: Array) -> Array:
    """Solve x[i] = a[i] x[i-1] + b[i] from zero on."""
    x = b.copy()
    for i in range(1, x.size):
        x[i] += a[i] * x[i - 1]
    return x


def linear_recurrence_loss(a: Array, b: Array) -> np.float64:
    return score(linear_recurrence(a, b))


def linear_recurrence_in_arrays(a: Array, b: Array) -> np.float64:
    powers = np.cumprod(a)
    return score(powers * np.cumsum(b / powers))


def exponential_smoothing(series: Array, rates: Array) -> Array:
    """Forecast a series one step ahead by its smoothed level and trend."""
    forecast, level, trend = np.empty_like(series), series[0], 0.0
    forecast[0] = series[0]
    for t in range(1, series.size):
        forecast[t] = level + trend
        before, level = level, rates[0] * series[t] + (1.0 - rates[0]) * forecast[t]
        trend = rates[1] * (level - before) + (1.0 - rates[1]) * trend
    return forecast


def exponential_smoothing_loss(series: Array, rates: Array) -> np.float64:
    return np.sum((exponential_smoothing(series, rates) - series) ** 2)


def durbin(r: Array) -> Array:
    """Solve the Yule-Walker equations of a symmetric Toeplitz matrix with ones on its diagonal."""
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, r.size):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def durbin_loss(r: Array) -> np.float64:
    return score(durbin(r))


def durbin_in_arrays(r: Array) -> np.float64:
    places = np.arange(r.size)
    matrix = np.concatenate([np.ones(1), r[:-1]])[np.abs(places[:, None] - places)]
    return score(np.linalg.solve(matrix, -r))


def filter_rows(image: Array, alpha: Array) -> Array:
    """Smooth rows by a recursive filter, from the left and from the right."""
    rows, columns = image.shape
    decay = np.exp(-alpha)
    gain = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay**2)
    padded = np.zeros((rows, columns + 2))
    padded[:, 1:-1] = image
    ahead, back = np.zeros((rows, columns + 2)), np.zeros((rows, columns + 2))
    for j in range(columns):
        ahead[:, j + 2] = gain * (padded[:, j + 1] + decay * (alpha - 1.0) * padded[:, j])
        ahead[:, j + 2] += 2.0 * decay * ahead[:, j + 1] - decay**2 * ahead[:, j]
    for j in range(columns - 1, -1, -1):
        if j < columns - 1:
            back[:, j] = gain * decay * (alpha + 1.0) * image[:, j + 1]
            back[:, j] -= gain * decay**2 * padded[:, j + 3]
        back[:, j] += 2.0 * decay * back[:, j + 1] - decay**2 * back[:, j + 2]
    return ahead[:, 2:] + back[:, :-2]


def deriche(image: Array, alpha: Array) -> Array:
    """Smooth an image by Deriche's filter along rows and then along columns."""
    return filter_rows(filter_rows(image, alpha).T, alpha).T


def deriche_loss(image: Array, alpha: Array) -> np.float64:
    return score(deriche(image, alpha))


def prefix_sums(x: Array) -> None:
    """Replace elements by the sums of all up to each, in a tree; their number is a power of two."""
    stride = 1
    while stride < x.size:
        x[2 * stride - 1 :: 2 * stride] += x[stride - 1 :: 2 * stride]
        stride *= 2
    while stride > 1:
        stride //= 2
        x[3 * stride - 1 :: 2 * stride] += x[2 * stride - 1 : -1 : 2 * stride]


def prefix_sums_loss(x: Array) -> np.float64:
    prefix_sums(x)
    return score(x)


def horner(coefficients: Array, x: Array) -> Array:
    """Evaluate a polynomial at many places."""
    values = np.full(x.shape, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        values *= x
        values += coefficient
    return values


def horner_loss(coefficients: Array, x: Array) -> np.float64:
    return score(horner(coefficients, x))


def polynomial_product(a: Array, b: Array) -> Array:
    """Multiply two polynomials, coefficient by coefficient."""
    product = np.zeros(a.size + b.size - 1)
    for i in range(a.size):
        for j in range(b.size):
            product[i + j] += a[i] * b[j]
    return product


def polynomial_product_loss(a: Array, b: Array) -> np.float64:
    return score(polynomial_product(a, b))


def chebyshev_table(x: Array, degree: int) -> Array:
    """Fill a table with Chebyshev's polynomials, a row for each."""
    table = np.empty((degree + 1, x.size))
    table[0], table[1] = 1.0, x
    for k in range(2, degree + 1):
        np.multiply(2.0 * x, table[k - 1], out=table[k])
        table[k] -= table[k - 2]
    return table


def chebyshev_loss(coefficients: Array, x: Array) -> np.float64:
    return score(coefficients @ chebyshev_table(x, coefficients.size - 1))


def chebyshev_in_arrays(coefficients: Array, x: Array) -> np.float64:
    return score(coefficients @ np.cos(np.arange(coefficients.size)[:, None] * np.arccos(x)))


# Dynamic programming -------------------------------------------------------------------------


def soft_edit_distance(x: Array, y: Array) -> np.float64:
    """Measure how much must be changed to make one series of another, by soft minima."""
    table = np.zeros((x.size + 1, y.size + 1))
    table[:, 0] = np.arange(x.size + 1)
    table[0, :] = np.arange(y.size + 1)
    for i in range(1, x.size + 1):
        for j in range(1, y.size + 1):
            replaced = table[i - 1, j - 1] + (x[i - 1] - y[j - 1]) ** 2
            removed, inserted = table[i - 1, j] + 1.0, table[i, j - 1] + 1.0
            table[i, j] = -np.logaddexp(-replaced, np.logaddexp(-removed, -inserted))
    distance: np.float64 = table[-1, -1]
    return distance


def forward_algorithm(emission: Array, transition: Array) -> np.float64:
    """Sum the probabilities of all paths of a hidden Markov model, in logarithms."""
    times, states = emission.shape
    reached = np.empty_like(emission)
    reached[0] = emission[0]
    for t in range(1, times):
        for s in range(states):
            reached[t, s] = emission[t, s] + log_sum_exp(reached[t - 1] + transition[:, s])
    return log_sum_exp(reached[-1])


def forward_algorithm_in_arrays(emission: Array, transition: Array) -> np.float64:
    likely = np.exp(emission[0])
    for row in emission[1:]:
        likely = np.exp(row) * (likely @ np.exp(transition))
    total: np.float64 = np.log(np.sum(likely))
    return total


def viterbi(emission: Array, transition: Array) -> Indices:
    """Find the most probable path of a hidden Markov model."""
    times, states = emission.shape
    best, came_from = emission.copy(), np.zeros((times, states), dtype=np.int64)
    for t in range(1, times):
        for s in range(states):
            candidates = best[t - 1] + transition[:, s]
            came_from[t, s] = np.argmax(candidates)
            best[t, s] += candidates[came_from[t, s]]
    path = np.zeros(times, dtype=np.int64)
    path[-1] = np.argmax(best[-1])
    for t in range(times - 2, -1, -1):
        path[t] = came_from[t + 1, path[t + 1]]
    return path


def viterbi_loss(emission: Array, transition: Array) -> np.float64:
    path = viterbi(emission, transition)
    return score(emission[np.arange(path.size), path]) + score(transition[path[:-1], path[1:]])


def soft_knapsack(profits: Array, sizes: Indices, capacity: int) -> Array:
    """Fill in the best profit for each capacity by soft maxima, each thing taken once or not."""
    best = np.zeros(capacity + 1)
    for thing in range(profits.size):
        for size in range(capacity, sizes[thing] - 1, -1):
            packed = best[size - sizes[thing]] + profits[thing]
            best[size] = np.logaddexp(best[size], packed)
    return best


def soft_knapsack_loss(profits: Array, sizes: Indices) -> np.float64:
    return score(soft_knapsack(profits, sizes, capacity=2 * profits.size) / profits.size)


def soft_knapsack_in_arrays(profits: Array, sizes: Indices) -> np.float64:
    best = np.zeros(2 * profits.size + 1)
    for size, profit in zip(sizes, profits, strict=True):
        packed = np.logaddexp(best[size:], best[:-size] + profit)
        best = np.concatenate([best[:size], packed])
    return score(best / profits.size)


def soft_smith_waterman(similarity: Array, gap: Array) -> np.float64:
    """Align parts of two sequences, softly over all alignments."""
    rows, columns = similarity.shape
    table = np.zeros((rows + 1, columns + 1))
    for i in range(1, rows + 1):
        above, row = table[i - 1], table[i]
        for j in range(1, columns + 1):
            matched = np.logaddexp(0.0, above[j - 1] + similarity[i - 1, j - 1])
            row[j] = np.logaddexp(matched, np.logaddexp(above[j], row[j - 1]) - gap)
    return log_sum_exp(table)


def soft_shortest_paths(distances: Array) -> None:
    """Replace distances by soft minima over all ways through other nodes."""
    for k in range(distances.shape[0]):
        for row in distances:
            row[:] = -0.25 * np.logaddexp(-4.0 * row, -4.0 * (row[k] + distances[k]))


def soft_shortest_paths_loss(distances: Array) -> np.float64:
    soft_shortest_paths(distances)
    return score(distances / distances.shape[0])


# Motion --------------------------------------------------------------------------------------


def attract(positions: Array, masses: Array, forces: Array) -> None:
    """Fill in the softened gravity on each of many bodies, pair by pair."""
    forces[:] = 0.0
    for i in range(masses.size):
        for j in range(i):
            apart = positions[j] - positions[i]
            pull = masses[i] * masses[j] * apart / (apart @ apart + 0.1) ** 1.5
            forces[i] += pull
            forces[j] -= pull


def n_body(positions: Array, velocities: Array, masses: Array, steps: int, dt: float) -> None:
    """Move bodies under their gravity by the leapfrog method."""
    forces = np.empty_like(positions)
    attract(positions, masses, forces)
    for _ in range(steps):
        velocities += 0.5 * dt * forces / masses[:, None]
        positions += dt * velocities
        attract(positions, masses, forces)
        velocities += 0.5 * dt * forces / masses[:, None]


def n_body_loss(positions: Array, velocities: Array, masses: Array) -> np.float64:
    positions, velocities = positions.copy(), velocities.copy()
    n_body(positions, velocities, masses, steps=4, dt=0.05)
    return score(positions) + score(velocities)


def verlet(start: Array, velocity: Array, stiffness: Array, steps: int, dt: float) -> Array:
    """Follow a chain of nonlinear springs between walls by Verlet's method."""
    path = np.zeros((steps + 1, start.size + 2))
    path[0, 1:-1] = start
    path[1, 1:-1] = start + dt * velocity
    for t in range(1, steps):
        stretch = np.diff(path[t])
        force = stiffness * (stretch + stretch**3)
        path[t + 1] = 2.0 * path[t] - path[t - 1]
        path[t + 1, 1:-1] += dt**2 * np.diff(force)
        path[t + 1, 0] = path[t + 1, -1] = 0.0
    return path


def verlet_loss(start: Array, velocity: Array, stiffness: Array) -> np.float64:
    return score(verlet(start, velocity, stiffness, steps=start.size, dt=0.1))


def runge_kutta(start: Array, rates: Array, times: Array) -> Array:
    """Follow predators and prey by the Runge-Kutta method of fourth order."""

    def slope(state: Array) -> Array:
        prey, predators = state
        return np.array(
            [
                (rates[0] - rates[1] * predators) * prey,
                (rates[2] * prey - rates[3]) * predators,
            ]
        )

    path, slopes = np.empty((times.size, 2)), np.empty((4, 2))
    path[0] = start
    for t in range(times.size - 1):
        h = times[t + 1] - times[t]
        slopes[0] = slope(path[t])
        slopes[1] = slope(path[t] + 0.5 * h * slopes[0])
        slopes[2] = slope(path[t] + 0.5 * h * slopes[1])
        slopes[3] = slope(path[t] + h * slopes[2])
        slopes[1:3] *= 2.0
        path[t + 1] = path[t] + h / 6.0 * np.sum(slopes, axis=0)
    return path


def runge_kutta_loss(start: Array, rates: Array, times: Array) -> np.float64:
    return score(runge_kutta(start, rates, times))


def random_walk(noise: Array, volatility: Array) -> Array:
    """Let walkers step by given noise between two walls that throw them back."""
    steps, walkers = noise.shape
    path = np.zeros((steps + 1, walkers))
    for t in range(steps):
        for w in range(walkers):
            place = 0.9 * path[t, w] + volatility[w] * noise[t, w]
            if place > 1.0:
                place = 2.0 - place
            elif place < -1.0:
                place = -2.0 - place
            path[t + 1, w] = place
    return path


def random_walk_loss(noise: Array, volatility: Array) -> np.float64:
    return score(random_walk(noise, volatility))


# Images and nets -----------------------------------------------------------------------------


def convolve(image: Array, kernel: Array, result: Array) -> None:
    """Slide a kernel over an image, one result for each place."""
    height, width = kernel.shape
    for i in range(result.shape[0]):
        for j in range(result.shape[1]):
            result[i, j] = np.sum(image[i : i + height, j : j + width] * kernel)


def convolve_loss(image: Array, kernel: Array) -> np.float64:
    result = np.empty((image.shape[0] - 2, image.shape[1] - 2))
    convolve(image, kernel, result)
    return score(result)


def convolve_in_arrays(image: Array, kernel: Array) -> np.float64:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    return score(np.sum(windows * kernel, axis=(2, 3)))


def pool(maps: Array) -> Array:
    """Keep the greatest of each block of two by two."""
    channels, height, width = maps.shape
    pooled = np.empty((channels, height // 2, width // 2))
    for i in range(height // 2):
        for j in range(width // 2):
            pooled[:, i, j] = np.max(maps[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return pooled


def convolutional_net(image: Array, kernels: Array, weights: Array) -> np.float64:
    """Classify an image by a layer of kernels and one of weights; give the first class's loss."""
    maps = np.empty((kernels.shape[0], image.shape[0] - 2, image.shape[1] - 2))
    for channel in range(kernels.shape[0]):
        convolve(image, kernels[channel], maps[channel])
    maps[maps < 0.0] *= 0.1
    logits = weights @ pool(maps).ravel()
    loss: np.float64 = log_sum_exp(logits) - logits[0]
    return loss


def convolutional_net_in_arrays(image: Array, kernels: Array, weights: Array) -> np.float64:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    maps = np.einsum("ijpq,cpq->cij", windows, kernels)
    maps = np.where(maps < 0.0, 0.1 * maps, maps)
    channels, height, width = maps.shape
    blocks = maps.reshape(channels, height // 2, 2, width // 2, 2)
    logits = weights @ np.max(blocks, axis=(2, 4)).ravel()
    loss: np.float64 = np.log(np.sum(np.exp(logits))) - logits[0]
    return loss


def softmax(logits: Array) -> None:
    """Replace rows of logits by probabilities."""
    logits -= np.max(logits, axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= np.sum(logits, axis=1, keepdims=True)


def perceptron(x: Array, labels: Indices, w1: Array, b1: Array, w2: Array, b2: Array) -> np.float64:
    """Classify rows by a net with one hidden layer; give the mean loss."""
    hidden, output = np.empty((len(x), b1.size)), np.empty((len(x), b2.size))
    np.matmul(x, w1, out=hidden)
    hidden += b1
    np.maximum(hidden, 0.0, out=hidden)
    np.matmul(hidden, w2, out=output)
    output += b2
    softmax(output)
    loss: np.float64 = -np.sum(np.log(output[np.arange(len(x)), labels])) / len(x)
    return loss


def perceptron_in_arrays(
    x: Array, labels: Indices, w1: Array, b1: Array, w2: Array, b2: Array
) -> np.float64:
    logits = np.maximum(x @ w1 + b1, 0.0) @ w2 + b2
    chosen = logits[np.arange(len(x)), labels]
    total: np.float64 = np.sum(np.log(np.sum(np.exp(logits), axis=1)) - chosen)
    return total / len(x)


# Sparse and scattered ------------------------------------------------------------------------


def multiply_sparse(data: Array, columns: Indices, starts: Indices, x: Array) -> Array:
    """Multiply a matrix in compressed rows with a vector."""
    y = np.zeros(starts.size - 1)
    for i in range(y.size):
        for k in range(starts[i], starts[i + 1]):
            y[i] += data[k] * x[columns[k]]
    return y


def multiply_sparse_loss(data: Array, columns: Indices, starts: Indices, x: Array) -> np.float64:
    return score(multiply_sparse(data, columns, starts, x))


def multiply_sparse_in_arrays(
    data: Array, columns: Indices, starts: Indices, x: Array
) -> np.float64:
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return score((rows == np.arange(starts.size - 1)[:, None]) @ (data * x[columns]))


def deposit(places: Array, weights: Array, cells: int) -> Array:
    """Share weights between the two cells next to each place, as a histogram without jumps."""
    histogram = np.zeros(cells)
    for place, weight in zip(places, weights, strict=True):
        cell = int(np.floor(place))
        histogram[cell] += weight * (cell + 1.0 - place)
        histogram[cell + 1] += weight * (place - cell)
    return histogram


def deposit_loss(places: Array, weights: Array) -> np.float64:
    return score(deposit(places, weights, cells=places.size // 2))


def deposit_in_arrays(places: Array, weights: Array) -> np.float64:
    shares = np.maximum(1.0 - np.abs(places[:, None] - np.arange(places.size // 2)), 0.0)
    return score(weights @ shares)


def assemble(nodes: Array, triangles: Indices) -> tuple[Array, Array]:
    """Assemble the stiffness matrix and the load of linear elements on triangles."""
    stiffness, load = np.zeros((len(nodes), len(nodes))), np.zeros(len(nodes))
    for corners in triangles:
        edges = nodes[corners[[2, 0, 1]]] - nodes[corners[[1, 2, 0]]]
        twice_area = edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0]
        stiffness[np.ix_(corners, corners)] += edges @ edges.T / (2.0 * twice_area)
        np.add.at(load, corners, twice_area / 6.0)
    return stiffness, load


def assemble_loss(nodes: Array, triangles: Indices) -> np.float64:
    stiffness, load = assemble(nodes, triangles)
    return score(stiffness) + score(load)


# Transforms ----------------------------------------------------------------------------------


def stockham(x: ComplexArray) -> ComplexArray:
    """Transform as Fourier, in passes that sort themselves; elements are a power of two."""
    x, y = x.copy(), np.empty_like(x)
    groups, span = x.size // 2, 1
    while groups >= 1:
        for j in range(groups):
            twiddle = np.exp(-1j * np.pi * j / groups)
            for k in range(span):
                first, second = x[k + j * span], x[k + (j + groups) * span]
                y[k + 2 * j * span] = first + second
                y[k + (2 * j + 1) * span] = twiddle * (first - second)
        x, y = y, x
        groups, span = groups // 2, 2 * span
    return x


def stockham_loss(real: Array, imaginary: Array) -> np.float64:
    transformed = stockham(real + 1j * imaginary)
    return score(transformed.real) + score(transformed.imag)


def stockham_in_arrays(real: Array, imaginary: Array) -> np.float64:
    transformed = np.fft.fft(real + 1j * imaginary)
    return score(transformed.real) + score(transformed.imag)


def mandelbrot(real: Array, imaginary: Array, limit: int) -> Array:
    """Count the steps to escape from Mandelbrot's set, smoothly; none where there is no escape."""
    c = real[None, :] + 1j * imaginary[:, None]
    z, count, smooth = np.zeros_like(c), np.zeros(c.shape), np.zeros(c.shape)
    for _ in range(limit):
        inside = np.abs(z) < 4.0
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1.0
    gone = np.abs(z) >= 4.0
    smooth[gone] = count[gone] - np.log2(np.log(np.abs(z[gone])))
    return smooth


def mandelbrot_loss(real: Array, imaginary: Array) -> np.float64:
    return score(mandelbrot(real, imaginary, limit=8))


# Products of matrices ------------------------------------------------------------------------


def symmetric_rank_k(c: Array, a: Array, alpha: float, beta: float) -> None:
    """Update the lower triangle of a symmetric matrix by a product of a with its transpose."""
    for i in range(c.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


def symmetric_rank_k_loss(c: Array, a: Array) -> np.float64:
    c = c.copy()
    symmetric_rank_k(c, a, 1.5, 0.8)
    return score(np.tril(c))


def symmetric_rank_2k(c: Array, a: Array, b: Array, alpha: float, beta: float) -> None:
    """Update the lower triangle of a symmetric matrix by products of a and b, by elements."""
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
            for k in range(a.shape[1]):
                c[i, j] += alpha * (a[i, k] * b[j, k] + b[i, k] * a[j, k])


def symmetric_rank_2k_loss(c: Array, a: Array, b: Array) -> np.float64:
    c = c.copy()
    symmetric_rank_2k(c, a, b, 1.5, 0.8)
    return score(np.tril(c))


def multiply_triangular(a: Array, b: Array, alpha: float) -> None:
    """Multiply by the transpose of a unit lower triangle, in place of b."""
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            b[i] += a[k, i] * b[k]
        b[i] *= alpha


def multiply_triangular_loss(a: Array, b: Array) -> np.float64:
    b = b.copy()
    multiply_triangular(a, b, 1.5)
    return score(b)


def multiply_symmetric(c: Array, a: Array, b: Array, alpha: float, beta: float) -> None:
    """Update c by a product with a symmetric matrix, of which the lower triangle is stored."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] = beta * c[i, j] + alpha * (a[i, i] * b[i, j] + a[i, :i] @ b[:i, j])


def multiply_symmetric_loss(c: Array, a: Array, b: Array) -> np.float64:
    c = c.copy()
    multiply_symmetric(c, a, b, 1.5, 0.8)
    return score(c)


def multiply_symmetric_in_arrays(c: Array, a: Array, b: Array) -> np.float64:
    return score(1.5 * (np.tril(a) + np.tril(a, -1).T) @ b + 0.8 * c)


def update_and_multiply(a: Array, u: Array, v: Array, x: Array, y: Array, w: Array) -> None:
    """Update a matrix by two outer products, and vectors by the matrix and its transpose."""
    a += np.outer(u[0], v[0]) + np.outer(u[1], v[1])
    for i in range(x.size):
        for j in range(x.size):
            x[i] += 0.8 * a[j, i] * y[j]
    for i in range(x.size):
        for j in range(x.size):
            w[i] += 1.5 * a[i, j] * x[j]


def update_and_multiply_loss(a: Array, u: Array, v: Array, x: Array, y: Array) -> np.float64:
    w = np.zeros_like(x)
    update_and_multiply(a, u, v, x, y, w)
    return score(w)


def update_and_multiply_in_arrays(a: Array, u: Array, v: Array, x: Array, y: Array) -> np.float64:
    a = a + u.T @ v
    return score(1.5 * a @ (x + 0.8 * a.T @ y))


def multiply_both_ways(a: Array, p: Array, r: Array) -> tuple[Array, Array]:
    """Multiply a matrix and its transpose with a vector each, in one pass."""
    s, q = np.zeros(a.shape[1]), np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s[j] += r[i] * a[i, j]
            q[i] += a[i, j] * p[j]
    return s, q


def multiply_both_ways_loss(a: Array, p: Array, r: Array) -> np.float64:
    s, q = multiply_both_ways(a, p, r)
    return score(s) + score(q)


def multiply_three(a: Array, b: Array, c: Array, d: Array) -> None:
    """Update d by the product of three matrices."""
    product = np.empty((a.shape[0], b.shape[1]))
    np.dot(a, b, out=product)
    d *= 0.8
    for i in range(d.shape[0]):
        for k in range(c.shape[0]):
            d[i] += product[i, k] * c[k]


def multiply_three_loss(a: Array, b: Array, c: Array, d: Array) -> np.float64:
    multiply_three(a, b, c, d)
    return score(d)


def multiply_rows(a: Array, c: Array) -> None:
    """Multiply the rows of a block with a matrix, each in its place by way of one buffer."""
    total = np.empty(a.shape[2])
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            row = a[r, q]
            np.matmul(row, c, out=total)
            row[:] = total


def multiply_rows_loss(a: Array, c: Array) -> np.float64:
    a = a.copy()
    multiply_rows(a, c)
    return score(a)


def correlation(data: Array) -> Array:
    """Correlate columns, after making their means zero and their deviations one."""
    samples, features = data.shape
    data -= np.mean(data, axis=0)
    deviation = np.sqrt(np.mean(data**2, axis=0))
    deviation[deviation < 1e-3] = 1.0
    data /= np.sqrt(samples) * deviation
    result = np.eye(features)
    for i in range(features - 1):
        for j in range(i + 1, features):
            result[i, j] = result[j, i] = data[:, i] @ data[:, j]
    return result


def correlation_loss(data: Array) -> np.float64:
    return score(correlation(data.copy()))


# The table -----------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    words = frozenset(text.split(", "))
    if not words <= TRAITS.keys():
        raise ValueError(f"no such traits: {sorted(words - TRAITS.keys())}")
    return words


@attrs.frozen
class Program:
    """A program, with what it takes to run and to differentiate it.

    Attributes:
        name: its name.
        loss: a number from its inputs, differentiable at them.
        inputs: draws them by a size, the same ones each time.
        sizes: a small one, for central differences, and one for benchmarks.
        argnums: the inputs by which to differentiate; others may be integers.
        traits: what it does to arrays: words of TRAITS.
        array_form: the loss in functions of whole arrays, without assignment to items.
    """

    name: str
    loss: Callable[..., np.float64]
    inputs: Callable[[int], tuple[npt.NDArray[Any], ...]]
    sizes: tuple[int, int]
    argnums: tuple[int, ...]
    traits: frozenset[str] = attrs.field(converter=_words)
    array_form: Callable[..., np.float64] | None = None


def _normal(seed: int, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
    """Draw arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple([rng.normal(size=shape) for shape in shapes])


def _positive(seed: int, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
    """Draw arrays of numbers between a half and one and a half."""
    rng = np.random.default_rng(seed)
    return tuple([rng.uniform(0.5, 1.5, size=shape) for shape in shapes])


def _definite(seed: int, n: int) -> Array:
    """Draw a symmetric positive definite matrix."""
    (a,) = _normal(seed, (n, n))
    definite: Array = a @ a.T / n + np.eye(n)
    return definite


def _dominant(seed: int, n: int) -> Array:
    """Draw a matrix that has factors without pivoting."""
    (a,) = _normal(seed, (n, n))
    dominant: Array = a / np.sqrt(n) + 4.0 * np.eye(n)
    return dominant


def _tridiagonal(n: int) -> tuple[Array, ...]:
    """Draw a tridiagonal system that needs no pivoting."""
    lower, upper = _positive(20, (n,), (n,))
    (right,) = _normal(21, (n,))
    return lower, 4.0 * np.ones(n), upper, right


def _knots(n: int) -> tuple[Array, ...]:
    """Draw ascending knots, values at them, and places between them."""
    rng = np.random.default_rng(22)
    x = np.arange(n) + rng.uniform(-0.3, 0.3, size=n)
    return x, rng.normal(size=n), rng.uniform(0.5, n - 1.5, size=n)


def _knapsack(n: int) -> tuple[npt.NDArray[Any], ...]:
    """Draw profits and sizes of things."""
    return *_positive(23, (n,)), np.random.default_rng(24).integers(1, 5, size=n)


def _sparse(n: int) -> tuple[npt.NDArray[Any], ...]:
    """Draw a matrix in compressed rows, some of them empty, and a vector."""
    rng = np.random.default_rng(25)
    counts = rng.integers(0, 5, size=n)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    columns = rng.integers(0, n, size=starts[-1])
    return rng.normal(size=starts[-1]), columns, starts, rng.normal(size=n)


def _mesh(n: int) -> tuple[npt.NDArray[Any], ...]:
    """Draw a square of n nodes a side, each moved a little, and cut its cells into triangles."""
    i, j = np.divmod(np.arange(n * n), n)
    (moved,) = _normal(26, (n * n, 2))
    corner = (i * n + j)[(i < n - 1) & (j < n - 1)]
    lower = np.stack([corner, corner + n, corner + n + 1], axis=1)
    upper = np.stack([corner, corner + n + 1, corner + 1], axis=1)
    return np.stack([i, j], axis=1) + 0.1 * moved, np.concatenate([lower, upper])


def _net(n: int) -> tuple[npt.NDArray[Any], ...]:
    """Draw rows, the classes they belong to, and the parameters of two layers."""
    x, w1, b1, w2, b2 = _normal(27, (n, n), (n, n), (n,), (n, 3), (3,))
    return x, np.arange(n) % 3, w1 / np.sqrt(n), b1, w2 / np.sqrt(n), b2


PROGRAMS: Final[tuple[Program, ...]] = (
    Program(
        "gauss_seidel",
        gauss_seidel_loss,
        lambda n: _normal(1, (n,), (n,)),
        (8, 120),
        (0, 1),
        "helper",
    ),
    Program(
        "seidel_2d",
        seidel_2d_loss,
        lambda n: _normal(1, (n, n)),
        (6, 60),
        (0,),
        "helper, nested bounds",
    ),
    Program(
        "jacobi_1d",
        jacobi_1d_loss,
        lambda n: _normal(1, (n,)),
        (9, 120),
        (0,),
        "swap",
        jacobi_1d_in_arrays,
    ),
    Program(
        "jacobi_2d",
        jacobi_2d_loss,
        lambda n: _normal(1, (n, n), (n - 2, n - 2)),
        (5, 90),
        (0, 1),
        "swap",
        jacobi_2d_in_arrays,
    ),
    Program(
        "heat_3d",
        heat_3d_loss,
        lambda n: _normal(1, (n, n, n + 1)),
        (3, 20),
        (0,),
        "augmented, swap",
    ),
    Program(
        "maxwell_2d",
        maxwell_2d_loss,
        lambda n: _normal(1, (n, n), (n, n), (n, n), (n,)),
        (3, 60),
        (0, 1, 2, 3),
        "augmented, helper, parameter",
    ),
    Program(
        "alternating_directions",
        alternating_directions_loss,
        lambda n: _normal(1, (n, n)),
        (6, 60),
        (0,),
        "alias, augmented, downwards, empty, helper, overlap",
        alternating_directions_in_arrays,
    ),
    Program(
        "heat_adjoint",
        heat_adjoint_loss,
        lambda n: (0.2 * _positive(1, (n - 1,))[0], *_normal(2, (n,), (n,))),
        (8, 60),
        (0, 1, 2),
        "augmented, downwards, empty, history",
    ),
    Program(
        "horizontal_diffusion",
        horizontal_diffusion_loss,
        lambda n: (*_normal(1, (n, n)), *_positive(2, (n - 4, n - 4))),
        (6, 128),
        (0, 1),
        "augmented, helper, mask",
        horizontal_diffusion_in_arrays,
    ),
    Program(
        "vertical_advection",
        vertical_advection_loss,
        lambda n: _normal(1, (n, 3), (n + 1, 3)),
        (5, 60),
        (0, 1),
        "augmented, downwards, empty",
    ),
    Program(
        "cholesky_by_elements",
        cholesky_by_elements_loss,
        lambda n: (_definite(1, n),),
        (6, 60),
        (0,),
        "augmented, helper, nested bounds",
        lambda a: score(np.linalg.cholesky(0.5 * (a + a.T))),
    ),
    Program(
        "cholesky_by_columns",
        cholesky_by_columns_loss,
        lambda n: (_definite(1, n),),
        (6, 120),
        (0,),
        "alias, augmented, helper, nested bounds",
        lambda a: score(np.linalg.cholesky(0.5 * (a + a.T))),
    ),
    Program(
        "lu",
        lu_loss,
        lambda n: (_dominant(1, n),),
        (6, 120),
        (0,),
        "augmented, helper, nested bounds, parameter",
    ),
    Program(
        "solve_by_lu",
        solve_by_lu_loss,
        lambda n: (_dominant(1, n), *_normal(2, (n,))),
        (5, 120),
        (0, 1),
        "augmented, downwards, helper, nested bounds",
        lambda a, b: score(np.linalg.solve(a, b)),
    ),
    Program(
        "eliminate",
        eliminate_loss,
        lambda n: (_dominant(1, n)[::-1].copy(), *_normal(2, (n,))),
        (5, 60),
        (0, 1),
        "augmented, data index, downwards, helper, nested bounds, parameter, swap",
        lambda a, b: score(np.linalg.solve(a, b)),
    ),
    Program(
        "gram_schmidt",
        gram_schmidt_loss,
        lambda n: (np.eye(n + 2, n) + _normal(1, (n + 2, n))[0] / np.sqrt(n),),
        (4, 60),
        (0,),
        "augmented, empty, nested bounds",
        gram_schmidt_in_arrays,
    ),
    Program(
        "householder",
        householder_loss,
        lambda n: (np.eye(n + 2, n) + _normal(1, (n + 2, n))[0] / np.sqrt(n),),
        (4, 60),
        (0,),
        "alias, augmented, helper, nested bounds",
        householder_in_arrays,
    ),
    Program(
        "solve_triangular",
        solve_triangular_loss,
        lambda n: (_dominant(1, n), *_normal(2, (n,))),
        (5, 120),
        (0, 1),
        "empty, helper, nested bounds",
        lambda lower, b: score(np.linalg.solve(np.tril(lower), b)),
    ),
    Program(
        "thomas",
        thomas_loss,
        _tridiagonal,
        (8, 400),
        (0, 1, 2, 3),
        "augmented, downwards, helper",
        thomas_in_arrays,
    ),
    Program(
        "cubic_spline",
        cubic_spline_loss,
        _knots,
        (7, 120),
        (0, 1, 2),
        "augmented, data index, downwards, empty, helper",
    ),
    Program(
        "linear_recurrence",
        linear_recurrence_loss,
        lambda n: (*_positive(1, (n,)), *_normal(2, (n,))),
        (12, 400),
        (0, 1),
        "augmented",
        linear_recurrence_in_arrays,
    ),
    Program(
        "exponential_smoothing",
        exponential_smoothing_loss,
        lambda n: (*_normal(1, (n,)), np.array([0.6, 0.3])),
        (12, 400),
        (0, 1),
        "empty",
    ),
    Program(
        "durbin",
        durbin_loss,
        lambda n: (0.5 ** np.arange(1, n + 1) * _positive(1, (n,))[0],),
        (10, 120),
        (0,),
        "augmented, nested bounds, overlap",
        durbin_in_arrays,
    ),
    Program(
        "deriche",
        deriche_loss,
        lambda n: (*_normal(1, (n, n - 1)), np.array(0.7)),
        (6, 64),
        (0, 1),
        "augmented, downwards",
    ),
    Program(
        "prefix_sums",
        prefix_sums_loss,
        lambda n: _normal(1, (n,)),
        (16, 1024),
        (0,),
        "augmented, helper, parameter, strides, while",
        lambda x: score(np.cumsum(x)),
    ),
    Program(
        "horner",
        horner_loss,
        lambda n: (*_normal(1, (n,)), np.linspace(-1.0, 1.0, n + 1)),
        (8, 120),
        (0, 1),
        "augmented",
        lambda coefficients, x: score(
            np.vander(x, coefficients.size, increasing=True) @ coefficients
        ),
    ),
    Program(
        "polynomial_product",
        polynomial_product_loss,
        lambda n: _normal(1, (n,), (n + 1,)),
        (8, 60),
        (0, 1),
        "augmented",
        lambda a, b: score(np.convolve(a, b)),
    ),
    Program(
        "chebyshev",
        chebyshev_loss,
        lambda n: (*_normal(1, (n,)), np.linspace(-0.9, 0.8, n)),
        (8, 120),
        (0, 1),
        "alias, augmented, empty, out",
        chebyshev_in_arrays,
    ),
    Program(
        "soft_edit_distance",
        soft_edit_distance,
        lambda n: _normal(1, (n,), (n + 1,)),
        (6, 60),
        (0, 1),
        "history",
    ),
    Program(
        "forward_algorithm",
        forward_algorithm,
        lambda n: _normal(1, (n, 3), (3, 3)),
        (6, 60),
        (0, 1),
        "empty, history",
        forward_algorithm_in_arrays,
    ),
    Program(
        "viterbi",
        viterbi_loss,
        lambda n: _normal(1, (n, 3), (3, 3)),
        (6, 60),
        (0, 1),
        "augmented, data index, downwards, history",
    ),
    Program(
        "soft_knapsack",
        soft_knapsack_loss,
        _knapsack,
        (8, 60),
        (0,),
        "downwards, nested bounds",
        soft_knapsack_in_arrays,
    ),
    Program(
        "soft_smith_waterman",
        soft_smith_waterman,
        lambda n: (*_normal(1, (n, n - 1)), np.array(1.2)),
        (6, 60),
        (0, 1),
        "alias",
    ),
    Program(
        "soft_shortest_paths",
        soft_shortest_paths_loss,
        lambda n: (3.0 * _positive(1, (n, n))[0],),
        (6, 60),
        (0,),
        "alias, helper, parameter",
    ),
    Program(
        "n_body",
        n_body_loss,
        lambda n: (*_normal(1, (n, 3), (n, 3)), *_positive(2, (n,))),
        (5, 24),
        (0, 1, 2),
        "augmented, empty, helper, nested bounds",
    ),
    Program(
        "verlet",
        verlet_loss,
        lambda n: (*_normal(1, (n,), (n,)), *_positive(2, (n + 1,))),
        (8, 60),
        (0, 1, 2),
        "augmented, history",
    ),
    Program(
        "runge_kutta",
        runge_kutta_loss,
        lambda n: (*_positive(1, (2,), (4,)), 0.1 * np.arange(n)),
        (10, 120),
        (0, 1, 2),
        "augmented, empty, history",
    ),
    Program(
        "random_walk",
        random_walk_loss,
        lambda n: (*_normal(1, (n, 3)), *_positive(2, (3,))),
        (8, 120),
        (0, 1),
        "branch, history",
    ),
    Program(
        "convolve",
        convolve_loss,
        lambda n: _normal(1, (n, n - 1), (3, 3)),
        (6, 40),
        (0, 1),
        "empty, helper, nested bounds",
        convolve_in_arrays,
    ),
    Program(
        "convolutional_net",
        convolutional_net,
        lambda n: _normal(1, (n, n), (2, 3, 3), (2, 2 * (n // 2 - 1) ** 2)),
        (6, 28),
        (1, 2),
        "alias, augmented, empty, helper, mask, nested bounds",
        convolutional_net_in_arrays,
    ),
    Program(
        "perceptron",
        perceptron,
        _net,
        (4, 64),
        (2, 3, 4, 5),
        "augmented, empty, helper, out",
        perceptron_in_arrays,
    ),
    Program(
        "multiply_sparse",
        multiply_sparse_loss,
        _sparse,
        (10, 200),
        (0, 3),
        "augmented, data index, nested bounds",
        multiply_sparse_in_arrays,
    ),
    Program(
        "deposit",
        deposit_loss,
        lambda n: (np.random.default_rng(1).uniform(0.0, n // 2 - 1.0, n), *_positive(2, (n,))),
        (16, 400),
        (0, 1),
        "augmented, data index",
        deposit_in_arrays,
    ),
    Program("assemble", assemble_loss, _mesh, (4, 12), (0,), "augmented, data index"),
    Program(
        "stockham",
        stockham_loss,
        lambda n: _normal(1, (n,), (n,)),
        (16, 256),
        (0, 1),
        "complex, empty, nested bounds, swap, while",
        stockham_in_arrays,
    ),
    Program(
        "mandelbrot",
        mandelbrot_loss,
        lambda n: (np.linspace(-2.1, 0.9, n), np.linspace(-1.3, 1.2, n)),
        (8, 100),
        (0, 1),
        "augmented, complex, mask",
    ),
    Program(
        "symmetric_rank_k",
        symmetric_rank_k_loss,
        lambda n: _normal(1, (n, n), (n, n - 1)),
        (4, 60),
        (0, 1),
        "augmented, helper, nested bounds",
        lambda c, a: score(np.tril(0.8 * c + 1.5 * a @ a.T)),
    ),
    Program(
        "symmetric_rank_2k",
        symmetric_rank_2k_loss,
        lambda n: _normal(1, (n, n), (n, n - 1), (n, n - 1)),
        (4, 40),
        (0, 1, 2),
        "augmented, helper, nested bounds",
        lambda c, a, b: score(np.tril(0.8 * c + 1.5 * (a @ b.T + b @ a.T))),
    ),
    Program(
        "multiply_triangular",
        multiply_triangular_loss,
        lambda n: _normal(1, (n, n), (n, n - 1)),
        (4, 60),
        (0, 1),
        "augmented, helper, nested bounds",
        lambda a, b: score(1.5 * (np.tril(a, -1).T @ b + b)),
    ),
    Program(
        "multiply_symmetric",
        multiply_symmetric_loss,
        lambda n: _normal(1, (n, n - 1), (n, n), (n, n - 1)),
        (4, 60),
        (0, 1, 2),
        "augmented, helper, nested bounds",
        multiply_symmetric_in_arrays,
    ),
    Program(
        "update_and_multiply",
        update_and_multiply_loss,
        lambda n: _normal(1, (n, n), (2, n), (2, n), (n,), (n,)),
        (4, 60),
        (0, 1, 2, 3, 4),
        "augmented, helper, parameter",
        update_and_multiply_in_arrays,
    ),
    Program(
        "multiply_both_ways",
        multiply_both_ways_loss,
        lambda n: _normal(1, (n + 1, n), (n,), (n + 1,)),
        (5, 60),
        (0, 1, 2),
        "augmented",
        lambda a, p, r: score(r @ a) + score(a @ p),
    ),
    Program(
        "multiply_three",
        multiply_three_loss,
        lambda n: _normal(1, (n, n - 1), (n - 1, n), (n, n - 1), (n, n - 1)),
        (3, 50),
        (0, 1, 2, 3),
        "augmented, empty, helper, out, parameter",
        lambda a, b, c, d: score(a @ b @ c + 0.8 * d),
    ),
    Program(
        "multiply_rows",
        multiply_rows_loss,
        lambda n: _normal(1, (n - 1, n, n), (n, n)),
        (3, 25),
        (0, 1),
        "alias, empty, helper, out",
        lambda a, c: score(a @ c),
    ),
    Program(
        "correlation",
        correlation_loss,
        lambda n: _normal(1, (2 * n, n)),
        (4, 40),
        (0,),
        "augmented, mask, nested bounds",
        lambda data: score(np.corrcoef(data.T)),
    ),
)
