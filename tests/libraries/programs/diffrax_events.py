"""Stop at events: a bounce, one of several, a steady state; save parts, by functions, densely."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx

TOLERANCE = 1e-3


def fall(t, y, args):
    return {"height": y["speed"], "speed": jnp.array(-9.81) - args * y["speed"]}


@eqx.filter_jit
def bounces(drag):
    """Fall, turn round with less speed, fall again, in a loop."""

    def bounce(carry, _):
        t0, y = carry
        event = dfx.Event(
            lambda t, y, args, **kw: y["height"], optx.Newton(1e-5, 1e-5, optx.rms_norm), False
        )
        solution = dfx.diffeqsolve(
            dfx.ODETerm(fall),
            dfx.Tsit5(),
            t0,
            t0 + 10.0,
            0.05,
            y,
            args=drag,
            event=event,
            stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-5, dtmax=0.2),
            max_steps=512,
        )
        last = jax.tree.map(lambda x: x[-1], solution.ys)
        turned = {"height": jnp.array(1e-3), "speed": -0.8 * last["speed"]}
        return (solution.ts[-1], turned), (solution.ts[-1], last["speed"])

    start = (jnp.array(0.0), {"height": jnp.array(4.0), "speed": jnp.array(0.0)})
    return jax.lax.scan(bounce, start, None, length=3)[1]


@eqx.filter_jit
def first_of(x):
    """Return the first of two walls that is met, and the time."""
    walls = [lambda t, y, args, **kw: y[0] - 2.0, lambda t, y, args, **kw: y[1] < -1.0]
    event = dfx.Event(walls, optx.Newton(1e-5, 1e-5))
    solution = dfx.diffeqsolve(
        dfx.ODETerm(lambda t, y, args: jnp.array([1.0, -x])),
        dfx.Heun(),
        0.0,
        20.0,
        0.1,
        jnp.zeros(2),
        event=event,
    )
    return solution.ts[-1], jnp.stack(solution.event_mask)


@eqx.filter_jit
def settles(rate):
    solution = dfx.diffeqsolve(
        dfx.ODETerm(lambda t, y, args: args * (1.0 - y**2)),
        dfx.Kvaerno3(),
        0.0,
        jnp.inf,
        0.1,
        jnp.array(0.2),
        args=rate,
        stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-5),
        event=dfx.Event(dfx.steady_state_event()),
        adjoint=dfx.ImplicitAdjoint(),
    )
    return solution.ys[0]


@eqx.filter_jit
def saved():
    subs = {
        "energy": dfx.SubSaveAt(
            ts=jnp.linspace(0.0, 1.0, 4), fn=lambda t, y, args: 9.81 * y["height"]
        ),
        "steps": dfx.SubSaveAt(steps=True, t0=True, fn=lambda t, y, args: y["height"]),
    }
    solution = dfx.diffeqsolve(
        dfx.ODETerm(fall),
        dfx.Bosh3(),
        0.0,
        1.0,
        0.125,
        {"height": jnp.array(4.0), "speed": jnp.array(0.0)},
        args=0.1,
        saveat=dfx.SaveAt(subs=subs, dense=True),
        max_steps=16,
    )
    between = jax.vmap(lambda t: solution.evaluate(t)["height"])(jnp.array([0.1, 0.77]))
    derivative = solution.derivative(0.3)["speed"]
    return solution.ys["energy"], solution.ys["steps"][:9], between, derivative


def main():
    results = {}
    results["times"], results["speeds"] = bounces(0.05)
    results["by drag"] = jax.jacrev(lambda d: bounces(d)[0])(0.05)
    results["first"], results["which"] = first_of(0.3)
    results["other"], results["other which"] = first_of(1.0)
    results["settled"] = settles(2.0)
    names = ("energy", "steps", "between", "derivative")
    return results | dict(zip(names, saved(), strict=True))
