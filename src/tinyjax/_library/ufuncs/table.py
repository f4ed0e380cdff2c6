"""The table of SciPy's universal functions: arguments, examples, and derivatives as formulas.

A row begins with a call: its parameters, of which those with a star may be complex, an example with
its rounded result, and what the function returns. Lines below it give the derivative in a parameter
by a formula, in which ``out`` is the result, or a tuple of several; a parameter without such a line
has none. After ``=`` stands a program that gives the values too, and after ``~`` one of which
derivatives alone are taken. An inverse function has, after ``/``, a program of the result and the
other parameters whose value is the parameter that it does not name, up to a constant. ``formulas``
has the functions that formulas call. Headings name the chapters of the Digital Library of
Mathematical Functions (DLMF), or where rules are from.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

_ROW: Final = re.compile(r"(\w+)\((.*)\) at (.*) is (.*?):(?: (.*))?")
_TEXT: Final = """
Bessel functions: DLMF 10.6, 10.29, 10.49

j0(x) at 1.0 is 0.7652: the Bessel function of the first kind, of order 0
  x: -j1(x)
j1(x) at 1.0 is 0.4401: the Bessel function of the first kind, of order 1
  x: j0(x) - first_over(out, x, -1)
y0(x) at 1.0 is 0.0883: the Bessel function of the second kind, of order 0
  x: -y1(x)
y1(x) at 1.0 is -0.7812: the Bessel function of the second kind, of order 1
  x: y0(x) - out / x
k0(x) at 1.0 is 0.421: the modified Bessel function of the second kind, of order 0
  x: -k1(x)
k1(x) at 1.0 is 0.6019: the modified Bessel function of the second kind, of order 1
  x: -k0(x) - k1(x) / x
k0e(x) at 1.0 is 1.1445: ``exp(x) k0(x)``
  x: scaled(0.0, x, 1.0, out, out - k1e(x))
k1e(x) at 1.0 is 1.6362: ``exp(x) k1(x)``
  x: scaled(1.0, x, 1.0, out, out - k0e(x) - out / x)
jv(v, z*) at 2.0, 1.0 is 0.1149: the Bessel function of the first kind, of real order
  z: (jv(v - 1, z) - jv(v + 1, z)) / 2
jn(v, z*) at 2.0, 1.0 is 0.1149: another name of ``jv``
  z: (jv(v - 1, z) - jv(v + 1, z)) / 2
yv(v, z*) at 2.0, 1.0 is -1.6507: the Bessel function of the second kind, of real order
  z: (yv(v - 1, z) - yv(v + 1, z)) / 2
yn(n, x) at 2, 1.0 is -1.6507: the Bessel function of the second kind, of whole order
  x: (yn(n - 1, x) - yn(n + 1, x)) / 2
kn(n, x) at 2, 1.0 is 1.6248: the modified Bessel function of the second kind, of whole order
  x: -(kn(abs(n - 1), x) + kn(n + 1, x)) / 2
iv(v, z*) at 2.0, 1.0 is 0.1357: the modified Bessel function of the first kind, of real order
  z: (iv(v - 1, z) + iv(v + 1, z)) / 2
kv(v, z*) at 2.0, 1.0 is 1.6248: the modified Bessel function of the second kind, of real order
  v if real: kv_order(v, z, 0.0)
  z: -(kv(v - 1, z) + kv(v + 1, z)) / 2
jve(v, z*) at 2.0, 1.0 is 0.1149: ``exp(-abs(z.imag)) jv(v, z)``
  z if real: (jve(v - 1, z) - jve(v + 1, z)) / 2
yve(v, z*) at 2.0, 1.0 is -1.6507: ``exp(-abs(z.imag)) yv(v, z)``
  z if real: (yve(v - 1, z) - yve(v + 1, z)) / 2
ive(v, z*) at 2.0, 1.0 is 0.0499: ``exp(-abs(z.real)) iv(v, z)``
  z if real: ive_slope(v, z)
kve(v, z*) at 2.0, 1.0 is 4.4168: ``exp(z) kv(v, z)``
  v if real: kv_order(v, z, 1.0)
  z: scaled(v, z, 1.0, out, out - (kve(v - 1, z) + kve(v + 1, z)) / 2)
hankel1(v, z*) at 2.0, 1.0 is 0.1149-1.6507j: Hankel's function of the first kind
  z: (hankel1(v - 1, z) - hankel1(v + 1, z)) / 2
hankel2(v, z*) at 2.0, 1.0 is 0.1149+1.6507j: Hankel's function of the second kind
  z: (hankel2(v - 1, z) - hankel2(v + 1, z)) / 2
hankel1e(v, z*) at 2.0, 1.0 is -1.3269-0.9886j: ``exp(-1j z) hankel1(v, z)``
  z: scaled(v, z, 1j, out, (hankel1e(v - 1, z) - hankel1e(v + 1, z)) / 2 - 1j * out)
hankel2e(v, z*) at 2.0, 1.0 is -1.3269+0.9886j: ``exp(1j z) hankel2(v, z)``
  z: scaled(v, z, -1j, out, (hankel2e(v - 1, z) - hankel2e(v + 1, z)) / 2 + 1j * out)
spherical_jn(n, z*) at 2, 1.0 is 0.062: the spherical Bessel function of the first kind
  z: (n * spherical_jn(below(n), z) - (n + 1) * spherical_jn(n + 1, z)) / (2 * n + 1)
spherical_yn(n, z*) at 2, 1.0 is -3.605: the spherical Bessel function of the second kind
  z: (n * spherical_yn(below(n), z) - (n + 1) * spherical_yn(n + 1, z)) / (2 * n + 1)
spherical_in(n, z*) at 2, 1.0 is 0.0716: the modified spherical Bessel function of the first kind
  z: (n * spherical_in(below(n), z) + (n + 1) * spherical_in(n + 1, z)) / (2 * n + 1)
spherical_kn(n, z*) at 2, 1.0 is 4.045: the modified spherical Bessel function of the second kind
  z: -(n * spherical_kn(below(n), z) + (n + 1) * spherical_kn(n + 1, z)) / (2 * n + 1)
besselpoly(a, lmb, nu) at 1.0, 1.0, 1.0 is 0.2445:
  the integral of ``x**lmb jv(nu, 2 a x)`` from 0 to 1
  a: besselpoly_slope(a, lmb, nu, out)
itj0y0(x) at 1.0 is [0.9197, -0.6371]: the integrals of ``j0`` and ``y0`` from 0 to x
  x: j0(x), y0(x)
iti0k0(x) at 1.0 is [1.0865, 1.2425]: the integrals of ``i0`` and ``k0`` from 0 to x
  x: i0(x), k0(x)
it2j0y0(x) at 1.0 is [0.1212, 0.3953]:
  the integrals of ``(1 - j0(t)) / t`` from 0 to x, and of ``y0(t) / t`` from x on
  x: -bessel0m1_over(j0(x), x, -1), -y0(x) / x
it2i0k0(x) at 1.0 is [0.129, 0.2085]:
  the integrals of ``(i0(t) - 1) / t`` from 0 to x, and of ``k0(t) / t`` from x on
  x: bessel0m1_over(i0(x), x, 1), -k0(x) / x

Airy, Kelvin and Struve functions: DLMF 9.2, 10.61, 11.4

airy(z*) at 1.0 is [0.1353, -0.1591, 1.2074, 0.9324]:
  Airy's functions Ai, its derivative, Bi, and its derivative
  z: out[1], z * out[0], out[3], z * out[2]
airye(z*) at 1.0 is [0.2635, -0.31, 0.6199, 0.4787]:
  Airy's functions, times the exponential that keeps each from overflowing
  z if real: airye_slopes(z, out)
itairy(x) at 1.0 is [0.2363, 0.8728, 0.4657, 0.373]:
  the integrals of Ai and Bi from 0 to x, and from -x to 0
  x: (*airy(x)[::2], *airy(-x)[::2])
ber(x) at 1.0 is 0.9844: Kelvin's function ber
  x: berp(x)
bei(x) at 1.0 is 0.2496: Kelvin's function bei
  x: beip(x)
ker(x) at 1.0 is 0.2867: Kelvin's function ker
  x: kerp(x)
kei(x) at 1.0 is -0.495: Kelvin's function kei
  x: keip(x)
berp(x) at 1.0 is -0.0624: the derivative of Kelvin's function ber
  x: -bei(x) - real(kelvin_over(out, x))
beip(x) at 1.0 is 0.4974: the derivative of Kelvin's function bei
  x: ber(x) - imag(kelvin_over(1j * out, x))
kerp(x) at 1.0 is -0.6946: the derivative of Kelvin's function ker
  x: -kei(x) - out / x
keip(x) at 1.0 is 0.3524: the derivative of Kelvin's function kei
  x: ker(x) - out / x
kelvin(x) at 1.0 is ['0.9844+0.2496j', '0.2867-0.4950j', '-0.0624+0.4974j', '-0.6946+0.3524j']:
  Kelvin's functions ``ber + 1j bei``, ``ker + 1j kei``, and their derivatives
  x: out[2], out[3], 1j * out[0] - kelvin_over(out[2], x), 1j * out[1] - out[3] / x
struve(v, x) at 1.0, 1.0 is 0.1985: Struve's function H
  x: struve_slope('struve', -1, v, x)
modstruve(v, x) at 1.0, 1.0 is 0.2268: the modified Struve function L
  x: struve_slope('modstruve', 1, v, x)
itstruve0(x) at 1.0 is 0.3011: the integral of Struve's function of order 0 from 0 to x
  x: struve0(x)
it2struve0(x) at 1.0 is 0.9572: the integral of Struve's function of order 0 over t, from x on
  x: -struve0_over(x)
itmodstruve0(x) at 1.0 is 0.3365:
  the integral of the modified Struve function of order 0 from 0 to x
  x: modstruve0(x)

Orthogonal polynomials, and functions of Legendre: DLMF 18.9, 14.10

eval_legendre(n, x*) at 3, 0.5 is -0.4375: Legendre's polynomial of degree n
  x: gegenbauer_below(n, 1.5, x)
eval_sh_legendre(n, x*) at 3, 0.3 is 0.44: Legendre's polynomial, of ``2 x - 1``
  x: 2 * gegenbauer_below(n, 1.5, 2 * x - 1)
eval_chebyt(n, x*) at 3, 0.3 is -0.792: Chebyshev's polynomial of the first kind
  x: n * eval_chebyu(n - 1, x)
eval_chebyu(n, x*) at 3, 0.3 is -0.984: Chebyshev's polynomial of the second kind
  x: 2 * gegenbauer_below(n, 2.0, x)
eval_chebyc(n, x*) at 3, 0.3 is -0.873: ``2 eval_chebyt(n, x / 2)``
  x: n * eval_chebys(n - 1, x)
eval_chebys(n, x*) at 3, 0.3 is -0.573: ``eval_chebyu(n, x / 2)``
  x: gegenbauer_below(n, 2.0, x / 2)
eval_sh_chebyt(n, x*) at 3, 0.3 is 0.944: ``eval_chebyt(n, 2 x - 1)``
  x: 2 * n * eval_sh_chebyu(n - 1, x)
eval_sh_chebyu(n, x*) at 3, 0.3 is 1.088: ``eval_chebyu(n, 2 x - 1)``
  x: 4 * gegenbauer_below(n, 2.0, 2 * x - 1)
eval_gegenbauer(n, alpha, x*) at 3, 0.5, 0.3 is -0.3825: Gegenbauer's polynomial
  x: from_one(n, 2 * alpha * eval_gegenbauer(n - 1, alpha + 1, x))
eval_jacobi(n, alpha, beta, x*) at 3, 1.0, 0.5, 0.3 is -0.7072: Jacobi's polynomial
  x: from_one(n, (n + alpha + beta + 1) / 2 * eval_jacobi(n - 1, alpha + 1, beta + 1, x))
eval_sh_jacobi(n, p, q, x*) at 3, 2.0, 1.5, 0.3 is 0.017: Jacobi's polynomial on [0, 1], monic
  x: from_one(n, n * eval_sh_jacobi(n - 1, p + 2, q + 1, x))
eval_laguerre(n, x*) at 3, 0.3 is 0.2305: Laguerre's polynomial
  x: from_one(n, -eval_genlaguerre(n - 1, 1.0, x))
eval_genlaguerre(n, alpha, x*) at 3, 0.5, 0.3 is 1.028: Laguerre's generalised polynomial
  x: from_one(n, -eval_genlaguerre(n - 1, alpha + 1, x))
eval_hermite(n, x) at 3, 0.3 is -3.384: Hermite's polynomial, of the physicists
  x: 2 * n * eval_hermite(below(n), x)
eval_hermitenorm(n, x) at 3, 0.3 is -0.873: Hermite's polynomial, of the probabilists
  x: n * eval_hermitenorm(below(n), x)
lpmv(m, v, x) at 1.0, 2.0, 0.3 is -0.8585:
  Legendre's associated function of order m and degree v, on [-1, 1]
  x: legendre_slope(m, v, x, out)

Elliptic integrals and functions: DLMF 19.18, 22.13

ellipk(m) at 0.5 is 1.8541: the complete elliptic integral of the first kind
  m: ellipk_m(m, out)
ellipkm1(p) at 0.5 is 1.8541: ``ellipk(1 - p)``, accurate for small p
  p: -ellipk_m(1 - p, out)
ellipe(m) at 0.5 is 1.3506: the complete elliptic integral of the second kind
  m: ellipe_m(m, out)
ellipkinc(phi, m) at 1.0, 0.5 is 1.0832: the incomplete elliptic integral of the first kind
  phi: 1 / sqrt(1 - m * sin(phi) ** 2)
  m: ellipkinc_m(phi, m)
ellipeinc(phi, m) at 1.0, 0.5 is 0.9273: the incomplete elliptic integral of the second kind
  phi: sqrt(1 - m * sin(phi) ** 2)
  m: ellipeinc_m(phi, m)
ellipj(u, m) at 1.0, 0.5 is [0.803, 0.596, 0.8232, 0.9323]:
  Jacobi's functions sn, cn and dn, and their amplitude
  u: out[1] * out[2], -out[0] * out[2], -m * out[0] * out[1], out[2]
  m: jacobi_m(m, *out)
elliprc(x*, y*) at 1.0, 2.0 is 0.7854: Carlson's degenerate integral RC
  x: carlson_c_x(x, y, out)
  y: carlson_c_y(x, y, out)
elliprf(x*, y*, z*) at 1.0, 2.0, 3.0 is 0.7269: Carlson's symmetric integral of the first kind, RF
  x: -elliprd(y, z, x) / 6
  y: -elliprd(x, z, y) / 6
  z: -elliprd(x, y, z) / 6
elliprg(x*, y*, z*) at 1.0, 2.0, 3.0 is 1.4018: Carlson's symmetric integral of the second kind, RG
  x: elliprf(x, y, z) / 4 - x * elliprd(y, z, x) / 12
  y: elliprf(x, y, z) / 4 - y * elliprd(x, z, y) / 12
  z: elliprf(x, y, z) / 4 - z * elliprd(x, y, z) / 12
elliprd(x*, y*, z*) at 1.0, 2.0, 3.0 is 0.2905:
  Carlson's integral RD, of which two parameters are equal
  x: carlson_slope(0, out, x, y, z)
  y: carlson_slope(1, out, x, y, z)
  z: carlson_slope(2, out, x, y, z)
elliprj(x*, y*, z*, p*) at 1.0, 2.0, 3.0, 4.0 is 0.2398:
  Carlson's symmetric integral of the third kind, RJ
  x: carlson_slope(0, out, x, y, z, p)
  y: carlson_slope(1, out, x, y, z, p)
  z: carlson_slope(2, out, x, y, z, p)
  p: carlson_slope(3, out, x, y, z, p)
agm(a, b) at 1.0, 2.0 is 1.4568: the arithmetic-geometric mean
  a: agm_slope(a, b, out)
  b: agm_slope(b, a, out)

Mathieu, parabolic cylinder and spheroidal functions: DLMF 28.2, 12.2, 30.2

mathieu_a(m, q) at 2.0, 1.0 is 4.3713: the characteristic value of Mathieu's even function
  q: mathieu_slope(m, q, out, 1)
mathieu_b(m, q) at 2.0, 1.0 is 3.917: the characteristic value of Mathieu's odd function
  q: mathieu_slope(m, q, out, -1)
mathieu_cem(m, q, x) at 2.0, 1.0, 30.0 is [0.7294, -1.3595]:
  Mathieu's even function of x in degrees, and its derivative
  x: pi / 180 * out[1], pi / 180 * (2 * q * cosdg(2 * x) - mathieu_a(m, q)) * out[0]
mathieu_sem(m, q, x) at 2.0, 1.0, 30.0 is [0.7915, 1.1467]:
  Mathieu's odd function of x in degrees, and its derivative
  x: pi / 180 * out[1], pi / 180 * (2 * q * cosdg(2 * x) - mathieu_b(m, q)) * out[0]
mathieu_modcem1(m, q, x) at 2.0, 1.0, 0.5 is [0.3422, 0.2911]:
  Mathieu's modified even function, and its derivative
  x: out[1], (mathieu_a(m, q) - 2 * q * cosh(2 * x)) * out[0]
mathieu_modcem2(m, q, x) at 2.0, 1.0, 0.5 is [-0.8121, 1.1694]:
  the second such function, and its derivative
  x: out[1], (mathieu_a(m, q) - 2 * q * cosh(2 * x)) * out[0]
mathieu_modsem1(m, q, x) at 2.0, 1.0, 0.5 is [0.2275, 0.5022]:
  Mathieu's modified odd function, and its derivative
  x: out[1], (mathieu_b(m, q) - 2 * q * cosh(2 * x)) * out[0]
mathieu_modsem2(m, q, x) at 2.0, 1.0, 0.5 is [-0.8072, 1.0164]:
  the second such odd function, and its derivative
  x: out[1], (mathieu_b(m, q) - 2 * q * cosh(2 * x)) * out[0]
pbdv(v, x) at 1.5, 1.0 is [0.5157, 1.0055]: the parabolic cylinder function D, and its derivative
  x: out[1], (x * x / 4 - v - 0.5) * out[0]
pbvv(v, x) at 1.5, 1.0 is [-0.5418, 0.4909]: the parabolic cylinder function V, and its derivative
  x: out[1], (x * x / 4 - v - 0.5) * out[0]
pbwa(a, x) at 1.5, 1.0 is [0.2184, -0.2097]: the parabolic cylinder function W, and its derivative
  x: out[1], (a - x * x / 4) * out[0]
pro_cv(m, n, c) at 1.0, 2.0, 0.5 is 6.1069: the characteristic value of prolate spheroidal functions
obl_cv(m, n, c) at 1.0, 2.0, 0.5 is 5.8926: the characteristic value of oblate spheroidal functions
pro_ang1(m, n, c, x) at 1.0, 2.0, 0.5, 0.3 is [0.8572, 2.5655]:
  the angular prolate function, and its derivative
  x: out[1], spheroidal(1, m, pro_cv(m, n, c), -c * c, x, *out)
pro_rad1(m, n, c, x) at 1.0, 2.0, 0.5, 1.5 is [0.0271, 0.0492]:
  the radial prolate function, and its derivative
  x: out[1], spheroidal(1, m, pro_cv(m, n, c), -c * c, x, *out)
pro_rad2(m, n, c, x) at 1.0, 2.0, 0.5, 1.5 is [-12.7564, 35.7702]:
  the second such function, and its derivative
  x: out[1], spheroidal(1, m, pro_cv(m, n, c), -c * c, x, *out)
pro_ang1_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 0.3 is [0.8572, 2.5656]:
  ``pro_ang1`` by its characteristic value
  x: out[1], spheroidal(1, m, cv, -c * c, x, *out)
pro_rad1_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 1.5 is [0.0271, 0.0492]:
  ``pro_rad1`` by its characteristic value
  x: out[1], spheroidal(1, m, cv, -c * c, x, *out)
pro_rad2_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 1.5 is [-12.5355, 35.1361]:
  ``pro_rad2`` by its characteristic value
  x: out[1], spheroidal(1, m, cv, -c * c, x, *out)
obl_ang1(m, n, c, x) at 1.0, 2.0, 0.5, 0.3 is [0.8599, 2.5922]:
  the angular oblate function, and its derivative
  x: out[1], spheroidal(1, m, obl_cv(m, n, c), c * c, x, *out)
obl_rad1(m, n, c, x) at 1.0, 2.0, 0.5, 1.5 is [0.0428, 0.046]:
  the radial oblate function, and its derivative
  x: out[1], spheroidal(-1, m, obl_cv(m, n, c), -c * c, x, *out)
obl_rad2(m, n, c, x) at 1.0, 2.0, 0.5, 1.5 is [-3.6988, -763.0114]:
  the second such function, and its derivative
obl_ang1_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 0.3 is [0.8599, 2.5923]:
  ``obl_ang1`` by its characteristic value
  x: out[1], spheroidal(1, m, cv, c * c, x, *out)
obl_rad1_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 1.5 is [0.0428, 0.046]:
  ``obl_rad1`` by its characteristic value
  x: out[1], spheroidal(-1, m, cv, -c * c, x, *out)
obl_rad2_cv(m, n, c, cv, x) at 1.0, 2.0, 0.5, 6.0, 1.5 is [0.9887, -741.7875]:
  ``obl_rad2`` by its characteristic value

Gamma, beta and hypergeometric functions, and integrals: DLMF 5.2, 13.3, 16.3, 7.2

psi(z*) at 2.0 is 0.4228: the digamma function, also of complex numbers
  z if real: trigamma(z)
rgamma(z*) at 2.5 is 0.7523: one over the gamma function
  z: rgamma_slope(z, out)
zetac(x) at 2.0 is 0.6449: Riemann's zeta function, minus 1
binom(n, k) at 5.0, 2.0 is 10.0: the binomial coefficient, of real numbers
  n: out * (digamma(n + 1) - digamma(n - k + 1))
  k: out * (digamma(n - k + 1) - digamma(k + 1))
hyp0f1(v, z*) at 2.0, 1.0 is 1.5906: the confluent hypergeometric limit function
  z: hyp0f1(v + 1, z) / v
hyperu(a, b, x) at 1.0, 2.0, 1.5 is 0.6667: the confluent hypergeometric function U
  x: -a * hyperu(a + 1, b + 1, x)
exprel(x) at 1.0 is 1.7183: ``(exp(x) - 1) / x``
  x: exprel_slope(x, out)
wright_bessel(a, b, x) at 1.0, 2.0, 1.5 is 1.9628: Wright's generalised Bessel function
  x: wright_bessel(a, a + b, x)
log_wright_bessel(a, b, x) at 1.0, 2.0, 1.5 is 0.6744: the logarithm of ``wright_bessel``
  x: exp(log_wright_bessel(a, a + b, x) - out)
_lambertw(z*, k, tol) at 1.0, 0, 1e-08 is '0.5671+0.0000j': Lambert's function
  z: 1 / (z + exp(out))
wrightomega(z*) at 1.0 is 1.0: the Wright omega function, which solves ``w + log(w) = z``
  z: 1 / (1 + 1 / out)
erfi(z*) at 1.0 is 1.6504: the imaginary error function, ``-1j erf(1j z)``
  z: 2 / sqrt(pi) * exp(z * z)
erfcinv(x) at 0.5 is 0.4769: the inverse of ``erfc``
  x: -sqrt(pi) / 2 * exp(out * out)
ndtri_exp(x) at -2.0 is -1.1015: ``ndtri(exp(x))``, accurate for all x
  x: sqrt(pi / 2) * erfcx(-out / sqrt(2.0))
voigt_profile(x, sigma, gamma) at 0.5, 1.0, 1.0 is 0.1968: Voigt's profile
  ~ real(wofz((x + 1j * gamma) / (sqrt(2.0) * sigma))) / (sqrt(2 * pi) * sigma)
shichi(z*) at 1.0 is [1.0573, 0.8379]: the hyperbolic sine and cosine integrals
  z: sinhc(z), cosh(z) / z
modfresnelp(x) at 1.0 is ['-0.2779+0.3164j', '0.2078+0.1152j']:
  Fresnel's modified integrals F+ and K+
  x: -exp(1j * x * x), -2j * x * out[1] - exp(-0.25j * pi) / sqrt(pi)
modfresnelm(x) at 1.0 is ['-0.2779-0.3164j', '0.2078-0.1152j']:
  Fresnel's modified integrals F- and K-
  x: -exp(-1j * x * x), 2j * x * out[1] - exp(0.25j * pi) / sqrt(pi)

Elementary functions: values are tinyjax's own where a formula follows the sign =

cbrt(x) at 8.0 is 2.0: the cube root
  = jnp.cbrt(x)
exp2(x) at 3.0 is 8.0: 2 to the power of x
  = jnp.exp2(x)
exp10(x) at 2.0 is 100.0: 10 to the power of x
  x: log(10.0) * out
expm1(z*) at 1.0 is 1.7183: ``exp(z) - 1``, accurate for small z
  = jnp.expm1(z)
log1p(z*) at 1.0 is 0.6931: ``log(1 + z)``, accurate for small z
  = jnp.log1p(z)
log_expit(x) at 1.0 is -0.3133: the logarithm of ``expit``
  = -jnp.logaddexp(-x, 0.0)
cosm1(x) at 1.0 is -0.4597: ``cos(x) - 1``, accurate for small x
  = -2 * sin(x / 2) ** 2
round(x) at 2.5 is 2.0: the nearest whole number, even of two
  = jnp.rint(x)
radian(d, m, s) at 30.0, 0.0, 0.0 is 0.5236: the angle of degrees, minutes and seconds
  ~ pi / 180 * d + pi / 10800 * m + pi / 648000 * s
sindg(x) at 30.0 is 0.5: the sine of an angle in degrees
  x: pi / 180 * cosdg(x)
cosdg(x) at 60.0 is 0.5: the cosine of an angle in degrees
  x: -pi / 180 * sindg(x)
tandg(x) at 45.0 is 1.0: the tangent of an angle in degrees
  x: pi / 180 * (1 + out * out)
cotdg(x) at 45.0 is 1.0: the cotangent of an angle in degrees
  x: -pi / 180 * (1 + out * out)
huber(delta, r) at 1.0, 2.0 is 1.5: Huber's loss
  delta: jnp.maximum(abs(r) - delta, 0.0)
  r: jnp.minimum(jnp.maximum(r, -delta), delta)
pseudo_huber(delta, r) at 1.0, 2.0 is 1.2361: Huber's loss, smoothed
  delta: pseudo_huber_slopes(delta, r)[0]
  r: pseudo_huber_slopes(delta, r)[1]
inv_boxcox(x, lmbda) at 1.0, 2.0 is 1.7321: the inverse of ``boxcox``
  x: out / (1 + lmbda * x)
  lmbda: out * x * x * power_slope(lmbda * x)
inv_boxcox1p(x, lmbda) at 1.0, 2.0 is 0.7321: the inverse of ``boxcox1p``
  x: (1 + out) / (1 + lmbda * x)
  lmbda: (1 + out) * x * x * power_slope(lmbda * x)
powm1(x, y) at 2.0, 3.0 is 7.0: ``x**y - 1``, accurate near 0
  ~ x ** y

Distributions: densities, and inverse functions by the implicit function theorem

gammaincinv(a, p) at 2.0, 0.5 is 1.6783: the inverse of ``gammainc`` in its second argument
  / gammainc(a, out)
gammainccinv(a, p) at 2.0, 0.5 is 1.6783: the inverse of ``gammaincc`` in its second argument
  / gammaincc(a, out)
gdtr(a, b, x) at 1.0, 2.0, 1.5 is 0.4422: the share of the gamma distribution below x, at the rate a
  ~ gammainc(b, a * x)
gdtrc(a, b, x) at 1.0, 2.0, 1.5 is 0.5578: the share of the gamma distribution above x
  ~ gammaincc(b, a * x)
gdtria(p, b, x) at 0.5, 2.0, 1.5 is 1.1189: the inverse of ``gdtr`` in a
  p: 1 / (x * gamma_density(b, out * x))
  b: gamma_sample_a(b, out * x) / x
  x: -out / x
gdtrib(a, p, x) at 1.0, 0.5, 1.5 is 1.8203: the inverse of ``gdtr`` in b
  / gammainc(out, a * x)
gdtrix(a, b, p) at 1.0, 2.0, 0.5 is 1.6783: the inverse of ``gdtr`` in x
  a: -out / a
  b: gamma_sample_a(b, a * out) / a
  p: 1 / (a * gamma_density(b, a * out))
chdtr(v, x) at 2.0, 1.5 is 0.5276: the share of the chi-square distribution below x
  ~ gammainc(v / 2, x / 2)
chdtrc(v, x) at 2.0, 1.5 is 0.4724: the share of the chi-square distribution above x
  ~ gammaincc(v / 2, x / 2)
chdtri(v, p) at 2.0, 0.5 is 1.3863: the inverse of ``chdtrc`` in x
  / gammaincc(v / 2, out / 2)
chdtriv(p, x) at 0.5, 1.5 is 2.1172: the inverse of ``chdtr`` in v
  / gammainc(out / 2, x / 2)
pdtr(k, m) at 2.0, 1.5 is 0.8088: the probability of at most k events, of which m are expected
  m: -gamma_density(floor(k) + 1, m)
pdtrc(k, m) at 2.0, 1.5 is 0.1912: the probability of more than k events, of which m are expected
  m: gamma_density(floor(k) + 1, m)
pdtri(k, p) at 2, 0.5 is 2.6741: the inverse of ``pdtr`` in m
  p: -1 / gamma_density(floor(k + 1.0), out)
pdtrik(p, m) at 0.5, 1.5 is 0.8203: the inverse of ``pdtr`` in k
  / gammaincc(out + 1, m)
betaincc(a, b, x) at 2.0, 1.5, 0.5 is 0.6187: one minus the regularized incomplete beta function
  ~ -betainc(a, b, x)
betaincinv(a, b, p) at 2.0, 1.5, 0.5 is 0.5864: the inverse of ``betainc`` in x
  / betainc(a, b, out)
betainccinv(a, b, p) at 2.0, 1.5, 0.5 is 0.5864: the inverse of ``betaincc`` in x
  / -betainc(a, b, out)
btdtria(p, b, x) at 0.5, 1.5, 0.5 is 1.5: the inverse of ``betainc`` in a
  / betainc(out, b, x)
btdtrib(a, p, x) at 1.5, 0.5, 0.5 is 1.5: the inverse of ``betainc`` in b
  / betainc(a, out, x)
bdtr(k, n, p) at 2.0, 5, 0.3 is 0.8369: the probability of at most k of n events of probability p
  p: -beta_density(n - floor(k), floor(k) + 1, 1 - p)
bdtrc(k, n, p) at 2.0, 5, 0.3 is 0.1631: the probability of more than k of n events of probability p
  p: beta_density(n - floor(k), floor(k) + 1, 1 - p)
bdtri(k, n, y) at 2.0, 5, 0.3 is 0.6102: the inverse of ``bdtr`` in p
  y: -1 / beta_density(n - floor(k), floor(k) + 1, 1 - out)
bdtrik(y, n, p) at 0.5, 5.0, 0.3 is 0.9257: the inverse of ``bdtr`` in k
  / betainc(n - out, out + 1, 1 - p)
bdtrin(k, y, p) at 2.0, 0.5, 0.3 is 8.5711: the inverse of ``bdtr`` in n
  / betainc(out - k, k + 1, 1 - p)
nbdtr(k, n, p) at 2, 5, 0.7 is 0.6471: the probability of at most k failures before n successes
  p: beta_density(n, k + 1, p)
nbdtrc(k, n, p) at 2, 5, 0.7 is 0.3529: the probability of more than k failures before n successes
  p: -beta_density(n, k + 1, p)
nbdtri(k, n, y) at 2, 5, 0.5 is 0.6359: the inverse of ``nbdtr`` in p
  y: 1 / beta_density(n, k + 1, out)
nbdtrik(y, n, p) at 0.5, 5.0, 0.7 is 1.3245: the inverse of ``nbdtr`` in k
  / betainc(n, out + 1, p)
nbdtrin(k, y, p) at 2.0, 0.5, 0.7 is 6.5711: the inverse of ``nbdtr`` in n
  / betainc(out, k + 1, p)
fdtr(dfn, dfd, x) at 2.0, 3.0, 1.5 is 0.6464: the share of the F distribution below x
  dfn: f_dfn(dfn, dfd, x)
  dfd: f_dfd(dfn, dfd, x)
  x: f_density(dfn, dfd, x)
fdtrc(dfn, dfd, x) at 2.0, 3.0, 1.5 is 0.3536: the share of the F distribution above x
  dfn: -f_dfn(dfn, dfd, x)
  dfd: -f_dfd(dfn, dfd, x)
  x: -f_density(dfn, dfd, x)
fdtri(dfn, dfd, p) at 2.0, 3.0, 0.5 is 0.8811: the inverse of ``fdtr`` in x
  dfn: -f_dfn(dfn, dfd, out) / f_density(dfn, dfd, out)
  dfd: -f_dfd(dfn, dfd, out) / f_density(dfn, dfd, out)
  p: 1 / f_density(dfn, dfd, out)
fdtridfd(dfn, p, x) at 2.0, 0.5, 1.0 is 2.0: the inverse of ``fdtr`` in dfd
  dfn: -f_dfn(dfn, out, x) / f_dfd(dfn, out, x)
  p: 1 / f_dfd(dfn, out, x)
  x: -f_density(dfn, out, x) / f_dfd(dfn, out, x)
stdtr(df, t) at 3.0, 1.0 is 0.8045: the share of Student's distribution below t
  df: t_df(df, t)
  t: t_density(df, t)
stdtrit(df, p) at 3.0, 0.7 is 0.5844: the inverse of ``stdtr`` in t
  / stdtr(df, out)
stdtridf(p, t) at 0.8, 1.0 is 2.6387: the inverse of ``stdtr`` in df
  / stdtr(out, t)
chndtr(x, df, nc) at 1.5, 2.0, 1.0 is 0.3758:
  the share of the noncentral chi-square distribution below x
  x: noncentral_chi(x, df, nc)
  nc: -noncentral_chi(x, df + 2, nc)
chndtrix(p, df, nc) at 0.5, 2.0, 1.0 is 2.177: the inverse of ``chndtr`` in x
  p: 1 / noncentral_chi(out, df, nc)
  nc: noncentral_chi(out, df + 2, nc) / noncentral_chi(out, df, nc)
chndtridf(x, p, nc) at 2.5, 0.5, 1.0 is 2.3095: the inverse of ``chndtr`` in df
chndtrinc(x, df, p) at 3.5, 2.0, 0.5 is 2.4242: the inverse of ``chndtr`` in nc
  x: noncentral_chi(x, df, out) / noncentral_chi(x, df + 2, out)
  p: -1 / noncentral_chi(x, df + 2, out)
ncfdtr(dfn, dfd, nc, f) at 2.0, 3.0, 1.0, 1.5 is 0.5257:
  the share of the noncentral F distribution below f
  nc: noncentral_f(dfn, dfd, nc, f)[1]
  f: noncentral_f(dfn, dfd, nc, f)[0]
ncfdtri(dfn, dfd, nc, p) at 2.0, 3.0, 1.0, 0.5 is 1.3712: the inverse of ``ncfdtr`` in f
  nc: -noncentral_f(dfn, dfd, nc, out)[1] / noncentral_f(dfn, dfd, nc, out)[0]
  p: 1 / noncentral_f(dfn, dfd, nc, out)[0]
ncfdtridfn(p, dfd, nc, f) at 0.5, 3.0, 1.0, 1.2 is 0.3475: the inverse of ``ncfdtr`` in dfn
ncfdtridfd(dfn, p, nc, f) at 2.0, 0.5, 1.0, 1.2 is 6.8854: the inverse of ``ncfdtr`` in dfd
ncfdtrinc(dfn, dfd, p, f) at 2.0, 3.0, 0.5, 1.5 is 1.2398: the inverse of ``ncfdtr`` in nc
  p: 1 / noncentral_f(dfn, dfd, out, f)[1]
  f: -noncentral_f(dfn, dfd, out, f)[0] / noncentral_f(dfn, dfd, out, f)[1]
nctdtr(df, nc, t) at 3.0, 1.0, 1.5 is 0.6258: the share of the noncentral t distribution below t
  nc: -noncentral_t(0, df, nc, t)
  t: noncentral_t(1, df, nc, t)
nctdtrit(df, nc, p) at 3.0, 1.0, 0.5 is 1.0912: the inverse of ``nctdtr`` in t
  nc: noncentral_t(0, df, nc, out) / noncentral_t(1, df, nc, out)
  p: 1 / noncentral_t(1, df, nc, out)
nctdtridf(p, nc, t) at 0.5, 1.0, 1.2 is 1.484: the inverse of ``nctdtr`` in df
nctdtrinc(df, p, t) at 3.0, 0.5, 1.5 is 1.3698: the inverse of ``nctdtr`` in nc
  p: -1 / noncentral_t(0, df, out, t)
  t: noncentral_t(1, df, out, t) / noncentral_t(0, df, out, t)
nrdtrimn(p, std, x) at 0.3, 1.0, 0.5 is 1.0244:
  the mean of the normal distribution with a share p below x
  ~ x - std * ndtri(p)
nrdtrisd(mn, p, x) at 1.0, 0.7, 1.5 is 0.9535:
  the deviation of a normal distribution, of which p is below x
  ~ (x - mn) / ndtri(p)
kolmogorov(x) at 1.0 is 0.27: the limit of the probability that Kolmogorov's statistic exceeds x
  x: kolmogorov_slope(x)
kolmogi(p) at 0.5 is 0.8276: the inverse of ``kolmogorov``
  p: 1 / kolmogorov_slope(out)
smirnov(n, d) at 5, 0.3 is 0.3428:
  the probability that Smirnov's one-sided statistic of n samples exceeds d
  d: _smirnovp(n, d)
smirnovi(n, p) at 5, 0.3 is 0.3192: the inverse of ``smirnov`` in d
  p: 1 / _smirnovp(n, out)
_smirnovp(n, d) at 5, 0.3 is -2.286: the derivative of ``smirnov``
tklmbda(x, lmbda) at 0.5, 1.5 is 0.8625: the share of Tukey's lambda distribution below x
  x: tukey_density(x, lmbda, out)
  lmbda: tukey_lmbda(x, lmbda, out)
"""


@attrs.define
class Row:
    """A function.

    Attributes:
        parameters: the names of its parameters.
        complex: those that may be complex numbers.
        example: arguments.
        value: the result for these, rounded.
        text: the description of its result.
        derivatives: by parameter, the formula, and whether it is for real arguments alone.
        program: a formula that gives the values, where tinyjax has one.
        like: a formula whose derivatives it has.
        inverse: a formula that its result solves.
    """

    parameters: tuple[str, ...]
    complex: frozenset[str]
    example: str
    value: str
    text: str
    derivatives: dict[str, tuple[str, bool]] = attrs.field(factory=dict)
    program: str = ""
    like: str = ""
    inverse: str = ""


_MARKS: Final = {"=": "program", "~": "like", "/": "inverse"}


def _read() -> dict[str, Row]:
    table: dict[str, Row] = {}
    row = None
    for line in filter(None, _TEXT.splitlines()):
        found = _ROW.fullmatch(line)
        if found:
            starred = found[2].split(", ")
            names = tuple([x.rstrip("*") for x in starred])
            complex_ = frozenset([x.rstrip("*") for x in starred if x.endswith("*")])
            row = table[found[1]] = Row(names, complex_, found[3], found[4], found[5] or "")
        elif row is not None and line.startswith("  "):
            head, _, formula = line.strip().partition(" ")
            if not row.text:
                row.text = line.strip()
            elif head in _MARKS:
                setattr(row, _MARKS[head], formula)
            else:
                parameter, _, formula = line.strip().partition(": ")
                real_only = parameter.endswith(" if real")
                row.derivatives[parameter.removesuffix(" if real")] = (formula, real_only)
    return table


#: The rows, by the functions' names.
TABLE: Final = _read()
