"""A sound, from its mel spectrogram.

A mel spectrogram says how loud a sound is, in bands, from moment to moment. Which sound has a given
one? Half of the numbers, and all phases, are lost. `librosa` computes the spectrogram, and is
called as it is; `tinyjax.source.capture` runs it on traced arrays, so SciPy's minimiser shapes
4,096 samples by their gradient. By differences one gradient takes 4,097 spectrograms.
"""

import sys
import time
from pathlib import Path
from typing import Any, Final

import librosa
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import tinyjax
from tinyjax import source

Vector = NDArray[np.float64]

RATE = 8000  # samples in a second
FRAMES: Final = {"n_fft": 256, "hop_length": 64}
SILENCE = 1e-3

# %%
# The spectrogram's logarithm, since ears hear ratios, and its distance from the target's.


def loudness(sound: Vector) -> Vector:
    """Return the logarithm of the mel spectrogram."""
    bands = librosa.feature.melspectrogram(y=sound, sr=RATE, n_mels=32, **FRAMES)
    result: Vector = np.log(bands + SILENCE)
    return result


def misfit(sound: Vector, target: Vector) -> np.floating[Any]:
    """Return the mean square of the difference."""
    return np.mean((loudness(sound) - target) ** 2)


# %%
# Two searches by SciPy, from noise, in one run on two cores: without `jac`, where SciPy takes
# differences, and with it. The first is stopped after as many evaluations as three gradients take,
# the second after 200 iterations. Its seconds include compilation.


def search(target: Vector, start: Vector, rounds: int) -> tuple[Vector, dict[str, float]]:
    """Return the sound by gradients, and what both searches took."""
    objective = tinyjax.jit(tinyjax.value_and_grad(source.capture(misfit)))
    record, optimum = dict[str, float](), start
    options = {"maxiter": rounds, "maxfun": 3 * len(start)}
    for name, function in (("differences", misfit), ("gradients", objective)):
        begin = time.perf_counter()
        jac = name == "gradients" or None
        result = minimize(function, start, target, "L-BFGS-B", jac=jac, options=options)
        record[f"seconds by {name}"] = time.perf_counter() - begin
        record |= {f"evaluations by {name}": result.nfev, f"misfit by {name}": result.fun}
        optimum = result.x
    return optimum, record


def error(sound: Vector, target: Vector, count: int = 40, step: float = 1e-5) -> float:
    """Compare the gradient in some samples with central differences."""
    gradient = np.asarray(tinyjax.grad(source.capture(misfit))(sound, target))
    chosen = np.linspace(0, len(sound) - 1, count).astype(int)
    moves = step * np.eye(len(sound))[chosen]
    ends = [misfit(sound + d, target) - misfit(sound - d, target) for d in moves]
    slopes = np.array(ends) / (2 * step)
    return float(np.max(np.abs(gradient[chosen] - slopes)) / np.max(np.abs(slopes)))


# %%
# The target is the call of a bird: two notes with an overtone. `librosa` has an inverse of its own,
# the iterations of Griffin and Lim, which are what people use today.


def call(size: int) -> Vector:
    note = (2 * np.arange(size) / size) % 1.0
    pitch = 700 + 900 * note**2 + 300 * (np.arange(size) > size / 2)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    result: Vector = np.sin(np.pi * note) ** 2 * (np.sin(phase) + 0.4 * np.sin(2 * phase))
    return result


def main(path: str = "sound.png", *, size: int = 4096, rounds: int = 200) -> dict[str, float]:
    rng = np.random.default_rng(0)
    target = loudness(call(size))
    start = 0.01 * rng.normal(size=size)
    spectrum = librosa.feature.inverse.mel_to_stft(np.exp(target) - SILENCE, sr=RATE, n_fft=256)
    reference = librosa.griffinlim(spectrum, n_iter=64, length=size, random_state=0, **FRAMES)
    reference = reference.astype(np.float64)
    estimate, record = search(target, start, rounds)
    sounds = (target, loudness(reference), loudness(estimate))
    draw(path, sounds, size / RATE)
    return {
        "samples": size,
        "gradient against differences": error(start, target),
        "misfit by librosa's inverse": float(misfit(reference, target)),
        **record,
    }


def draw(path: str, sounds: tuple[Vector, ...], seconds: float) -> None:
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(9.6, 3.0), sharey=True)
    names = ("Target", "By librosa's inverse", "By gradients")
    for axis, name, values in zip(axes, names, sounds, strict=True):
        extent = (0.0, seconds, 0.0, float(len(values)))
        low, high = np.log(SILENCE), sounds[0].max()
        axis.imshow(values, origin="lower", aspect="auto", extent=extent, vmin=low, vmax=high)
        axis.set(title=name, xlabel="seconds")
    axes[0].set(ylabel="mel band")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
