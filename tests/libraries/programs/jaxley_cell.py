"""jaxley: a cell of three branches with the channels of Hodgkin and Huxley, and a gradient."""

import jax
import jax.numpy as jnp
import jaxley as jx
from jaxley.channels import HH

jax.config.update("jax_enable_x64", True)  # as its tutorials begin: a spike is steep


def main():
    branch = jx.Branch(jx.Compartment(), ncomp=2)
    cell = jx.Cell(branch, parents=[-1, 0, 0])
    cell.insert(HH())
    cell.set("radius", 1.5)
    cell.branch(0).loc(0.0).stimulate(jx.step_current(0.5, 1.0, 0.4, 0.025, 4.0), verbose=False)
    cell.branch(0).loc(0.0).record(verbose=False)
    cell.branch(2).loc(1.0).record(verbose=False)
    cell.branch("all").make_trainable("HH_gNa", verbose=False)
    params = cell.get_parameters()

    @jax.jit
    def loss(params):
        voltage = jx.integrate(cell, params=params, delta_t=0.025, checkpoint_lengths=[16, 11])
        return jnp.mean(voltage[1] ** 2), voltage

    (_, voltage), slope = jax.value_and_grad(loss, has_aux=True)(params)
    return {"voltage": voltage, "slope": slope[0]["HH_gNa"] / 1e4}
