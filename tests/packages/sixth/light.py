"""The sixth set: lenses, beams, polarization, resonance spectra, and scattering."""

import warnings
from typing import Any, Final

import numpy as np
import periodictable
from nmrglue.analysis import lineshapes1d
from nmrglue.process import proc_base, proc_bl, proc_lp
from periodictable import nsf, xsf
from pypolar import ellipsometry, fresnel, jones, mueller
from raytracing import (
    Aperture,
    CurvedMirror,
    DielectricInterface,
    GaussianBeam,
    ImagingPath,
    LaserCavity,
    Lens,
    Ray,
    Space,
    ThickLens,
)

from packages.row import Row

warnings.filterwarnings("ignore")

FOCALS: Final = (np.array([50.0, 80.0]), np.array([35.0, 120.0]), np.array([64.0, 75.0]))
ANGLES: Final = (np.array([0.4, 1.1, 0.3]), np.array([-0.3, 0.6, 0.7]), np.array([0.9, 2.1, -0.5]))
DECAYS: Final = (np.array([3.0, 0.2, 1.4]), np.array([2.2, 0.5, 0.6]), np.array([4.1, 0.3, 2.3]))
DENSITIES: Final = (np.array([2.2, 8.0]), np.array([1.3, 6.5]), np.array([3.6, 9.2]))
TIMES: Final = np.arange(64.0)


def imaged(focal: Any) -> Any:
    path = ImagingPath(elements=[Space(d=90.0), Lens(f=focal[0], diameter=25.0), Space(d=145.0)])
    path.append(Lens(f=focal[1], diameter=30.0))
    path.append(Space(d=60.0))
    distance, conjugate = path.forwardConjugate()
    back, front = path.effectiveFocalLengths()
    return distance + conjugate.magnification().transverse + back + 0.5 * front


def thick(focal: Any) -> Any:
    lens = ThickLens(n=1.5, R1=focal[0], R2=-focal[1], thickness=8.0)
    surface = DielectricInterface(n1=1.0, n2=1.7, R=2.0 * focal[1])
    ray = (Space(d=20.0, n=1.7) * surface * lens) * Ray(y=5.0, theta=0.02)
    return lens.backFocalLength() + lens.frontFocalLength() + ray.y + 100.0 * ray.theta


def stopped(focal: Any) -> Any:
    path = ImagingPath()
    path.append(Space(d=150.0))
    path.append(Lens(f=focal[0], diameter=20.0))
    path.append(Space(d=30.0))
    path.append(Aperture(diameter=8.0))
    path.append(Space(d=90.0))
    path.append(Lens(f=focal[1], diameter=40.0))
    path.append(Space(d=90.0))
    upper, lower = path.marginalRays()
    return path.fNumber() + 10.0 * (upper.theta - lower.theta) + path.entrancePupil().diameter


def resonant(focal: Any) -> Any:
    cavity = LaserCavity()
    cavity.append(Space(d=60.0))
    cavity.append(CurvedMirror(R=-4.0 * focal[0]))
    cavity.append(Space(d=60.0))
    cavity.append(CurvedMirror(R=-5.0 * focal[1]))
    (mode,) = cavity.laserModes()
    beam = Lens(f=focal[1]) * (Space(d=20.0) * GaussianBeam(w=0.3))
    return mode.w + mode.waist + beam.w + beam.waistPosition + 1e-3 * beam.zo


def polarized(angle: Any) -> Any:
    field = jones.field_elliptical(angle[0], 0.4 * angle[2])
    after = jones.op_retarder(0.3, angle[1]) @ jones.op_linear_polarizer(angle[2]) @ field
    before = jones.op_quarter_wave_plate(angle[1]) @ field
    return jones.intensity(after) + jones.ellipse_azimuth(before) + jones.ellipticity_angle(before)


def partial(angle: Any) -> Any:
    light = mueller.stokes_elliptical(0.7, angle[0], 0.3 * angle[2])
    passed = mueller.op_retarder(angle[1], 0.8) @ mueller.op_attenuator(0.6) @ light
    mirror = mueller.op_fresnel_reflection(1.5 - 0.2j, 0.3 + 0.1 * angle[0]) @ passed
    return mueller.ellipse_orientation(passed) + mueller.degree_of_polarization(mirror) + passed[3]


def reflected(angle: Any) -> Any:
    index = 1.4 + 0.3 * angle[1] - 0.5j
    theta = 0.6 + 0.2 * angle[0]
    amplitude = fresnel.r_par_amplitude(index, theta) * fresnel.t_per_amplitude(index, theta)
    return fresnel.R_unpolarized(index, theta) + fresnel.T_par(1.5, theta) + np.abs(amplitude)


def measured(angle: Any) -> Any:
    phi = np.linspace(0.0, np.pi, 24, endpoint=False)
    index = 1.6 + 0.2 * angle[1] - 1.1j
    signal = ellipsometry.rotating_analyzer_signal_from_m(phi, index, 1.2, 0.5 + 0.1 * angle[0])
    rho, _ = ellipsometry.rho_from_rotating_analyzer_data(phi, signal, 0.6)
    psi, delta = ellipsometry.tanpsi_Delta_from_rho(rho)
    return np.sum(signal**2) + psi + delta + np.abs(ellipsometry.m_from_rho(rho, 1.1))


def induction(decay: Any) -> Any:
    slow = np.exp((0.4j - 0.02 * decay[0]) * TIMES)
    return slow + decay[1] * np.exp((1.3j - 0.05) * TIMES + 0.2j * decay[2])


def transformed(decay: Any) -> Any:
    data = proc_base.em(induction(decay), lb=0.02)
    data = proc_base.zf_size(proc_base.sp(data, off=0.35, end=0.95, pow=2), 128)
    spectrum = proc_base.ps(proc_base.fft(data), p0=20.0, p1=-12.0)
    return np.sum(proc_base.di(proc_base.rev(spectrum)) ** 2) / 100.0


def levelled(decay: Any) -> Any:
    spectrum = proc_base.fft_norm(induction(decay)).real + 0.01 * TIMES
    flat = proc_bl.base(spectrum, [2, 20, 40, 60], nw=2)
    return np.sum(proc_bl.sol_gaussian(flat, w=4) ** 2) + np.sum(
        proc_bl.cbf(spectrum, last=20) ** 2
    )


def predicted(decay: Any) -> Any:
    signal = induction(decay)[:32]
    longer = proc_lp.lp(signal, pred=6, order=4)
    return np.sum(np.abs(longer[32:]) ** 2) + longer[34].real


def lines(decay: Any) -> Any:
    x = np.linspace(-6.0, 6.0, 25)
    voigt = lineshapes1d.sim_voigt_fwhm(x, decay[1], decay[0], decay[2])
    mixture = lineshapes1d.sim_pvoigt_fwhm(x, decay[1], decay[0], 0.4)
    gauss = lineshapes1d.sim_gauss_sigma(x, 0.0, decay[2])
    return np.sum(voigt**2 + mixture * gauss) + np.sum(lineshapes1d.sim_lorentz_gamma(x, 1, 2.0))


def neutrons(numbers: Any) -> Any:
    sld, sections, depth = periodictable.neutron_scattering(
        "CaCO3", density=numbers[0], wavelength=numbers[1]
    )
    return sld[0] + 1e3 * sld[1] + sections[2] + 0.1 * depth


def contrast(numbers: Any) -> Any:
    real, imaginary, incoherent = nsf.D2O_sld(
        "C3H4H[1]NO@1.29n", volume_fraction=0.1 * numbers[0], D2O_fraction=0.08 * numbers[1]
    )
    return real + 1e3 * imaginary + incoherent


def x_rays(numbers: Any) -> Any:
    rho, irho = xsf.xray_sld("SiO2", density=numbers[0], energy=numbers[1])
    angles = np.array([0.15, 0.4, 0.9])
    mirror = xsf.mirror_reflectivity(
        "Ni", density=8.9, energy=numbers[1], angle=angles, roughness=numbers[0]
    )
    return rho + 10.0 * irho + np.sum(np.log(mirror))


def compounds(numbers: Any) -> Any:
    mixture = periodictable.mix_by_weight("H2O@1", 3.0, "NaCl@2.16", 1.0 + 0.1 * numbers[0])
    crystal = periodictable.formula("SiO2", density=numbers[0])
    volume = crystal.volume(a=4.9 + 0.1 * numbers[0], b=4.9, c=numbers[1], gamma=120.0)
    return mixture.density + mixture.mass / 100.0 + 1e-2 * volume


ROWS: Final = (
    Row("raytracing", "ImagingPath.forwardConjugate", imaged, FOCALS),
    Row("raytracing", "ThickLens", thick, FOCALS),
    Row("raytracing", "ImagingPath.marginalRays", stopped, FOCALS),
    Row("raytracing", "LaserCavity.laserModes", resonant, FOCALS),
    Row("pypolar", "jones", polarized, ANGLES),
    Row("pypolar", "mueller", partial, ANGLES),
    Row("pypolar", "fresnel", reflected, ANGLES),
    Row("pypolar", "ellipsometry", measured, ANGLES),
    Row("nmrglue", "proc_base", transformed, DECAYS),
    Row("nmrglue", "proc_bl.base", levelled, DECAYS),
    Row("nmrglue", "proc_lp.lp", predicted, DECAYS),
    Row("nmrglue", "lineshapes1d", lines, DECAYS),
    Row("periodictable", "neutron_scattering", neutrons, DENSITIES),
    Row("periodictable", "nsf.D2O_sld", contrast, DENSITIES),
    Row("periodictable", "xsf.mirror_reflectivity", x_rays, DENSITIES, step=1e-4),
    Row("periodictable", "mix_by_weight", compounds, DENSITIES),
)
