"""The ninth set: vectors, graphics, frames, finite elements and volumes, and curved spaces."""

import warnings
from typing import Any, Final

import numdifftools
import numdifftools.extrapolation
import numdifftools.fornberg
import numpy as np
import pylinalg
import solidspy.assemutil
import solidspy.femutil
import solidspy.postprocesor
import solidspy.solutil
import solidspy.uelutil
import svgelements
import vg
from compas import geometry
from fipy import CellVariable, DiffusionTerm, ExponentialConvectionTerm, Grid1D, TransientTerm
from pymanopt.manifolds import Grassmann, PoincareBall, Sphere, Stiefel, SymmetricPositiveDefinite

from packages.row import Row

warnings.filterwarnings("ignore")

SHAPES: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)
POINTS: Final = NOISE[:30].reshape(10, 3)


def pointed(shape: Any) -> Any:
    first, second = shape[:3], shape[1:]
    angle = vg.angle(first, second + 1.0) + vg.signed_angle(first, second, look=vg.basis.z)
    turned = vg.rotate(POINTS, around_axis=first, angle=30.0 * shape[3])
    return angle / 10.0 + np.sum(turned**3) + np.sum(vg.perpendicular(first, second))


def split(shape: Any) -> Any:
    points = POINTS + shape[:3]
    parts = vg.reject(points, from_v=vg.normalize(shape[1:]))
    scaled = vg.scalar_projection(points, onto=shape[:3])
    apart = vg.euclidean_distance(points, shape[1:])
    return np.sum(parts**2) + np.sum(scaled) + np.sum(apart) + vg.scale_factor(shape[:3], shape[1:])


def spread(shape: Any) -> Any:
    points = POINTS * np.array([2.0, 1.0, 0.5]) * np.exp(shape[:3])
    axis = vg.major_axis(points)
    centre = vg.average(points, weights=np.exp(NOISE[:10] * shape[3]))
    return np.sum(axis**4) + np.sum(vg.apex(points, along=shape[:3])) + np.sum(centre)


def composed(shape: Any) -> Any:
    rotation = pylinalg.quat_from_euler(shape[:3], order="XYZ")
    matrix = pylinalg.mat_compose(shape[1:], rotation, np.exp(shape[:3]))
    position, turned, scale = pylinalg.mat_decompose(matrix)
    moved = pylinalg.vec_transform(POINTS, matrix)
    return np.sum(position) + np.sum(turned**4) + np.sum(scale) + np.sum(moved**2)


def viewed(shape: Any) -> Any:
    camera = pylinalg.mat_look_at(0.3 * shape[:3] + 4.0, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    lens = pylinalg.mat_perspective(-1.0 - 0.1 * shape[0], 1.0, 1.0, -1.0, 0.5, 20.0)
    whole = pylinalg.mat_combine([lens, pylinalg.mat_inverse(camera)])
    return np.sum(pylinalg.vec_transform(POINTS, whole, projection=True) ** 2) / 10.0


def blended(shape: Any) -> Any:
    axis = pylinalg.vec_normalize(shape[:3])
    turn = pylinalg.quat_from_axis_angle(axis, shape[3])
    product = pylinalg.quat_mul(
        turn, pylinalg.quat_from_vecs(axis, pylinalg.vec_normalize(shape[:3] + 0.4 * shape[1:]))
    )
    angles = pylinalg.quat_to_euler(product)
    spherical = pylinalg.vec_euclidean_to_spherical(pylinalg.vec_transform_quat(shape[1:], product))
    back = pylinalg.quat_from_mat(pylinalg.mat_from_quat(product))
    return np.sum(angles) + np.sum(spherical) + np.sum(back**4)


def definite(shape: Any) -> Any:
    manifold = SymmetricPositiveDefinite(3)
    factor = POINTS[:3] + np.outer(shape[:3], shape[1:])
    first, second = factor @ factor.T + np.eye(3), np.diag(np.exp(shape[:3]))
    tangent = manifold.log(first, second)
    moved = manifold.exp(first, 0.5 * tangent)
    return manifold.dist(first, second) + manifold.norm(first, tangent) + np.sum(moved**2)


def spherical(shape: Any) -> Any:
    sphere, ball = Sphere(4), PoincareBall(4)
    point = shape / np.linalg.norm(shape)
    tangent = sphere.projection(point, np.arange(1.0, 5.0))
    moved = sphere.exp(point, 0.3 * tangent)
    hyperbolic = ball.dist(0.3 * shape, np.array([0.1, 0.2, -0.1, 0.3]))
    carried = ball.exp(0.3 * shape, np.array([0.1, 0.2, 0.3, 0.1]))
    return sphere.dist(moved, np.eye(4)[0]) + hyperbolic + np.sum(carried**2)


def subspace(shape: Any) -> Any:
    grassmann, stiefel = Grassmann(5, 2), Stiefel(5, 2)
    first, _ = np.linalg.qr(NOISE[:10].reshape(5, 2) + np.outer(np.append(shape, 0.3), [1.0, -0.5]))
    second, _ = np.linalg.qr(NOISE[10:20].reshape(5, 2))
    tangent = stiefel.projection(first, NOISE[20:30].reshape(5, 2))
    moved = stiefel.retraction(first, 0.2 * tangent)
    log = grassmann.log(first, second)
    return grassmann.dist(first, second) + np.sum(moved**4) + np.sum(grassmann.exp(first, log) ** 4)


def framed(shape: Any) -> Any:
    frame = geometry.Frame([shape[0], 0.2, 0.3], [1.0, shape[1], 0.1], [0.2, 1.0, shape[2]])
    point = geometry.Point(1.0, shape[3], 2.0)
    local = frame.to_local_coordinates(point)
    turned = local.transformed(geometry.Rotation.from_axis_and_angle([0.3, 0.4, 1.0], shape[0]))
    distance = point.distance_to_plane(geometry.Plane([0.0, shape[1], 0.0], [0.3, 1.0, shape[2]]))
    return local.x * local.y + turned.z + distance


def enclosed(shape: Any) -> Any:
    polygon = geometry.Polygon([[0.0, 0.0, 0.0], [2.0 + shape[0], 0.1, 0.0],
                                [2.2, 1.5 + 0.3 * shape[1], 0.0], [0.2, 1.2, 0.0]])  # fmt: skip
    circle = geometry.Circle(radius=1.0 + 0.2 * shape[2], frame=geometry.Frame.worldXY())
    bezier = geometry.Bezier([[0.0, 0.0, 0.0], [1.0, shape[3], 0.0], [2.0, 1.0, shape[0]]])
    point = bezier.point_at(0.4)
    return polygon.area + polygon.centroid.x + circle.area + point.y * point.z + polygon.length


def crossed(shape: Any) -> Any:
    hit = geometry.intersection_line_plane(
        ([shape[0], 0.0, 0.0], [1.0, shape[1], 3.0]), ([0.0, 0.0, 1.0], [0.2, shape[2], 1.0])
    )
    near = geometry.distance_line_line(
        ([shape[0], 0.0, 0.0], [1.0, 1.0, 0.2]), ([0.0, 1.0, 2.0], [1.0, shape[3], 2.3])
    )
    plane = geometry.bestfit_plane_numpy(POINTS * np.array([1.0, 1.0, 0.2]) + 0.1 * shape[:3])
    return hit[0] + hit[1] * hit[2] + near + np.sum(np.abs(plane[1])) + np.sum(plane[0])


def loaded(number: Any) -> Any:
    nodes = np.array([[0, 0.0, 0.0], [1, 2.0, 0.0], [2, 2.0, 2.0], [3, 0.0, 2.0], [4, 1.0, 0.0],
                      [5, 2.0, 1.0], [6, 1.0, 2.0], [7, 0.0, 1.0], [8, 1.0, 1.0]])  # fmt: skip
    cons = np.array([[0, -1], [0, -1], [0, 0], [0, 0], [-1, -1], [0, 0], [0, 0], [0, 0], [0, 0]])
    elements = np.array([[0, 1, 0, 0, 4, 8, 7], [1, 1, 0, 4, 1, 5, 8], [2, 1, 0, 7, 8, 6, 3],
                         [3, 1, 0, 8, 5, 2, 6]])  # fmt: skip
    loads = np.array([[3, 0.0, number[1]], [6, 0.0, 2.0], [2, 0.0, 1.0]])
    materials = np.array([[number[0], 0.3]])
    operator, boundary, count = solidspy.assemutil.DME(cons, elements)
    stiffness, _ = solidspy.assemutil.assembler(elements, materials, nodes, count, operator)
    right = solidspy.assemutil.loadasem(loads, boundary, count)
    moved = solidspy.solutil.static_sol(stiffness, right)
    whole = solidspy.postprocesor.complete_disp(boundary, nodes, moved)
    strains, stresses = solidspy.postprocesor.strain_nodes(nodes, elements, materials, whole)
    return np.sum(whole**2) + np.sum(stresses**2) / 10.0 + np.sum(strains)


def stiff(shape: Any) -> Any:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.1, 1.0], [0.0, 1.2]]) + 0.1 * shape[:, None]
    quad, _ = solidspy.uelutil.elast_quad4(corners, (8.0 / 3.0 + shape[0], 1.0 / 3.0, 1.0))
    triangle, _ = solidspy.uelutil.elast_tri3(corners[:3] * (1.0 + 0.1 * shape[1]), (2.0, 0.2))
    beam, _ = solidspy.uelutil.beam2D(corners[:2], (2.0 + shape[3], 1.0, 3.0))
    return np.sum(quad**2) + np.sum(np.linalg.eigvalsh(triangle)) + np.sum(beam**2) / 100.0


def strained(shape: Any) -> Any:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.1, 1.0], [0.0, 1.2]]) + 0.1 * shape[:, None] ** 2
    strain, _ = solidspy.femutil.str_el4(corners, np.append(shape, shape[::-1]))
    material = solidspy.femutil.elast_mat_axi((2.0 + shape[0], 0.2 + 0.1 * shape[1]))
    return (
        np.sum(strain**2)
        + np.sum(material)
        + np.sum(solidspy.femutil.umat((3.0 + shape[2], 0.3)) ** 2)
    )


def diffused(number: Any) -> Any:
    mesh = Grid1D(nx=10, dx=0.1)
    field = CellVariable(mesh=mesh, value=0.0)
    field.constrain(number[0], mesh.facesLeft)
    field.constrain(0.0, mesh.facesRight)
    DiffusionTerm(coeff=1.0 + number[1]).solve(var=field)
    return np.sum(field.value**2)


def transient(number: Any) -> Any:
    mesh = Grid1D(nx=8, dx=0.125 * number[0])
    field = CellVariable(mesh=mesh, value=np.linspace(0.0, 1.0, 8) * number[1])
    equation = TransientTerm() == DiffusionTerm(coeff=0.5 * number[1])
    for _ in range(3):
        equation.solve(var=field, dt=0.01)
    return np.sum(field.value**3)


def blown(number: Any) -> Any:
    mesh = Grid1D(nx=8, dx=0.125)
    field = CellVariable(mesh=mesh, value=0.0)
    field.constrain(0.0, mesh.facesLeft)
    field.constrain(1.0, mesh.facesRight)
    equation = DiffusionTerm(coeff=number[0]) + ExponentialConvectionTerm(coeff=(2.0 * number[1],))
    equation.solve(var=field)
    return np.sum(field.value**2)


def drawn(shape: Any) -> Any:
    cubic = svgelements.CubicBezier(complex(0.0, 0.0), complex(1.0, shape[0]),
                                    complex(2.0 + shape[1], 3.0), complex(4.0, shape[2]),
                                    )  # fmt: skip
    line = svgelements.Line(complex(0.0, shape[3]), complex(3.0, 4.0))
    point = cubic.point(0.3)
    return point.x * point.y + line.length()


def matrices(shape: Any) -> Any:
    matrix = svgelements.Matrix.rotate(shape[0]) * svgelements.Matrix.translate(shape[1], 2.0)
    matrix.post_scale(1.0 + shape[2], 2.0, shape[3], 0.5)
    point = matrix.point_in_matrix_space((1.0, 2.0 + shape[3]))
    ellipse = svgelements.Circle(cx=0.0, cy=1.0, r=2.0)
    return point.x * point.y + matrix.determinant + ellipse.rx


def derived(shape: Any) -> Any:
    def energy(x: Any) -> Any:
        return np.sum(np.sin(x * shape[:3])) + x[0] * x[1] ** 2 * shape[3]

    slope = numdifftools.Gradient(energy, step=1e-2, order=2)(np.array([0.3, 0.4, 0.5]))
    one = numdifftools.Derivative(lambda t: np.exp(shape[0] * t), n=2, step=1e-2)(0.4)
    return np.sum(slope**2) + one


def weighed(shape: Any) -> Any:
    nodes = np.array([-1.0, -0.4, 0.1, 0.6, 1.2]) + 0.05 * np.append(shape, 0.0)
    weights = numdifftools.fornberg.fd_weights(nodes, 0.2, 2)
    derivative = numdifftools.fornberg.fd_derivative(np.sin(nodes * 2.0), nodes, n=1, m=1)
    limit, _ = numdifftools.extrapolation.dea3(1.0 + shape[0], 1.6 + shape[1], 2.5 + shape[2])
    return np.sum(weights**2) / 10.0 + np.sum(derivative) + np.sum(limit)


ROWS: Final = (
    Row("vg", "signed_angle", pointed, SHAPES),
    Row("vg", "scalar_projection", split, SHAPES),
    Row("vg", "major_axis", spread, SHAPES),
    Row("pylinalg", "mat_compose", composed, SHAPES),
    Row("pylinalg", "mat_look_at", viewed, SHAPES),
    Row("pylinalg", "quat_mul", blended, SHAPES),
    Row("pymanopt", "SymmetricPositiveDefinite", definite, SHAPES),
    Row("pymanopt", "PoincareBall", spherical, SHAPES),
    Row("pymanopt", "Grassmann", subspace, SHAPES),
    Row("compas", "Frame", framed, SHAPES),
    Row("compas", "Polygon", enclosed, SHAPES),
    Row("compas", "intersection_line_plane", crossed, SHAPES),
    Row("solidspy", "static_sol", loaded, NUMBERS),
    Row("solidspy", "elast_quad4", stiff, SHAPES),
    Row("solidspy", "str_el4", strained, SHAPES),
    Row("FiPy", "DiffusionTerm.solve", diffused, NUMBERS),
    Row("FiPy", "TransientTerm", transient, NUMBERS),
    Row("FiPy", "ExponentialConvectionTerm", blown, NUMBERS),
    Row("svgelements", "CubicBezier", drawn, SHAPES),
    Row("svgelements", "Matrix", matrices, SHAPES),
    Row("numdifftools", "Gradient", derived, SHAPES),
    Row("numdifftools", "fd_weights", weighed, SHAPES),
)  # fmt: skip
