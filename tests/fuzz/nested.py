"""Steps with a function inside: transformations, the toolbox, control flow, rules."""

import math
from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.plain import (
    F64,
    I32,
    MOST_ELEMENTS,
    Body,
    choose,
    constant,
    fitted,
    number,
    ramp,
    slices,
    stack,
    total,
)
from tinyjax import autodiff, lax
from tinyjax._primitives.dot import dot_general
from tinyjax.core.jit import jit
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.shape import full, reshape
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array


def nested_jit(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A jitted function that closes over a value of the transformation around it."""

    def inner(z: Array) -> Array:
        return body(z, c)

    return jit(inner)(x) if ours else inner(x)


def nested_jit_twice(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """The same compiled program at two places."""
    inner = jit(body) if ours else body
    return ew.add(x, fitted(inner(fitted(inner(x, c), x.shape), c), x.shape))


def nested_grad(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    return as_array(tinyjax.grad(lambda z: ew.sin(total(body(z, c))))(x))


def nested_grad_of_closed_over(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Derivatives by the inner variable and by the outer must not be confused."""
    return as_array(tinyjax.grad(lambda z: ew.mul(total(body(x, z)), total(ew.mul(z, z))))(c))


def nested_jvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    direction = ew.cos(fitted(c, x.shape))
    return as_array(tinyjax.jvp(lambda z: body(z, c), (x,), (direction,))[1])


def nested_vmap(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """At once, in chunks, or by ``lax.map``."""
    if not x.ndim:
        return body(x, c)

    def inner(z: Array) -> Array:
        return body(z, c)

    if not ours:
        out = stack([inner(z) for z in slices(x)])
    elif k % 4 == 3:
        out = as_array(lax.map(inner, x, batch_size=2))
    else:
        out = as_array(tinyjax.vmap(inner, chunk_size=(None, 1, 2)[k % 4])(x))
    return out if out.size <= MOST_ELEMENTS and out.ndim <= 3 else total(out)


# The toolbox. The other side has jvp, along one direction or along all.


def nested_jacobian(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A Jacobian by elimination, times a vector."""
    direction = ew.cos(x)

    def inner(z: Array) -> Array:
        return fitted(body(z, c), x.shape)

    if not ours:
        return as_array(tinyjax.jvp(inner, (x,), (direction,))[1])
    orders: list[autodiff.Order] = ["auto", "forward", "reverse"]
    matrix = reshape(tinyjax.jacobian(inner, order=orders[k % 3])(x), (x.size, x.size))
    product = dot_general(matrix, reshape(direction, (x.size,)), ((1,), (0,)))
    return reshape(product, x.shape)


def nested_hvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    direction = ew.cos(x)

    def scalar(z: Array) -> Array:
        return ew.sin(total(body(z, c)))

    if ours and k % 2:
        return as_array(autodiff.hvp(scalar, (x,), (direction,)))
    if ours:  # the Gauss-Newton matrix is the Hessian where the model is linear
        return as_array(
            autodiff.gauss_newton_vp(ew.neg, lambda y: scalar(ew.neg(y)), (x,), (direction,))
        )
    along = tinyjax.jacfwd(lambda z: tinyjax.jvp(scalar, (z,), (direction,))[1])
    return as_array(along(x))


def nested_other_mode(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def inner(z: Array) -> Array:
        return body(z, c)

    if k % 2:
        route = autodiff.jvp_from_vjp if ours else tinyjax.jvp
        return as_array(route(inner, (x,), (ew.cos(x),))[1])
    cotangent = ew.cos(inner(x))
    if ours:
        return as_array(autodiff.vjp_from_jvp(inner, x)[1](cotangent)[0])
    return as_array(tinyjax.jacfwd(lambda z: total(ew.mul(inner(z), cotangent)))(x))


def nested_converted(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Apply the body with its closed-over values as arguments."""
    if not ours:
        return body(x, c)
    converted, closed_over = tinyjax.closure_convert(lambda z: body(z, c), x)
    return as_array(converted(x, *closed_over))


# Control flow. The other side has none: it computes every branch and as many iterations as there
# may be, and selects.


def nested_cond(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    predicate = ew.gt(number(c, k, 1), full((), 0, I32))

    def yes(z: Array) -> Array:
        return fitted(body(z, c), x.shape)

    def no(z: Array) -> Array:
        return ew.mul(z, fitted(ew.cos(c), x.shape)) if k % 2 else constant(z, 0.5)

    if not ours:
        return choose(predicate, yes(x), no(x))
    return lax.cond(predicate, yes, no, x)


def nested_switch(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    index = number(c, k, 2)
    branches: list[Callable[[Array], Array]] = [
        ew.sin,
        lambda z: fitted(body(z, c), x.shape),
        lambda z: ew.mul(z, fitted(body(c, z), x.shape)),
    ]
    if ours:
        return lax.switch(index, branches, x)
    first, second, third = (branch(x) for branch in branches)
    is_first, is_third = (ew.eq(index, full((), i, I32)) for i in (0, 2))
    return choose(is_first, first, choose(is_third, third, second))


def nested_scan(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Carries a counter and a value, closes over ``x``, and goes over ``c`` or over nothing."""
    xs = c if c.ndim and k % 3 else None
    length, reverse, one = k % 4 if xs is None else c.shape[0], k % 2 == 1, full((), 1, I32)

    def iteration(
        carry: tuple[Array, Array], part: Array | None
    ) -> tuple[tuple[Array, Array], Array]:
        i, z = carry
        scale = broadcast_in_dim(ew.convert_element_type(i, F64), x.shape, ())
        out = body(z, c if part is None else part)
        new = ew.sin(ew.add(fitted(out, x.shape), ew.mul(scale, x)))
        return (ew.add(i, one), new), total(out) if k % 5 else z

    start = (full((), 0, I32), ew.cos(x))
    if ours:
        (_, last), ys = lax.scan(iteration, start, xs, length, reverse, 1 + k // 4)
        return ew.add(last, fitted(ew.mul(ys, ramp(ys)), x.shape))
    parts = [None] * length if xs is None else slices(xs)
    outs = []
    carry = start
    for part in parts[::-1] if reverse else parts:
        carry, y = iteration(carry, part)
        outs.append(y)
    if not outs:
        return carry[1]
    ys = stack(outs[::-1] if reverse else outs)
    return ew.add(carry[1], fitted(ew.mul(ys, ramp(ys)), x.shape))


def nested_fori(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def iteration(i: Array, z: Array) -> Array:
        shifted = ew.add(c, broadcast_in_dim(ew.convert_element_type(i, F64), c.shape, ()))
        return ew.sin(fitted(body(z, shifted), x.shape))

    if ours:
        return lax.fori_loop(k % 2, k % 4, iteration, x)
    for i in range(k % 2, k % 4):
        x = iteration(full((), i, I32), x)
    return x


def nested_while(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A loop whose length is data; written twice."""
    n, one = number(c, k, 2), full((), 1, I32)

    def iteration(i: Array, z: Array) -> Array:
        return ew.sin(fitted(body(z, c), x.shape))

    def both(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return ew.add(state[0], one), iteration(*state)

    start = full((), 0, I32)
    if not ours:
        for i in range(2):
            x = choose(ew.lt(full((), i, I32), n), iteration(start, x), x)
        return x
    if k % 2:
        return lax.fori_loop(start, n, iteration, x)
    return lax.while_loop(lambda state: ew.lt(state[0], n), both, (start, x))[1]


STARTS: Final = (0, 0.1, 3, -2, np.int64(1), np.float32(0.5), np.int8(-1), 1.5)


def nested_promoted(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A loop whose carry starts as a number or in another dtype; branches of several dtypes."""
    start: Any = STARTS[k % len(STARTS)]
    bound = k % 4
    widens = isinstance(start, (bool, int, float)) and not isinstance(start, np.generic)

    def iteration(s: Any) -> Any:
        return jnp.sin(total(fitted(body(x, c), x.shape))) + s * 0.5

    def other(s: Any) -> Any:
        return s + 1

    if not ours:
        s: Any = start
        for _ in range(bound if widens else 1):
            s = iteration(s)
    elif not widens:  # what has a dtype of its own keeps it in a carry
        s = iteration(jnp.asarray(start))
    elif k % 3 == 0:
        s = lax.fori_loop(0, bound, lambda i, s: iteration(s), start)
    elif k % 3 == 1:
        s = lax.scan(lambda s, _: (iteration(s), None), start, None, length=bound)[0]
    else:
        s = lax.while_loop(
            lambda s: s[0] < bound, lambda s: (s[0] + 1, iteration(s[1])), (0, start)
        )[1]
    predicate = ew.gt(number(c, k, 1), full((), 0, I32))
    if ours:
        chosen = lax.cond(predicate, iteration, other, s)
    else:
        chosen = jnp.where(predicate, iteration(s), other(s))
    return ew.add(x, constant(x, 1.0) * jnp.sin(jnp.asarray(chosen).astype(F64)))


#: Of equal parts and of different types: what is compiled for one is not to be used for another.
CONFIGURATIONS: Final[tuple[tuple[Any, ...], ...]] = (
    (1, 0.5), (1.0, 0.5), (True, 0.5), (0.0, ("a", 1)), (-0.0, ("a", 1)), (0, ("a", 1.0)),
    (False, ("a", True)), (2.0, (1, (-0.0,))), (2.0, (1, (0.0,))), (2, (1.0, (0,))),
)  # fmt: skip


def configured(configuration: Any) -> float:
    """A number that tells apart what is equal: types, and the signs of zeros."""
    if isinstance(configuration, tuple):
        return 0.1 + sum(0.7**i * configured(part) for i, part in enumerate(configuration))
    if isinstance(configuration, str):
        return 0.01 * len(configuration)
    by_type = {bool: 0.11, int: 0.23, float: 0.37}[type(configuration)]
    return math.copysign(by_type, configuration) + 0.05 * float(configuration)


def nested_static(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A jitted function with a static argument that is a tuple, called with two of them."""

    def inner(z: Array, configuration: Any) -> Array:
        return fitted(body(ew.mul(z, constant(z, configured(configuration))), c), x.shape)

    fun = jit(inner, static_argnums=1) if ours else inner
    n = len(CONFIGURATIONS)
    first, second = CONFIGURATIONS[k % n], CONFIGURATIONS[(k + 1 + k // n) % n]
    return ew.sub(fun(x, first), ew.mul(fun(x, second), constant(x, 0.5)))


# Rules of one's own, which say what is so anyway.


def nested_custom_jvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    if k % 3 == 0:  # closes over what may be differentiated too
        alone = tinyjax.custom_jvp(lambda z: body(z, c))
        alone.defjvp(lambda primals, tangents: tinyjax.jvp(lambda z: body(z, c), primals, tangents))
        return alone(x)
    f = tinyjax.custom_jvp(body)
    f.defjvp(lambda primals, tangents: tinyjax.jvp(body, primals, tangents))
    return f(x, c)


def nested_custom_vjp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    f = tinyjax.custom_vjp(body)

    def backward(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, ...]:
        cotangents: tuple[Array, ...] = tinyjax.vjp(body, *saved)[1](cotangent)
        return cotangents

    f.defvjp(lambda z, w: (body(z, w), (z, w)), backward)
    return f(x, c)


def nested_custom_derivative(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    f = tinyjax.custom_derivative(body)
    f.defderivative(lambda z, w: tinyjax.linearize(body, z, w))
    return f(x, c)


def keeps_sines(primitive: object, *avals: object, **params: object) -> bool:
    return str(primitive) in ("sin", "tanh")


POLICIES: Final = (
    None,
    tinyjax.checkpoint_policies.everything_saveable,
    tinyjax.checkpoint_policies.dots_saveable,
    tinyjax.checkpoint_policies.save_only_these_names("kept"),
    tinyjax.checkpoint_policies.save_anything_except_these_names("kept"),
    keeps_sines,
)


def nested_checkpoint(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def inner(z: Array) -> Array:
        out = body(z, c)
        return ew.cos(tinyjax.checkpoint_name(out, "kept") if ours else out)

    if not ours:
        return inner(x)
    return tinyjax.checkpoint(inner, policy=POLICIES[k % len(POLICIES)])(x)


def nested_callback(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A call of NumPy with a derivative declared, after the body."""
    z = fitted(body(x, c), x.shape)
    w = fitted(c, x.shape)

    def derivative(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> Array:
        (z, w), (dz, dw) = primals, tangents
        return ew.add(ew.mul(ew.mul(ew.cos(z), w), dz), ew.mul(ew.sin(z), dw))

    if not ours:
        return ew.mul(ew.sin(z), w)
    struct = tinyjax.ShapeDtypeStruct(x.shape, F64)
    methods: list[Literal["sequential", "expand_dims", "broadcast_all"]]
    methods = ["sequential", "expand_dims", "broadcast_all"]
    out = tinyjax.pure_callback(
        lambda z, w: np.sin(z) * w,
        struct,
        z,
        w,
        vmap_method=methods[k % 3],
        derivative=derivative,
    )
    return as_array(out)


NESTED: dict[str, Callable[[Body, Array, Array, int, bool], Array]] = {
    "jit": nested_jit,
    "jit_twice": nested_jit_twice,
    "grad": nested_grad,
    "grad_of_closed_over": nested_grad_of_closed_over,
    "jvp": nested_jvp,
    "vmap": nested_vmap,
    "jacobian": nested_jacobian,
    "hvp": nested_hvp,
    "other_mode": nested_other_mode,
    "converted": nested_converted,
    "cond": nested_cond,
    "switch": nested_switch,
    "scan": nested_scan,
    "fori": nested_fori,
    "while": nested_while,
    "promoted": nested_promoted,
    "static": nested_static,
    "custom_jvp": nested_custom_jvp,
    "custom_vjp": nested_custom_vjp,
    "custom_derivative": nested_custom_derivative,
    "checkpoint": nested_checkpoint,
    "callback": nested_callback,
}
