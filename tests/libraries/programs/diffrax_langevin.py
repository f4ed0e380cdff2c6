"""Stochastic equations: Langevin dynamics, noise of each kind, and a latent path's likelihood."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp

TOLERANCE = 2e-3
ADDITIVE = {"sra1": dfx.SRA1(), "sea": dfx.SEA()}
GENERAL = {
    "milstein": dfx.StratonovichMilstein(),
    "spark": dfx.SPaRK(),
}


@eqx.filter_jit
def solve(solver, key, noise):
    brownian = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (), key, dfx.SpaceTimeLevyArea)
    drift = dfx.ODETerm(lambda t, y, args: -y + jnp.sin(t))
    diffusion = (lambda t, y, args: 0.3) if noise == "additive" else (lambda t, y, args: 0.3 * y)
    terms = dfx.MultiTerm(drift, dfx.ControlTerm(diffusion, brownian))
    saveat = dfx.SaveAt(ts=jnp.linspace(0.0, 1.0, 4))
    return dfx.diffeqsolve(terms, solver, 0.0, 1.0, 0.05, jnp.array(1.0), saveat=saveat).ys


@eqx.filter_jit
def langevin(key, friction):
    """A particle in a double well, in a heat bath.

    Coefficients of steps are Taylor's series: in closed form, they cancel in float32, where one ulp
    of the friction moves the particle by 2%.
    """
    slope = lambda x, args: x**3 - x
    brownian = dfx.VirtualBrownianTree(0.0, 2.0, 1e-2, (2,), key, dfx.SpaceTimeTimeLevyArea)
    terms = dfx.MultiTerm(
        dfx.UnderdampedLangevinDriftTerm(friction, 1.0, slope),
        dfx.UnderdampedLangevinDiffusionTerm(friction, 1.0, brownian),
    )
    start = (jnp.array([0.5, -0.5]), jnp.zeros(2))
    saveat = dfx.SaveAt(ts=jnp.array([0.5, 1.0, 2.0]))
    return dfx.diffeqsolve(terms, dfx.ShOULD(0.1), 0.0, 2.0, 0.05, start, saveat=saveat).ys[0]


@eqx.filter_jit
@jax.value_and_grad
def price(volatility, keys):
    """The mean of a payoff over paths, and its derivative through them."""

    def payoff(key):
        noise = dfx.VirtualBrownianTree(0.0, 1.0, 0.05, (), key)
        terms = dfx.MultiTerm(
            dfx.ODETerm(lambda t, y, args: 0.05 * y),
            dfx.ControlTerm(lambda t, y, args: args * y, noise),
        )
        solution = dfx.diffeqsolve(
            terms,
            dfx.Euler(),
            0.0,
            1.0,
            0.1,
            jnp.array(1.0),
            args=volatility,
            adjoint=dfx.DirectAdjoint(),
            max_steps=16,
        )
        return jax.nn.softplus(10 * (solution.ys[0] - 1.0)) / 10

    return jnp.mean(jax.vmap(payoff)(keys))


@eqx.filter_jit
def reversible(key, scale):
    brownian = dfx.VirtualBrownianTree(0.0, 1.0, 1e-2, (2,), key)
    drift = dfx.ODETerm(lambda t, y, args: jnp.tanh(y[::-1]))
    mix = jnp.array([[0.2, 0.1], [-0.1, 0.3]])
    diffusion = dfx.ControlTerm(lambda t, y, args: args * mix, brownian)
    return dfx.diffeqsolve(
        dfx.MultiTerm(drift, diffusion),
        dfx.ReversibleHeun(),
        0.0,
        1.0,
        0.1,
        jnp.array([0.1, 0.2]),
        args=scale,
    ).ys[0]


def main():
    key = jax.random.PRNGKey(7)
    results = {}
    for name, solver in ADDITIVE.items():
        results[name] = solve(solver, key, "additive")
    for name, solver in GENERAL.items():
        results[f"{name} general"] = solve(solver, key, "general")
    results["langevin"] = langevin(key, 0.8)
    value, slope = price(0.2, jax.random.split(key, 20))
    results["price"], results["slope"] = value, slope
    results["reversible"] = reversible(key, 1.0)
    return results
