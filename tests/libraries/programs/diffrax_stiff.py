"""Solve stiff equations by every implicit method; split them into stiff and not."""

import diffrax as dfx
import equinox as eqx
import jax.numpy as jnp
import optimistix as optx

TOLERANCE = 2e-3
SOLVERS = {
    "implicit euler": dfx.ImplicitEuler(root_finder=optx.Newton(1e-5, 1e-6)),
    "kvaerno3": dfx.Kvaerno3(),
}


class Robertson(eqx.Module):
    k1: float
    k2: float
    k3: float

    def __call__(self, t, y, args):
        a = self.k1 * y[0]
        b = self.k2 * y[1] ** 2
        c = self.k3 * y[1] * y[2]
        return jnp.stack([-a + c, a - b - c, b])


@eqx.filter_jit
def solve(solver, field):
    controller = (
        dfx.StepTo(jnp.linspace(0.0, 2.0, 201))
        if isinstance(solver, dfx.ImplicitEuler)
        else dfx.PIDController(pcoeff=0.3, icoeff=0.4, rtol=1e-5, atol=1e-7, dtmax=1.0)
    )
    return dfx.diffeqsolve(
        dfx.ODETerm(field),
        solver,
        0.0,
        2.0,
        None if isinstance(controller, dfx.StepTo) else 1e-3,
        jnp.array([1.0, 0.0, 0.0]),
        saveat=dfx.SaveAt(ts=jnp.array([0.0, 0.01, 0.5, 2.0])),
        stepsize_controller=controller,
    ).ys


@eqx.filter_jit
def spread(strength):
    """A reaction with diffusion: the diffusion implicitly, the reaction explicitly."""
    n = 12

    def diffusion(t, y, args):
        return strength * 60.0 * (jnp.roll(y, 1) + jnp.roll(y, -1) - 2 * y)

    def reaction(t, y, args):
        return y * (1 - y)

    start = jnp.exp(-((jnp.arange(n) - n / 2) ** 2) / 4)
    return dfx.diffeqsolve(
        dfx.MultiTerm(dfx.ODETerm(reaction), dfx.ODETerm(diffusion)),
        dfx.Sil3(),
        0.0,
        0.5,
        0.02,
        start,
        stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-6),
        saveat=dfx.SaveAt(t1=True),
        max_steps=256,
    ).ys[0]


def main():
    results = {}
    for name, solver in SOLVERS.items():
        results[name] = solve(solver, Robertson(0.04, 3e4, 1e2)) * jnp.array([1.0, 1e3, 1.0])
    results["spread"] = spread(1.0)
    slope = eqx.filter_grad(lambda f: solve(SOLVERS["kvaerno3"], f)[-1, 2])
    results["by rate"] = slope(Robertson(jnp.array(0.04), 3e4, 1e2)).k1
    return results
