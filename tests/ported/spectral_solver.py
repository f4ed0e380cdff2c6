"""Solve Korteweg-de Vries and Navier-Stokes by Fourier series, and differentiate the solutions."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

N, LENGTH = 128, 2 * jnp.pi
GRID = 32


def wavenumbers(n):
    return jnp.fft.rfftfreq(n, 1 / n)


@partial(jax.jit, static_argnums=(1, 2))
def korteweg_de_vries(u, dt, steps):
    """u_t + 6 u u_x + u_xxx = 0, by Runge-Kutta with an integrating factor."""
    k = wavenumbers(u.size)
    half = jnp.exp(1j * k**3 * dt / 2)
    dealias = k < u.size // 3

    def nonlinear(v):
        return -3j * k * jnp.fft.rfft(jnp.fft.irfft(v) ** 2) * dealias

    @jax.checkpoint
    def step(v, _):
        a = dt * nonlinear(v)
        b = dt * nonlinear(half * (v + a / 2))
        c = dt * nonlinear(half * v + b / 2)
        d = dt * nonlinear(half**2 * v + half * c)
        v = half**2 * v + (half**2 * a + 2 * half * (b + c) + d) / 6
        return v, jnp.abs(v[0])

    v, mass = lax.scan(step, jnp.fft.rfft(u), None, length=steps)
    return jnp.fft.irfft(v), mass


def soliton(x, speed, centre):
    return speed / 2 / jnp.cosh(jnp.sqrt(speed) / 2 * (x - centre)) ** 2


@jax.jit
def vorticity_step(w_hat, viscosity, forcing):
    """A step of Navier-Stokes in vorticity form: diffusion implicit, the rest by Heun."""
    n, dt = w_hat.shape[0], 0.02
    ky = jnp.fft.fftfreq(n, 1 / n)[:, None]
    kx = jnp.fft.rfftfreq(n, 1 / n)[None, :]
    k2 = kx**2 + ky**2
    inverse = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)

    def transport(w_hat):
        psi = w_hat * inverse
        u, v = jnp.fft.irfft2(1j * ky * psi), jnp.fft.irfft2(-1j * kx * psi)
        w_x, w_y = jnp.fft.irfftn(1j * kx * w_hat), jnp.fft.irfftn(1j * ky * w_hat)
        return jnp.fft.rfft2(forcing - u * w_x - v * w_y)

    decay = jnp.exp(-viscosity * k2 * dt)
    first = transport(w_hat)
    second = transport(decay * (w_hat + dt * first))
    return decay * (w_hat + dt / 2 * first) + dt / 2 * second


def flow(w, viscosity, forcing, steps=20):
    body = lambda _, w_hat: vorticity_step(w_hat, viscosity, forcing)
    return jnp.fft.irfft2(lax.fori_loop(0, steps, body, jnp.fft.rfft2(w)))


def spectrum(w):
    """Enstrophy by rings of wavenumbers."""
    power = jnp.abs(jnp.fft.fftshift(jnp.fft.fft2(w, norm="ortho"))) ** 2
    k = jnp.fft.fftshift(jnp.fft.fftfreq(w.shape[0], 1 / w.shape[0]))
    ring = jnp.round(jnp.hypot(k[:, None], k[None, :])).astype(int)
    return jax.ops.segment_sum(power.ravel(), ring.ravel(), num_segments=w.shape[0] // 2)


def main():
    x = jnp.linspace(0, LENGTH, N, endpoint=False)
    start = soliton(x, 30.0, 2.0) + soliton(x, 12.0, 4.0)
    end, mass = korteweg_de_vries(start, 1e-4, 200)

    def miss(parameters):
        speed, centre = parameters
        found, _ = korteweg_de_vries(soliton(x, speed, centre), 1e-4, 100)
        return jnp.mean((found - target) ** 2)

    target, _ = korteweg_de_vries(soliton(x, 25.0, 2.0), 1e-4, 100)
    guess = jnp.array([22.0, 2.1])
    value, slope = jax.value_and_grad(miss)(guess)

    key = jax.random.PRNGKey(3)
    noise = jax.random.normal(key, (GRID, GRID))
    y = jnp.arange(GRID) * 2 * jnp.pi / GRID
    forcing = 0.1 * jnp.sin(4 * y)[:, None] * jnp.ones(GRID)
    whirls = flow(noise, 0.02, forcing)
    enstrophy = lambda w, nu: jnp.mean(jax.jit(flow)(w, nu, forcing) ** 2)
    by_noise, by_viscosity = jax.grad(enstrophy, argnums=(0, 1))(noise, 0.02)
    _, tangent = jax.jvp(lambda nu: enstrophy(noise, nu), (0.02,), (1.0,))
    assert jnp.abs(tangent / by_viscosity - 1) < 1e-3
    assert by_viscosity < 0
    return {
        "end": end,
        "mass": mass[::50],
        "value": value,
        "slope": slope,
        "whirls": whirls,
        "spectrum": spectrum(whirls),
        "by noise": by_noise,
        "by viscosity": by_viscosity,
        "tangent": tangent,
        "cosines": jax.scipy.fft.dctn(whirls, norm="ortho")[:4, :4],
    }
