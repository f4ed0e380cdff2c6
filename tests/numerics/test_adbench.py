"""The problems of ADBench and GradBench: their derivatives, by hand and by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from benchmarks.adbench import numerics, problem, vision
from benchmarks.adbench.numerics import NUMERICS
from benchmarks.adbench.vision import VISION
from tinyjax import tree

PROBLEMS = {one.title: one for one in (*VISION, *NUMERICS)}


def _double(data: Any) -> Any:
    """The same data in double precision, which differences need."""
    return tree.map(lambda x: x.astype(np.float64) if x.dtype.kind == "f" else x, data)


def _solve(title: str, data: problem.Data) -> Any:
    return tree.map(np.asarray, PROBLEMS[title].build(tinyjax)(*_double(data)))


def _difference(fun: Callable[..., Any], point: Any, direction: Any) -> Any:
    """The derivative of a function along a direction, by central differences."""
    step = 1e-6
    ahead, behind = (
        fun(tree.map(lambda x, v, offset=offset: x + offset * v, point, direction))
        for offset in (step, -step)
    )
    return tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * step), ahead, behind)


def _directions(point: Any) -> Any:
    rng = np.random.default_rng(1)
    return tree.map(lambda x: rng.standard_normal(np.shape(x)), point)


LOSSES: dict[str, tuple[Callable[..., Any], problem.Data]] = {
    "GMM": (vision.mixture(np), vision.mixture_data(4, 3, 50)),
    "LSTM": (vision.lstm(tinyjax), vision.lstm_data(2, 5, 20)),
    "ODE": (numerics.equation(tinyjax), numerics.equation_data(6, 20)),
}


@pytest.mark.parametrize("title", LOSSES)
def test_gradients_are_differences(title: str) -> None:
    loss, data = LOSSES[title]
    point, *others = _double(data)
    direction = _directions(point)
    slopes = tree.map(lambda g, v: np.sum(g * v), _solve(title, data), direction)
    expected = _difference(lambda x: loss(x, *others), point, direction)
    np.testing.assert_allclose(sum(tree.leaves(slopes)), expected, rtol=1e-6)


def test_mixture_is_a_sum_of_normal_densities() -> None:
    from scipy.stats import multivariate_normal

    (weights, means, factors), x, where, _ = _double(vision.mixture_data(3, 4, 20))
    flat = np.concatenate([np.zeros((4, 1)), np.exp(factors[:, :3]), factors[:, 3:]], axis=1)
    density = 0.0
    for w, mean, factor in zip(np.exp(weights), means, flat[:, where], strict=True):
        covariance = np.linalg.inv(factor.T @ factor)
        density = density + w / np.exp(weights).sum() * multivariate_normal(mean, covariance).pdf(x)
    constant = len(x) * 3 / 2 * np.log(2 * np.pi)
    got = vision.mixture(np)((weights, means, factors), x, where, np.zeros(2))
    np.testing.assert_allclose(got, -np.log(density).sum() - constant, rtol=1e-10)


def test_rotations_turn_around_their_axis() -> None:
    from scipy.spatial.transform import Rotation

    axes = np.concatenate([np.random.default_rng(0).standard_normal((20, 3)), np.zeros((1, 3))])
    got = [problem.rotation(np, axis) for axis in axes]
    np.testing.assert_allclose(got, Rotation.from_rotvec(axes).as_matrix(), atol=1e-12)


def _reprojection(feature: Any) -> Callable[..., Any]:
    return lambda operands: vision.reprojection(np, operands[0], operands[1], operands[2], feature)


def test_rows_of_bundle_adjustment_are_differences() -> None:
    data = _double(vision.bundle_data(3, 5, 7))
    cameras, points, weights, features, seen = data
    (by_camera, by_point, by_weight), of_weights = _solve("bundle adjustment", data)
    np.testing.assert_allclose(of_weights, -2 * weights)
    for i, (camera, point) in enumerate(seen):
        arguments = (cameras[camera], points[point], weights[i])
        direction = _directions(arguments)
        expected = _difference(_reprojection(features[i]), arguments, direction)
        along = by_camera[i] @ direction[0] + by_point[i] @ direction[1]
        np.testing.assert_allclose(along + by_weight[i] * direction[2], expected, rtol=1e-5)


def test_jacobians_of_hands_are_differences() -> None:
    theta, model, points, at = _double(vision.hand_data(40, 10))
    direction = _directions(theta)
    along = _solve("hand tracking, simple", (theta, model, points, at)) @ direction
    expected = _difference(lambda t: points - vision.skinned(np, t, model)[at], theta, direction)
    np.testing.assert_allclose(along, expected, atol=1e-8)


def test_columns_of_places_in_triangles_are_edges() -> None:
    data = _double(vision.complicated_hand_data(40, 10))
    theta, _, model, _, triangles = data
    by_theta, by_places = _solve("hand tracking, complicated", data)
    assert by_theta.shape == (10, 3, 26)
    corners = vision.skinned(np, theta, model)[triangles]
    np.testing.assert_allclose(by_places, corners[:, 2] - corners[:, :2].swapaxes(0, 1), atol=1e-12)


def test_a_hand_that_is_not_bent_is_at_rest() -> None:
    _, model, _, _ = _double(vision.hand_data(40, 10))
    np.testing.assert_allclose(vision.skinned(np, np.zeros(26), model), model[2][:, :3], atol=1e-6)


def test_sums_by_hand() -> None:
    (x,) = numerics.log_sum_exp_data(100)
    powers = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(_solve("log-sum-exp", (x,)), powers / powers.sum())
    x, powers, signs = numerics.least_squares_data(5, 30)
    expected = _double(powers).T @ (_double(powers) @ x - signs)
    np.testing.assert_allclose(_solve("least squares", (x, powers, signs)), expected, rtol=1e-10)


def test_determinants_have_cofactors() -> None:
    (matrix,) = _double(numerics.determinant_data(5))
    expected = np.linalg.det(matrix) * np.linalg.inv(matrix).T
    np.testing.assert_allclose(_solve("determinant by minors", (matrix,)), expected, rtol=1e-9)
    by_source = tinyjax.source.grad(numerics.determinant(np))
    np.testing.assert_allclose(by_source(matrix), expected, rtol=1e-9)


def test_newton_s_direction_of_k_means_leads_to_the_means() -> None:
    centres, points = _double(numerics.clustering_data(4, 200, 3))
    nearest = np.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)
    means = np.stack([points[nearest == i].mean(axis=0) for i in range(4)])
    got = _solve("k-means, Newton's direction", (centres, points))
    np.testing.assert_allclose(got, centres - means, rtol=1e-8)


@pytest.mark.parametrize("modes", [(f, g) for f in (True, False) for g in (True, False)])
def test_searches_around_searches(modes: tuple[bool, bool]) -> None:
    search = tinyjax.jit(numerics.particle(tinyjax, *modes))
    # The figure of Pearlmutter and Siskind, as far as single precision and the search's end allow.
    np.testing.assert_allclose(search(*numerics.particle_data()), [0.207191875], rtol=1e-4)
    if modes[0] == modes[1]:
        corner = tinyjax.jit(numerics.saddle(tinyjax, modes[0]))(*numerics.saddle_data())
        np.testing.assert_allclose(corner, np.zeros((2, 2)), atol=1e-2)
