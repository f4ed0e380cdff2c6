"""Evaluate learning rate schedules, projections and operations on trees."""

import jax
import jax.numpy as jnp
import optax

SCHEDULES = {
    "constant": optax.constant_schedule(0.1),
    "cosine": optax.cosine_decay_schedule(0.1, 50, 0.01),
    "onecycle": optax.cosine_onecycle_schedule(50, 0.1),
    "exponential": optax.exponential_decay(0.1, 10, 0.5, staircase=True),
    "joined": optax.join_schedules(
        [optax.linear_schedule(0.0, 0.1, 10), optax.constant_schedule(0.1)], [10]
    ),
    "piecewise": optax.piecewise_constant_schedule(0.1, {10: 0.5, 20: 0.1}),
    "interpolated": optax.piecewise_interpolate_schedule("linear", 0.1, {10: 0.5, 20: 0.1}),
    "polynomial": optax.polynomial_schedule(0.1, 0.01, 2, 30),
    "sgdr": optax.sgdr_schedule(
        [
            {"init_value": 0.0, "peak_value": 0.1, "decay_steps": 20, "warmup_steps": 5},
            {"init_value": 0.0, "peak_value": 0.05, "decay_steps": 30, "warmup_steps": 5},
        ]
    ),
    "warmup": optax.warmup_exponential_decay_schedule(0.0, 0.1, 10, 10, 0.7),
}
PROJECTIONS = {
    "simplex": optax.projections.projection_simplex,
    "l1": lambda x: optax.projections.projection_l1_ball(x, 0.5),
    "l2": lambda x: optax.projections.projection_l2_ball(x, 0.5),
    "linf": lambda x: optax.projections.projection_linf_ball(x, 0.5),
    "box": lambda x: optax.projections.projection_box(x, -0.1, 0.2),
    "non_negative": optax.projections.projection_non_negative,
}


def main():
    counts = jnp.arange(60)
    results = {name: jax.vmap(schedule)(counts) for name, schedule in SCHEDULES.items()}
    x = jax.random.normal(jax.random.PRNGKey(0), (7,))
    for name, project in PROJECTIONS.items():
        results[name] = jax.jit(project)(x)
        results[f"d {name}"] = jax.jacobian(project)(x)
    tree = {"a": x, "b": (x[:3], x[3:])}
    results["norm"] = optax.tree.norm(tree)
    results["sum"] = optax.tree.sum(optax.tree.add_scale(tree, 2.0, tree))
    results["vdot"] = optax.tree.vdot(tree, tree)
    results["random"] = optax.tree.random_like(jax.random.PRNGKey(1), tree)["a"]
    return results
