"""Solve differential equations by diffrax: solvers, controllers, saving, events, adjoints."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp

TOLERANCE = 1e-3


def field(t, y, args):
    a, b, c, d = args
    prey, hunter = y
    return jnp.stack([a * prey - b * prey * hunter, -c * hunter + d * prey * hunter])


START = jnp.array([10.0, 5.0])
ARGS = jnp.array([0.1, 0.02, 0.4, 0.02])
SOLVERS = {
    "euler": dfx.Euler(),
    "heun": dfx.Heun(),
    "bosh3": dfx.Bosh3(),
    "tsit5": dfx.Tsit5(),
    "dopri5": dfx.Dopri5(),
    "dopri8": dfx.Dopri8(),
    "leapfrog": dfx.LeapfrogMidpoint(),
}
ADJOINTS = {
    "checkpointed": dfx.RecursiveCheckpointAdjoint(),
    "direct": dfx.DirectAdjoint(),
    "backsolve": dfx.BacksolveAdjoint(),
    "forward": dfx.ForwardMode(),
}


@eqx.filter_jit
def fixed_steps(solver):
    term = dfx.ODETerm(field)
    saveat = dfx.SaveAt(ts=jnp.linspace(0.0, 10.0, 6))
    return dfx.diffeqsolve(term, solver, 0.0, 10.0, 0.1, START, args=ARGS, saveat=saveat).ys


@eqx.filter_jit
def adaptive(args, adjoint):
    controller = dfx.PIDController(rtol=1e-5, atol=1e-5)
    return dfx.diffeqsolve(
        dfx.ODETerm(field),
        dfx.Tsit5(),
        0.0,
        20.0,
        0.1,
        START,
        args=args,
        stepsize_controller=controller,
        adjoint=adjoint,
        max_steps=4096 if isinstance(adjoint, dfx.DirectAdjoint) else 1000,
    ).ys[0]


@eqx.filter_jit
def robertson(solver):
    def stiff(t, y, args):
        a = -0.04 * y[0] + 1e2 * y[1] * y[2]
        c = 3e3 * y[1] ** 2
        return jnp.stack([a, -a - c, c])

    return dfx.diffeqsolve(
        dfx.ODETerm(stiff),
        solver,
        0.0,
        10.0,
        1e-3,
        jnp.array([1.0, 0.0, 0.0]),
        stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-6),
        saveat=dfx.SaveAt(t1=True, dense=True),
    )


@eqx.filter_jit
def falling(height):
    def stop(t, y, args, **kwargs):
        return y[0]

    root_finder = __import__("optimistix").Newton(1e-5, 1e-5)
    event = dfx.Event(stop, root_finder)
    solution = dfx.diffeqsolve(
        dfx.ODETerm(lambda t, y, args: jnp.stack([y[1], jnp.array(-9.8)])),
        dfx.Tsit5(),
        0.0,
        jnp.inf,
        0.1,
        jnp.stack([height, jnp.array(0.0)]),
        event=event,
    )
    return solution.ts[0]


def main():
    results = {}
    for name, solver in SOLVERS.items():
        results[name] = fixed_steps(solver)
    for name, adjoint in ADJOINTS.items():
        results[f"{name} adaptive"] = adaptive(ARGS, adjoint)
        if name != "forward":
            loss = lambda args, adjoint=adjoint: jnp.sum(adaptive(args, adjoint))
            results[f"{name} grad"] = jax.grad(loss)(ARGS)
    jvp = jax.jvp(lambda a: adaptive(a, ADJOINTS["forward"]), (ARGS,), (ARGS,))
    results["forward tangent"] = jvp[1]
    for name, solver in (("kvaerno5", dfx.Kvaerno5()), ("kencarp4", dfx.KenCarp4())):
        if name == "kvaerno5":
            solution = robertson(solver)
            results[name] = solution.ys
            results["dense"] = jax.vmap(solution.evaluate)(jnp.array([0.5, 5.0]))
    results["event"] = falling(jnp.array(10.0))
    results["event grad"] = jax.grad(falling)(jnp.array(10.0))
    many = jax.vmap(lambda a: adaptive(a, ADJOINTS["checkpointed"]))
    results["mapped"] = many(jnp.stack([ARGS, 1.1 * ARGS]))
    return results
