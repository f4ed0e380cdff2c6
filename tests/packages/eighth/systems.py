"""The eighth set: tides, shaken ground, geodesy, steam, and solvers of equations."""

import warnings
from typing import Any, Final

import numpy as np
import pygmm
import utide
from geodepy import constants, convert, geodesy, statistics, survey, transform
from nodepy import ivp, runge_kutta_method
from pyXSteam.XSteam import XSteam
from rkstiff import etd4, etd35, grids, if4, models

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
PLACES: Final = (np.array([0.3, -0.8]), np.array([-0.6, 0.4]), np.array([0.9, 0.2]))
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)
HOURS: Final = 18000.0 + np.arange(240.0) / 12.0
STEAM: Final = XSteam(XSteam.UNIT_SYSTEM_MKS)


def level(number: Any) -> Any:
    tide = number[0] * np.cos(2.0 * np.pi * 1.9323 * HOURS + number[1])
    return tide + 0.4 * np.sin(2.0 * np.pi * 1.0027 * HOURS) + 0.1 * NOISE[:240]


def harmonic(number: Any) -> Any:
    coefficients = utide.solve(HOURS, level(number), lat=30.0, constit=["M2", "K1"], nodal=False,
                               conf_int="none", verbose=False, epoch="1970-01-01")  # fmt: skip
    return np.sum(coefficients.A) + np.sum(np.cos(np.deg2rad(coefficients.g)))


def currents(number: Any) -> Any:
    coefficients = utide.solve(HOURS, level(number), level(number[::-1]), lat=-20.0,
                               constit=["M2", "K1", "O1"], conf_int="none", trend=False,
                               epoch="1970-01-01", verbose=False)  # fmt: skip
    return np.sum(coefficients.Lsmaj) + np.sum(coefficients.Lsmin**2)


def predicted(number: Any) -> Any:
    coefficients = utide.solve(HOURS, level(number), lat=45.0, constit=["M2", "K1"],
                               conf_int="linear", verbose=False, epoch="1970-01-01")  # fmt: skip
    tide = utide.reconstruct(
        HOURS[:20] + 30.0, coefficients, verbose=False, min_SNR=0.0, epoch="1970-01-01"
    )
    return np.sum(tide.h**2) + np.sum(coefficients.A_ci)


def shaken(number: Any) -> Any:
    scenario = pygmm.Scenario(mag=6.0 + 0.2 * number[0], dist_jb=20.0 * number[1], v_s30=500.0,
                              mechanism="SS", region="california")  # fmt: skip
    motion = pygmm.BooreStewartSeyhanAtkinson2014(scenario)
    return np.sum(np.log(motion.spec_accels[::10])) + motion.pga * 10.0 + motion.pgv / 10.0


def ruptured(number: Any) -> Any:
    scenario = pygmm.Scenario(
        mag=6.2 + 0.3 * number[0], dist_rup=25.0 * number[1], dist_jb=24.0 * number[1],
        dist_x=20.0 * number[1], v_s30=420.0, depth_1_0=0.3, depth_2_5=1.0, depth_tor=3.0,
        depth_hyp=9.0, depth_bor=15.0, dip=60.0, width=14.0, mechanism="RS", dpp_centered=0.0,
        on_hanging_wall=True, is_aftershock=False, vs_source="measured", region="california",
    )  # fmt: skip
    first = pygmm.ChiouYoungs2014(scenario)
    second = pygmm.CampbellBozorgnia2014(scenario)
    return (
        np.sum(np.log(first.spec_accels[::5])) / 10.0 + second.pga + np.sum(second.spec_accels[:5])
    )


def lasting(number: Any) -> Any:
    scenario = pygmm.Scenario(mag=6.5 + 0.1 * number[0], dist_rup=30.0 * number[1], v_s30=600.0,
                              mechanism="SS", region="california", depth_1_0=0.1)  # fmt: skip
    duration = pygmm.AfshariStewart2016(scenario).duration
    return duration["D_5t75"] + duration["D_5t95"] / 2.0


def projected(place: Any) -> Any:
    _, _, east, north, scale, convergence = convert.geo2grid(-37.0 + place[0], 144.0 + place[1])
    latitude, longitude, _, _ = convert.grid2geo(55, 3e5 + 1e4 * place[0], 5.8e6 + 1e4 * place[1])
    return east / 1e5 + north / 1e6 + scale + convergence + latitude + longitude / 10.0


def geodesic(place: Any) -> Any:
    latitude, longitude, azimuth = geodesy.vincdir(-37.9 + place[0], 144.4, 306.0 + place[1], 5e4)
    distance, forward, _ = geodesy.vincinv(-37.9 + place[0], 144.4, -37.6, 143.9 + place[1])
    return latitude + longitude / 10.0 + azimuth / 100.0 + distance / 1e5 + forward / 1e2


def transformed(place: Any) -> Any:
    x, y, z = convert.llh2xyz(-37.0 + place[0], 144.0 + place[1], 100.0)
    moved = transform.conform7(x, y, z, constants.gda94_to_gda2020)
    latitude, longitude, height = convert.xyz2llh(*moved[:3])
    covariance = np.outer([1.0, 0.5, 0.2], [1.0, 0.5, 0.2]) + np.diag([1.0, 2.0, 0.5])
    local = statistics.vcv_cart2local(covariance, -37.0 + place[0], 144.0 + place[1])
    return latitude + longitude / 10.0 + height / 100.0 + sum(statistics.error_ellipse(local)[:2])


def surveyed(place: Any) -> Any:
    params = survey.first_vel_params(0.85, 9.8e7 * (1.0 + 0.01 * place[0]), unit_length=1.5)
    correction = survey.first_vel_corrn(1000.0 + place[1], params, 20.0 + place[0], 1000.0, 50.0)
    distance, bearing = survey.joins(100.0, 200.0, 300.0 + 10.0 * place[0], 500.0 * place[1])
    return correction * 10.0 + distance / 100.0 + bearing / 100.0


def superheated(number: Any) -> Any:
    pressure, temperature = 20.0 * number[0], 350.0 + 20.0 * number[1]
    energy = STEAM.h_pt(pressure, temperature) / 1e3 + STEAM.s_pt(pressure, temperature)
    sound = STEAM.w_pt(pressure, temperature) / 100.0 + STEAM.Cp_pt(pressure, temperature)
    return energy + sound + STEAM.my_pt(pressure, temperature) * 1e5


def saturated(number: Any) -> Any:
    pressure = 10.0 * number[0]
    quality = STEAM.x_ph(pressure, 1500.0 + 100.0 * number[1])
    boiling = STEAM.tsat_p(pressure) / 100.0 + STEAM.hV_p(pressure) / 1e3
    return boiling + quality + STEAM.tcL_p(pressure) + 10.0 * STEAM.st_t(100.0 * number[1])


def backward(number: Any) -> Any:
    temperature = STEAM.t_ph(30.0 * number[0], 3000.0 + 100.0 * number[1])
    other = STEAM.t_ps(20.0 * number[1], 6.5 + 0.3 * number[0])
    return temperature / 100.0 + other / 100.0 + STEAM.v_ph(30.0 * number[0], 500.0 * number[1])


def rigid(t: Any, u: Any) -> Any:
    return np.array([u[1] * u[2], -u[0] * u[2], -0.51 * u[0] * u[1]])


def stepped(number: Any) -> Any:
    problem = ivp.IVP(f=rigid, u0=np.array([0.1, 0.9, 0.6]) * number[0], t0=0.0, T=number[1])
    method = runge_kutta_method.loadRKM("RK44")
    _, u = method(problem, N=20)
    return np.sum(u[-1] ** 2 * np.array([1.0, 2.0, 3.0]))


def embedded(number: Any) -> Any:
    problem = ivp.IVP(f=rigid, u0=np.array([0.1, 0.9, 0.6]) * number[0], t0=0.0, T=2.0)
    pair = runge_kutta_method.loadRKM("DP5")
    _, u = pair(problem, errtol=1e-5, dt=0.1 * number[1])
    return np.sum(u[-1] ** 3)


def stable(number: Any) -> Any:
    rule = np.array([[0.0, 0.0, 0.0], [0.5 * number[0], 0.0, 0.0], [-number[1], 2.0, 0.0]])
    method = runge_kutta_method.ExplicitRungeKuttaMethod(rule, np.array([1.0, 4.0, 1.0]) / 6.0)
    p, q = method.stability_function(mode="float")
    return p(0.3 * number[0]) / q(0.2) + np.sum(method.c**2)


def soliton(number: Any) -> Any:
    x, kx = grids.construct_x_kx_rfft(32, -8.0, 8.0)
    linear, nonlinear = models.kdv_ops(kx)
    start = np.fft.rfft(models.kdv_soliton(x, ampl=number[0], x0=-1.0 + 0.1 * number[1]))
    return x, kx, linear, nonlinear, start


def exponential(number: Any) -> Any:
    x, _, linear, nonlinear, start = soliton(number)
    solver = etd4.ETD4(linear, nonlinear)
    final = np.fft.irfft(solver.evolve(start, t0=0.0, tf=0.1, h=0.02, store_data=False))
    return np.sum(final**2 * (1.0 + 0.1 * x))


def factor(number: Any) -> Any:
    x, _, linear, nonlinear, start = soliton(number)
    solver = if4.IF4(linear, nonlinear)
    final = np.fft.irfft(solver.evolve(start, t0=0.0, tf=0.05, h=0.01, store_data=False))
    return np.sum(final**3 * (1.0 + 0.1 * x))


def adaptive(number: Any) -> Any:
    _, kx = grids.construct_x_kx_rfft(16, 0.0, 2.0 * np.pi)
    start = np.fft.rfft(np.sin(np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)) * number[0])
    burgers = etd35.ETD35(-0.1 * number[1] * kx**2, lambda u: -0.5j * kx * np.fft.rfft(
        np.fft.irfft(u) ** 2))  # fmt: skip
    final = burgers.evolve(start, t0=0.0, tf=0.2, h_init=0.05, store_data=False)
    return np.sum(np.abs(final) ** 2)


ROWS: Final = (
    Row("utide", "solve", harmonic, NUMBERS),
    Row("utide", "solve(u, v)", currents, NUMBERS),
    Row("utide", "reconstruct", predicted, NUMBERS, tolerance=1e-4),
    Row("pygmm", "BooreStewartSeyhanAtkinson2014", shaken, NUMBERS),
    Row("pygmm", "ChiouYoungs2014", ruptured, NUMBERS),
    Row("pygmm", "AfshariStewart2016", lasting, NUMBERS),
    Row("geodepy", "convert.geo2grid", projected, PLACES),
    Row("geodepy", "geodesy.vincinv", geodesic, PLACES, step=1e-2, tolerance=1e-4),
    Row("geodepy", "transform.conform7", transformed, PLACES),
    Row("geodepy", "survey.first_vel_corrn", surveyed, PLACES),
    Row("pyXSteam", "XSteam.h_pt", superheated, NUMBERS),
    Row("pyXSteam", "XSteam.x_ph", saturated, NUMBERS),
    Row("pyXSteam", "XSteam.t_ph", backward, NUMBERS),
    Row("nodepy", "RungeKuttaMethod", stepped, NUMBERS),
    Row("nodepy", "RungeKuttaPair", embedded, NUMBERS),
    Row("nodepy", "stability_function", stable, NUMBERS),
    Row("rkstiff", "ETD4", exponential, NUMBERS),
    Row("rkstiff", "IF4", factor, NUMBERS),
    Row("rkstiff", "ETD35", adaptive, NUMBERS, tolerance=1e-4),
)
