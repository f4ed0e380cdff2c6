"""The seventh set: ellipsoids, navigation, wells, evaporation, moist air, and scores of flow."""

import warnings
from typing import Any, Final

import anaflow
import boule
import HydroErr
import navpy
import numpy as np
import refet
import utm
from earthkit.meteo.score import array as score
from earthkit.meteo.stats import array as stats
from earthkit.meteo.thermo import array as thermo
from earthkit.meteo.wind import array as wind

from packages.row import Row

warnings.filterwarnings("ignore")

PLACES: Final = (np.array([0.3, -0.8]), np.array([-0.6, 0.4]), np.array([0.9, 0.2]))
POSITIVE: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
FLOWS: Final = (
    np.array([3.1, 4.7, 2.2, 6.8, 5.3, 1.4]),
    np.array([2.6, 5.9, 3.3, 7.1, 4.2, 2.0]),
    np.array([4.4, 3.2, 1.7, 5.5, 6.6, 2.9]),
)
OBSERVED: Final = np.array([2.9, 5.1, 2.7, 6.1, 4.9, 1.9])
LATITUDES: Final = np.array([-61.0, -20.0, 5.0, 33.0, 52.0])


def gravity(place: Any) -> Any:
    latitude, height = LATITUDES + 10.0 * place[0], 3000.0 * place[1] ** 2
    coordinates = (np.zeros(5), latitude, np.full(5, 1.0) * height)
    return np.mean(boule.WGS84.normal_gravity(coordinates)) / 1e4


def geodetic(place: Any) -> Any:
    longitudes = 20.0 * place[0] + np.arange(5.0)
    coordinates = (longitudes, LATITUDES + place[1], np.linspace(100.0, 2000.0, 5))
    longitude, latitude, radius = boule.GRS80.geodetic_to_spherical(coordinates)
    back = boule.GRS80.spherical_to_geodetic((longitude, latitude, radius + 50.0 * place[0]))
    x, y, z = boule.WGS84.geodetic_to_cartesian(coordinates)
    return np.mean(back[2]) / 1e3 + back[1][3] + np.sum(x + y - z) / 1e7


def figures(place: Any) -> Any:
    body = boule.Ellipsoid(
        name="body",
        semimajor_axis=6.4e6 * (1.0 + 0.01 * place[0]),
        flattening=0.01 + 0.002 * place[1],
        geocentric_grav_const=4.0e14,
        angular_velocity=7.3e-5 * (1.0 + 0.1 * place[0]),
    )
    radius = body.geocentric_radius(LATITUDES)
    return body.area / 1e14 + body.gravity_pole + np.mean(radius) / 1e6 + 10.0 * body.eccentricity


def mapped(place: Any) -> Any:
    easting, northing, _, _ = utm.from_latlon(47.0 + place[0], 8.0 + 0.5 * place[1])
    return easting / 1e5 + northing / 1e6


def unmapped(place: Any) -> Any:
    eastings = 4e5 + 1e5 * place[0] + np.array([0.0, 1e4])
    latitude, longitude = utm.to_latlon(eastings, 5.2e6 + 1e5 * place[1] + 0 * eastings, 32, "T")
    return np.sum(latitude) + 2.0 * np.sum(longitude)


def local(place: Any) -> Any:
    position = navpy.lla2ned(
        45.0 + 0.1 * place[0], -93.0 + 0.1 * place[1], 300.0, 45.0, -93.0, 250.0
    )
    return np.sum(np.asarray(position) * np.array([1.0, 2.0, 3.0])) / 1e4


def attitude(place: Any) -> Any:
    turn = navpy.angle2dcm(place[0], 0.5 * place[1], 0.3)
    angles = navpy.dcm2angle(turn @ navpy.angle2dcm(0.2, 0.1 * place[0], place[1]))
    scalar, vector = navpy.angle2quat(place[1], place[0], 0.4)
    return np.sum(turn[0] * [1, 2, 3]) + angles[0] + angles[2] + scalar * vector[1]


def around(place: Any) -> Any:
    ecef = navpy.lla2ecef(30.0 + place[0], 50.0 * place[1], 1e3 * place[0])
    latitude, longitude, altitude = navpy.ecef2lla(ecef + np.array([10.0, -20.0, 30.0]))
    return ecef[0] / 1e6 + latitude + longitude + altitude / 1e3


def efficiency(flow: Any) -> Any:
    return HydroErr.kge_2012(flow, OBSERVED) + HydroErr.nse(flow, OBSERVED)


def errors(flow: Any) -> Any:
    return (
        HydroErr.rmse(flow, OBSERVED) + HydroErr.mape(flow, OBSERVED) / 100.0
        + HydroErr.rmsle(flow, OBSERVED) + HydroErr.nrmse_iqr(flow, OBSERVED)
    )  # fmt: skip


def angles(flow: Any) -> Any:
    return (
        HydroErr.sa(flow, OBSERVED)
        + HydroErr.sid(flow, OBSERVED)
        + HydroErr.d1_p(flow, OBSERVED, obs_bar_p=4.0)
    )


def daily(place: Any) -> Any:
    day = refet.Daily(
        tmin=12.0 + place[0], tmax=28.0 + 2.0 * place[1], rs=22.0, uz=2.5 + place[0], zw=3.0,
        elev=1200.0, lat=39.5, doy=182, ea=1.2 + 0.1 * place[1],
    )  # fmt: skip
    return np.sum(day.eto()) + np.sum(day.etr())


def hourly(place: Any) -> Any:
    hour = refet.Hourly(
        tmean=30.0 + place[0], rs=2.5, uz=3.0 + place[1], zw=3.0, elev=1208.5, lat=39.4575,
        lon=-118.77388, doy=182, time=18.0, ea=1.2 + 0.2 * place[0],
    )  # fmt: skip
    return np.sum(hour.eto()) + 2.0 * np.sum(hour.etr())


def steady(number: Any) -> Any:
    radius = np.array([1.0, 4.0, 15.0, 60.0])
    thiem = anaflow.thiem(radius, 100.0, 1e-4 * number[0], rate=-1e-4 * number[1])
    effective = anaflow.ext_thiem_2d(radius, 100.0, 1e-4 * number[0], 0.5 * number[1], 10.0)
    return np.sum(thiem) + np.sum(effective)


def transient(number: Any) -> Any:
    times = np.array([10.0, 600.0, 36000.0])
    radius = np.array([1.0, 5.0, 20.0])
    heads = anaflow.theis(times, radius, 1e-4 * number[1], 1e-4 * number[0], rate=-1e-4)
    return np.sum(heads)


def inverted(number: Any) -> Any:
    heads = anaflow.ext_theis_2d(
        np.array([100.0, 3000.0]), np.array([2.0, 30.0]), 1e-4, 1e-4 * number[0], 0.6 * number[1],
        10.0, parts=12,
    )  # fmt: skip
    return np.sum(heads)


def moist(place: Any) -> Any:
    temperature = 285.0 + 5.0 * place[0] + np.array([0.0, 3.0, -25.0])
    dewpoint = temperature - 4.0 - place[1] ** 2
    pressure = np.array([1e5, 9e4, 6e4])
    potential = thermo.ept_from_dewpoint(temperature, dewpoint, pressure)
    humidity = thermo.specific_humidity_from_dewpoint(dewpoint, pressure)
    mixed = thermo.saturation_vapour_pressure(temperature)
    return np.sum(potential) / 100.0 + 1e2 * np.sum(humidity) + np.sum(mixed) / 1e3


def adiabats(place: Any) -> Any:
    temperature = np.array([295.0, 285.0]) + 3.0 * place
    dewpoint = temperature - np.array([5.0, 2.0])
    level, pressure = thermo.lcl(temperature, dewpoint, np.array([1e5, 9.5e4]), method="bolton")
    bulb = thermo.wet_bulb_potential_temperature_from_dewpoint(
        temperature, dewpoint, np.array([1e5, 9.5e4])
    )
    return np.sum(level) / 10.0 + np.sum(pressure) / 1e4 + np.sum(bulb) / 10.0


def winds(place: Any) -> Any:
    u, v = np.array([3.0, -2.0, 4.0]) + place[0], np.array([1.0, 5.0, -6.0]) + place[1]
    strength, bearing = wind.xy_to_polar(u, v)
    back, _ = wind.polar_to_xy(strength, bearing + 10.0)
    rise = wind.w_from_omega(u, 280.0 + v, 5e4)
    return np.sum(strength) + np.sum(bearing) / 100.0 + np.sum(back) + np.sum(rise)


def ensembles(flow: Any) -> Any:
    members = np.array([0.7, 0.9, 1.05, 1.2])[:, None] * flow + 0.1234
    crps = score.crps_from_ensemble(members, OBSERVED)
    correlation = score.pearson_correlation(flow, OBSERVED)
    fitted = stats.fit_gumbel(flow)
    rare = stats.return_period_to_value(50.0, fitted)
    return np.sum(crps) + correlation + np.sum(rare) / 10.0


ROWS: Final = (
    Row("boule", "Ellipsoid.normal_gravity", gravity, PLACES),
    Row("boule", "Ellipsoid.geodetic_to_spherical", geodetic, PLACES),
    Row("boule", "Ellipsoid", figures, PLACES),
    Row("utm", "from_latlon", mapped, PLACES),
    Row("utm", "to_latlon", unmapped, PLACES),
    Row("NavPy", "lla2ned", local, PLACES),
    Row("NavPy", "angle2dcm", attitude, PLACES),
    Row("NavPy", "ecef2lla", around, PLACES),
    Row("HydroErr", "kge_2012", efficiency, FLOWS),
    Row("HydroErr", "rmse", errors, FLOWS),
    Row("HydroErr", "sid", angles, FLOWS),
    Row("refet", "Daily", daily, PLACES),
    Row("refet", "Hourly", hourly, PLACES),
    Row("anaflow", "thiem", steady, POSITIVE),
    Row("anaflow", "theis", transient, POSITIVE),
    Row("anaflow", "ext_theis_2d", inverted, POSITIVE, compiled="pentapy's solver, in Cython"),
    Row("earthkit-meteo", "thermo.ept_from_dewpoint", moist, PLACES),
    Row("earthkit-meteo", "thermo.lcl", adiabats, PLACES),
    Row("earthkit-meteo", "wind.xy_to_polar", winds, PLACES),
    Row("earthkit-meteo", "score.crps_from_ensemble", ensembles, FLOWS, step=1e-5),
)
