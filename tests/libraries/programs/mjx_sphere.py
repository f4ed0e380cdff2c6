"""MuJoCo's MJX: a falling sphere, for many velocities at once."""

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

SCENE = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
<body pos="0 0 .5"><freejoint/><geom size=".15" mass="1" type="sphere"/></body></worldbody></mujoco>
"""


def main():
    model = mjx.put_model(mujoco.MjModel.from_xml_string(SCENE))

    @jax.vmap
    def step(velocity):
        data = mjx.make_data(model)
        data = mjx.step(model, data.replace(qvel=data.qvel.at[0].set(velocity)))
        return data.qpos, data.qvel

    positions, velocities = jax.jit(step)(jnp.arange(0.0, 1.0, 0.25))
    return {"positions": positions, "velocities": velocities}
