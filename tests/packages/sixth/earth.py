"""The sixth set: air, sun, the magnetic field, speech, epidemics, and networks."""

import datetime
import warnings
from typing import Any, Final

import EoN
import networkx as nx
import numpy as np
import ppigrf
from ambiance import Atmosphere
from ppigrf.ppigrf import geod2geoc, igrf_V
from pysolar import radiation, solar
from pystoi import stoi

from packages.row import Row

warnings.filterwarnings("ignore")

HEIGHTS: Final = (
    np.array([300.0, 14500.0, 41000.0]),
    np.array([5200.0, 26000.0, 62000.0]),
    np.array([9100.0, 17300.0, 49100.0]),
)
PRESSURES: Final = (
    np.array([9e4, 2.1e4, 700.0]),
    np.array([6.1e4, 8e3, 90.0]),
    np.array([1.01e5, 3e3, 5e4]),
)
PLACES: Final = (np.array([42.2, -71.4]), np.array([-33.1, 18.6]), np.array([59.3, 10.7]))
MIXES: Final = (np.array([0.4, 0.2]), np.array([-0.3, 0.6]), np.array([0.9, -0.5]))
EPIDEMICS: Final = (np.array([0.4, 1.1]), np.array([0.7, 0.8]), np.array([0.55, 1.6]))
WEIGHTS: Final = (
    np.array([1.2, 0.7, 2.3, 0.5, 1.87, 0.8, 3.1, 1.4]),
    np.array([0.6, 2.2, 0.9, 1.7, 0.4, 2.8, 1.1, 0.3]),
    np.array([3.3, 1.1, 0.2, 2.4, 1.43, 0.95, 0.35, 2.1]),
)
NOON: Final = datetime.datetime(2026, 4, 18, 13, 13, 1, 130320, tzinfo=datetime.UTC)
DAY: Final = datetime.datetime(2026, 3, 28)
EDGES: Final = ((0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4), (4, 5))
RATE: Final = 10000
SPEECH: Final = np.sin(0.3 * np.arange(6000.0)) * (1.2 + np.sin(0.004 * np.arange(6000.0)))
HISS: Final = np.sin(1.7 * np.arange(6000.0) ** 1.3) + 0.3 * np.cos(0.9 * np.arange(6000.0))


def standard(height: Any) -> Any:
    air = Atmosphere(height)
    return np.sum(air.temperature) + np.sum(np.log(air.pressure)) + np.sum(air.speed_of_sound)


def thin(height: Any) -> Any:
    air = Atmosphere(height)
    drag = 0.5 * air.density * air.speed_of_sound**2
    mixed = np.sum(np.log(air.kinematic_viscosity)) + np.sum(np.log(air.mean_free_path))
    return np.sum(np.sqrt(drag)) + mixed + 100.0 * np.sum(air.thermal_conductivity)


def sounded(pressure: Any) -> Any:
    air = Atmosphere.from_pressure(pressure)
    return 1e-3 * np.sum(air.h) + np.sum(air.density) + np.sum(air.grav_accel)


def elevation(place: Any) -> Any:
    altitude = solar.get_altitude(place[0], place[1], NOON)
    return altitude + 0.1 * solar.get_azimuth(place[0], place[1], NOON)


def quick(place: Any) -> Any:
    altitude = solar.get_altitude_fast(place[0], place[1], NOON)
    return altitude + 0.1 * solar.get_azimuth_fast(place[0], place[1], NOON)


def sunny(place: Any) -> Any:
    altitude = solar.get_altitude(place[0], place[1], NOON, elevation=300.0, temperature=285.0)
    return radiation.get_radiation_direct(NOON, altitude)


def geodetic(place: Any) -> Any:
    east, north, up = ppigrf.igrf(place[1], place[0], 12.0, DAY)
    inclination, declination = ppigrf.get_inclination_declination(east, north, up)
    return np.sum(inclination + declination) + 1e-3 * np.sum(up)


def geocentric(place: Any) -> Any:
    radial, southward, eastward = ppigrf.igrf_gc(6500.0, 90.0 - place[0], place[1], DAY)
    return 1e-3 * np.sum(radial + 2.0 * southward + 3.0 * eastward)


def potential(place: Any) -> Any:
    theta, radius, _, _ = geod2geoc(place[0], 50.0, 1.0, 2.0)
    return 1e-6 * np.sum(igrf_V(radius, theta, place[1], DAY, max_degree=8))


def understood(mix: Any) -> Any:
    return stoi(SPEECH, SPEECH + mix[0] * HISS + mix[1] * SPEECH[::-1], RATE)


def extended(mix: Any) -> Any:
    np.random.seed(0)  # it adds noise  # noqa: NPY002
    return stoi(SPEECH, SPEECH + mix[0] * HISS + mix[1] * SPEECH[::-1], RATE, extended=True)


def spread(epidemic: Any) -> Any:
    _, susceptible, _, recovered = EoN.SIR_homogeneous_pairwise(
        990.0, 10.0, 0.0, 45.0, 4900.0, 5, epidemic[0], epidemic[1], tmax=10, tcount=21
    )
    return (susceptible[8] + recovered[-1]) / 100.0


def compartments(epidemic: Any) -> Any:
    _, susceptible, infected, _ = EoN.EBCM(
        1.0, lambda x: 0.5 * x**2 + 0.5 * x**4, lambda x: x + 2.0 * x**3,
        epidemic[0], epidemic[1], 0.98, tmax=8, tcount=17,
    )  # fmt: skip
    return susceptible[-1] + 10.0 * np.sum(infected[1:9])


def attacked(epidemic: Any) -> Any:
    degrees = {1: 0.2, 3: 0.5, 5: 0.3}
    fast = EoN.Attack_rate_cts_time(degrees, epidemic[0], epidemic[1], number_its=60, rho=0.02)
    return fast + EoN.Attack_rate_discrete(degrees, 0.5 * epidemic[0], number_its=60)


def network(weights: Any, kind: Any = nx.Graph) -> Any:
    graph = kind()
    for (start, end), weight in zip(EDGES, weights, strict=True):
        graph.add_edge(start, end, weight=weight)
    return graph


def ranked(weights: Any) -> Any:
    ranks = nx.pagerank(network(weights, nx.DiGraph), alpha=0.85, tol=1e-12, max_iter=200)
    return 10.0 * ranks[3] + ranks[5]


def shortest(weights: Any) -> Any:
    graph = network(weights)
    length = nx.dijkstra_path_length(graph, 0, 5)
    tree = nx.minimum_spanning_tree(graph)
    return (
        length + tree.size(weight="weight") + nx.closeness_centrality(graph, distance="weight")[2]
    )


def resisted(weights: Any) -> Any:
    graph = network(weights)
    spectrum = nx.laplacian_spectrum(graph)
    return nx.resistance_distance(graph, 0, 5, weight="weight") + spectrum[1]


def flowing(weights: Any) -> Any:
    graph = network(weights, nx.DiGraph)
    value, flows = nx.maximum_flow(graph, 0, 4, capacity="weight")
    return value + flows[0][1]


ROWS: Final = (
    Row("ambiance", "Atmosphere.pressure", standard, HEIGHTS),
    Row("ambiance", "Atmosphere.density", thin, HEIGHTS),
    Row("ambiance", "Atmosphere.from_pressure", sounded, PRESSURES),
    Row("pysolar", "solar.get_altitude", elevation, PLACES),
    Row("pysolar", "solar.get_altitude_fast", quick, PLACES),
    Row("pysolar", "radiation.get_radiation_direct", sunny, PLACES),
    Row("ppigrf", "igrf", geodetic, PLACES),
    Row("ppigrf", "igrf_gc", geocentric, PLACES),
    Row("ppigrf", "igrf_V", potential, PLACES),
    Row("pystoi", "stoi", understood, MIXES),
    Row("pystoi", "extended stoi", extended, MIXES),
    Row("EoN", "SIR_homogeneous_pairwise", spread, EPIDEMICS, tolerance=1e-4, rounding=1e-6),
    Row("EoN", "EBCM", compartments, EPIDEMICS, tolerance=1e-4, rounding=1e-6),
    Row("EoN", "Attack_rate_cts_time", attacked, EPIDEMICS),
    Row("networkx", "pagerank", ranked, WEIGHTS),
    Row("networkx", "dijkstra_path_length", shortest, WEIGHTS),
    Row("networkx", "resistance_distance", resisted, WEIGHTS),
    Row("networkx", "maximum_flow", flowing, WEIGHTS),
)
