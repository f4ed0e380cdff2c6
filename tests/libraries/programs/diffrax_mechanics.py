"""Symplectic steps, a solver of one's own, forcing, clipped steps, and higher derivatives."""

from typing import ClassVar

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = 1e-3


class Ralston3(dfx.AbstractERK):
    """A method of third order by its table."""

    tableau: ClassVar[dfx.ButcherTableau] = dfx.ButcherTableau(
        c=np.array([1 / 2, 3 / 4]),
        b_sol=np.array([2 / 9, 1 / 3, 4 / 9]),
        b_error=np.array([2 / 9, 1 / 3 - 1.0, 4 / 9]),
        a_lower=(np.array([1 / 2]), np.array([0.0, 3 / 4])),
    )
    interpolation_cls: ClassVar = dfx.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms):
        return 3


@eqx.filter_jit
def orbit(start):
    """Two bodies, by steps that keep the energy bounded."""
    pull = dfx.ODETerm(lambda t, x, args: -x / jnp.linalg.norm(x) ** 3)
    move = dfx.ODETerm(lambda t, v, args: v)
    return dfx.diffeqsolve(
        (move, pull),
        dfx.SemiImplicitEuler(),
        0.0,
        6.0,
        0.02,
        (start, jnp.array([0.0, 1.1])),
        saveat=dfx.SaveAt(ts=jnp.linspace(0.0, 6.0, 5)),
    ).ys[0]


@eqx.filter_jit
def driven(args, solver):
    """A pendulum that is pushed at certain times, at which the steps end."""
    times = jnp.array([1.0, 2.5])

    def field(t, y, args):
        strength, drag = args
        push = jnp.where((t > times[0]) & (t < times[1]), strength, 0.0)
        return jnp.stack([y[1], push - jnp.sin(y[0]) - drag * y[1]])

    controller = dfx.ClipStepSizeController(
        dfx.PIDController(rtol=1e-4, atol=1e-5), jump_ts=times, store_rejected_steps=64
    )
    return dfx.diffeqsolve(
        dfx.ODETerm(field),
        solver,
        0.0,
        4.0,
        0.1,
        jnp.array([0.5, 0.0]),
        args=args,
        stepsize_controller=controller,
        max_steps=256,
    ).ys[0]


def main():
    results = {"orbit": orbit(jnp.array([1.0, 0.0]))}
    results["orbit tangent"] = jax.jacrev(orbit)(jnp.array([1.0, 0.0]))[-1]
    args = jnp.array([0.8, 0.1])
    for name, solver in {"own": Ralston3(), "half": dfx.HalfSolver(dfx.Midpoint())}.items():
        results[name] = driven(args, solver)

    @eqx.filter_jit
    @jax.hessian
    def curvature(y0):
        return dfx.diffeqsolve(
            dfx.ODETerm(lambda t, y, args: -(y**2)),
            dfx.Tsit5(),
            0.0,
            1.0,
            0.1,
            y0,
            adjoint=dfx.DirectAdjoint(),
            max_steps=16,
        ).ys[0]

    results["curvature"] = curvature(0.7)
    slopes = jax.vmap(jax.jacrev(lambda a: driven(a, dfx.Bosh3())))
    results["slopes"] = slopes(jnp.stack([args, args * 1.5, args * 0.2]))
    return results
