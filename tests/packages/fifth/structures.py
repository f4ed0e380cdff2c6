"""The fifth set: frames, solids, turns, paths, places, and wind farms."""

import warnings
from typing import Any, Final

import numpy as np
import pygeodesy
import svgpathtools
from floris import FlorisModel
from pygeodesy import ellipsoidalVincenty, sphericalTrigonometry
from pygeodesy.ecef import EcefVeness
from Pynite import FEModel3D
from pyquaternion import Quaternion
from skspatial.objects import Cylinder, Line, Plane, Points, Sphere, Triangle, Vector

from packages.row import Row

warnings.filterwarnings("ignore")

NOISE: Final = np.array(
    [0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22, 0.81, -0.47]
)
SERIES: Final = (NOISE, NOISE[::-1] ** 2 + 0.3, np.sin(NOISE) + 0.2 * NOISE)
TURNS: Final = (np.array([0.4, 1.1, 0.3]), np.array([-0.7, 0.6, 0.1]), np.array([1.2, -0.4, 0.5]))
PLACES: Final = (np.array([49.9, 6.3]), np.array([-33.2, 151.7]), np.array([12.6, -70.4]))
SPREADS: Final = (np.array([150.0, -80.0]), np.array([180.0, -120.0]), np.array([60.0, -140.0]))
OFFSETS: Final = (np.array([40.0, -30.0]), np.array([10.0, 25.0]), np.array([-60.0, 55.0]))
FARM: Final = FlorisModel.get_defaults()


def steel() -> Any:
    model = FEModel3D()
    model.add_material("steel", 29000.0, 11200.0, 0.3, 2.836e-4)
    model.add_section("beam", 20.0, 100.0, 150.0, 250.0)
    return model


def beam(load: Any) -> Any:
    model = steel()
    model.add_node("left", 0.0, 0.0, 0.0)
    model.add_node("right", 168.0, 0.0, 0.0)
    model.add_member("span", "left", "right", "steel", "beam")
    model.def_support("left", True, True, True, True, False, False)
    model.def_support("right", True, True, True, False, False, False)
    model.add_member_dist_load("span", "Fy", -0.2, -load)
    model.analyze()
    span = model.members["span"]
    return span.max_moment("Mz") + span.min_deflection("dy")


def propped(load: Any) -> Any:
    model = steel()
    for name, x in (("left", 0.0), ("middle", 100.0), ("right", 168.0)):
        model.add_node(name, x, 0.0, 0.0)
    model.add_member("first", "left", "middle", "steel", "beam")
    model.add_member("second", "middle", "right", "steel", "beam")
    model.def_support("left", True, True, True, True, True, True)
    model.def_support_spring("middle", "DY", 40.0)
    model.def_support("right", False, True, True, False, False, False)
    model.add_member_pt_load("first", "Fy", -5.0, 40.0)
    model.add_node_load("middle", "MZ", 30.0 * load)
    model.analyze_linear(sparse=False)
    middle = model.nodes["middle"]
    shear = model.members["second"].shear("Fy", 20.0)
    return 100.0 * middle.DY["Combo 1"] + model.nodes["left"].RxnFY["Combo 1"] + shear


def frame(height: Any) -> Any:
    model = steel()
    model.add_node("base", 0.0, 0.0, 0.0)
    model.add_node("knee", 10.0, height, 0.0)
    model.add_node("end", 150.0, 0.8 * height, 20.0)
    model.add_member("column", "base", "knee", "steel", "beam")
    model.add_member("rafter", "knee", "end", "steel", "beam", rotation=15.0)
    model.def_support("base", True, True, True, True, True, True)
    model.def_support("end", True, True, True)
    model.add_node_load("knee", "FX", 7.0)
    model.add_node_load("knee", "FZ", 2.0)
    model.analyze_PDelta(sparse=False)
    return 100.0 * model.nodes["knee"].DX["Combo 1"] + model.nodes["end"].RxnFX["Combo 1"]


def plate(thickness: Any) -> Any:
    model = steel()
    for name, x, y in (("a", 0.0, 0.0), ("b", 60.0, 0.0), ("c", 70.0, 50.0), ("d", 0.0, 40.0)):
        model.add_node(name, x, y, 0.0)
    model.add_quad("slab", "a", "b", "c", "d", thickness, "steel")
    model.def_support("a", True, True, True, True, True, True)
    model.def_support("d", True, True, True, True, True, True)
    model.add_node_load("b", "FZ", -2.0)
    model.add_node_load("c", "FZ", -1.0)
    model.analyze(check_stability=False)
    return model.nodes["c"].DZ["Combo 1"] + model.nodes["b"].RY["Combo 1"]


def crossed(numbers: Any) -> Any:
    line = Line(point=numbers[:3], direction=[0.3, 1.0, 0.5])
    plane = Plane(point=[0.0, 0.0, 2.0], normal=np.add(numbers[3:6], [0.0, 0.0, 3.0]))
    point = plane.intersect_line(line)
    return np.sum(point * [1.0, 2.0, 3.0]) + plane.distance_point(numbers[6:9])


def pierced(numbers: Any) -> Any:
    sphere = Sphere(numbers[:3], 4.0)
    near, far = sphere.intersect_line(Line(numbers[3:6], [1.0, 0.2, -0.3]))
    tube = Cylinder(numbers[6:9], [0.0, 0.5, 4.0], 3.0)
    entry, _ = tube.intersect_line(Line([0.1, 0.2, 1.0], [1.0, 0.3, 0.1]))
    return near.distance_point([9.0, 1.0, 0.0]) + np.sum(far) + entry[0]


def flattened(numbers: Any) -> Any:
    points = Points(numbers.reshape(4, 3) * [3.0, 2.0, 0.5])
    plane = Plane.best_fit(points)
    line = Line.best_fit(points)
    return plane.sum_squares(points) + line.sum_squares(points) + points.centroid()[0]


def triangle(numbers: Any) -> Any:
    shape = Triangle(numbers[:3], numbers[3:6], numbers[6:9])
    altitude = shape.altitude("A")
    turn = Vector(numbers[:3]).angle_between(numbers[3:6])
    return shape.area() + np.sum(shape.orthocenter()) + altitude.direction.norm() + turn


def rotated(turn: Any) -> Any:
    attitude = Quaternion(axis=[1.0, 2.0, 0.5], angle=turn[0]) * Quaternion(scalar=0.9, vector=turn)
    return np.sum(attitude.rotate(np.array([1.0, 2.0, 3.0])) * [3.0, 1.0, 2.0])


def blended(turn: Any) -> Any:
    start = Quaternion(axis=[0.0, 0.6, 0.8], degrees=25.0)
    end = Quaternion(0.9, *turn).normalised
    middle = Quaternion.slerp(start, end, amount=0.35)
    return np.sum(middle.elements * [1.0, 2.0, 3.0, 4.0]) + Quaternion.distance(start, end)


def decomposed(turn: Any) -> Any:
    unit = Quaternion(1.1, *turn).unit
    again = Quaternion(matrix=unit.rotation_matrix)
    yaw, pitch, roll = again.yaw_pitch_roll
    return yaw + 2.0 * pitch + 3.0 * roll + again.radians


def integrated(turn: Any) -> Any:
    attitude = Quaternion(axis=[0.0, 1.0, 0.0], angle=0.3)
    for _ in range(5):
        attitude.integrate(turn, 0.1)
    tangent = Quaternion.log(attitude)
    return np.sum(Quaternion.exp(tangent * 0.5).elements * [1.0, 2.0, 3.0, 4.0])


def bezier(numbers: Any) -> Any:
    points = numbers[:4] + np.arange(4) + 1j * numbers[4:8]
    return svgpathtools.CubicBezier(*points)


def measured(numbers: Any) -> Any:
    curve = bezier(numbers)
    bend = svgpathtools.Line(curve.end, complex(5.0, numbers[8]))
    return svgpathtools.Path(curve, bend).length() + curve.curvature(0.4)


def located(numbers: Any) -> Any:
    path = svgpathtools.Path(bezier(numbers)).rotated(30.0).scaled(1.5, 0.7)
    point = path.point(0.37)
    return point.real * point.imag + abs(path.derivative(0.6)) + path.unit_tangent(0.2).real


def enclosed(numbers: Any) -> Any:
    curve = bezier(numbers)
    corner = complex(2.0, 4.0 + numbers[8])
    sides = (svgpathtools.Line(curve.end, corner), svgpathtools.Line(corner, curve.start))
    left, right, bottom, top = svgpathtools.Path(curve, *sides).bbox()
    return svgpathtools.Path(curve, *sides).area() + top - bottom + 0.5 * (right - left)


def arc(turn: Any) -> Any:
    curve = svgpathtools.Arc(
        start=0j, radius=3.0 + 2.0j, rotation=20.0 * turn[0], large_arc=0, sweep=1,
        end=complex(1.0 + turn[1], 1.5 + turn[2]),
    )  # fmt: skip
    return abs(curve.point(0.3)) + curve.length()


def travelled(place: Any) -> Any:
    start = ellipsoidalVincenty.LatLon(*place)
    end = ellipsoidalVincenty.LatLon(48.2, -3.4)
    return 1e-6 * start.distanceTo(end) + 1e-2 * start.initialBearingTo(end)


def arrived(place: Any) -> Any:
    start = sphericalTrigonometry.LatLon(place[0], place[1])
    end = start.destination(4e5, 37.0)
    middle = start.midpointTo(sphericalTrigonometry.LatLon(20.0, 30.0))
    return end.lat + 0.5 * end.lon + middle.lat * middle.lon / 100.0


def formulas(place: Any) -> Any:
    near = pygeodesy.haversine(place[0], place[1], 20.0, 30.0)
    far = pygeodesy.thomas(place[0], place[1], 20.0, 30.0)
    return 1e-6 * (near + far) + 1e-2 * pygeodesy.bearing(place[0], place[1], 20.0, 30.0)


def centred(place: Any) -> Any:
    ecef = EcefVeness(pygeodesy.Datums.WGS84)
    point = ecef.forward(place[0], place[1], 300.0)
    back = ecef.reverse(1.01 * point.x, point.y, point.z)
    return back.lat + 0.5 * back.lon + 1e-5 * back.height


def power(offsets: Any) -> Any:
    farm = FlorisModel(FARM)
    farm.set(
        layout_x=[0.0, 500.0, 1000.0], layout_y=[0.0, *offsets],
        wind_directions=[270.0, 262.0], wind_speeds=[8.0, 9.5],
        turbulence_intensities=[0.06, 0.08],
    )  # fmt: skip
    farm.run()
    return 1e-6 * np.sum(farm.get_farm_power())


def yawed(offsets: Any) -> Any:
    farm = FlorisModel(FARM)
    farm.set(
        layout_x=[0.0, 630.0], layout_y=[0.0, 20.0], wind_directions=[270.0], wind_speeds=[8.0],
        turbulence_intensities=[0.06], yaw_angles=0.5 * offsets.reshape(1, 2),
    )  # fmt: skip
    farm.run()
    return 1e-6 * np.sum(farm.get_turbine_powers()) + np.sum(farm.get_turbine_ais())


def jensen(offsets: Any) -> Any:
    farm = FlorisModel(FARM)
    farm.set_param(["wake", "model_strings", "velocity_model"], "jensen")
    farm.set(
        layout_x=[0.0, 500.0], layout_y=[0.0, 10.0], wind_directions=[270.0],
        wind_speeds=[8.0 + 0.01 * offsets[0]], turbulence_intensities=[0.08 + 1e-4 * offsets[1]],
    )  # fmt: skip
    farm.run()
    return 1e-6 * np.sum(farm.get_farm_power()) + np.sum(farm.get_turbine_thrust_coefficients())


ROWS: Final = (
    Row("PyNiteFEA", "FEModel3D.analyze", beam, (0.25, 0.35, 0.5)),
    Row("PyNiteFEA", "FEModel3D.analyze_linear", propped, (0.4, 1.3, 2.7)),
    Row("PyNiteFEA", "FEModel3D.analyze_PDelta", frame, (120.0, 150.0, 200.0)),
    Row("PyNiteFEA", "FEModel3D.add_quad", plate, (0.8, 1.1, 2.0)),
    Row("scikit-spatial", "Plane.intersect_line", crossed, SERIES),
    Row("scikit-spatial", "Sphere.intersect_line", pierced, SERIES),
    Row("scikit-spatial", "Plane.best_fit", flattened, SERIES),
    Row("scikit-spatial", "Triangle.orthocenter", triangle, SERIES),
    Row("pyquaternion", "Quaternion.rotate", rotated, TURNS),
    Row("pyquaternion", "Quaternion.slerp", blended, TURNS),
    Row("pyquaternion", "Quaternion.yaw_pitch_roll", decomposed, TURNS),
    Row("pyquaternion", "Quaternion.integrate", integrated, TURNS),
    Row("svgpathtools", "Path.length", measured, SERIES),
    Row("svgpathtools", "Path.point", located, SERIES),
    Row("svgpathtools", "Path.area", enclosed, SERIES),
    Row("svgpathtools", "Arc.length", arc, TURNS),
    Row("pygeodesy", "ellipsoidalVincenty.LatLon.distanceTo", travelled, PLACES),
    Row("pygeodesy", "sphericalTrigonometry.LatLon.destination", arrived, PLACES),
    Row("pygeodesy", "haversine", formulas, PLACES),
    Row("pygeodesy", "EcefVeness.reverse", centred, PLACES),
    Row("floris", "FlorisModel.get_farm_power", power, SPREADS),
    Row("floris", "FlorisModel.get_turbine_powers", yawed, OFFSETS),
    Row("floris", "FlorisModel of Jensen's wakes", jensen, OFFSETS),
)
