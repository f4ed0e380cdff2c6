"""s2fft: transforms on the sphere, there and back."""

import jax
import numpy as np
import s2fft

jax.config.update("jax_enable_x64", True)


def main():
    bandlimit = 8
    rng = np.random.default_rng(0)
    coefficients = s2fft.utils.signal_generator.generate_flm(rng, bandlimit)
    signal = s2fft.inverse_jax(coefficients, bandlimit)
    return {"signal": signal, "back": s2fft.forward_jax(signal, bandlimit)}
