"""Rotations: ahrs, spatialmath, transforms3d."""

from typing import Any, Final

import ahrs
import numpy as np
from ahrs.common import orientation
from spatialmath import SE3, base
from transforms3d import axangles, euler, quaternions

from packages.row import Row

NINE: Final = np.arange(9.0).reshape(3, 3)
SIXTEEN: Final = np.arange(16.0).reshape(4, 4)
VECTOR: Final = np.array([1.0, 2.0, 3.0])
IDENTITY: Final = np.array([1.0, 0.0, 0.0, 0.0])
QUATERNIONS: Final = (
    np.array([0.9, 0.1, 0.2, 0.3]),
    np.array([0.5, 0.5, -0.5, 0.4]),
    np.array([0.1, 0.9, 0.1, 0.2]),
)
RATES: Final = (
    np.array([0.1, 0.2, 0.3]),
    np.array([0.3, 0.2, 0.1]),
    np.array([-0.1, 0.2, 0.5]),
)
TWISTS: Final = (
    np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
    np.array([0.0, 2.0, 1.0, 0.5, 0.2, 0.3]),
    np.array([1.0, 0.0, 0.0, 1.0, 0.2, 0.3]),
)
ROTATION: Final = np.array([[0.9, -0.3, 0.3], [0.35, 0.9, -0.2], [-0.2, 0.3, 0.9]])


def madgwick(rates: Any) -> Any:
    gravity = np.array([0.1, 0.2, 9.7])
    return ahrs.filters.Madgwick().updateIMU(IDENTITY.copy(), rates, gravity)[1]


ROWS: Final = (
    Row("ahrs", "orientation.q2R", lambda q: np.sum(orientation.q2R(q) * NINE), QUATERNIONS),
    Row(
        "ahrs",
        "orientation.q_prod",
        lambda q: np.sum(orientation.q_prod(q, np.array([0.5, 0.1, 0.2, 0.3])) ** 3),
        QUATERNIONS,
    ),
    Row("ahrs", "Quaternion.rotate", lambda q: ahrs.Quaternion(q).rotate(VECTOR)[0], QUATERNIONS),
    Row("ahrs", "Quaternion.to_angles", lambda q: ahrs.Quaternion(q).to_angles()[0], QUATERNIONS),
    Row("ahrs", "filters.Madgwick.updateIMU", madgwick, RATES),
    Row(
        "ahrs",
        "filters.AngularRate.update",
        lambda w: ahrs.filters.AngularRate().update(IDENTITY.copy(), w)[1],
        RATES,
    ),
    Row(
        "spatialmath-python",
        "base.trotx",
        lambda a: np.sum(base.trotx(a) * SIXTEEN),
        (0.3, 0.7, 1.5),
    ),
    Row(
        "spatialmath-python",
        "base.rpy2r",
        lambda a: np.sum(base.rpy2r(a, 0.2, 0.3) * SIXTEEN[:3, :3]),
        (0.3, 0.7, 1.5),
    ),
    Row(
        "spatialmath-python",
        "SE3.Rx * SE3.Tx",
        lambda a: np.sum((SE3.Rx(a) * SE3.Tx(2.0)).A * SIXTEEN),
        (0.3, 0.7, 1.5),
    ),
    Row("spatialmath-python", "base.trexp", lambda s: np.sum(base.trexp(s) * SIXTEEN), TWISTS),
    Row("spatialmath-python", "base.qvmul", lambda q: base.qvmul(q, VECTOR)[0], QUATERNIONS),
    Row(
        "transforms3d",
        "euler.euler2mat",
        lambda a: np.sum(euler.euler2mat(a, 0.2, 0.3) * NINE),
        (0.3, 0.7, 1.2),
    ),
    Row(
        "transforms3d",
        "quaternions.quat2mat",
        lambda q: np.sum(quaternions.quat2mat(q) * NINE),
        QUATERNIONS,
    ),
    Row(
        "transforms3d",
        "quaternions.rotate_vector",
        lambda q: quaternions.rotate_vector(VECTOR, q)[0],
        QUATERNIONS,
    ),
    Row(
        "transforms3d",
        "axangles.axangle2mat",
        lambda a: np.sum(axangles.axangle2mat([1.0, 0.0, 0.5], a) * NINE),
        (0.3, 0.7, 1.2),
    ),
    Row(
        "transforms3d",
        "euler.mat2euler",
        lambda a: euler.mat2euler(ROTATION * a)[2],
        (1.0, 0.9, 1.1),
        step=1e-4,
    ),
)
