"""The programs of ``benchmarks.c``: models and controllers, with their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax

RNG = np.random.default_rng(0)


def _rotation(axis: int, angle: Any) -> Any:
    c, s = jnp.cos(angle), jnp.sin(angle)
    if axis == 2:
        return jnp.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    return jnp.array([[1.0, 0, 0], [0, c, -s], [0, s, c]])


def arm(n: int) -> Callable[..., Any]:
    """Return the torques of an arm of ``n`` joints: recursive Newton-Euler (Featherstone 2008)."""
    link, centre = jnp.array([0.3, 0, 0]), jnp.array([0.15, 0, 0])
    inertia = jnp.diag(jnp.array([0.01, 0.02, 0.02]))
    axes = [0 if i % 2 else 2 for i in range(n)]
    directions = [jnp.eye(3)[axis] for axis in axes]

    def torques(q: Any, speed: Any, acceleration: Any) -> Any:
        turn, turning = jnp.zeros(3), jnp.zeros(3)
        linear = jnp.array([0, 0, 9.81])
        frames, loads = [], []
        for i, axis in enumerate(axes):
            frame = _rotation(axis, q[i]).T
            swing = jnp.cross(turning, link) + jnp.cross(turn, jnp.cross(turn, link))
            linear = frame @ (linear + swing)
            turn, along = frame @ turn, directions[i] * speed[i]
            turning = frame @ turning + jnp.cross(turn, along) + directions[i] * acceleration[i]
            turn = turn + along
            force = linear + jnp.cross(turning, centre) + jnp.cross(turn, jnp.cross(turn, centre))
            frames.append(frame)
            loads.append((force, inertia @ turning + jnp.cross(turn, inertia @ turn)))
        force, moment, out = jnp.zeros(3), jnp.zeros(3), [jnp.zeros(())] * n
        for i in reversed(range(n)):
            own, spin = loads[i]
            moment = spin + jnp.cross(centre, own) + moment
            force = own + force
            out[i] = moment @ directions[i]
            back = frames[i].T
            force, moment = back @ force, back @ moment
            moment = moment + jnp.cross(link, force)
        return jnp.stack(out)

    return torques


def mass(n: int) -> Callable[[Any], Any]:
    """Return the matrix of masses of an arm: the Jacobian of torques in accelerations."""
    torques, still = arm(n), jnp.zeros(n)
    return lambda q: tinyjax.jacfwd(lambda a: torques(q, still, a))(still)


def flight(pushes: Any, state: Any) -> Any:
    """Return the cost of twenty steps of a planar quadrotor."""

    def step(x: Any, push: Any) -> tuple[Any, Any]:
        lift, tilt = push[0] + push[1], x[2]
        turn = 4.0 * (push[0] - push[1])
        a = jnp.stack([-jnp.sin(tilt) * lift, jnp.cos(tilt) * lift - 9.81, turn])
        x = jnp.concatenate([x[:3] + 0.05 * x[3:], x[3:] + 0.05 * a])
        return x, jnp.sum(x * x) + 0.01 * jnp.sum(push * push)

    _, costs = lax.scan(step, state, pushes.reshape(20, 2))
    return jnp.sum(costs)


def kalman(x: Any, p: Any, z: Any) -> Any:
    forward, seen = jnp.eye(6) + 0.1 * jnp.eye(6, k=3), jnp.eye(3, 6)
    x, p = forward @ x, forward @ p @ forward.T + 0.01 * jnp.eye(6)
    gain = jnp.linalg.solve(seen @ p @ seen.T + 0.1 * jnp.eye(3), seen @ p).T
    return {"state": x + gain @ (z - seen @ x), "covariance": (jnp.eye(6) - gain @ seen) @ p}


def pendulum(theta: Any, y: Any) -> Any:
    def slope(y: Any) -> Any:
        return jnp.array([y[1], -theta[0] * jnp.sin(y[0]) - theta[1] * y[1]])

    def step(y: Any, _: None) -> tuple[Any, None]:
        h = 0.01
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3)), None

    return lax.scan(step, y, None, length=100)[0][0] ** 2


def network(layers: Any, x: Any) -> Any:
    for weights, bias in layers:
        x = jnp.tanh(weights @ x + bias)
    return jnp.sum(x)


def spline(table: Any, x: Any) -> Any:
    cell = jnp.clip(jnp.floor(10 * x).astype(int), 0, 9)
    a, t = table[cell], 10 * x - cell
    return a[:, 0] + t * (a[:, 1] + t * (a[:, 2] + t * a[:, 3]))


def ray(origin: Any, direction: Any, centres: Any, radii: Any) -> Any:
    to = origin - centres
    b = to @ direction
    inside = b * b - jnp.sum(to * to, 1) + radii**2
    distance = jnp.where(inside > 0, -b - jnp.sqrt(jnp.maximum(inside, 1e-12)), jnp.inf)
    nearest = jnp.argmin(jnp.where(distance > 0, distance, jnp.inf))
    return distance[nearest], nearest


def newton(a: Any) -> Any:
    def step(state: Any) -> Any:
        return state[0] - (state[0] ** 3 - a) / (3 * state[0] ** 2), state[1] + 1

    return lax.while_loop(lambda s: jnp.abs(s[0] ** 3 - a) > 1e-12, step, (a, 0))


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / 4.0
    p = jnp.exp(scores - scores.max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)) @ v


def option(price: Any, strike: Any, rate: Any, spread: Any, time: Any) -> Any:
    """Return the price of an option by Black and Scholes."""
    root = spread * jnp.sqrt(time)
    d = (jnp.log(price / strike) + (rate + spread * spread / 2) * time) / root

    def below(x: Any) -> Any:
        return 0.5 * lax.erfc(-x / jnp.sqrt(2.0))

    return price * below(d) - strike * jnp.exp(-rate * time) * below(d - root)


def _normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


_LAYERS = [(_normal(32, 32) / 6, _normal(32)) for _ in range(3)]
_FLIGHT = (_normal(40) + 4.9, _normal(6))
#: By name the function, and its arguments.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "torques of 7 joints": (arm(7), (_normal(7), _normal(7), _normal(7))),
    "masses of 7 joints": (mass(7), (_normal(7),)),
    "torques of 35 joints": (arm(35), (_normal(35), _normal(35), _normal(35))),
    "quadrotor, gradient": (tinyjax.grad(flight), _FLIGHT),
    "quadrotor, Hessian": (tinyjax.hessian(flight), _FLIGHT),
    "Kalman step": (kalman, (_normal(6), np.eye(6), _normal(3))),
    "pendulum, adjoint": (tinyjax.grad(pendulum), (np.array([9.81, 0.1]), np.array([1.0, 0.0]))),
    "network of 3 x 32": (network, (_LAYERS, _normal(32))),
    "its gradient": (tinyjax.grad(network), (_LAYERS, _normal(32))),
    "spline at 20 points": (spline, (_normal(10, 4), RNG.random(20))),
    "ray, 100 spheres": (
        ray,
        (np.zeros(3), np.array([0.6, 0.6, 0.5]), RNG.normal(5, 1, (100, 3)), RNG.random(100)),
    ),
    "Newton's iteration": (newton, (3.0,)),
    "attention, 16 x 16": (attention, (_normal(16, 16), _normal(16, 16), _normal(16, 16))),
    "option, five slopes": (tinyjax.grad(option, (0, 1, 2, 3, 4)), (100.0, 95.0, 0.02, 0.3, 1.0)),
    "lu of 8 x 8, derivative": (
        tinyjax.grad(lambda a: jnp.sum(jnp.sin(lax.linalg.lu(a)[0]))),
        (_normal(8, 8) + 4 * np.eye(8),),
    ),
}
