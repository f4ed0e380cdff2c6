"""Filtered transformations: ensembles, derivatives, closures, callbacks, checks, surgery."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = 1e-4


@eqx.filter_vmap
def make_ensemble(key):
    return eqx.nn.MLP(2, 2, 4, 1, key=key)


@eqx.filter_vmap(in_axes=(eqx.if_array(0), None))
def evaluate_ensemble(model, x):
    return model(x)


@eqx.filter_custom_vjp
def clip_gradient(x):
    return x


@clip_gradient.def_fwd
def clip_fwd(perturbed, x):
    return x, None


@clip_gradient.def_bwd
def clip_bwd(residuals, grad, perturbed, x):
    return jnp.clip(grad, -0.1, 0.1)


@eqx.filter_custom_jvp
def cube(x, *, power):
    return x**power


@cube.def_jvp
def cube_jvp(primals, tangents, *, power):
    (x,), (t,) = primals, tangents
    return cube(x, power=power), 2 * power * x ** (power - 1) * t


@eqx.filter_jit
def checked(x):
    x = eqx.error_if(x, jnp.any(x < 0), "x must be positive")
    return jnp.sqrt(x)


def called(x):
    return eqx.filter_pure_callback(
        lambda x: np.asarray(np.sin(x)),
        x,
        result_shape_dtypes=jax.ShapeDtypeStruct((3,), "float32"),
    )


def main():
    key = jax.random.PRNGKey(0)
    x = jnp.array([0.3, -0.7])
    ensemble = make_ensemble(jax.random.split(key, 3))
    results = {"ensemble": evaluate_ensemble(ensemble, x)}
    primal, tangent = eqx.filter_jvp(lambda x: (jnp.sin(x), "a"), (x,), (jnp.ones(2),))
    results["jvp"], results["jvp tangent"] = primal[0], tangent[0]
    _, pull = eqx.filter_vjp(lambda m: m(x), eqx.nn.MLP(2, 2, 4, 1, key=key))
    results["vjp"] = jax.tree.leaves(pull(jnp.ones(2))[0])[0]
    results["custom vjp"] = jax.grad(lambda x: jnp.sum(5 * clip_gradient(x)))(x)
    results["custom jvp"] = jax.grad(lambda x: cube(x, power=3))(2.0)
    closed = eqx.filter_closure_convert(lambda y: x * y, 2.0)
    results["closure"] = closed(2.0)
    results["jacfwd"] = eqx.filter_jacfwd(lambda x: jnp.outer(x, x))(x)
    results["hessian"] = eqx.filter_hessian(lambda x: jnp.sum(x**3))(x)
    results["callback"] = jax.jit(called)(jnp.arange(3.0))
    results["checked"] = checked(jnp.array([1.0, 4.0]))
    try:
        checked(jnp.array([-1.0]))
    except Exception as error:
        results["failed"] = np.array("x must be positive" in str(error))
    model = eqx.nn.Linear(2, 2, key=key)
    model = eqx.tree_at(lambda m: m.weight, model, jnp.eye(2))
    results["surgery"] = model(x)
    _, struct, _ = eqx.filter_make_jaxpr(lambda x: (x + 1, "static"))(x)
    results["shape"] = np.array(struct[0].shape)
    results["struct"] = np.array(eqx.filter_eval_shape(model, x).shape)
    results["checkpointed"] = jax.grad(lambda x: eqx.filter_checkpoint(jnp.sin)(x))(1.0)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    file.seek(0)
    results["restored"] = eqx.tree_deserialise_leaves(file, model).weight
    results["equal"] = np.array(bool(eqx.tree_equal(model, model)))
    return results
