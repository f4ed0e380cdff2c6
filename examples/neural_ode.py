"""Fit a neural differential equation to the potential of a nerve cell.

The data are the fall of the potential after a spike, its undershoot and slow return, as recorded
from a cell (`membrane.dat`, which matplotlib carries; two samples a millisecond). A potential that
first falls and then rises through the same values cannot be the state of an equation of its own.
So there is a second variable that nobody measured, as in the model of FitzHugh and Nagumo. The
field is a small network; equation, first state and network are fitted by gradients through
`odeint`, and the adjoint gradient is compared with the checkpointed one.
"""

import argparse
import sys
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from matplotlib import cbook

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, random, tree
from tinyjax.implicit import odeint

Gradient: TypeAlias = Literal["adjoint", "checkpointed"]
WIDTH = 16
RATE = 0.02
WANTED = 0.15  # of the root mean square error, relative to the data's standard deviation


class Model(NamedTuple):
    """A network with one hidden layer, and the first value of the variable not measured."""

    inner: Array
    bias: Array
    outer: Array
    hidden: Array


class Recording(NamedTuple):
    """Potentials, scaled to mean 0 and variance 1, and their times, scaled to go from 0 to 1."""

    times: Array
    potentials: Array


def load() -> Recording:
    """Return the 65 milliseconds after the first spike's peak: all samples at first, then fewer."""
    path = cbook.get_sample_data("membrane.dat", asfileobj=False)
    potential = np.fromfile(path, np.float32).astype(np.float64)
    peak = int(np.argmax(potential[:1550]))
    chosen = np.array([*range(2, 20, 2), *range(20, 130, 10)])
    values = potential[peak + chosen]
    scaled = (values - values.mean()) / values.std()
    return Recording(jnp.asarray((chosen - 2) / 128), jnp.asarray(scaled))


def initial(key: Array) -> Model:
    first, second = random.split(key)
    inner = random.normal(first, (2, WIDTH), "float64")
    outer = random.normal(second, (WIDTH, 2), "float64") / WIDTH
    return Model(inner, jnp.zeros(WIDTH, "float64"), outer, jnp.zeros((), "float64"))


def field(state: Array, time: Array, model: Model) -> Array:
    """Return the derivatives of potential and hidden variable in time."""
    return 10.0 * jnp.tanh(state @ model.inner + model.bias) @ model.outer


def loss(
    model: Model, recording: Recording, gradient: Gradient = "adjoint", tolerance: float = 1e-6
) -> Array:
    """The mean square error of the potential."""
    start = jnp.stack([recording.potentials[0], model.hidden])
    states = odeint(
        field, start, recording.times, model, rtol=tolerance, atol=tolerance, gradient=gradient
    )
    return jnp.mean((states[:, 0] - recording.potentials) ** 2)


class State(NamedTuple):
    """A model in training, and what Adam remembers of its gradients."""

    model: Model
    mean: Model
    square: Model
    steps: Array


@tj.jit
def train_step(state: State, recording: Recording, rate: Array) -> tuple[State, Array]:
    """One step of Adam (Kingma and Ba, 2015)."""
    value, gradient = tj.value_and_grad(loss)(state.model, recording)
    steps = state.steps + 1
    mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, gradient)
    square = tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, state.square, gradient)
    size = rate * jnp.sqrt(1 - 0.99**steps) / (1 - 0.9**steps)
    model = tree.map(lambda p, m, v: p - size * m / (jnp.sqrt(v) + 1e-8), state.model, mean, square)
    return State(model, mean, square, steps), value


def difference(model: Model, recording: Recording) -> float:
    """The greatest difference between the two gradients, relative to the greatest element."""
    gradients = [
        jnp.concatenate([x.ravel() for x in tree.leaves(gradient)])
        for gradient in (
            tj.jit(tj.grad(partial(loss, gradient=kind, tolerance=1e-12)))(model, recording)
            for kind in get_args(Gradient)
        )
    ]
    greatest = jnp.max(jnp.abs(gradients[1]))
    return float(jnp.max(jnp.abs(gradients[0] - gradients[1])) / greatest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400, help="how many steps of training")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    recording = load()
    model = initial(random.key(options.seed))
    zeros = tree.map(jnp.zeros_like, model)
    state = State(model, zeros, zeros, jnp.zeros((), "float64"))
    for step in range(options.steps):
        rate = jnp.asarray(RATE * (1 - step / options.steps))
        state, value = train_step(state, recording, rate)
        if step % 100 == 0:
            print(f"step {step}: error {float(value) ** 0.5:.4f}")
    error = float(loss(state.model, recording)) ** 0.5
    print(f"root mean square error, relative to the standard deviation: {error:.4f}")
    print(f"adjoint and checkpointed gradient differ by {difference(state.model, recording):.1e}")
    return int(not error < WANTED)


if __name__ == "__main__":
    sys.exit(main())
