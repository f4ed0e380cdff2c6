"""Words that an error shares with JAX's, so that who searches for either finds the other.

On the left is what both messages hold (a pattern), on the right the call; what it names comes from
JAX or from here.
"""

# ruff: noqa: E501 (one call is one line)

import re
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.custom_batching
import jax.custom_derivatives
import jax.export
import jax.flatten_util
import jax.test_util
import jax.tree_util
import numpy as np
import pytest

import tinyjax
import tinyjax.custom_batching
import tinyjax.custom_derivatives
import tinyjax.export
import tinyjax.flatten_util
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
cond_fun must return a boolean scalar, but got pytree | lax.while_loop(twice, id, 1.0)
cond_fun must return a boolean scalar, but got output type | lax.while_loop(lambda x: jnp.float32(1), id, 1.0)
while_loop body function carry input and carry output must have the same pytree structure, but they differ | lax.while_loop(lambda x: x > 0, twice, 1.0)
The input carry component c\[1\] has type float32\[\] but the corresponding output carry component has type bool\[\], so the dtypes do not match | lax.while_loop(lambda c: True, lambda c: (True, True), (np.bool_(True), F))
corresponding component of the carry output is a | lax.scan(lambda c, x: ((0, 0, 0), x), (1, 2), V)
The input carry c is a tuple of length 2    | lax.scan(lambda c, x: ((0, 0, 0), x), (1, 2), V)
  \* the input carry component x\[0\] has type int32\[\] but .*, so the dtypes do not match;\n  \* the input carry component x\[1\] .*, so the dtypes do not match, and the shapes do not match\. | lax.scan(lambda x, _: ((F, V), None), (I, I), None, 1)
Can only use `unroll` in `fori_loop` if the loop bounds are statically known | lib.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 7.0, unroll=3))(10)
cond branch outputs must have the same pytree structure, but they differ:.*true_fun output at path \['a'\] is a pytree leaf but false_fun output at path \['a'\] is a | COND(lambda x: dict(a=2.0), lambda x: dict(a=(3.0, 3.0)), 1.0)
cond branches must have equal output types but they differ.*The output of true_fun has type float32\[3\] but the corresponding output of false_fun has type float32\[\], so the shapes do not match | COND(id, jnp.sum, V)
The output of branch 0 at path \['a'\] has type float32\[3\] but the corresponding output of branch ?1 has type float32\[\], so the shapes do not match | SWITCH([lambda x: dict(a=x), lambda x: dict(a=F)], V)
callable                                    | lax.fori_loop(0, 1, 42, 0)
callable                                    | lax.while_loop(42, 42, 0)
callable                                    | lax.switch(0, [42])
callable                                    | lax.cond(True, 42, 42)
callable                                    | lax.scan(42, 0, 1)
callable                                    | lax.associative_scan(42, 0)
scan got value with no leading axis to scan over | lax.scan(twice, 1.0, [0, 1])
scan body output must be a pair, got        | lax.scan(lambda c, x: c, 1.0, V)
scan got `length` argument of 5 which disagrees with leading axis sizes \[3\] | lax.scan(twice, 0, V, length=5)
`unroll` must be                            | lax.scan(twice, 1.0, V, unroll=-1)
cannot select an axis to squeeze out which has size not equal to one, got shape=\(2,\) and dimensions=\(0,\) | lax.squeeze(jnp.ones(2), (0,))
The `length` argument to `scan` expects a concrete `int` value | lib.jit(lambda n: lax.scan(twice, 1.0, None, n))(3)
The `unroll` argument to `scan` expects a concrete `int` or `bool` value | lib.jit(lambda n: lax.scan(twice, 1.0, V, unroll=n))(3)
Expected tuple, got 3\.                     | UP_TO((1, 2), 3)
Expected list, got \(7,\)\.                 | UP_TO({"a": [1]}, {"a": (7,)})
Expected tuple, got \{'a': 7\}\.            | UP_TO({"a": (1,)}, {"a": {"a": 7}})
Expected dict, got 7\.                      | UP_TO({"a": 1}, 7)
Expected None, got \[2\]\.                  | UP_TO(None, [2])
Tuple arity mismatch: 1 != 2; tuple: \(1,\)\. | UP_TO((1, 2), (1,))
List arity mismatch: 1 != 2; list: \[1\]\.  | UP_TO([1, 2], [1])
Dict key mismatch                           | UP_TO({"a": 1}, {"b": 7})
Expected named tuple, got \(1, 2\)\.        | UP_TO(ONE(1, 2), (1, 2))
Named tuple type mismatch: expected type: <class '.*One'>, tuple: Two | UP_TO(ONE(1, 2), TWO(1, 2))
Custom node type mismatch: expected type: <class '.*Node'>, value: \(1,\)\. | UP_TO(NODE, (1,))
pytree structure error: different types at key path\n    .*prefix_tree | lib.tree.broadcast((1, 2), [1, 2])
pytree structure error: different lengths of tuple at key path | lib.tree.broadcast((1,), (2, 3))
pytree structure error: different lengths of list at key path | lib.tree.broadcast([[1]], [[2, 3]])
pytree structure error: different numbers of pytree children at key path | lib.tree.broadcast({"a": 1}, {"a": 2, "b": 3})
pytree structure error: different pytree metadata at key path | lib.tree.broadcast({1: 2}, {3: 4})
different types at key path                 | lib.vmap(id, in_axes=({"a": 0},))(V)
should return a \(children, aux_data\) tuple | lib.tree.leaves(BAD("hello"))
should return a \(children, aux_data\) tuple where 'children' is iterable | lib.tree.leaves(BAD((7, 7)))
but expected dtype                          | lib.flatten_util.ravel_pytree((V, V.astype(int)))[1](jnp.ones(6) < 5)
register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass. Got nodetype=<class | lib.tree_util.register_dataclass(PLAIN)
register_dataclass: data_fields and meta_fields must both be specified when either is specified. Got data_fields=\['x'\] meta_fields=None. | lib.tree_util.register_dataclass(PLAIN, data_fields=["x"])
data_fields and meta_fields must include all dataclass fields.*Missing fields: \{'y'\} | lib.tree_util.register_dataclass(DATA, data_fields=["x"], meta_fields=[])
data_fields and meta_fields must include all dataclass fields.*Unexpected fields: \{'z'\} | lib.tree_util.register_dataclass(DATA, data_fields=["x"], meta_fields=["y", "z"])
No JVP defined for custom_jvp function f using defjvp\. | lib.custom_jvp(F_OF_X)(1.0)
No VJP defined for custom_vjp function f using defvjp\. | lib.custom_vjp(F_OF_X)(1.0)
No batching rule defined for custom_vmap function f | lib.custom_batching.custom_vmap(F_OF_X)(1.0)
Custom JVP rule rule for function f must produce a pair \(list or tuple of length two\) representing primal and tangent outputs, but got | lib.jvp(F_JVP(lambda p, t: t[0]), (1.0,), (1.0,))
Custom JVP rule rule for function f must produce primal and tangent outputs with equal container \(pytree\) structures, but got PyTreeDef\(\*\) and PyTreeDef\(\[\*, \*\]\) respectively\. | lib.jvp(F_JVP(lambda p, t: (p[0], [t[0], t[0]])), (1.0,), (1.0,))
Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes\. Expected float32\[\] \(tangent type of float32\[\]\) but got float32\[3\]\. | lib.jvp(F_JVP(lambda p, t: (p[0], V)), (F,), (F,))
Custom JVP rule rule for function f must produce a pair \(list or tuple of length two\) where the first element represents the primal output \(equal in value to the output of the custom_jvp-decorated function f, and in particular of the same container/pytree structure\), but | lib.jvp(ONCE(F_JVP(lambda p, t: (p, t))), (F,), (F,))
and in particular with leaves of the same shape/dtype\), but | lib.jvp(ONCE(F_JVP(lambda p, t: (V, t[0]))), (F,), (F,))
Custom VJP fwd rule .* for function .* must produce a pair \(list or tuple of length two\) where the first element represents the primal output | lib.grad(ONCE(VJP(lambda x: ((x, x), None), lambda r, g: (g,))))(F)
Custom VJP bwd rule .*must produce a tuple  | lib.grad(VJP(lambda x: (x, None), lambda r, g: g))(1.0)
Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but at output\[0\] the bwd rule produced an output of type float32\[3\] corresponding to an input of type float32\[\] | lib.grad(VJP(lambda x: (x, None), lambda r, g: (V,)))(F)
can't apply forward-mode autodiff \(jvp\) to a custom_vjp function | lib.jvp(VJP(lambda x: (x, None), lambda r, g: (g,)), (1.0,), (1.0,))
The input arguments to the custom_jvp-decorated function f.*\nmissing a required argument: 'y' | F_OF_TWO(0.5)
The following keyword arguments could not be resolved to positions: z | F_OF_TWO(0.5, 0.1, z=1.0)
The inputs to the closure produced by closure_convert must have the same Pytree structure as the example arguments | lib.closure_convert(id, 1.0)[0](1.0, [])
transpose output pytree structure must match that of linear inputs | lib.linear_transpose(lambda x: lib.custom_derivatives.linear_call(lambda r, x: x / r, lambda r, t: None, 3.0, x), 1.0)(1.0)
structure of output value and output batching specification returned by custom vmap rule \(rule\) do not match | lib.vmap(F_VMAP(lambda n, b, x: ([x, x], b)))(V)
at vmap out_axes, got axis spec None but output was batched | lib.vmap(id, out_axes=None)(V)
Only non-negative indices are allowed when broadcasting static shapes, but got shape \(-1,\) | lax.broadcast_shapes((-1,))
Unsupported dtype float16                   | jnp.linalg.qr(jnp.ones((2, 3), "float16"))
pinv: only one of rtol and rcond may be specified\. | jnp.linalg.pinv(S, rtol=1e-3, rcond=1e-3)
matrix_rank: only one of tol or rtol may be specified | jnp.linalg.matrix_rank(S, rtol=1e-3, tol=1e-3)
jvp called with different primal and tangent shapes | lib.jvp(id, (1.0,), (V,))
primal and tangent arguments to .*jvp do not match; dtypes must be equal, or in case of int/bool primal dtype the tangent dtype must be float0 | lib.jvp(id, (1.0,), (1,))
tangent dtype must be float0                | lib.jvp(id, (1,), (1,))
primal and tangent arguments to .*jvp must have the same tree structure | lib.jvp(id, (1.0,), (1.0, 2.0))
primal and tangent arguments to .*jvp must have the same tree structure | lib.jvp(id, (1.0,), ((1.0,),))
unexpected JAX type \(e\.g\. shape/dtype\) for argument to VJP function | lib.vjp(id, V)[1](1.0)
unexpected JAX type \(e\.g\. shape/dtype\) for argument to VJP function | lib.vjp(id, V)[1](jnp.ones(3, "float16"))
unexpected tree structure                   | lib.vjp(id, 1.0)[1]((1.0,))
unexpected tree structure                   | lib.vjp(twice, 1.0)[1]((1.0, 1.0, 1.0))
linearized function called on tangent values inconsistent with the original primal values | lib.linearize(id, 1.0)[1](V)
linearized function called on tangent values inconsistent with the original primal values | lib.linearize(id, 1.0)[1](1)
cotangent type does not match function output | lib.linear_transpose(id, 1.0)(V)
cotangent tree does not match function output | lib.linear_transpose(id, 1.0)((1.0,))
differentiating with respect to argnums=2 requires at least 3 positional arguments to be passed by the caller, but got only 1 | lib.grad(id, 2)(1.0)
requires outputs with complex dtype         | lib.grad(jnp.real, holomorphic=True)(1j)
jacfwd requires real-valued inputs          | lib.jacfwd(id)(1j)
is not a valid JAX type                     | lib.grad(id)("a")
is not a valid JAX type                     | lib.vmap(lambda x: "a")(V)
is not a valid JAX type                     | lib.device_put("a")
Value 'a'                                   | jnp.asarray("a")
vmap was requested to map its argument along axis 0, which implies that its rank should be at least 1, but is only 0 \(its shape is \(\)\) | lib.vmap(id)(1.0)
vmap was requested to map its argument along axis -2, which implies that its rank should be at least 2, but is only 1 \(its shape is \(3,\)\) | lib.vmap(id, in_axes=-2)(V)
must be a tree prefix of the corresponding value; .*different types at key path | lib.vmap(id, out_axes=(0, 0))(V)
must have rank at least 2, but got shape=\(3,\) | jnp.linalg.svd(V)
must have rank at least 2, but got shape=\(3,\) | jnp.linalg.qr(V)
must have rank at least 2, but got shape=\(3,\) | jnp.linalg.eig(V)
must have rank at least 2, but got shape=\(3,\) | lax.linalg.lu(V)
must have rank at least 2, but got shape=\(3,\) | lax.linalg.triangular_solve(V, V)
shape \[\.\.\., n, n\]                      | jnp.linalg.inv(V)
shape \[\.\.\., n, n\]                      | jnp.linalg.det(V)
exponent must be an integer, .*got 1\.5     | jnp.linalg.matrix_power(S, 1.5)
Length of slice indices must match number of operand dimensions | lax.dynamic_slice(V, (0, 0), (1,))
Length of slice indices must match number of operand dimensions | lax.dynamic_update_slice(V, V, (0, 0))
strides must have length equal to the number of dimensions of the operand | lax.slice(V, (0,), (1,), (1, 1))
Comparator raised exception while sorting pytree dictionary keys | lib.tree.leaves({1: 0, "a": 0})
"""


class One(NamedTuple):
    x: Any
    y: Any


class Two(NamedTuple):
    x: Any
    y: Any


def names(lib: Any) -> dict[str, Any]:
    """Return the values of a call's names, with one of the two libraries."""
    jnp = lib.numpy

    def with_jvp(rule: Any) -> Any:
        function = lib.custom_jvp(lambda x: 1 * x)
        function.defjvp(rule)
        return function

    def with_vjp(forward: Any, backward: Any) -> Any:
        function = lib.custom_vjp(lambda x: 1 * x)
        function.defvjp(forward, backward)
        return function

    def f(x: Any) -> Any:
        return 1 * x

    def f_of_two(x: Any, y: Any, *, z: Any = 1) -> Any:
        return x * y

    f_of_two.__name__ = f_of_two.__qualname__ = "f"

    def ruled(decorate: Any, setter: str, body: Any, fun: Any = lambda x: 1 * x) -> Any:
        def rule(*args: Any) -> Any:
            return body(*args)

        fun.__name__ = fun.__qualname__ = "f"
        function = decorate(fun)
        getattr(function, setter)(rule)
        return function

    def node(flattened: Any) -> Any:
        cls = type("Node", (), {})
        lib.tree_util.register_pytree_node(cls, lambda _: flattened, lambda _, c: cls())
        return cls()

    @dataclass
    class Data:
        x: Any
        y: Any

    def generator(x: Any) -> Any:
        yield x

    def leak() -> Any:
        leaks: list[Any] = []
        lib.jit(lambda x: leaks.append(x * 2))(1.0)
        return jnp.sin(leaks[0])

    return {
        "lib": lib,
        "jnp": jnp,
        "lax": lib.lax,
        "np": np,
        "id": lambda x: x,
        "twice": lambda *xs: (xs[0], xs[0]),
        "V": jnp.array([1.0, 2.0, 3.0]),
        "S": jnp.eye(2),
        "F": np.float32(1),
        "I": np.int32(1),
        "UP_TO": lambda a, b: lib.tree.structure(a).flatten_up_to(b),
        "ONE": One,
        "TWO": Two,
        "NODE": node(((1,), None)),
        "BAD": node,
        "PLAIN": type("Plain", (), {}),
        "DATA": Data,
        "F_OF_X": f,
        "F_OF_TWO": ruled(lib.custom_jvp, "defjvp", lambda p, t: (p[0], t[0]), f_of_two),
        "F_JVP": lambda body: ruled(lib.custom_jvp, "defjvp", body),
        "F_VMAP": lambda body: ruled(lib.custom_batching.custom_vmap, "def_vmap", body),
        "ONCE": lambda f: lambda x: lib.lax.scan(lambda c, _: (f(c), None), x, None, 1)[0],
        "JVP": with_jvp,
        "VJP": with_vjp,
        "LEAK": leak,
        "GENERATOR": generator,
        "COND": lambda f, g, x: lib.jit(lambda p: lib.lax.cond(p, f, g, x))(True),
        "SWITCH": lambda fs, x: lib.jit(lambda i: lib.lax.switch(i, fs, x))(0),
    }


def message_of(call: str, scope: dict[str, Any]) -> str:
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
        words, _, call = line.rpartition(" | ")
        text = message_of(call, scope)
        if not re.search(words.rstrip(), text, re.DOTALL):
            wrong.append(f"{words.rstrip()} is not in what {call} says: {text}")
    assert not wrong, "\n".join(wrong)
