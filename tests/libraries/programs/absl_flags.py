"""Settings given on the command line, which tests of libraries written for JAX read by absl."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from absl import app

sys.argv = ["program", "one", "--jax_enable_x64", "--jax_debug_nans=true", "--", "--jax_nothing"]
jax.config.parse_flags_with_absl()


def main():
    after = []
    try:  # absl's own start reads the rest
        app.run(lambda argv: after.append(len(argv)), argv=["program", "--nojax_debug_nans", "x"])
    except SystemExit:
        after.append(jax.config.jax_debug_nans)
    return {"x": jnp.arange(3.0), "after": np.array(after)}
