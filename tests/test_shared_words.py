"""Words that an error shares with JAX's, so that who searches for either finds the other.

On the left is what both messages hold (a pattern), on the right the call; what it names comes from
JAX or from here.
"""

# ruff: noqa: E501 (one call is one line)

import re
import warnings
from typing import Any

import jax
import jax.custom_batching
import jax.export
import jax.test_util
import jax.tree_util
import numpy as np
import pytest

import tinyjax
import tinyjax.custom_batching
import tinyjax.export
import tinyjax.test_util
import tinyjax.tree_util

WORDS = r"""
must be a scalar                           | lax.cond(jnp.ones(2) > 0, id, id, 1.0)
same pytree structure                      | COND(id, twice, 1.0)
true_fun                                   | COND(id, twice, 1.0)
must have equal output types               | COND(id, jnp.sum, V)
false_fun                                  | COND(id, jnp.sum, V)
[Ee]mpty branch sequence                   | lax.switch(0, [], 1.0)
must be scalar                             | lax.switch(jnp.zeros(2, int), [id, id], 1.0)
must be an integer                         | lax.switch(0.5, [id, id], 1.0)
same pytree structure                      | SWITCH([id, twice], 1.0)
equal output types                         | SWITCH([id, jnp.sum], V)
branch 0.*branch ?1                        | SWITCH([id, jnp.sum], V)
must return a boolean scalar               | lax.while_loop(id, id, 1.0)
must return a boolean scalar               | lax.while_loop(twice, id, 1.0)
same pytree structure                      | lax.while_loop(lambda x: x > 0, twice, 1.0)
must have equal types                      | lax.while_loop(lambda x: (x > 0).any(), jnp.sum, V)
no leading axis to scan over               | lax.scan(twice, 1.0, 1.0)
different leading axis sizes               | lax.scan(twice, 1.0, (V, jnp.ones(4)))
disagrees with leading axis sizes          | lax.scan(twice, 1.0, V, length=4)
no values to scan over                     | lax.scan(twice, 1.0, None)
must be a pair                             | lax.scan(lambda c, x: c, 1.0, V)
must be a pair                             | lax.scan(lambda c, x: (c, c, c), 1.0, V)
same pytree structure                      | lax.scan(lambda c, x: ((c, c), x), 1.0, V)
must have equal types                      | lax.scan(lambda c, x: (jnp.sum(c), x), V, V)
non-negative                               | lax.scan(twice, 1.0, V, unroll=-1)
same first dimension                       | lax.associative_scan(jnp.add, (V, jnp.ones(4)))
must be a callable                         | lax.platform_dependent(1.0, cpu=1)
No JVP defined for custom_jvp function     | lib.custom_jvp(jnp.sin)(1.0)
No VJP defined for custom_vjp function     | lib.custom_vjp(jnp.sin)(1.0)
must produce a pair .list or tuple         | lib.jvp(JVP(lambda p, t: p[0]), (1.0,), (1.0,))
equal container .pytree. structures        | lib.jvp(JVP(lambda p, t: (p[0], (t[0], t[0]))), (1.0,), (1.0,))
must produce a pair .list or tuple         | lib.grad(VJP(id, lambda r, g: (g,)))(1.0)
same container .pytree. structure          | lib.grad(VJP(lambda x: (x, x), lambda r, g: (g, g)))(1.0)
must produce a tuple                       | lib.grad(VJP(lambda x: (x, x), lambda r, g: g))(1.0)
requires real- or complex-valued inputs    | lib.grad(jnp.sin)(1)
only defined for scalar-output functions   | lib.grad(jnp.sin)(V)
requires real-valued outputs               | lib.grad(lambda x: x.astype(int))(1.0)
requires real-valued outputs               | lib.grad(lambda x: x * 1j)(1.0)
requires at least 6 positional arguments   | lib.grad(jnp.sin, argnums=5)(1.0)
requires inputs with complex dtype         | lib.grad(jnp.sin, holomorphic=True)(1.0)
requires real-valued inputs                | lib.jacfwd(jnp.sin)(1)
must be tuples or lists                    | lib.jvp(jnp.sin, 1.0, 1.0)
in_axes must be an int, None, or           | lib.vmap(jnp.sin, in_axes=(0, 0))(V)
at least one non-None value in in_axes     | lib.vmap(jnp.sin, in_axes=None)(V)
inconsistent sizes for array axes          | lib.vmap(jnp.add)(V, jnp.ones(4))
must be passed at least one argument       | lib.vmap(jnp.sin)()
unbound axis name                          | lax.psum(1.0, "i")
Non-hashable static arguments              | lib.jit(lambda x, n: x, static_argnums=1)(1.0, [1])
may_alias and donate cannot be             | lib.device_put(1.0, donate=True, may_alias=True)
depends on the value of the argument x     | lib.jit(lambda x: 1 if x > 0 else 2)(1.0)
depends on the values? of the argument     | lib.jit(lambda x, y: float(x + y))(1.0, 1.0)
intermediate value.*created .*on line       | LEAK()
incompatible shapes for broadcasting       | jnp.ones(3) + jnp.ones(4)
requires arguments to have the same dtypes    | lax.add(jnp.ones(3), jnp.ones(3, int))
does not accept dtype                      | lax.sin(jnp.ones(3, int))
is out of bounds for array of dimension 1  | jnp.sum(V, axis=2)
must be a square matrix                    | lax.linalg.eig(jnp.ones((2, 3)))
must be a square matrix                    | lax.linalg.schur(jnp.ones((2, 3)))
must be a square matrix                    | lax.linalg.tridiagonal(jnp.ones((2, 3)))
must be a square matrix                    | lax.linalg.triangular_solve(jnp.ones((2, 3)), jnp.ones((2, 3)))
at least as many rows as columns           | lax.linalg.householder_product(jnp.ones((2, 3)), jnp.ones(2))
must have shape \[\.\.\., n, n\]           | jnp.linalg.inv(jnp.ones((2, 3)))
must have shape \[\.\.\., n, n\]           | jnp.linalg.det(jnp.ones((2, 3)))
must have shape \[\.\.\., n, n\]           | jnp.linalg.slogdet(jnp.ones((2, 3)))
must have shape \[\.\.\., n, n\]           | lax.linalg.hessenberg(jnp.ones((2, 3)))
must be square                             | jnp.linalg.matrix_power(jnp.ones((2, 3)), 2)
must be at least two-dimensional           | jnp.linalg.matrix_power(V, 2)
UPLO must be one of None, 'L', or 'U'      | jnp.linalg.eigh(S, UPLO="X")
Unsupported QR decomposition mode          | jnp.linalg.qr(S, mode="X")
Invalid order .* for matrix norm           | jnp.linalg.norm(S, ord="X")
Invalid order .* for vector norm           | jnp.linalg.norm(V, ord="nuc")
Improper number of axes for norm           | jnp.linalg.norm(jnp.ones((2, 2, 2)), axis=(0, 1, 2))
ind must be a positive integer             | jnp.linalg.tensorinv(S, 0)
product of the first `?ind`? dimensions    | jnp.linalg.tensorinv(jnp.ones((2, 3)), 1)
must all be two-dimensional                | jnp.linalg.multi_dot([S, V, S])
only one of (tol or rtol|rtol and rcond)   | jnp.linalg.pinv(S, rtol=1e-3, rcond=1e-3)
[Ll]eading dimensions .*must match         | jnp.linalg.lstsq(S, jnp.ones(4))
at least 2 dimensions                      | jnp.linalg.matrix_transpose(V)
Input arrays must be one-dimensional       | jnp.linalg.outer(S, S)
Unknown slogdet method                     | jnp.linalg.slogdet(S, method="X")
ndarray|array.* 3-dimensional vectors      | jnp.linalg.cross(jnp.ones(2), jnp.ones(2))
Too few leaves                             | lib.tree.unflatten(lib.tree.structure((1, 2)), [1])
Too many leaves                            | lib.tree.unflatten(lib.tree.structure((1, 2)), [1, 2, 3])
less than or equal to operand shape        | lax.slice(V, (0,), (4,))
slice_sizes.* less than or equal to        | lax.dynamic_slice(V, (0,), (4,))
slice_sizes.* greater than or equal to zero | lax.dynamic_slice(V, (0,), (-1,))
requires arguments to have the same dtypes | lax.dynamic_update_slice(V, jnp.ones(2, int), (0,))
Incompatible shapes for arguments to tri   | lax.linalg.triangular_solve(S, jnp.ones((3, 3)))
have the same shape                        | lax.linalg.tridiagonal_solve(V, V, jnp.ones(4), jnp.ones((3, 1)))
invalid argnames                           | lib.jit(lambda x: x, static_argnames="z")
invalid argnames                           | lib.jit(lambda x: x, donate_argnames="z")
only accepts 1 positional arguments        | lib.jit(lambda x: x, static_argnums=3)
static_argnames and donate_argnames cannot intersect | lib.jit(lambda x, y: x, static_argnums=0, donate_argnums=0)
got a generator function                   | lib.jit(GENERATOR)
container with those types as leaves       | lib.vmap(id, in_axes=(0.5,))(V)
container with those types as leaves       | lib.vmap(id, out_axes="a")(V)
entries corresponding to the positional arguments | lib.vmap(id, in_axes=(0,))(V, V)
two-element tuple                          | lib.grad(id, has_aux=True)(1.0)
rimal and tangent outputs .*corresponding shapes and dtypes | lib.jvp(JVP(lambda p, t: (p[0], V)), (1.0,), (1.0,))
Can't use .*defjvps.* with .*nondiff_argnums | lib.custom_jvp(id, nondiff_argnums=(0,)).defjvps(None)
must be scalars                            | lax.dynamic_slice(V, (V.astype(int),), (1,))
same rank as operand                       | lax.dynamic_update_slice(V, S, (0,))
must be smaller than operand shape         | lax.dynamic_update_slice(V, jnp.ones(4), (0,))
"""


def names(lib: Any) -> dict[str, Any]:
    """What a call's names stand for, with one of the two libraries."""
    jnp = lib.numpy

    def with_jvp(rule: Any) -> Any:
        function = lib.custom_jvp(lambda x: 1 * x)
        function.defjvp(rule)
        return function

    def with_vjp(forward: Any, backward: Any) -> Any:
        function = lib.custom_vjp(lambda x: 1 * x)
        function.defvjp(forward, backward)
        return function

    def generator(x: Any) -> Any:
        yield x

    def leak() -> Any:
        kept: list[Any] = []
        lib.jit(lambda x: kept.append(x * 2))(1.0)
        return jnp.sin(kept[0])

    return {
        "lib": lib,
        "jnp": jnp,
        "lax": lib.lax,
        "np": np,
        "id": lambda x: x,
        "twice": lambda *xs: (xs[0], xs[0]),
        "V": jnp.array([1.0, 2.0, 3.0]),
        "S": jnp.eye(2),
        "JVP": with_jvp,
        "VJP": with_vjp,
        "LEAK": leak,
        "GENERATOR": generator,
        "COND": lambda f, g, x: lib.jit(lambda p: lib.lax.cond(p, f, g, x))(True),
        "SWITCH": lambda fs, x: lib.jit(lambda i: lib.lax.switch(i, fs, x))(0),
    }


def said(call: str, scope: dict[str, Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f"no error, but {eval(call, scope)}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"


@pytest.mark.wrong_types
@pytest.mark.parametrize("lib", [jax, tinyjax], ids=["jax", "tinyjax"])
def test_shared_words(lib: Any) -> None:
    scope, wrong = names(lib), []
    for line in WORDS.strip().split("\n"):
        words, _, call = line.partition(" | ")
        text = said(call, scope)
        if not re.search(words.strip(), text, re.DOTALL):
            wrong.append(f"{words.strip()} is not in what {call} says: {text}")
    assert not wrong, "\n".join(wrong)
