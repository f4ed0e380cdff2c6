"""Ten real programs, each written once for JAX and tinyjax: is what XLA is handed as good?

Every program is a function of the library, which stands for either. What comes back is the function
to compile; the data are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from benchmarks.programs import descend, mlp_data, mlp_loss

#: The module ``jax`` or the module ``tinyjax``.
Library = Any
Data = tuple[Any, ...]


@attrs.frozen
class Program:
    """A program, and what it runs on.

    Attributes:
        title: what it is.
        build: makes the function to be compiled, for a library.
        data: its arguments.
        tolerance: how far, relatively, the two libraries' results may differ: rounding alone.
    """

    title: str
    build: Callable[[Library], Callable[..., Any]]
    data: Callable[[], Data]
    tolerance: float = 1e-4


def _normal(seed: int = 0) -> Callable[..., NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape, np.float32)


# Networks: one step of training


def _step(lib: Library, loss: Callable[..., Any]) -> Callable[..., Any]:
    def step(parameters: Any, *data: Any) -> Any:
        value, gradients = lib.value_and_grad(loss)(parameters, *data)
        return value, {k: p - 0.01 * gradients[k] for k, p in parameters.items()}

    return step


def mlp(lib: Library) -> Callable[..., Any]:
    gradient = lib.grad(partial(mlp_loss, lib.numpy.tanh))
    return lambda layers, x, y: descend(layers, gradient(layers, x, y))


def _mlp_data() -> Data:
    return mlp_data((256, 512, 512, 64), 256)


def convolutional(lib: Library) -> Callable[..., Any]:
    jnp, lax = lib.numpy, lib.lax

    def loss(p: Any, images: Any, labels: Any) -> Any:
        x = images
        for kernel in ("k1", "k2"):
            x = lax.conv_general_dilated(
                x, p[kernel], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = lib.nn.relu(x)
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(x.shape[0], -1) @ p["w"] + p["b"]
        return -jnp.mean(jnp.sum(lib.nn.one_hot(labels, 10) * lib.nn.log_softmax(logits), axis=-1))

    return _step(lib, loss)


def _convolutional_data() -> Data:
    normal = _normal()
    parameters = {
        "k1": 0.2 * normal(3, 3, 1, 8),
        "k2": 0.1 * normal(3, 3, 8, 16),
        "w": 0.02 * normal(7 * 7 * 16, 10),
        "b": np.zeros(10, np.float32),
    }
    return parameters, normal(16, 28, 28, 1), np.arange(16, dtype=np.int32) % 10


def transformer(lib: Library) -> Callable[..., Any]:
    jnp = lib.numpy

    def normed(x: Any, scale: Any, bias: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return centred / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5) * scale + bias

    def loss(p: Any, x: Any, target: Any) -> Any:
        batch, length, width = x.shape
        heads = 4
        h = normed(x, p["s1"], p["b1"])
        qkv = (h @ p["qkv"]).reshape(batch, length, 3, heads, width // heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(width // heads))
        mask = jnp.tril(jnp.ones((length, length), bool))
        weights = lib.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
        x = x + mixed @ p["out"]
        h = normed(x, p["s2"], p["b2"])
        x = x + lib.nn.gelu(h @ p["up"]) @ p["down"]
        return jnp.mean((x - target) ** 2)

    return _step(lib, loss)


def _transformer_data() -> Data:
    normal, width = _normal(), 64
    ones, zeros = np.ones(width, np.float32), np.zeros(width, np.float32)
    parameters = {
        "qkv": 0.1 * normal(width, 3 * width),
        "out": 0.1 * normal(width, width),
        "up": 0.1 * normal(width, 4 * width),
        "down": 0.1 * normal(4 * width, width),
        "s1": ones,
        "b1": zeros,
        "s2": ones,
        "b2": zeros,
    }
    return parameters, normal(8, 64, width), normal(8, 64, width)


def lstm(lib: Library) -> Callable[..., Any]:
    jnp = lib.numpy

    def loss(p: Any, inputs: Any, target: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(x @ p["w"] + h @ p["u"] + p["b"], 4, axis=-1)
            c = lib.nn.sigmoid(f) * c + lib.nn.sigmoid(i) * jnp.tanh(g)
            h = lib.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((inputs.shape[1], p["u"].shape[0]))
        _, hs = lib.lax.scan(cell, (start, start), inputs)
        return jnp.mean((hs - target) ** 2)

    return _step(lib, loss)


def _lstm_data() -> Data:
    normal, width = _normal(), 64
    parameters = {
        "w": 0.1 * normal(32, 4 * width),
        "u": 0.1 * normal(width, 4 * width),
        "b": np.zeros(4 * width, np.float32),
    }
    return parameters, normal(50, 16, 32), normal(50, 16, width)


# Science


def runge_kutta(lib: Library) -> Callable[..., Any]:
    """The classical method on a chain of nonlinear oscillators; the energy's gradient."""
    jnp = lib.numpy

    def slope(y: Any, coupling: Any) -> Any:
        position, velocity = y
        pull = jnp.roll(position, 1) + jnp.roll(position, -1) - 2 * position
        return velocity, coupling * pull - jnp.sin(position)

    def energy(start: Any, coupling: Any) -> Any:
        dt = 0.01

        def moved(y: Any, k: Any, factor: float) -> Any:
            return y[0] + factor * k[0], y[1] + factor * k[1]

        def step(y: Any, _: Any) -> Any:
            k1 = slope(y, coupling)
            k2 = slope(moved(y, k1, dt / 2), coupling)
            k3 = slope(moved(y, k2, dt / 2), coupling)
            k4 = slope(moved(y, k3, dt), coupling)
            mean = tuple(
                (a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)
            )
            return moved(y, mean, dt), None

        (position, velocity), _ = lib.lax.scan(step, start, None, length=200)
        return jnp.sum(velocity**2) / 2 - jnp.sum(jnp.cos(position))

    solved: Callable[..., Any] = lib.value_and_grad(energy)
    return solved


def _runge_kutta_data() -> Data:
    normal = _normal()
    return (normal(256), normal(256)), np.float32(0.7)


def n_body(lib: Library) -> Callable[..., Any]:
    """Leapfrog steps of bodies that attract each other."""
    jnp = lib.numpy

    def acceleration(x: Any, mass: Any) -> Any:
        apart = x[None, :, :] - x[:, None, :]
        inverse = (jnp.sum(apart**2, axis=-1) + 0.01) ** -1.5
        return jnp.sum(apart * (mass[None, :] * inverse)[:, :, None], axis=1)

    def simulate(x: Any, v: Any, mass: Any) -> Any:
        dt = 0.001

        def step(_: Any, state: Any) -> Any:
            x, v = state
            v = v + dt / 2 * acceleration(x, mass)
            x = x + dt * v
            return x, v + dt / 2 * acceleration(x, mass)

        return lib.lax.fori_loop(0, 20, step, (x, v))

    return simulate


def _n_body_data() -> Data:
    normal = _normal()
    return normal(128, 3), normal(128, 3), np.abs(normal(128))


def black_scholes(lib: Library) -> Callable[..., Any]:
    """Prices of options, with their sensitivities to all five inputs."""
    jnp = lib.numpy

    def normal_cdf(x: Any) -> Any:
        return 0.5 * (1 + lib.lax.erf(x * np.float32(np.sqrt(0.5))))

    def price(spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * jnp.sqrt(time)
        d1 = (jnp.log(spot / strike) + (rate + volatility**2 / 2) * time) / spread
        discounted = strike * jnp.exp(-rate * time)
        return spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)

    def greeks(*market: Any) -> Any:
        return lib.vmap(lib.value_and_grad(price, argnums=(0, 1, 2, 3, 4)))(*market)

    return greeks


def _black_scholes_data() -> Data:
    rng = np.random.default_rng(0)
    bounds = ((80, 120), (80, 120), (0.2, 2), (0.01, 0.05), (0.1, 0.4))
    return tuple(rng.uniform(low, high, 50_000).astype(np.float32) for low, high in bounds)


# Statistics


def k_means(lib: Library) -> Callable[..., Any]:
    """Lloyd's iterations."""
    jnp = lib.numpy

    def cluster(points: Any, centres: Any) -> Any:
        def step(_: Any, centres: Any) -> Any:
            apart = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
            nearest = jnp.argmin(apart, axis=1)
            sums = jnp.zeros_like(centres).at[nearest].add(points)
            counts = jnp.zeros(centres.shape[0]).at[nearest].add(1.0)
            return sums / jnp.maximum(counts, 1.0)[:, None]

        return lib.lax.fori_loop(0, 10, step, centres)

    return cluster


def _k_means_data() -> Data:
    normal = _normal()
    return normal(2000, 4) + 3 * np.sign(normal(2000, 4)), normal(16, 4)


def newton_logistic(lib: Library) -> Callable[..., Any]:
    """Logistic regression by Newton's method; each system is solved by conjugate gradients."""
    jnp = lib.numpy

    def solve(matrix: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, r, p, rr = state
            ap = matrix @ p
            a = rr / jnp.maximum(p @ ap, 1e-20)
            r = r - a * ap
            next_rr = r @ r
            return x + a * p, r, r + next_rr / jnp.maximum(rr, 1e-20) * p, next_rr

        return lib.lax.fori_loop(0, b.shape[0], step, (jnp.zeros_like(b), b, b, b @ b))[0]

    def loss(w: Any, x: Any, y: Any) -> Any:
        margin = (x @ w) * y
        return jnp.mean(lib.nn.softplus(-margin)) + 0.01 * (w @ w)

    def fit(x: Any, y: Any) -> Any:
        def step(_: Any, w: Any) -> Any:
            return w - solve(lib.hessian(loss)(w, x, y), lib.grad(loss)(w, x, y))

        return lib.lax.fori_loop(0, 5, step, jnp.zeros(x.shape[1]))

    return fit


def _newton_logistic_data() -> Data:
    normal = _normal()
    x, w = normal(1000, 20), normal(20)
    return x, np.sign(x @ w + normal(1000))


def hamiltonian_step(lib: Library) -> Callable[..., Any]:
    """One step of Hamiltonian Monte Carlo of one chain."""
    jnp, lax = lib.numpy, lib.lax

    def density(x: Any) -> Any:
        return -jnp.sum((x[:-1] - 1) ** 2 + 10 * (x[1:] - x[:-1] ** 2) ** 2) / 20

    def step(x: Any, momentum: Any, uniform: Any) -> Any:
        gradient, size = lib.grad(density), 0.05

        def leap(_: Any, state: Any) -> Any:
            x, p = state
            p = p + size / 2 * gradient(x)
            x = x + size * p
            return x, p + size / 2 * gradient(x)

        proposal, p = lax.fori_loop(0, 20, leap, (x, momentum))
        before = density(x) - momentum @ momentum / 2
        after = density(proposal) - p @ p / 2
        accepted = jnp.log(uniform) < after - before
        return jnp.where(accepted, proposal, x), accepted

    return step


def hamiltonian(lib: Library) -> Callable[..., Any]:
    """One step of Hamiltonian Monte Carlo for many chains at once."""
    chains: Callable[..., Any] = lib.vmap(hamiltonian_step(lib))
    return chains


def _hamiltonian_data() -> Data:
    normal = _normal()
    uniform = np.random.default_rng(1).uniform(0.01, 1, 256).astype(np.float32)
    return 0.5 * normal(256, 16), normal(256, 16), uniform


PROGRAMS: Final = (
    Program("MLP, training step", mlp, _mlp_data),
    Program("convolutional net, training step", convolutional, _convolutional_data),
    Program("transformer block, training step", transformer, _transformer_data),
    Program("LSTM by scan, training step", lstm, _lstm_data),
    Program("Runge-Kutta by scan, value and gradient", runge_kutta, _runge_kutta_data),
    Program("N-body, leapfrog", n_body, _n_body_data),
    Program("Black-Scholes, prices and Greeks", black_scholes, _black_scholes_data),
    Program("k-means", k_means, _k_means_data),
    Program("logistic regression by Newton", newton_logistic, _newton_logistic_data),
    Program("HMC step", hamiltonian, _hamiltonian_data),
)
