"""Find the affine map that turned one photograph into another, from coarse to fine."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import image, lax
from jax.scipy.ndimage import map_coordinates
from jax.scipy.signal import convolve
from sklearn.datasets import load_sample_image

photo = load_sample_image("china.jpg").astype(np.float32) / 255
grey = jnp.asarray(photo @ np.array([0.299, 0.587, 0.114], np.float32))
LEVELS, STEPS = 3, 8
TRUE = jnp.array([0.03, 0.05, -0.04, 0.02, 2.5, -3.0])


def gaussian(sigma):
    x = jnp.arange(-3 * sigma, 3 * sigma + 1)
    k = jnp.exp(-0.5 * (x / sigma) ** 2)
    return jnp.outer(k, k) / k.sum() ** 2


def affine(params, shape):
    """Coordinates of pixels that are moved about the centre."""
    rows, cols = jnp.meshgrid(*[jnp.arange(n) - (n - 1) / 2 for n in shape], indexing="ij")
    matrix = jnp.eye(2) + params[:4].reshape(2, 2)
    moved = jnp.tensordot(matrix, jnp.stack([rows, cols]), axes=1) + params[4:, None, None]
    return [m + (n - 1) / 2 for m, n in zip(moved, shape)]


def warp(picture, params):
    return map_coordinates(picture, affine(params, picture.shape), order=1, mode="nearest")


def residuals(params, fixed, moving):
    edge = 4
    return (warp(moving, params) - fixed)[edge:-edge, edge:-edge].ravel()


@jax.jit
def gauss_newton(params, fixed, moving):
    def step(state, _):
        params, damping = state
        r = residuals(params, fixed, moving)
        J = jax.jacfwd(residuals)(params, fixed, moving)
        hessian = J.T @ J
        delta = jnp.linalg.solve(hessian + damping * jnp.diag(jnp.diag(hessian)), J.T @ r)
        better = jnp.sum(residuals(params - delta, fixed, moving) ** 2) < jnp.sum(r**2)
        params = jnp.where(better, params - delta, params)
        damping = lax.cond(better, lambda d: d / 4, lambda d: d * 4, damping)
        return (params, damping), jnp.mean(r**2)

    (params, _), errors = lax.scan(step, (params, 1e-2), None, length=STEPS)
    return params, errors


@jax.jit
def descend(params, fixed, moving):
    """Refine by gradient, with steps scaled by hand."""
    rates = jnp.array([2e-5] * 4 + [0.5] * 2)

    def body(params, _):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean(residuals(p, fixed, moving) ** 2))(
            params
        )
        return params - rates * grads, loss

    return lax.scan(body, params, length=5)


def main():
    height, width = grey.shape
    small = image.resize(grey, (height // 4, width // 4), "linear")
    fixed = convolve(small, gaussian(1), mode="same")
    moving = warp(fixed, TRUE)
    # what undoes the map, registered from coarse to fine
    params, history = jnp.zeros(6), []
    for level in reversed(range(LEVELS)):
        scale = 2.0**-level
        shape = tuple(int(n * scale) for n in fixed.shape)
        coarse = [image.resize(p, shape, "cubic") for p in (moving, fixed)]
        params, errors = gauss_newton(params.at[4:].multiply(scale), *coarse)
        params = params.at[4:].divide(scale)
        history.append(errors)
    assert jnp.abs(params - TRUE).max() < 0.05
    refined, losses = descend(params + 0.01, moving, fixed)

    thumbnail = image.scale_and_translate(
        photo, (24, 32, 3), (0, 1), jnp.array([0.06, 0.06]), jnp.array([-0.5, -1.0]), "lanczos3"
    )
    shift_gradient = jax.grad(
        lambda t: jnp.var(
            image.scale_and_translate(small, (20, 20), (0, 1), jnp.ones(2), t, "linear")
        )
    )(jnp.array([-10.5, -20.25]))
    return {
        "params": params,
        "history": jnp.stack(history),
        "refined": refined,
        "losses": losses,
        "moving": moving[::8, ::8],
        "thumbnail": thumbnail,
        "shift gradient": shift_gradient,
        "resized back": image.resize(moving[::4, ::4], (40, 60), "nearest"),
    }


TOLERANCE = 0.0001
