"""The fifth set: heat, comfort, fields, nuclei, the universe, and units."""

import warnings
from typing import Any, Final

import ht
import magpylib
import numpy as np
import radioactivedecay
import unyt
from colossus.cosmology import cosmology
from colossus.halo import concentration, mass_defs, profile_nfw
from colossus.lss import peaks
from pythermalcomfort import models, utilities

from packages.row import Row

warnings.filterwarnings("ignore")

PLANCK: Final = cosmology.setCosmology("planck18", persistence="")
POINTS: Final = (
    np.array([1.4, 0.3, 0.9]),
    np.array([-0.6, 1.7, 1.2]),
    np.array([0.8, -1.1, -1.5]),
)
CLIMATES: Final = (
    np.array([27.3, 25.1, 0.4, 48.0]),
    np.array([31.2, 38.7, 1.1, 33.0]),
    np.array([22.4, 19.6, 0.7, 61.0]),
)
FLOWS: Final = (np.array([5.2, 2900.0]), np.array([2.1, 4500.0]), np.array([1.2, 900.0]))
SPEEDS: Final = (np.array([1e5, 0.7]), np.array([3.3e4, 4.2]), np.array([7.1e5, 1.9]))
WALLS: Final = (
    np.array([0.012, 0.025]),
    np.array([0.004, 0.09]),
    np.array([0.03, 0.006]),
)


def exchanger(flow: Any) -> Any:
    result = ht.effectiveness_NTU_method(
        mh=flow[0], mc=1.45, Cph=1860.0, Cpc=1900.0, Thi=130.0, Tci=15.0, UA=flow[1]
    )
    return 1e-3 * result["Q"] + result["Tho"] + result["NTU"]


def pipe(thickness: Any) -> Any:
    result = ht.cylindrical_heat_transfer(
        Ti=453.15, To=301.15, hi=1e12, ho=22.7, Di=0.0779, ts=list(thickness), ks=[56.0, 0.05]
    )
    return result["Q"] + result["Ts"][0]


def convection(speed: Any) -> Any:
    inside = ht.Nu_conv_internal(speed[0], speed[1], eD=1e-4)
    return inside + ht.conv_external.Nu_external_cylinder(0.1 * speed[0], speed[1])


def boiling(excess: Any) -> Any:
    liquid = {"rhol": 567.0, "rhog": 18.09, "mul": 156e-6, "kl": 0.086, "Cpl": 2300.0}
    flow = ht.boiling_flow.Chen_Bennett(
        m=0.106, x=0.2, D=0.0212, mug=7.11e-6, Hvap=9e5, sigma=0.02, dPsat=1e5, Te=excess, **liquid
    )
    pool = ht.Rohsenow(Hvap=9e5, sigma=0.02, Te=excess, Csf=0.011, n=1.26, **liquid)
    return flow + pool


def decayed(amount: Any) -> Any:
    start = radioactivedecay.Inventory({"Mo-99": amount, "I-123": 5.8}, "Bq")
    return start.decay(20.0, "h").activities()["Tc-99m"]


def waited(hours: Any) -> Any:
    start = radioactivedecay.Inventory({"U-238": 99.274, "Ra-226": 1e-3}, "g")
    later = start.decay(hours, "y")
    return 1e-3 * sum(later.activities("Bq").values()) + 1e3 * later.masses()["Pb-206"]


def decays(hours: Any) -> Any:
    start = radioactivedecay.Inventory({"Sr-90": 10.0}, "num")
    return start.cumulative_decays(hours, "y")["Y-90"] + sum(start.mole_fractions().values())


def brightness(redshift: Any) -> Any:
    return PLANCK.distanceModulus(redshift) + PLANCK.age(redshift) + PLANCK.growthFactor(redshift)


def halo(redshift: Any) -> Any:
    profile = profile_nfw.NFWProfile(M=1e12, mdef="200c", z=redshift, c=6.0)
    return 1e-10 * profile.enclosedMass(60.0) + profile.RDelta(redshift, "vir")


def redefined(redshift: Any) -> Any:
    mass, radius, c = mass_defs.changeMassDefinition(1e12, 8.0, redshift, "200c", "500c")
    return 1e-11 * mass + 1e-2 * radius + c


def height(redshift: Any) -> Any:
    nu = peaks.peakHeight(3e12, redshift)
    return nu + concentration.concentration(3e12, "200c", redshift, model="prada12")


def apparent(climate: Any) -> Any:
    shade = models.at(climate[0], climate[3], climate[2], round_output=False).at
    sun = models.at(climate[0], climate[3], climate[2], q=40.0, round_output=False).at
    return shade + 0.5 * sun + models.humidex(climate[0], climate[3], round_output=False).humidex


def body(climate: Any) -> Any:
    person = models.JOS3(height=1.7, weight=60.0, fat=20.0, age=30)
    person.tdb, person.tr, person.v, person.rh = climate
    person.clo, person.par = 0.6, 1.2
    person.simulate(times=3, dtime=60)
    return person.t_skin_mean + np.sum(person.t_core[:4])


def adapted(climate: Any) -> Any:
    chilled = models.wci(climate[0] - 35.0, climate[2] + 2.0, round_output=False).wci
    felt = models.net(climate[0], climate[3], climate[2], round_output=False).net
    radiant = utilities.mean_radiant_tmp(climate[1], climate[0], climate[2], 0.15, 0.95)
    return 1e-2 * chilled + felt + utilities.operative_tmp(climate[0], radiant, climate[2])


def moist(climate: Any) -> Any:
    air = utilities.psy_ta_rh(climate[0], climate[3])
    return 1e-3 * air.h + air.wet_bulb_tmp + air.dew_point_tmp + 1e3 * air.hr


def magnet(point: Any) -> Any:
    cube = magpylib.magnet.Cuboid(dimension=(0.9, 0.7, 0.6), polarization=(0.1, 0.2, 1.0))
    return np.sum(cube.getB(point) * [1.0, 2.0, 3.0])


def coils(point: Any) -> Any:
    ring = magpylib.current.Circle(diameter=0.8, current=1e5)
    rod = magpylib.magnet.Cylinder(dimension=(0.4, 0.7), polarization=(0.3, 0.0, 0.5))
    both = magpylib.Collection(ring, rod)
    both.rotate_from_angax(40.0, (1.0, 2.0, 0.5)).move((0.1, 0.0, -0.2))
    return np.sum(np.linalg.norm(both.getB([point, 2.0 * point]), axis=-1))


def wire(point: Any) -> Any:
    line = magpylib.current.Polyline(
        current=3e5, vertices=[(0.0, 0.1, -0.5), point, (0.2, -0.9, 0.3), (0.0, 0.1, -0.5)]
    )
    return np.sum(line.getB([(0.3, 0.4, 2.5), (-0.9, 0.5, 0.2)]) ** 2)


def dipoles(moment: Any) -> Any:
    field = magpylib.func.dipole_field("B", [(0.3, 0.4, 0.5), (-0.9, 0.5, 0.2)], 1e5 * moment)
    return np.sum(field * [1.0, 2.0, 3.0])


def gravity(point: Any) -> Any:
    place = unyt.unyt_array(point, "AU")
    distance = np.sqrt((place**2).sum())
    force = unyt.physical_constants.G * unyt.Msun * (2.0 * unyt.kg) / distance**2
    return force.to_value("mN")


def heated(temperature: Any) -> Any:
    kelvin = unyt.unyt_quantity(temperature, "degC").to("K")
    energy = kelvin.to_equivalent("eV", "thermal")
    return kelvin.value + energy.to("meV").value


def joined(point: Any) -> Any:
    both = np.concatenate(
        [unyt.unyt_array(point, "km"), unyt.unyt_array([3.0, 4.0], "mile").to("km")]
    )
    speed: Any = np.linalg.norm(np.diff(both)) / unyt.unyt_quantity(3.0, "minute")
    return speed.in_units("m/s").value


def weighed(point: Any) -> Any:
    density = np.exp(point) * unyt.g / unyt.cm**3
    volume = unyt.unyt_array([1.0, 2.0, 0.5], "L")
    return np.dot(density, volume).in_mks().value


ROWS: Final = (
    Row("ht", "effectiveness_NTU_method", exchanger, FLOWS),
    Row("ht", "cylindrical_heat_transfer", pipe, WALLS),
    Row("ht", "Nu_conv_internal", convection, SPEEDS),
    Row("ht", "boiling_flow.Chen_Bennett", boiling, (4.9, 8.2, 14.0)),
    Row("radioactivedecay", "Inventory.activities", decayed, (2.0, 7.5, 30.0)),
    Row("radioactivedecay", "Inventory.decay", waited, (3.0, 40.0, 500.0)),
    Row("radioactivedecay", "Inventory.cumulative_decays", decays, (3.0, 12.0, 55.0)),
    Row("colossus", "Cosmology.distanceModulus", brightness, (0.23, 0.71, 1.9)),
    Row("colossus", "NFWProfile.enclosedMass", halo, (0.23, 0.71, 1.9)),
    Row("colossus", "mass_defs.changeMassDefinition", redefined, (0.23, 0.71, 1.9)),
    Row("colossus", "peaks.peakHeight", height, (0.23, 0.71, 1.9)),
    Row("pythermalcomfort", "at", apparent, CLIMATES),
    Row("pythermalcomfort", "JOS3.simulate", body, CLIMATES),
    Row("pythermalcomfort", "net", adapted, CLIMATES),
    Row("pythermalcomfort", "psy_ta_rh", moist, CLIMATES),
    Row("magpylib", "magnet.Cuboid.getB", magnet, POINTS),
    Row("magpylib", "Collection.getB", coils, POINTS),
    Row("magpylib", "current.Polyline.getB", wire, POINTS),
    Row("magpylib", "func.dipole_field", dipoles, POINTS),
    Row("unyt", "unyt_array", gravity, POINTS),
    Row("unyt", "to_equivalent", heated, (15.0, 120.0, -40.0)),
    Row("unyt", "concatenate and norm", joined, POINTS),
    Row("unyt", "in_mks", weighed, POINTS),
)
