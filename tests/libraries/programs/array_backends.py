"""Libraries with JAX among their backends: pyhf, TensorLy, einops, PyTensor."""

import jax
import jax.numpy as jnp
import numpy as np
import pyhf
import pytensor
import pytensor.tensor as pt
import tensorly
from einops import einsum, rearrange, reduce
from tensorly.decomposition import parafac, tucker

TOLERANCE = 1e-3


def statistics():
    pyhf.set_backend("jax")
    model = pyhf.simplemodels.uncorrelated_background(
        signal=[5.0, 10.0], bkg=[50.0, 60.0], bkg_uncertainty=[5.0, 12.0]
    )
    data = [53.0, 65.0, *model.config.auxdata]
    observed = pyhf.infer.hypotest(1.0, data, model, test_stat="qtilde")
    return {"fit": pyhf.infer.mle.fit(data, model), "observed": observed}


def decompositions():
    tensorly.set_backend("jax")
    x = tensorly.tensor(np.random.RandomState(0).rand(4, 5, 6))
    cp, core = parafac(x, 3, init="svd", n_iter_max=20), tucker(x, [2, 2, 2])
    return {
        "cp": tensorly.norm(x - tensorly.cp_to_tensor(cp)),
        "tucker": tensorly.norm(x - tensorly.tucker_to_tensor(core)),
    }


def axes():
    x = jnp.arange(24.0).reshape(2, 3, 4)

    def energy(x):
        return reduce(rearrange(x, "a b c -> a (b c)") ** 2, "a b ->", "sum")

    return {
        "slope": jax.jit(jax.grad(energy))(x),
        "product": einsum(x, x, "a b c, a d c -> a b d"),
        "mapped": jax.vmap(lambda y: rearrange(y, "b c -> c b"))(x),
    }


def graphs():
    x = pt.dvector("x")
    run = pytensor.function([x], [pt.exp(x).sum(), pt.grad((x**3).sum(), x)], mode="JAX")
    value, slope = run(np.array([0.1, 0.2, 0.3]))
    return {"value": value, "grad": slope}


def main():
    jax.config.update("jax_enable_x64", True)
    return {**statistics(), **decompositions(), **axes(), **graphs()}
