"""Pochhammer's symbol, ``gamma(z + m) / gamma(z)``."""

from __future__ import annotations

import math

import tinyjax.numpy as jnp
from tinyjax.core.primitives import elementwise as ew, families as fam
from tinyjax.core.values.array import Array
from tinyjax.primitives import special as sp
from tinyjax.special import declaring as decl, gamma as sga


def _sign_of_gamma(x: Array) -> Array:
    return jnp.where((x < 0) & (jnp.floor(x) % 2 == 1), -1.0, 1.0)


def _poch(z: Array, m: Array) -> Array:
    end = z + m
    positive = (z > 0) & (end > 0)
    p, q = jnp.where(positive, z, 1.0), jnp.where(positive, m, 0.0)
    log = (p - 0.5) * jnp.log1p(q / p) + q * jnp.log(p + q) - q
    log = log + sga.stirling_error(p + q) - sga.stirling_error(p)
    # gamma has poles at 0, -1, ...
    pole, pole_at_end = (z <= 0) & (z == jnp.floor(z)), (end <= 0) & (end == jnp.floor(end))
    value = _sign_of_gamma(z) * _sign_of_gamma(end) * jnp.exp(sp.lgamma(end) - sp.lgamma(z))
    # (z)_m = (-1)^m (1 - z - m)_m, where both are poles
    mirrored = jnp.exp(sp.lgamma(1 - z) - sp.lgamma(1 - end))
    mirrored = jnp.where(m % 2 == 1, -mirrored, mirrored)
    value = jnp.where(pole, jnp.where(pole_at_end, mirrored, 0.0), value)
    value = jnp.where(~pole & pole_at_end, math.inf, value)
    value = jnp.where(positive, jnp.exp(log), value)
    return jnp.where(m == 0, 1.0, value)


def _in_base(t: Array, value: Array, z: Array, m: Array) -> Array:
    return ew.mul(t, ew.mul(value, ew.sub(sp.digamma(ew.add(z, m)), sp.digamma(z))))


def _in_count(t: Array, value: Array, z: Array, m: Array) -> Array:
    return ew.mul(t, ew.mul(value, sp.digamma(ew.add(z, m))))


poch: fam.Elementwise = decl.special("poch", decl.by_scipy("poch"), _poch, _in_base, _in_count)
