"""dynamiqs: an oscillator that loses energy, and the derivative in the rate."""

import dynamiqs as dq
import jax
import jax.numpy as jnp

TOLERANCE = 1e-3


def main():
    lower = dq.destroy(8)
    number = dq.dag(lower) @ lower
    start, times = dq.coherent(8, 1.0), jnp.linspace(0.0, 1.0, 5)

    def decayed(rate):
        jumps = [jnp.sqrt(rate) * lower]
        return dq.mesolve(number, jumps, start, times, exp_ops=[lower, number]).expects

    return {
        "expectations": decayed(0.1),
        "slope": jax.grad(lambda rate: decayed(rate)[1, -1].real)(0.2),
        "pure": dq.sesolve(number, start, times).states.to_jax(),
    }
