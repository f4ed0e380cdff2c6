"""Sound and weather: librosa, metpy, windpowerlib."""

from typing import Any, Final

import librosa
import metpy.calc
import numpy as np
from metpy.units import units
from windpowerlib import density, power_output, wind_speed

from packages.row import Row

FREQUENCIES: Final = (440.0, 500.0, 2000.0)
NOISE: Final = np.random.default_rng(0).normal(size=24)
SIGNALS: Final = (NOISE[:8], NOISE[8:16], NOISE[16:])
SPEEDS: Final = (5.0, 7.0, 9.0)


def energy(signal: Any) -> Any:
    spectrum = librosa.stft(signal, n_fft=16, hop_length=4, window=np.hanning(16))
    return np.sum(np.abs(spectrum) ** 2)


def equivalent(dew_point: Any) -> Any:
    kelvin, dew_kelvin = units.Quantity(293.0, "K"), units.Quantity(dew_point, "K")
    result = metpy.calc.equivalent_potential_temperature(850.0 * units.hPa, kelvin, dew_kelvin)
    return result.m_as("K")


def heat_index(fahrenheit: Any) -> Any:
    quantity = units.Quantity(fahrenheit[None], "degF")
    return metpy.calc.heat_index(quantity, np.array([0.6])).m_as("K")[0]


def power(speeds: Any) -> Any:
    curve = np.array([0.0, 5.0, 10.0, 15.0]), np.array([0.0, 1e5, 1e6, 2e6])
    return np.sum(power_output.power_curve(speeds, *curve))


ROWS: Final = (
    Row("librosa", "hz_to_mel", librosa.hz_to_mel, FREQUENCIES),
    Row("librosa", "hz_to_midi", librosa.hz_to_midi, FREQUENCIES),
    Row(
        "librosa",
        "amplitude_to_db",
        lambda s: np.sum(librosa.amplitude_to_db(s)),
        (np.array([1.0, 2.0]), np.array([0.5, 0.7]), np.array([3.0, 0.4])),
    ),
    Row("librosa", "A_weighting", librosa.A_weighting, FREQUENCIES),
    Row("librosa", "stft", energy, SIGNALS),
    # it computes in 32-bit floats
    Row(
        "librosa",
        "feature.rms",
        lambda y: np.sum(librosa.feature.rms(y=y, frame_length=8, hop_length=4)),
        SIGNALS,
        step=3e-2,
        tolerance=1e-3,
        rounding=1e-6,
    ),
    Row(
        "metpy",
        "saturation_vapor_pressure",
        lambda t: metpy.calc.saturation_vapor_pressure(t * units.kelvin).m_as("Pa"),
        (290.0, 280.0, 300.0),
        tolerance=1e-4,
    ),
    Row(
        "metpy",
        "potential_temperature",
        lambda p: metpy.calc.potential_temperature(p * units.hPa, 290.0 * units.kelvin).m_as("K"),
        (900.0, 800.0, 700.0),
    ),
    Row("metpy", "equivalent_potential_temperature", equivalent, (285.0, 280.0, 290.0)),
    Row(
        "metpy",
        "wind_speed",
        lambda u: metpy.calc.wind_speed(u * units("m/s"), 3.0 * units("m/s")).m,
        (4.0, 5.0, 6.0),
    ),
    Row(
        "metpy",
        "dewpoint",
        lambda e: metpy.calc.dewpoint(e * units.hPa).m_as("K"),
        (12.0, 15.0, 20.0),
    ),
    Row("metpy", "heat_index", heat_index, (90.0, 95.0, 100.0), tolerance=1e-4),
    Row(
        "windpowerlib",
        "logarithmic_profile",
        lambda v: wind_speed.logarithmic_profile(v, 10.0, 100.0, 0.1),
        SPEEDS,
    ),
    Row("windpowerlib", "hellman", lambda v: wind_speed.hellman(v, 10.0, 100.0, 0.1), SPEEDS),
    Row(
        "windpowerlib",
        "density.barometric",
        lambda p: density.barometric(p, 10.0, 100.0, 280.0),
        (101000.0, 100000.0, 99000.0),
    ),
    Row(
        "windpowerlib",
        "power_curve",
        power,
        (np.array([6.0, 7.0]), np.array([3.0, 8.0]), np.array([11.0, 12.0])),
    ),
)
