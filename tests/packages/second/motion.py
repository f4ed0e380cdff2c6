"""Motion and matter: ase, modern_robotics, pyrr, vector."""

from typing import Any, Final

import modern_robotics as robot
import numpy as np
import pyrr
import vector
from ase import Atoms, eos, geometry
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from packages.row import Row

CLUSTERS: Final = (
    np.array([[0.0, 0.0, 0.0], [1.1, 0.1, 0.0], [0.2, 1.2, 0.3]]),
    np.array([[0.1, 0.0, 0.0], [1.3, 0.1, 0.2], [0.2, 1.0, 0.5]]),
    np.array([[0.0, 0.2, 0.0], [1.0, -0.1, 0.3], [0.3, 1.3, 0.1]]),
)
HOME: Final = np.array(
    [[-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 6.0], [0.0, 0.0, -1.0, 2.0], [0.0, 0.0, 0.0, 1.0]]
)
SCREWS: Final = np.array(
    [
        [0.0, 0.0, 1.0, 4.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0, -6.0, 0.0, -0.1],
    ]
).T
LINKS: Final = [robot.RpToTrans(np.eye(3), np.array([0.1 * k, 0.2, 0.3])) for k in range(4)]
INERTIAS: Final = [np.diag([0.1, 0.2, 0.3, 2.0 + k, 2.0 + k, 2.0 + k]) for k in range(3)]
JOINTS: Final = (
    np.array([0.5, 0.3, 0.2]),
    np.array([1.0, -0.4, 0.6]),
    np.array([-0.7, 0.9, 0.4]),
)
SIXTEEN: Final = np.arange(16.0).reshape(4, 4)
QUATERNIONS: Final = (
    np.array([0.1, 0.2, 0.3, 0.9]),
    np.array([0.4, -0.2, 0.1, 0.8]),
    np.array([-0.3, 0.5, 0.2, 0.6]),
)
POSITIONS: Final = (
    np.array([1.0, 2.0, 3.0]),
    np.array([2.0, -1.0, 0.5]),
    np.array([0.4, 1.5, -2.0]),
)


def lennard_jones(positions: Any) -> Any:
    calculator = LennardJones(rc=5.0, smooth=False)
    return Atoms("Ar3", positions=positions, calculator=calculator).get_potential_energy()


def effective_medium(positions: Any) -> Any:
    return Atoms("Cu3", positions=2.4 * positions, calculator=EMT()).get_potential_energy()


def angle(positions: Any) -> Any:
    return geometry.get_angles(positions[1:2], positions[2:3] - positions[:1])[0]


def logarithm(joints: Any) -> Any:
    transform = robot.FKinSpace(np.eye(4), SCREWS, joints)
    return np.sum(robot.MatrixLog6(transform) * SIXTEEN)


def mass(joints: Any) -> Any:
    return np.sum(robot.MassMatrix(joints, LINKS, INERTIAS, SCREWS) * SIXTEEN[:3, :3])


def invariant_mass(momentum: Any) -> Any:
    first = vector.obj(pt=momentum, eta=1.0, phi=0.5, mass=0.1)
    return (first + vector.obj(pt=40.0, eta=-0.5, phi=2.0, mass=0.1)).mass


def boosted(momentum: Any) -> Any:
    return vector.obj(px=momentum, py=2.0, pz=3.0, E=6.0).boostX(beta=0.5).E


def distance(x: Any) -> Any:
    return vector.obj(x=x, y=2.0, z=3.0).deltaR(vector.obj(x=2.0, y=-1.0, z=0.5))


def magnitudes(x: Any) -> Any:
    return np.sum(vector.array({"x": x, "y": 2.0 * x, "z": np.ones(3)}).mag)


def view(eye: Any) -> Any:
    target, up = np.array([0.0, 0.1, 0.2]), np.array([0.0, 1.0, 0.0])
    return np.sum(pyrr.matrix44.create_look_at(eye, target, up) * SIXTEEN)


def turned(quaternion: Any) -> Any:
    product = pyrr.Quaternion(quaternion) * pyrr.Quaternion([0.3, 0.1, 0.2, 0.9])
    return (product * pyrr.Vector3([1.0, 2.0, 3.0])).x


ROWS: Final = (
    Row("ase", "LennardJones", lennard_jones, CLUSTERS),
    Row("ase", "EMT", effective_medium, CLUSTERS),
    Row(
        "ase",
        "eos.birchmurnaghan",
        lambda v: eos.birchmurnaghan(v, -1.0, 1.0, 4.0, 16.0),
        (18.0, 15.0, 20.0),
    ),
    Row("ase", "geometry.get_angles", angle, CLUSTERS),
    Row(
        "modern_robotics",
        "FKinSpace",
        lambda q: np.sum(robot.FKinSpace(HOME, SCREWS, q) * SIXTEEN),
        JOINTS,
    ),
    Row("modern_robotics", "MatrixLog6", logarithm, JOINTS),
    Row("modern_robotics", "MassMatrix", mass, JOINTS),
    Row(
        "modern_robotics",
        "QuinticTimeScaling",
        lambda t: robot.QuinticTimeScaling(2.0, t),
        (0.6, 1.0, 1.5),
    ),
    Row(
        "pyrr",
        "matrix33.create_from_eulers",
        lambda e: np.sum(pyrr.matrix33.create_from_eulers(e) * SIXTEEN[:3, :3]),
        JOINTS,
    ),
    Row(
        "pyrr",
        "quaternion.slerp",
        lambda q: pyrr.quaternion.slerp(np.array([0.0, 0.0, 0.0, 1.0]), q, 0.3)[0],
        QUATERNIONS,
    ),
    Row("pyrr", "matrix44.create_look_at", view, POSITIONS),
    Row("pyrr", "Quaternion * Vector3", turned, QUATERNIONS),
    Row("vector", "mass of a sum", invariant_mass, (30.0, 20.0, 50.0)),
    Row("vector", "boostX", boosted, (1.0, 2.0, 3.0)),
    Row("vector", "deltaR", distance, (1.0, 0.5, 3.0)),
    Row("vector", "array.mag", magnitudes, POSITIONS),
)
