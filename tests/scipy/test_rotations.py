"""Rotations and what is between them, against SciPy's, and their derivatives."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.spatial.transform as theirs
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import random, tree
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.scipy.spatial.transform import Rotation, Slerp
from tinyjax.test_util import check_grads

RNG = np.random.default_rng(0)
QUATS = np.concatenate([RNG.normal(size=(6, 4)), np.eye(4), -np.eye(4), [[1, 1, 0, 0]]])
SEQUENCES = [
    "".join(letters)
    for axes in ("xyz", "XYZ")
    for letters in product(axes, repeat=3)
    if letters[0] != letters[1] != letters[2]
]


def both(quat: np.ndarray = QUATS) -> tuple[Rotation, Any]:
    return Rotation.from_quat(quat), theirs.Rotation.from_quat(quat)


def close(got: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), 1e-12, 1e-12)


def same(got: Rotation, expected: Any) -> None:
    close(got.as_matrix(), expected.as_matrix())


def test_forms() -> None:
    ours, other = both()
    close(ours.quat, other.as_quat())
    close(ours.as_quat(canonical=True), other.as_quat(canonical=True))
    close(ours.as_quat(scalar_first=True), other.as_quat(scalar_first=True))
    close(ours.as_matrix(), other.as_matrix())
    close(ours.magnitude(), other.magnitude())
    halves = np.abs(other.as_quat()[:, 3]) < 1e-12  # whose axes may point either way
    for name in ("as_rotvec", "as_mrp"):
        got, expected = getattr(ours, name)(), getattr(other, name)()
        close(got[~halves], expected[~halves])
        close(abs(got), abs(expected))
    close(ours.as_rotvec(degrees=True), jnp.rad2deg(ours.as_rotvec()))
    same(ours.inv(), other.inv())
    same(ours[1:3], other[1:3])
    assert (len(ours), ours.single, ours[0].single) == (len(other), False, True)


def test_what_rotations_are_made_of() -> None:
    other = both()[1]
    same(Rotation.from_matrix(other.as_matrix()), other)
    same(Rotation.from_mrp(other.as_mrp()), other)
    v = other.as_rotvec()
    for scale in (1.0, 1e-3, 1e-9, 0.0):
        v = scale * v
        same(Rotation.from_rotvec(v), theirs.Rotation.from_rotvec(v))
        close(Rotation.from_rotvec(v).as_rotvec()[:6], v[:6])
    same(Rotation.from_rotvec(v, degrees=True)[0], theirs.Rotation.from_rotvec(v, degrees=True)[0])
    same(Rotation.identity(), theirs.Rotation.identity())
    assert Rotation.identity(3).quat.shape == (3, 4)
    drawn = Rotation.random(random.key(0), 2000)
    np.testing.assert_allclose(jnp.linalg.norm(drawn.quat, axis=1), 1, 1e-6)
    assert abs(drawn.as_matrix().mean(0)).max() < 0.05
    assert Rotation.random(random.key(0)).single
    joined = Rotation.concatenate([drawn[:2], drawn[5:6]])
    close(joined.quat, drawn.quat[np.array([0, 1, 5])])


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles(seq: str) -> None:
    angles = RNG.uniform(-3, 3, (8, 3))
    # where the middle angle locks the others
    angles[-3:, 1] = (0, np.pi, -np.pi) if seq[0] == seq[2] else (np.pi / 2, -np.pi / 2, 0.3)
    other = theirs.Rotation.from_euler(seq, angles)
    ours = Rotation.from_euler(seq, angles)
    same(ours, other)
    same(Rotation.from_euler(seq, np.rad2deg(angles), degrees=True), other)
    np.testing.assert_allclose(ours.as_euler(seq)[:-3], other.as_euler(seq)[:-3], 1e-9, 1e-9)
    np.testing.assert_allclose(
        Rotation.from_euler(seq, ours.as_euler(seq, degrees=True), degrees=True).as_matrix(),
        other.as_matrix(),
        atol=1e-6,  # near the lock, the middle angle is known to 1e-8
    )


def test_fewer_euler_angles() -> None:
    for seq, given in (("z", np.array(0.3)), ("YX", np.array([[0.1, 0.2]]))):
        same(Rotation.from_euler(seq, given), theirs.Rotation.from_euler(seq, given))
    close(
        Rotation.from_euler("x", 90, degrees=True).quat,
        np.sqrt(np.array([0.5, 0, 0, 0.5], np.float32)),
    )
    for seq, angles, error in (
        ("xx", [1.0, 2.0], ArgumentError),
        ("xY", [1.0, 2.0], ArgumentError),
        ("", [], ArgumentError),
        ("xy", [1.0], ShapeError),
    ):
        with raises(error, match=r"axes|angles"):
            Rotation.from_euler(seq, angles)
    with raises(ArgumentError, match="three letters"):
        Rotation.identity().as_euler("xy")


def test_algebra() -> None:
    (p, p2), (q, q2) = both(), both(QUATS[::-1])
    same(p * q, p2 * q2)
    vectors = RNG.normal(size=(len(QUATS), 3))
    close(p.apply(vectors), p2.apply(vectors))
    close(p.apply(vectors, inverse=True), p2.apply(vectors, inverse=True))
    close(p[0].apply(vectors), p2[0].apply(vectors))
    weights = RNG.uniform(size=len(QUATS))
    few, few2 = both(QUATS[:6])
    same(few.mean(), few2.mean())
    same(few.mean(weights[:6]), few2.mean(weights[:6]))
    with raises(ShapeError, match="6 weights"):
        few.mean(weights)
    for wrong in (lambda: len(p[0]), lambda: p[0][0]):
        with raises(ArgumentError, match="single"):
            wrong()


@pytest.mark.usefixtures("each_tier")
def test_slerp() -> None:
    ours, other = both(QUATS[:6])
    times = np.array([0.0, 1.0, 1.5, 2.0, 4.0, 5.0])
    at = np.array([0.0, 0.3, 1.2, 1.5, 3.9, 5.0])
    same(Slerp.init(times, ours)(at), theirs.Slerp(times, other)(at))
    same(Slerp.init(times, ours)(2.5), theirs.Slerp(times, other)(2.5))
    same(
        tinyjax.jit(lambda s, t: s(t))(Slerp.init(times, ours), at), theirs.Slerp(times, other)(at)
    )
    for make, error in (
        (lambda: Slerp.init(times, ours[0]), ShapeError),
        (lambda: Slerp.init(times[1:], ours), ShapeError),
        (lambda: Slerp.init(times, ours)(at[None]), ShapeError),
    ):
        with raises(error, match="Slerp"):
            make()


@pytest.mark.wrong_types
def test_slerp_takes_rotations() -> None:
    with raises(ArgumentError, match="takes a Rotation"):
        Slerp.init([0.0, 1.0], unchecked(np.eye(4)))


@pytest.mark.parametrize("scale", [0.0, 1e-4, 1.0])
def test_derivatives_of_small_rotations_too(scale: float) -> None:
    v = scale * np.array([0.3, -0.2, 0.5])
    x = np.array([1.0, 2.0, 3.0])
    check_grads(lambda v: Rotation.from_rotvec(v).apply(x), (v,), 2)
    check_grads(lambda v: Rotation.from_rotvec(v).as_rotvec(), (v,), 2)
    # the derivative of a rotation by nothing is the cross product
    jacobian = tinyjax.jacobian(lambda v: Rotation.from_rotvec(v).apply(x))(np.zeros(3))
    close(jacobian @ v, np.cross(v, x))


def test_rotations_are_trees() -> None:
    ours, other = both()
    many = tinyjax.vmap(lambda r: r * r)(ours)
    same(many, other * other)
    assert len(tree.leaves(Slerp.init(np.arange(len(QUATS)), ours))) == 4
