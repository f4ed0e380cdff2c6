"""ADBench's problems: mixtures, an LSTM, bundle adjustment, and tracking of a hand."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.adbench.problem import (
    Data,
    Library,
    Loss,
    Problem,
    generator,
    gradient_of,
    normal,
    rotation,
)

# Gaussian mixtures


def log_sum_exp(xp: Any, x: Any) -> Any:
    """Return the logarithm of sums of exponentials along the last axis."""
    largest = xp.amax(x, axis=-1)
    return largest + xp.log(xp.sum(xp.exp(x - largest[..., None]), axis=-1))


def mixture(xp: Any) -> Loss:
    """The negative log-likelihood of a mixture, with a Wishart prior but for its constant.

    The inverse of a component's covariance is ``Q.T @ Q`` with a lower triangular ``Q``, whose
    diagonal has exponentials of the first parameters, and the rest the others.
    """

    def loss(parameters: Any, x: Any, where: Any, wishart: Any) -> Any:
        weights, means, factors = parameters
        count, size = means.shape
        logarithms = factors[:, :size]
        entries = xp.concatenate(
            [xp.zeros((count, 1)), xp.exp(logarithms), factors[:, size:]], axis=1
        )
        scaled = entries[:, where]  # the entry of each place in the triangle; the first is zero
        apart = xp.einsum("kij,knj->kni", scaled, x[None] - means[:, None])
        determinants = xp.sum(logarithms, axis=1)
        exponents = weights + determinants - 0.5 * xp.sum(apart**2, axis=-1).T
        likelihood = xp.sum(log_sum_exp(xp, exponents)) - x.shape[0] * log_sum_exp(xp, weights)
        scale, freedom = wishart[0], wishart[1]
        prior = freedom * xp.sum(determinants) - 0.5 * scale**2 * xp.sum(entries**2)
        return -(likelihood + prior)

    return loss


def mixture_data(size: int = 16, count: int = 10, points: int = 1000) -> Data:
    rng = generator()
    where = np.zeros((size, size), np.int32)
    where[np.diag_indices(size)] = 1 + np.arange(size)
    lower = np.tril_indices(size, -1)
    where[lower] = 1 + size + np.arange(len(lower[0]))
    parameters = (
        normal(rng, count),
        normal(rng, count, size),
        0.3 * normal(rng, count, size + len(lower[0])),
    )
    return parameters, normal(rng, points, size), where, np.array([1.0, 0.0], np.float32)


# An LSTM with diagonal weights


def lstm(lib: Library) -> Loss:
    """The loss of a predictor of the next characters, two layers deep."""
    jnp = lib.numpy

    def layer(parameters: Any, state: Any, x: Any) -> tuple[Any, Any]:
        (weight, bias), (hidden, cell) = parameters, state
        forget, ingate, outgate, change = jnp.stack([x, hidden, x, hidden]) * weight.reshape(
            4, -1
        ) + bias.reshape(4, -1)
        cell = cell * lib.nn.sigmoid(forget) + lib.nn.sigmoid(ingate) * jnp.tanh(change)
        return lib.nn.sigmoid(outgate) * jnp.tanh(cell), cell

    def loss(parameters: Any, states: Any, sequence: Any) -> Any:
        layers, (inner, out, bias) = parameters

        def step(states: Any, pair: Any) -> Any:
            x, following = pair
            x, after = x * inner, []
            for own, state in zip(layers, states, strict=True):
                after.append(layer(own, state, x))
                x = after[-1][0]
            predicted = x * out + bias
            scores = predicted - jnp.log(2 + jnp.sum(jnp.exp(predicted)))
            return after, jnp.sum(following * scores)

        _, scores = lib.lax.scan(step, states, (sequence[:-1], sequence[1:]))
        return -jnp.sum(scores) / (sequence.shape[0] - 1) / sequence.shape[1]

    return loss


def lstm_data(depth: int = 2, width: int = 14, length: int = 1024) -> Data:
    rng = generator()
    layers = [(normal(rng, 4 * width), normal(rng, 4 * width)) for _ in range(depth)]
    states = [(normal(rng, width), normal(rng, width)) for _ in range(depth)]
    sequence = np.eye(width, dtype=np.float32)[rng.integers(0, width, length)]
    return (layers, tuple(normal(rng, 3, width))), states, sequence


# Bundle adjustment


def reprojection(xp: Any, camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return the weighted difference between a camera's image of a point and an observed one."""
    seen = rotation(xp, camera[:3]) @ (point - camera[3:6])
    image = seen[:2] / seen[2]
    squared = xp.sum(image**2)
    distorted = image * (1 + camera[9] * squared + camera[10] * squared**2)
    return weight * (camera[6] * distorted + camera[7:9] - feature)


def bundle(lib: Library) -> Loss:
    """The rows of the sparse Jacobian, observation by observation, and those of the weights."""

    def residual(*arguments: Any) -> Any:
        return reprojection(lib.numpy, *arguments)

    rows = lib.vmap(lib.jacrev(residual, argnums=(0, 1, 2)))

    def jacobian(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> Any:
        blocks = rows(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)
        return blocks, lib.vmap(lib.grad(lambda w: 1 - w**2))(weights)

    return jacobian


def bundle_data(cameras: int = 49, points: int = 7776, observations: int = 31843) -> Data:
    rng = generator()
    camera = np.concatenate(
        [
            0.1 * normal(rng, cameras, 6),
            1 + 0.1 * normal(rng, cameras, 1),
            0.1 * normal(rng, cameras, 2),
            0.01 * normal(rng, cameras, 2),
        ],
        axis=1,
    )
    point = normal(rng, points, 3) + np.array([0, 0, 8], np.float32)
    seen = np.stack([rng.integers(0, n, observations) for n in (cameras, points)], axis=1)
    weights = 1 + 0.1 * normal(rng, observations)
    return camera, point, weights, normal(rng, observations, 2), seen.astype(np.int32)


# Tracking of a hand

FINGERS: Final = 5
#: The bones of a finger; the palm's bone is before them all.
JOINTS: Final = 4
PARENTS: Final = (-1, *(0 if joint == 0 else 4 * f + joint for f in range(5) for joint in range(4)))


def _turn(xp: Any, angles: Any) -> Any:
    """The matrix, with a fourth row and column, of turns around x, y and z."""
    (sx, sy, sz), (cx, cy, cz) = xp.sin(angles), xp.cos(angles)
    entries = [
        *(cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz),
        *(cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz),
        *(-sy, sx * cy, cx * cy),
    ]
    return xp.pad(xp.stack(entries).reshape(3, 3), ((0, 1), (0, 1))) + xp.diag(
        xp.array([0.0, 0.0, 0.0, 1.0])
    )


def skinned(xp: Any, theta: Any, model: Any) -> Any:
    """The vertices of a hand whose bones are turned; ``theta`` is as ADBench has it.

    Three numbers turn the hand, three move it, and four bend each finger: two at its root, one at
    each of the next two joints.
    """
    bones, resting, vertices, weights = model
    absolute = [bones[0]]
    for finger in range(FINGERS):
        bend = theta[6 + 4 * finger : 10 + 4 * finger]
        zero = xp.zeros_like(bend[0])
        turns = [(bend[0], bend[1], zero), (bend[2], zero, zero), (bend[3], zero, zero)]
        for joint in range(JOINTS):
            bone = 1 + JOINTS * finger + joint
            local = bones[bone]
            if joint < len(turns):
                local = local @ _turn(xp, xp.stack(turns[joint]))
            absolute.append(absolute[PARENTS[bone]] @ local)
    moved = xp.einsum("bij,bjk,vk->bvi", xp.stack(absolute), resting, vertices)
    posed = xp.einsum("vb,bvi->vi", weights, moved)[:, :3]
    return posed @ rotation(xp, theta[:3]).T + theta[3:6]


def _simple_hand(lib: Library) -> Loss:
    def residual(theta: Any, model: Any, points: Any, vertices: Any) -> Any:
        return points - skinned(lib.numpy, theta, model)[vertices]

    jacobian: Loss = lib.jacfwd(residual)
    return jacobian


def _complicated_hand(lib: Library) -> Loss:
    """With places in triangles, each of which moves one point: their columns are two."""
    jnp = lib.numpy

    def residual(theta: Any, places: Any, model: Any, points: Any, triangles: Any) -> Any:
        corners = skinned(jnp, theta, model)[triangles]
        u, v = places[:, :1], places[:, 1:]
        return points - (u * corners[:, 0] + v * corners[:, 1] + (1 - u - v) * corners[:, 2])

    def jacobian(theta: Any, places: Any, *data: Any) -> Any:
        def along(column: Any) -> Any:
            direction = jnp.broadcast_to(column, places.shape)
            return lib.jvp(lambda u: residual(theta, u, *data), (places,), (direction,))[1]

        return lib.jacfwd(residual)(theta, places, *data), lib.vmap(along)(
            jnp.eye(2, dtype=places.dtype)
        )

    return jacobian


def _hand(rng: np.random.Generator, vertices: int) -> tuple[Any, ...]:
    """A palm and five fingers: bones along y, their inverses at rest, and vertices around them."""
    bones = np.tile(np.eye(4, dtype=np.float32), (len(PARENTS), 1, 1))
    for finger in range(FINGERS):
        bones[1 + JOINTS * finger, :2, 3] = 0.5 * (finger - 2), 1.0
        bones[2 + JOINTS * finger : 1 + JOINTS * (finger + 1), 1, 3] = 0.4
    absolute = [bones[0]]
    for bone, parent in zip(bones[1:], PARENTS[1:], strict=True):
        absolute.append(absolute[parent] @ bone)
    at = rng.integers(0, len(PARENTS), vertices)
    places = np.stack(absolute)[at, :3, 3] + 0.1 * normal(rng, vertices, 3)
    weights = 0.2 * rng.random((vertices, len(PARENTS))).astype(np.float32) ** 8
    weights[np.arange(vertices), at] += 1
    weights /= weights.sum(axis=1, keepdims=True)
    homogeneous = np.concatenate([places, np.ones((vertices, 1), np.float32)], axis=1)
    return bones, np.linalg.inv(np.stack(absolute)).astype(np.float32), homogeneous, weights


def hand_data(vertices: int = 544, points: int = 100) -> Data:
    rng = generator()
    theta = 0.3 * normal(rng, 6 + 4 * FINGERS)
    model = _hand(rng, vertices)
    at = rng.integers(0, vertices, points).astype(np.int32)
    return theta, model, normal(rng, points, 3), at


def complicated_hand_data(vertices: int = 544, points: int = 100) -> Data:
    theta, model, targets, _ = hand_data(vertices, points)
    rng = generator(1)
    triangles = rng.integers(0, vertices, (points, 3)).astype(np.int32)
    return theta, rng.random((points, 2)).astype(np.float32), model, targets, triangles


VISION: Final = (
    gradient_of("GMM", mixture, mixture_data),
    Problem("LSTM", lambda lib: lib.grad(lstm(lib)), lstm_data),
    Problem("bundle adjustment", bundle, bundle_data),
    Problem("hand tracking, simple", _simple_hand, hand_data),
    Problem("hand tracking, complicated", _complicated_hand, complicated_hand_data),
)
