"""The eleventh set: aircraft, cameras, concrete, soil, boreholes, the Moon, rays, and bunches."""

import warnings
from typing import Any, Final

import cameratransform as ct
import hapi
import numpy as np
import openap
import pygfunction as gt
from beamphysics import ParticleGroup, statistics as beams
from crflux import models
from evo.core import geometry, lie_algebra, metrics, transformations
from evo.core.trajectory import PosePath3D
from groundhog.shallowfoundations import capacity, stressdistribution
from groundhog.siteinvestigation.insitutests import pcpt_correlations as cpt
from pymeeus import Coordinates
from pymeeus.Angle import Angle
from pymeeus.CurveFitting import CurveFitting
from pymeeus.Epoch import Epoch
from pymeeus.Interpolation import Interpolation
from pymeeus.Moon import Moon
from pymeeus.Sun import Sun
from structuralcodes.codes import ec2_2004, mc2010
from structuralcodes.materials.constitutive_laws import ParabolaRectangle, Popovics, Sargin

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
TURNS: Final = (
    np.array([0.3, -0.2, 0.5]),
    np.array([-0.4, 0.6, 0.1]),
    np.array([0.2, 0.35, -0.45]),
)
DAYS: Final = (np.float64(3.4), np.float64(57.1), np.float64(211.6))
NOISE: Final = np.sin(np.arange(600.0) ** 1.7)


def flown(number: Any) -> Any:
    thrust = openap.Thrust(ac="A320", eng="CFM56-5B4")
    drag = openap.Drag(ac="A320")
    return (
        thrust.cruise(tas=400.0 * number[0], alt=31000.0) / 1e4
        + thrust.climb(tas=300.0, alt=21000.0 * number[1], roc=1500.0) / 1e4
        + drag.clean(mass=60000.0 * number[1], tas=380.0 * number[0], alt=30000.0) / 1e4
    )


def burnt(number: Any) -> Any:
    fuel = openap.FuelFlow(ac="A320", eng="CFM56-5B4")
    flow = fuel.enroute(mass=55000.0 + 3000.0 * number[0], tas=400.0 + 20.0 * number[1], alt=31000)
    emission = openap.Emission(ac="A320", eng="CFM56-5B4")
    nitric = emission.nox(flow, tas=400.0 + 20.0 * number[1], alt=31000.0)
    return np.sum(flow) + np.sum(nitric) / 10.0 + np.sum(emission.co2(flow)) / 1e3


def aired(number: Any) -> Any:
    height = np.array([5000.0, 9000.0, 15000.0]) * number[0]
    speed = openap.aero.cas2tas(140.0 * number[1], height)
    return (
        np.sum(openap.aero.tas2mach(speed, height))
        + np.sum(openap.aero.density(height))
        + openap.aero.crossover_alt(140.0 * number[1], 0.78) / 1e4
    )


def routed(number: Any) -> Any:
    end = openap.geo.latlon(52.0 * number[0], 4.0, 150000.0 * number[1], 60.0)
    length = openap.geo.distance(52.0, 4.0 * number[1], *end)
    return length / 1e5 + openap.geo.bearing(52.0, 4.0, *end) / 100.0


def posed(turn: Any) -> list[Any]:
    poses = []
    for k in range(6):
        matrix = transformations.euler_matrix(0.3 * k * turn[0], 0.2 * turn[1], 0.1 * k)[:3, :3]
        poses.append(lie_algebra.se3(matrix, np.array([1.0 * k, np.sin(k), 0.2 * k]) * turn[2]))
    return poses


def erring(turn: Any) -> Any:
    error = metrics.APE(metrics.PoseRelation.full_transformation)
    error.process_data((PosePath3D(poses_se3=posed(NOISE[3:6])), PosePath3D(poses_se3=posed(turn))))
    return sum(error.get_all_statistics()[key] for key in ("rmse", "mean", "std", "sse"))


def relative(turn: Any) -> Any:
    error = metrics.RPE(metrics.PoseRelation.translation_part, 2.0, metrics.Unit.frames)
    error.process_data((PosePath3D(poses_se3=posed(NOISE[3:6])), PosePath3D(poses_se3=posed(turn))))
    return error.get_statistic(metrics.StatisticsType.rmse)


def aligned(turn: Any) -> Any:
    first = NOISE[:30].reshape(10, 3)
    second = first @ transformations.euler_matrix(*turn)[:3, :3] * 1.3 + 0.2 * first**2
    rotation, shift, scale = geometry.umeyama_alignment(first.T, second.T, with_scale=True)
    path = PosePath3D(second, np.tile([1.0, 0.0, 0.0, 0.0], (10, 1)))
    return np.sum(rotation**3) + np.sum(shift) + scale + path.path_length


def composed(turn: Any) -> Any:
    matrix = transformations.compose_matrix(
        scale=1.0 + 0.1 * turn, angles=turn, translate=2.0 * turn
    )
    scale, _, angles, shift, _ = transformations.decompose_matrix(matrix)
    slerp = transformations.quaternion_slerp(
        transformations.quaternion_from_euler(*turn), np.array([1.0, 0.0, 0.0, 0.0]), 0.3
    )
    return np.sum(scale) + np.sum(angles) + np.sum(shift) + np.sum(slerp**3)


def projected(turn: Any) -> Any:
    camera = ct.Camera(
        ct.RectilinearProjection(focallength_mm=14.0, sensor=(17.3, 9.7), image=(4608, 2592)),
        ct.SpatialOrientation(
            elevation_m=30.0 + turn[0], tilt_deg=60.0 + 10.0 * turn[1], roll_deg=5.0 * turn[2]
        ),
    )
    points = np.array([[3.17, 38.0, 0.0], [-5.0, 60.0, 1.0]])
    seen = camera.imageFromSpace(points)
    return np.sum(seen) / 1e3 + np.sum(camera.spaceFromImage(np.array([[2000.0, 1800.0]]))) / 10.0


def lensed(turn: Any) -> Any:
    lens = ct.BrownLensDistortion(0.1 * turn[0], 0.02 * turn[1], 0.01)
    camera = ct.Camera(
        ct.RectilinearProjection(focallength_px=3000.0, image=(4000, 3000)),
        ct.SpatialOrientation(elevation_m=20.0, tilt_deg=70.0, heading_deg=10.0 * turn[2]),
        lens,
    )
    return np.sum(camera.imageFromSpace(np.array([[2.0, 30.0, 0.5], [-4.0, 50.0, 1.0]]))) / 1e3


def turned(turn: Any) -> Any:
    around = ct.EquirectangularProjection(
        focallength_px=800.0 * (1.5 + turn[0]), image=(2000, 1000)
    )
    round_ = ct.CylindricalProjection(focallength_px=800.0, image=(2000, 1000))
    points = np.array([[1.0, 0.2, 2.0], [-0.5, 0.3, 3.0]]) + turn
    rays = around.getRay(np.array([[900.0, 400.0]]) * (1.0 + 0.1 * turn[1]), normed=True)
    return (
        np.sum(around.imageFromCamera(points) + round_.imageFromCamera(points)) / 1e3
        + np.sum(rays**3)
        + np.sum(round_.getFieldOfView()) / 100.0
    )


def creeping(number: Any) -> Any:
    fcm, size = 38.0 * number[0], 200.0 * number[1]
    age = mc2010.t0_adj(28.0, "42.5 N")
    basic = mc2010.phi_bc(
        mc2010.beta_bc_fcm(fcm), mc2010.beta_bc_t(np.array([100.0, 900.0]), 28.0, age)
    )
    drying = mc2010.phi_dc(
        mc2010.beta_dc_fcm(fcm),
        mc2010.beta_dc_RH(60.0, size),
        mc2010.beta_dc_t0(age),
        mc2010.beta_dc_t(
            np.array([100.0, 900.0]),
            28.0,
            mc2010.beta_h(size, mc2010.alpha_fcm(fcm)),
            mc2010.gamma_t0(age),
        ),
    )
    return np.sum(mc2010.phi(basic, drying, 8.0, fcm))


def sheared(number: Any) -> Any:
    resistance = ec2_2004.VRdc(
        30.0 * number[0], 450.0, 1500.0 * number[1], 300.0, 1e4, 150000.0, 20.0
    )
    return (
        resistance / 1e4
        + ec2_2004.phi_RH(200.0 * number[1], 38.0 * number[0], 60.0, 0.9, 0.95)
        + ec2_2004.beta_fcm(38.0 * number[0])
    )


def stressed(number: Any) -> Any:
    strain = np.array([-0.0005, -0.0012, -0.0019]) * number[0]
    laws = [
        Sargin(fc=30.0 * number[1]), ParabolaRectangle(30.0 * number[1]),
        Popovics(30.0 * number[1]),
    ]  # fmt: skip
    return (
        sum(np.sum(law.get_stress(strain)) for law in laws) / 10.0
        + sum(np.sum(law.get_tangent(strain)) for law in laws) / 1e5
    )


def borne(number: Any) -> Any:
    undrained = capacity.verticalcapacity_undrained_api(
        effective_length=50.0, effective_width=5.0 * number[0], su_base=20.0 * number[1],
        base_depth=1.0, su_increase=1.0, su_above_base=15.0,
    )  # fmt: skip
    drained = capacity.verticalcapacity_drained_api(
        vertical_effective_stress=30.0, effective_friction_angle=28.0 + number[0],
        effective_unit_weight=9.0, effective_length=20.0, effective_width=5.0 * number[1],
    )  # fmt: skip
    return undrained["qu [kPa]"] / 100.0 + drained["qu [kPa]"] / 1e3


def pressed(number: Any) -> Any:
    strip = stressdistribution.stresses_stripload(2.0 * number[0], 0.7, 3.0, 100.0 * number[1])
    circle = stressdistribution.stresses_circle(2.0 * number[1], 1.5 * number[0], 100.0, 0.3)
    box = stressdistribution.stresses_rectangle(100.0, 4.0 * number[1], 3.0, 2.0 * number[0])
    return sum(sum(x.values()) for x in (strip, circle, box)) / 100.0


def sounded(number: Any) -> Any:
    index = cpt.behaviourindex_pcpt_robertsonwride(5.0 * number[0], 0.03 * number[1], 80.0, 50.0)
    return (
        index["Ic [-]"]
        + cpt.gmax_sand_rixstokoe(10.0 * number[0], 80.0 * number[1])["Gmax [kPa]"] / 1e4
        + cpt.frictionangle_sand_kulhawymayne(8.0 * number[1], 60.0)["Phi [deg]"] / 10.0
        + cpt.relativedensity_ncsand_baldi(10.0 * number[0], 80.0)["Dr [-]"]
    )


def bored(number: Any) -> Any:
    field = [
        gt.boreholes.Borehole(H=100.0 * number[0], D=2.0, r_b=0.075, x=5.0 * k, y=0.0)
        for k in range(2)
    ]
    times = np.array([1e6, 1e8])
    return np.sum(
        gt.heat_transfer.finite_line_source(times, 1e-6 * number[1], field[0], field[1])
    ) + np.sum(gt.heat_transfer.finite_line_source(times, 1e-6 * number[1], field[0], field[0]))


def responded(number: Any) -> Any:
    field = gt.borefield.Borefield(
        np.full(3, 100.0) * number[0], 4.0, 0.075, np.array([0.0, 7.0, 14.0]) * number[1], 0.0
    )
    response = gt.gfunction.gFunction(
        field, 1e-6, time=np.array([1e7, 1e8, 1e9]), method="similarities",
        boundary_condition="UHTR", options={"nSegments": 2},
    )  # fmt: skip
    return np.sum(response.gFunc)


def resisted(number: Any) -> Any:
    places = [(-0.03 * number[0], 0.0), (0.03 * number[0], 0.0)]
    resistances, *_ = gt.pipes.thermal_resistances(places, 0.02, 0.075, 2.0, 1.0 * number[1], 0.08)
    hole = gt.boreholes.Borehole(H=100.0, D=2.0, r_b=0.075, x=0.0, y=0.0)
    pipe = gt.pipes.SingleUTube(places, 0.015, 0.02, hole, 2.0, 1.0 * number[1], 0.08)
    return (
        np.sum(resistances)
        + pipe.get_outlet_temperature(15.0, 5.0, 0.3, 4000.0)
        + pipe.effective_borehole_thermal_resistance(0.3, 4000.0)
    )


def lunar(day: Any) -> Any:
    longitude, latitude, distance, parallax = Moon.apparent_ecliptical_pos(Epoch(2448724.0 + day))
    return longitude.rad() + latitude.rad() + distance / 1e5 + parallax.rad()


def solar(day: Any) -> Any:
    epoch = Epoch(2448724.0 + day)
    longitude, latitude, radius = Sun.geometric_geocentric_position(epoch)
    x, y, z = Sun.rectangular_coordinates_j2000(epoch)
    return longitude.rad() + latitude.rad() + radius + x * y * z


def horizontal(turn: Any) -> Any:
    azimuth, elevation = Coordinates.equatorial2horizontal(
        Angle(64.0 + 5.0 * turn[0]), Angle(-6.7 + 3.0 * turn[1]), Angle(38.9 + turn[2])
    )
    apart = Coordinates.angular_separation(
        Angle(213.9 + turn[0]), Angle(19.2), Angle(201.3), Angle(-11.2 + turn[1])
    )
    return azimuth.rad() + elevation.rad() + apart.rad()


def interpolated(turn: Any) -> Any:
    table = Interpolation(
        [27.0, 27.5, 28.0, 28.5, 29.0], [1.2, 0.4 + turn[0], -0.7, -1.3 + turn[1], 2.0]
    )
    curve = CurveFitting([1.0, 2.0, 3.0, 4.0, 5.0], [1.2, 2.1 + turn[2], 2.8, 4.1, 5.5 + turn[0]])
    return table(28.2 + 0.1 * turn[2]) + table.derivative(27.8) + sum(curve.quadratic_fitting())


def showered(number: Any) -> Any:
    energy = 1e5 * np.array([1.0, 10.0, 300.0]) * number[0]
    laws = [models.HillasGaisser2012("H3a"), models.PolyGonato(), models.GaisserHonda()]
    return sum(np.sum(np.log(law.total_flux(energy * number[1]))) for law in laws) / 10.0


def nuclear(number: Any) -> Any:
    energy = 1e5 * np.array([1.0, 10.0, 300.0]) * number[0]
    law = models.GaisserStanevTilav("4-gen")
    return np.sum(law.lnA(energy * number[1])) + np.sum(law.nucleus_gamma(energy * number[0], 14))


def nucleons(number: Any) -> Any:
    energy = 1e4 * np.array([1.0, 10.0, 30.0]) * number[0]
    law = models.ZatsepinSokolskaya("pamela")
    *_, neutrons = law.p_and_n_flux(energy)
    return np.sum(np.log(neutrons)) / 10.0 + np.sum(law.delta_0(energy * number[1]))


def lined(number: Any) -> Any:
    grid = np.linspace(99.0, 101.0, 21)
    voigt = hapi.PROFILE_VOIGT(100.0, 0.1 * number[0], 0.08 * number[1], 0.01, grid)
    lorentz = hapi.PROFILE_LORENTZ(100.0, 0.08 * number[1], 0.01 * number[0], grid)
    doppler = hapi.PROFILE_DOPPLER(100.0, 0.1 * number[0], grid)
    return sum(np.sum(np.real(x) ** 2) for x in (voigt, lorentz, doppler)) / 10.0


def fast(number: Any) -> Any:
    grid = np.linspace(99.0, 101.0, 21)
    profile = hapi.PROFILE_HT(
        100.0, 0.1 * number[0], 0.08 * number[1], 0.01, 0.02 * number[0], 0.001, 0.01, 0.1, grid
    )
    dependent = hapi.PROFILE_SDVOIGT(
        100.0, 0.1, 0.08 * number[1], 0.01, 0.02, 0.001 * number[0], grid
    )
    return (np.sum(np.real(profile) ** 2) + np.sum(np.real(dependent) ** 2)) / 10.0


def warm(number: Any) -> Any:
    strength = hapi.EnvironmentDependency_Intensity(
        1.0, 250.0 * number[0], 296.0, 300.0, 350.0 * number[1], 200.0, 1500.0
    )
    grid = np.linspace(-3.0, 3.0, 15)
    slit = hapi.SLIT_GAUSSIAN(grid, number[0]) + hapi.SLIT_DIFFRACTION(grid + 0.1, number[1])
    return (
        strength
        + np.sum(slit)
        + hapi.EnvironmentDependency_Gamma0(0.07, 250.0 * number[0], 296.0, number[1], 1.0, 0.7)
    )


def bunched(number: Any) -> Any:
    noise = NOISE[:240].reshape(6, 40)
    return ParticleGroup(
        data={
            "x": 1e-3 * noise[0] * number[0], "y": 1e-3 * noise[1], "z": 1e-4 * noise[2],
            "px": 1e3 * (noise[3] + number[1] * noise[0]), "py": 1e3 * noise[4] * number[0],
            "pz": 1e7 * number[1] * (1.0 + 1e-3 * noise[5]), "t": np.zeros(40),
            "status": np.ones(40), "weight": np.full(40, 1e-12), "species": "electron",
        }
    )  # fmt: skip


def emitted(number: Any) -> Any:
    bunch = bunched(number)
    return (
        bunch["norm_emit_x"] * 1e6
        + bunch["norm_emit_y"] * 1e6
        + bunch["sigma_pz"] / 1e4
        + bunch["mean_gamma"] / 10.0
    )


def twisted(number: Any) -> Any:
    twiss = bunched(number).twiss(plane="xy")
    return twiss["alpha_x"] + twiss["beta_x"] + twiss["gamma_x"] * 1e3 + twiss["emit_y"] * 1e6


def drifted(number: Any) -> Any:
    bunch = bunched(number)
    bunch.drift_to_t(1e-9 * number[0])
    bunch.rotate_z(0.3 * number[1])
    correlation = beams.mean_variance_calc(bunch.x, bunch.weight)[1]
    return (
        bunch["sigma_x"] * 1e3
        + bunch["mean_z"] * 10.0
        + correlation * 1e6
        + np.sum(np.abs(bunch.bunching(1e-4)))
    )


ROWS: Final = (
    Row("openap", "Thrust, Drag", flown, NUMBERS),
    Row("openap", "FuelFlow, Emission", burnt, NUMBERS),
    Row("openap", "aero.cas2tas", aired, NUMBERS),
    Row("openap", "geo.latlon", routed, NUMBERS),
    Row("evo", "APE", erring, TURNS),
    Row("evo", "RPE", relative, TURNS),
    Row("evo", "umeyama_alignment", aligned, TURNS),
    Row("evo", "decompose_matrix", composed, TURNS),
    Row("cameratransform", "Camera", projected, TURNS),
    Row("cameratransform", "BrownLensDistortion", lensed, TURNS),
    Row("cameratransform", "EquirectangularProjection", turned, TURNS),
    Row("structuralcodes", "mc2010.phi", creeping, NUMBERS),
    Row("structuralcodes", "ec2_2004.VRdc", sheared, NUMBERS),
    Row("structuralcodes", "Sargin, ParabolaRectangle, Popovics", stressed, NUMBERS),
    Row("groundhog", "verticalcapacity_undrained_api", borne, NUMBERS),
    Row("groundhog", "stresses_stripload", pressed, NUMBERS),
    Row("groundhog", "behaviourindex_pcpt_robertsonwride", sounded, NUMBERS),
    Row("pygfunction", "finite_line_source", bored, NUMBERS),
    Row("pygfunction", "gFunction", responded, NUMBERS),
    Row("pygfunction", "thermal_resistances", resisted, NUMBERS),
    Row("PyMeeus", "Moon.apparent_ecliptical_pos", lunar, DAYS),
    Row("PyMeeus", "Sun.geometric_geocentric_position", solar, DAYS),
    Row("PyMeeus", "equatorial2horizontal", horizontal, TURNS),
    Row("PyMeeus", "Interpolation, CurveFitting", interpolated, TURNS),
    Row("crflux", "total_flux", showered, NUMBERS),
    Row("crflux", "lnA", nuclear, NUMBERS),
    Row("crflux", "p_and_n_flux", nucleons, NUMBERS),
    Row("hitran-api", "PROFILE_VOIGT", lined, NUMBERS),
    Row("hitran-api", "PROFILE_HT", fast, NUMBERS),
    Row("hitran-api", "EnvironmentDependency_Intensity", warm, NUMBERS),
    Row("openpmd-beamphysics", "norm_emit_x", emitted, NUMBERS),
    Row("openpmd-beamphysics", "twiss", twisted, NUMBERS),
    Row("openpmd-beamphysics", "drift_to_t, rotate_z", drifted, NUMBERS),
)
