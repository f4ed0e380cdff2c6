"""Solve large systems without matrices: preconditioners, first guesses, Newton and Krylov."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 1e-3
N = 32


def laplace(u, args=None):
    padded = jnp.pad(u, 1)
    return 2 * u - padded[:-2] - padded[2:] + 0.05 * u


STRUCTURE = jax.ShapeDtypeStruct((N,), jnp.float32)
TAGS = (lx.symmetric_tag, lx.positive_semidefinite_tag)


@eqx.filter_jit
def poisson(solver, source, options):
    operator = lx.FunctionLinearOperator(laplace, STRUCTURE, TAGS)
    solution = lx.linear_solve(operator, source, solver, options=options, throw=False)
    return solution.value, solution.stats["num_steps"]


@eqx.filter_jit
def burn(strength):
    """Newton's method for a flame, each step by GMRES on the Jacobian."""

    def flame(u, args):
        return laplace(u) - strength * jnp.exp(u)

    def step(u, _):
        operator = lx.JacobianLinearOperator(flame, u, jac="fwd")
        operator = lx.linearise(operator)
        solver = lx.GMRES(rtol=1e-5, atol=1e-5, restart=20)
        return u - lx.linear_solve(operator, flame(u, None), solver).value, None

    return jax.lax.scan(step, jnp.zeros(N), None, length=4)[0]


@eqx.filter_jit
def heat(u, steps):
    """Crank and Nicolson's steps, with one state of the solver for all."""
    identity = lx.IdentityLinearOperator(STRUCTURE)
    space = lx.FunctionLinearOperator(laplace, STRUCTURE, TAGS)
    left = lx.TaggedLinearOperator(identity + 0.5 * space, TAGS)
    right = identity - 0.5 * space
    matrix = lx.MatrixLinearOperator(left.as_matrix(), TAGS)
    solver = lx.Cholesky()
    state = solver.init(matrix, {})
    dynamic, static = eqx.partition(state, eqx.is_array)
    dynamic = jax.lax.stop_gradient(dynamic)
    state = eqx.combine(dynamic, static)

    def step(u, _):
        return lx.linear_solve(matrix, right.mv(u), solver, state=state).value, None

    return jax.lax.scan(step, u, None, length=steps)[0]


def main():
    x = jnp.linspace(0.0, 1.0, N)
    source = jnp.sin(jnp.pi * x)
    halved = lx.DiagonalLinearOperator(jnp.full(N, 0.5))
    guided = lx.TaggedLinearOperator(halved, lx.positive_semidefinite_tag)
    results = {}
    for name, solver in {
        "cg": lx.CG(rtol=1e-6, atol=1e-6),
        "bicgstab": lx.BiCGStab(rtol=1e-6, atol=1e-6),
        "gmres": lx.GMRES(rtol=1e-6, atol=1e-6, restart=N),
    }.items():
        plain, _ = poisson(solver, source, {})
        results[name] = plain
        results[f"{name} guided"] = poisson(solver, source, {"preconditioner": guided})[0]
        warm = poisson(solver, source, {"y0": plain * 0.999})
        results[f"{name} warm"] = warm[0]
    total = lambda s: poisson(lx.CG(rtol=1e-6, atol=1e-6), s, {})[0].sum()
    results["slope"] = jax.grad(total)(source)
    few, steps = poisson(lx.CG(rtol=1e-7, atol=1e-7, max_steps=3), source, {})
    results["stopped"], results["steps"] = few, steps
    results["flame"] = burn(0.02)
    results["flame slope"] = jax.jvp(burn, (0.02,), (1.0,))[1]
    results["heat"] = heat(source, 5)
    results["heat slope"] = jax.grad(lambda u: heat(u, 3)[5])(source)
    return results
