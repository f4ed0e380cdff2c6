"""Shapes, pictures and places: geographiclib, pytransform3d, scikit-fem, scikit-image, trimesh."""

from typing import Any, Final

import numpy as np
import skfem
import skimage
import trimesh
from geographiclib.geodesic import Geodesic
from geographiclib.polygonarea import PolygonArea
from pytransform3d import camera, coordinates, rotations, transformations
from skfem.helpers import dot, grad

from packages.row import Row

EARTH: Final = Geodesic.WGS84
PLACES: Final = (
    np.array([40.6, -73.8]),
    np.array([-33.9, 151.2]),
    np.array([1.4, 103.9]),
)
CORNERS: Final = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [0.1, 1.1, 0.0], [0.3, 0.2, 0.9]])
TRIANGLES: Final = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
SOLIDS: Final = (
    CORNERS,
    CORNERS * np.array([1.2, 0.8, 1.5]),
    CORNERS + 0.1 * np.sin(np.arange(12.0)).reshape(4, 3),
)
AXES: Final = (
    np.array([0.3, -0.2, 0.9]),
    np.array([1.1, 0.4, -0.3]),
    np.array([-0.5, 0.8, 0.6]),
)
SCREWS: Final = (
    np.array([0.3, -0.2, 0.9, 1.0, 0.5, -0.3]),
    np.array([1.1, 0.4, -0.3, 0.2, -0.7, 0.4]),
    np.array([-0.5, 0.8, 0.6, -0.1, 0.9, 1.2]),
)
IMAGE: Final = 0.5 + 0.4 * np.sin(np.arange(64.0) ** 1.5).reshape(8, 8)
IMAGES: Final = (IMAGE, 0.9 * IMAGE.T + 0.02, IMAGE[::-1] * 0.8 + 0.1 * IMAGE)
COLOURS: Final = (
    np.array([[[0.2, 0.5, 0.8]]]),
    np.array([[[0.9, 0.4, 0.3]]]),
    np.array([[[0.1, 0.7, 0.6]]]),
)
TARGET: Final = np.array([[[0.5, 0.3, 0.6]]])
HALF: Final = np.roll(IMAGE, 1)


def shore(corner: Any) -> Any:
    polygon = PolygonArea(EARTH, False)
    polygon.AddPoint(corner[0], corner[1])
    polygon.AddPoint(corner[0] + 5.0, corner[1] + 3.0)
    polygon.AddPoint(corner[0] - 2.0, corner[1] + 6.0)
    return polygon.Compute(False, True)[1] / 1e6


def middle(corner: Any) -> Any:
    line = EARTH.InverseLine(corner[0], corner[1], 20.0, 30.0)
    return line.Position(0.5 * line.s13)["lat2"]


def heat(conductivity: Any) -> Any:
    mesh = skfem.MeshTri().refined(2)
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    stiffness = skfem.BilinearForm(lambda u, v, w: conductivity * dot(grad(u), grad(v)))
    load = skfem.LinearForm(lambda v, w: 1.0 * v)
    matrix, right = stiffness.assemble(basis), load.assemble(basis)
    return skfem.solve(*skfem.condense(matrix, right, D=mesh.boundary_nodes())).max()


def loaded(slope: Any) -> Any:
    basis = skfem.Basis(skfem.MeshLine(np.linspace(0.0, 1.0, 6)), skfem.ElementLineP2())
    force = skfem.LinearForm(lambda v, w: np.exp(slope * w.x[0]) * v)
    return np.sum(force.assemble(basis) ** 2)


def interpolated(values: Any) -> Any:
    basis = skfem.Basis(skfem.MeshLine(np.linspace(0.0, 1.0, 12)), skfem.ElementLineP1())
    field = basis.interpolate(values)
    return skfem.Functional(lambda w: w["u"] ** 2 + w["u"].grad[0] ** 2).assemble(basis, u=field)


def stretched(scale: Any) -> Any:
    mesh = skfem.MeshTri().refined(1).scaled((scale, 2.0))
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    return skfem.Functional(lambda w: w.x[0] ** 2).assemble(basis)


def solid(vertices: Any) -> Any:
    mesh = trimesh.Trimesh(vertices=vertices, faces=TRIANGLES, process=False)
    return mesh.volume + mesh.area


def turned(angle: Any) -> Any:
    matrix = trimesh.transformations.rotation_matrix(angle, [1.0, 0.4, 0.2], [0.1, 0.2, 0.3])
    return np.sum(trimesh.transform_points(CORNERS, matrix)[:, 0] ** 3)


def projected(position: Any) -> Any:
    points = np.stack([position + k for k in (2.0, 2.3, 2.9)])
    pixels = camera.cam2sensor(points, focal_length=0.05)
    return np.sum(pixels**2)


ROWS: Final = (
    Row(
        "geographiclib",
        "Geodesic.Inverse",
        lambda x: EARTH.Inverse(x[0], x[1], 51.6, -0.5)["s12"],
        PLACES,
    ),
    Row(
        "geographiclib",
        "Geodesic.Direct",
        lambda x: EARTH.Direct(x[0], x[1], 45.0, 1e6)["lon2"],
        PLACES,
    ),
    Row("geographiclib", "PolygonArea", shore, PLACES),
    Row("geographiclib", "InverseLine.Position", middle, PLACES),
    Row(
        "pytransform3d",
        "rotations.matrix_from_compact_axis_angle",
        lambda x: np.sum(rotations.matrix_from_compact_axis_angle(x) ** 3),
        AXES,
    ),
    Row(
        "pytransform3d",
        "rotations.quaternion_slerp",
        lambda t: rotations.quaternion_slerp(
            np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.8, 0.6, 0.0, 0.0]), t
        )[0],
        (0.2, 0.5, 0.8),
    ),
    Row(
        "pytransform3d",
        "transformations.transform_from_exponential_coordinates",
        lambda x: np.sum(transformations.transform_from_exponential_coordinates(x)[:3] ** 3),
        SCREWS,
    ),
    Row(
        "pytransform3d",
        "coordinates.spherical_from_cartesian",
        lambda x: np.sum(coordinates.spherical_from_cartesian(x)) + projected(np.abs(x)),
        AXES,
    ),
    Row("scikit-fem", "solve", heat, (1.0, 2.5, 0.4)),
    Row("scikit-fem", "LinearForm.assemble", loaded, (1.0, -0.5, 0.4)),
    Row(
        "scikit-fem",
        "Functional.assemble",
        interpolated,
        (np.sin(np.arange(12.0)), np.cos(np.arange(12.0)), np.sqrt(np.arange(12.0))),
    ),
    Row("scikit-fem", "MeshTri.scaled", stretched, (1.0, 2.5, 0.4)),
    Row("scikit-image", "color.rgb2lab", lambda x: np.sum(skimage.color.rgb2lab(x)), COLOURS),
    Row(
        "scikit-image",
        "color.deltaE_ciede2000",
        lambda x: np.sum(skimage.color.deltaE_ciede2000(100.0 * x, 100.0 * TARGET)),
        COLOURS,
    ),
    Row(
        "scikit-image",
        "metrics.structural_similarity",
        lambda x: skimage.metrics.structural_similarity(x, HALF, win_size=3, data_range=1.0),
        IMAGES,
    ),
    Row("scikit-image", "filters.sobel", lambda x: np.sum(skimage.filters.sobel(x) ** 2), IMAGES),
    Row("trimesh", "Trimesh.volume", solid, SOLIDS),
    Row(
        "trimesh",
        "triangles.angles",
        lambda x: np.sum(trimesh.triangles.angles(x[TRIANGLES])[:, 0] ** 2),
        SOLIDS,
    ),
    Row("trimesh", "transformations.rotation_matrix", turned, (0.4, 1.3, -0.8)),
    Row(
        "trimesh",
        "points.plane_fit",
        lambda x: np.abs(trimesh.points.plane_fit(x)[1]).sum(),
        SOLIDS,
    ),
)
