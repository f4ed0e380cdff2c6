"""The eighth set: entropies, sound around a head, graphs, proximal splitting, and tensor trains."""

import logging
import warnings
from typing import Any, Final

import EntropyHub
import numpy as np
import spaudiopy
import teneva
from pygsp import filters, graphs, learning, reduction
from pyunlocbox import functions, solvers
from vmdpy import VMD

from packages.row import Row

warnings.filterwarnings("ignore")
logging.getLogger("pygsp").setLevel(logging.ERROR)

SHAPES: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)
TIMES: Final = np.linspace(0.0, 1.0, 64, endpoint=False)


def wave(shape: Any) -> Any:
    slow = (1.0 + 0.2 * shape[0]) * np.cos(2.0 * np.pi * 3.0 * TIMES + shape[1])
    return slow + 0.5 * np.cos(2.0 * np.pi * (12.0 + shape[2]) * TIMES) + 0.1 * NOISE[:64]


def fuzzy(shape: Any) -> Any:
    entropy, _, _ = EntropyHub.FuzzEn(wave(shape)[:40], m=2, r=(0.3, 2.0))
    return np.sum(np.asarray(entropy)) + shape[3]


def spectral(shape: Any) -> Any:
    entropy, band = EntropyHub.SpecEn(wave(shape), N=64, Freqs=(0.1, 0.6))
    return entropy + band + shape[3]


def crossed(shape: Any) -> Any:
    entropy, _, _ = EntropyHub.XFuzzEn(wave(shape)[:30], NOISE[:30] * (1.0 + 0.1 * shape[3]))
    return np.sum(np.asarray(entropy))


def modes(shape: Any) -> Any:
    u, _, omega = VMD(wave(shape), 200.0, 0.0, 2, 0, 1, 1e-30)
    return np.sum(u**2) + 10.0 * np.sum(omega[-1])


def panned(shape: Any) -> Any:
    x, y, z = [1.0, -1.0, 0.0, 0.0, 0.0, 0.0], [0, 0, 1.0, -1.0, 0, 0], [0, 0, 0, 0, 1.0, -1.0]
    speakers = spaudiopy.decoder.LoudspeakerSetup(x, y, z)
    directions = np.array([[0.5, 0.3, 0.7], [-0.2, 0.8, -0.4]]) + 0.1 * shape[:2, None]
    gains = spaudiopy.decoder.vbap(directions, speakers)
    vector, strength = spaudiopy.sph.r_E(np.stack([x, y, z], axis=-1), gains)
    return np.sum(gains**3) + np.sum(vector * shape[2]) + np.sum(strength**2)


def turned(shape: Any) -> Any:
    rotation = spaudiopy.utils.rotation_euler(shape[0], shape[1], shape[3])
    aligned = spaudiopy.utils.rotation_vecvec([1.0, 0.5, 0.2], [0.3, 1.0, shape[2]])
    directions = spaudiopy.utils.vec2dir((rotation @ NOISE[:12].reshape(3, 4)).T)
    distance = spaudiopy.utils.haversine(shape[0], 1.0, shape[1], 1.4)
    delay = spaudiopy.process.lagrange_delay(4, 1.5 + 0.2 * shape[2])
    return np.sum(aligned**3) + np.sum(directions**2) + distance + np.sum(delay**2)


def graph(shape: Any) -> Any:
    weights = np.zeros((6, 6))
    for k, (i, j) in enumerate([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4)]):
        weights[i, j] = weights[j, i] = 1.0 + 0.3 * shape[k % 4] * (0.5 + k / 8)
    return graphs.Graph(weights, coords=NOISE[:12].reshape(6, 2))


def fourier(shape: Any) -> Any:
    network = graph(shape)
    network.compute_fourier_basis()
    transformed = network.gft(NOISE[:6])
    return np.sum(network.e**2) + np.sum(transformed**4) + network.dirichlet_energy(NOISE[6:12])


def heat(shape: Any) -> Any:
    network = graphs.Ring(N=12)
    network.estimate_lmax()
    kernel = filters.Heat(network, scale=[2.0 + shape[0], 5.0 + shape[1]])
    filtered = kernel.filter(NOISE[:12] * shape[2], order=20)
    exact = filters.MexicanHat(network, Nf=3).filter(NOISE[:12] + shape[3], method="exact")
    return np.sum(filtered**2) + np.sum(exact**2)


def recovered(shape: Any) -> Any:
    network = graphs.Path(N=10)
    mask = np.arange(10) % 3 != 1
    signal = NOISE[:10] * shape[0] + np.outer(np.linspace(0.0, 1.0, 10), shape).sum(axis=1)
    smooth = learning.regression_tikhonov(network, signal, mask, tau=0.5)
    filled = learning.regression_tikhonov(network, signal, mask, tau=0)
    return np.sum(smooth**2) + np.sum(filled**3)


def reduced(shape: Any) -> Any:
    smaller = reduction.kron_reduction(graph(shape), [0, 2, 3, 5])
    return np.sum(smaller.W.toarray() ** 2) + np.sum(smaller.dw**3)


def lasso(shape: Any) -> Any:
    design = NOISE[:80].reshape(20, 4)
    data = design @ np.array([1.0, 0.0, -2.0, 0.5]) + np.repeat(shape, 5) * 0.3
    fidelity = functions.norm_l2(y=data, A=design)
    penalty = functions.norm_l1(lambda_=0.4)
    solver = solvers.forward_backward(step=0.5 / np.linalg.norm(design, 2) ** 2)
    solution = solvers.solve([fidelity, penalty], np.zeros(4), solver, rtol=0.0, maxit=40,
                             verbosity="NONE")  # fmt: skip
    return np.sum(solution["sol"] ** 2) + solution["objective"][-1][0]


def split(shape: Any) -> Any:
    data = np.repeat(shape, 3) + 0.2 * NOISE[:12]
    fidelity = functions.norm_l2(y=data, lambda_=2.0)
    bounded = functions.proj_positive()
    solver = solvers.douglas_rachford(step=0.7)
    solution = solvers.solve([fidelity, bounded], data, solver, rtol=0.0, maxit=20,
                             verbosity="NONE")  # fmt: skip
    return np.sum(solution["sol"] ** 3)


def smoothed(shape: Any) -> Any:
    image = np.outer(np.exp(shape), 1.0 + NOISE[:4] * 0.3) + NOISE[20:36].reshape(4, 4)
    total = functions.norm_tv(dim=2, maxit=20, tol=0.0, verbosity="NONE").prox(image, 0.3)
    nuclear = functions.norm_nuclear(verbosity="NONE").prox(image, 0.2)
    return np.sum(total**2) + np.sum(nuclear**2)


def train(shape: Any) -> Any:
    cores = [NOISE[:8].reshape(1, 4, 2) + shape[0], NOISE[8:24].reshape(2, 4, 2) * shape[1],
             NOISE[24:32].reshape(2, 4, 1) - shape[2]]  # fmt: skip
    return [core + 0.1 * shape[3] for core in cores]


def trains(shape: Any) -> Any:
    tensor = train(shape)
    product = teneva.mul(tensor, teneva.add(tensor, 2.0))
    small = teneva.truncate(product, e=1e-12, r=2)
    return teneva.sum(product) + teneva.norm(small) + teneva.mul_scalar(tensor, small) / 10.0


def decomposed(shape: Any) -> Any:
    full = teneva.full(train(shape)) + NOISE[:64].reshape(4, 4, 4) * 1e-2
    tensor = teneva.svd(full, e=1e-14, r=2)
    indices = np.array([[0, 1, 2], [3, 2, 1], [1, 1, 0]])
    return np.sum(teneva.get_many(tensor, indices) ** 2) + teneva.mean(tensor)


def alternating(shape: Any) -> Any:
    indices = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    values = teneva.get_many(train(shape), indices) + 0.05 * NOISE[:64]
    start = [NOISE[:8].reshape(1, 4, 2), NOISE[8:24].reshape(2, 4, 2),
             NOISE[24:32].reshape(2, 4, 1)]  # fmt: skip
    tensor = teneva.als(indices, values, start, nswp=3, e=None)
    return np.sum(teneva.full(tensor) ** 2)


ROWS: Final = (
    Row("EntropyHub", "FuzzEn", fuzzy, SHAPES, step=1e-5),
    Row("EntropyHub", "SpecEn", spectral, SHAPES),
    Row("EntropyHub", "XFuzzEn", crossed, SHAPES, step=1e-6, tolerance=1e-4),
    Row("vmdpy", "VMD", modes, SHAPES),
    Row("spaudiopy", "decoder.vbap", panned, SHAPES),
    Row("spaudiopy", "utils.rotation_euler", turned, SHAPES),
    Row("pygsp", "Graph.gft", fourier, SHAPES),
    Row("pygsp", "filters.Heat", heat, SHAPES),
    Row("pygsp", "learning.regression_tikhonov", recovered, SHAPES),
    Row("pygsp", "reduction.kron_reduction", reduced, SHAPES),
    Row("pyunlocbox", "forward_backward", lasso, SHAPES),
    Row("pyunlocbox", "douglas_rachford", split, SHAPES, step=1e-4),
    Row("pyunlocbox", "norm_tv.prox", smoothed, SHAPES, step=1e-4),
    Row("teneva", "truncate", trains, SHAPES),
    Row("teneva", "svd", decomposed, SHAPES),
    Row("teneva", "als", alternating, SHAPES),
)
