"""Matter and waves: burnman, fluids, impedance, PsychroLib, PyAstronomy, scikit-rf, tmm."""

from typing import Any, Final

import burnman
import fluids
import numpy as np
import psychrolib
import skrf
import tmm
from impedance.models.circuits import CustomCircuit, elements, fitting
from PyAstronomy import pyasl

from packages.row import Row

psychrolib.SetUnitSystem(psychrolib.SI)
FREQUENCIES: Final = np.array([0.1, 1.0, 10.0, 100.0])
LAYERS: Final = [1.0, 2.2, 3.3 + 0.3j, 1.0]
PERICLASE: Final = burnman.minerals.SLB_2011.periclase()
CELLS: Final = (
    np.array([0.01, 0.05, 0.2]),
    np.array([0.02, 0.1, 0.5]),
    np.array([0.05, 0.03, 1.1]),
)
BAND: Final = skrf.Frequency(1.0, 3.0, 5, "ghz")


def power(angle: Any) -> Any:
    return tmm.coh_tmm("s", LAYERS, [np.inf, 100.0, 300.0, np.inf], angle, 400.0)["R"]


def thickness(length: Any) -> Any:
    return tmm.unpolarized_RT(LAYERS, [np.inf, length, 300.0, np.inf], 0.3, 500.0)["T"]


def incoherent(length: Any) -> Any:
    result = tmm.inc_tmm(
        "p", LAYERS, [np.inf, length, 3000.0, np.inf], ["i", "c", "i", "i"], 0.2, 600.0
    )
    return result["T"] + result["R"]


def turned(length: Any) -> Any:
    return tmm.ellips(LAYERS, [np.inf, length, 300.0, np.inf], 0.6, 500.0)["psi"]


def cell(parameters: Any) -> Any:
    circuit = CustomCircuit("R0-p(R1,C1)", initial_guess=[0.01, 0.02, 50.0])
    circuit.parameters_ = np.array([parameters[0], parameters[1], parameters[2]])
    return np.abs(circuit.predict(FREQUENCIES)).sum()


def warburg(parameters: Any) -> Any:
    return np.abs(elements.Wo([parameters[1], parameters[2]], FREQUENCIES)).sum()


def mineral(pressure: Any) -> Any:
    PERICLASE.set_state(pressure * 1e9, 1500.0)
    return PERICLASE.density


def sound(temperature: Any) -> Any:
    PERICLASE.set_state(25e9, temperature)
    return PERICLASE.v_p


def mixture(fraction: Any) -> Any:
    minerals = [burnman.minerals.SLB_2011.periclase(), burnman.minerals.SLB_2011.mg_perovskite()]
    rock = burnman.Composite(minerals, [fraction, 1 - fraction])
    rock.set_state(40e9, 2000.0)
    return rock.density


def elastic(pressure: Any) -> Any:
    equation = burnman.eos.birch_murnaghan.BM3()
    volume = equation.volume(pressure, 300.0, PERICLASE.params)
    return volume * 1e6


def shunted(capacity: Any) -> Any:
    media = skrf.media.DefinedGammaZ0(BAND, z0=50.0, gamma=1j * BAND.w / 3e8)
    network = media.line(0.02, unit="m") ** media.capacitor(capacity * 1e-12) ** media.short()
    return np.sum(network.s_mag * np.arange(5.0)[:, None, None]) + network.s[1, 0, 0].real


def matched(length: Any) -> Any:
    media = skrf.media.DistributedCircuit(BAND, C=1e-10, L=2.5e-7, R=5.0, G=0.01)
    return np.sum(media.line(length, unit="m").s_db)


def converted(resistance: Any) -> Any:
    scattered = skrf.network.z2s(np.array([[[resistance, 20.0], [20.0, 80.0]]]), 50.0)
    return np.sum(np.abs(skrf.network.s2y(scattered)) ** 2)


def phased(angle: Any) -> Any:
    length = skrf.tlineFunctions.theta(1j * angle, 1.0, 2.0)
    return skrf.mathFunctions.complex_2_db(np.exp(1j * angle) + 0.3) + length.imag[0]


def orbit(eccentricity: Any) -> Any:
    orbit = pyasl.KeplerEllipse(1.0, 2.0, e=eccentricity, i=30.0)
    return orbit.xyzPos(0.3)[0]


def spectrum(speed: Any) -> Any:
    waves = np.linspace(5000.0, 5010.0, 30)
    return pyasl.rotBroad(waves, 1.0 - np.exp(-((waves - 5005.0) ** 2)), 0.6, speed)[10:20].sum()


ROWS: Final = (
    Row("burnman", "Mineral.density", mineral, (10.0, 25.0, 60.0)),
    Row("burnman", "Mineral.v_p", sound, (1000.0, 1500.0, 2500.0)),
    Row("burnman", "Composite.density", mixture, (0.2, 0.5, 0.8)),
    Row("burnman", "eos.BM3.volume", elastic, (1e10, 2.5e10, 6e10), tolerance=1e-4),
    Row(
        "fluids",
        "friction_factor",
        lambda x: fluids.friction_factor(Re=x, eD=1e-3),
        (1e3, 1e5, 1e7),
    ),
    Row(
        "fluids",
        "dP_two_phase.Friedel",
        lambda x: fluids.two_phase.Friedel(
            0.6, x, 915.0, 2.67, 180e-6, 14e-6, 0.0487, 0.05, 0.0, 1.0
        ),
        (0.1, 0.3, 0.6),
    ),
    Row("fluids", "ATMOSPHERE_1976", lambda x: fluids.ATMOSPHERE_1976(x).rho, (2e3, 1.3e4, 3e4)),
    Row(
        "fluids",
        "control_valve.size_control_valve_l",
        lambda x: fluids.control_valve.size_control_valve_l(
            965.4, 70.1e3, 22120e3, 3.1472e-4, x, 220e3, 0.1, 0.15, 0.15, 0.15, 0.9, 0.46, 0.6
        ),
        (680e3, 500e3, 900e3),
    ),
    Row("impedance", "CustomCircuit.predict", cell, CELLS),
    Row("impedance", "elements.Wo", warburg, CELLS),
    Row(
        "impedance",
        "elements.CPE",
        lambda x: np.abs(elements.CPE([x[0], x[2] / 1.5], FREQUENCIES)).sum(),
        CELLS,
    ),
    Row(
        "impedance",
        "fitting.rmse",
        lambda x: fitting.rmse(x, CELLS[0][::-1]),
        CELLS,
    ),
    Row(
        "PsychroLib",
        "GetHumRatioFromTWetBulb",
        lambda x: psychrolib.GetHumRatioFromTWetBulb(25.0, x, 101325.0),
        (19.0, 10.0, 23.0),
    ),
    Row(
        "PsychroLib",
        "GetTDewPointFromRelHum",
        lambda x: psychrolib.GetTDewPointFromRelHum(25.0, x),
        (0.6, 0.4, 0.9),
        tolerance=1e-3,
    ),
    Row(
        "PsychroLib",
        "GetSatAirEnthalpy",
        lambda x: psychrolib.GetSatAirEnthalpy(x, 95461.0),
        (25.0, 10.0, -15.0),
    ),
    Row(
        "PsychroLib",
        "GetMoistAirDensity",
        lambda x: psychrolib.GetMoistAirDensity(25.0, x, 95461.0),
        (0.01, 0.004, 0.02),
    ),
    Row("PyAstronomy", "KeplerEllipse.xyzPos", orbit, (0.2, 0.5, 0.05)),
    Row("PyAstronomy", "rotBroad", spectrum, (40.0, 60.0, 55.0)),
    Row(
        "PyAstronomy",
        "sunpos",
        lambda x: pyasl.sunpos(x)[1][0],
        (2455000.3, 2458000.1, 2460000.8),
        step=1e-7,
    ),
    Row(
        "PyAstronomy",
        "planck",
        lambda x: pyasl.planck(x, lam=6000.0e-10) / 1e12,
        (5000.0, 5777.0, 9000.0),
    ),
    Row("scikit-rf", "media.capacitor", shunted, (1.0, 3.0, 0.4)),
    Row("scikit-rf", "media.DistributedCircuit.line", matched, (0.02, 0.05, 0.11)),
    Row("scikit-rf", "network.s2y", converted, (30.0, 60.0, 90.0)),
    Row("scikit-rf", "mathFunctions.complex_2_db", phased, (0.3, 0.8, 1.9)),
    Row("tmm", "coh_tmm", power, (0.1, 0.4, 0.9)),
    Row("tmm", "unpolarized_RT", thickness, (100.0, 150.0, 230.0)),
    Row("tmm", "inc_tmm", incoherent, (100.0, 150.0, 230.0)),
    Row("tmm", "ellips", turned, (100.0, 150.0, 230.0)),
)
