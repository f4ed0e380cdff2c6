"""Programs of several lines."""

PROGRAMS = """
kept = []
jax.jit(lambda x: kept.append(x))(1.0)
kept[0] + 1.0
---
kept = []
jax.grad(lambda x: (kept.append(x), x)[1])(1.0)
kept[0] + 1.0
---
kept = []
jax.vmap(lambda x: (kept.append(x), x)[1])(jnp.ones(3))
jnp.sin(kept[0])
---
kept = []
jax.jit(lambda x: (kept.append(x), x)[1])(1.0)
jax.jit(lambda x: x + kept[0])(1.0)
---
kept = []
lax.scan(lambda c, x: (kept.append(x), (c, x))[1], 1.0, jnp.ones(3))
kept[0] * 2.0
---
kept = []
jax.jit(lambda x: (kept.append(x), x)[1])(1.0)
float(kept[0])
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: p[0])
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: (p[0], t[0], t[0]))
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: (p[0], (t[0], t[0])))
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: (p[0], jnp.ones(3)))
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: (p[0], 1))
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p, t: (p[0], jnp.int32(1)))
jax.jvp(f, (1.0,), (1.0,))
---
f = jax.custom_jvp(lambda x: x)
f.defjvp(lambda p: p)
jax.grad(f)(1.0)
---
f = jax.custom_jvp(lambda x, y: x * y)
f.defjvp(lambda p, t: (f(*p), t[0]))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: x, lambda r, ct: (ct,))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None, None), lambda r, ct: (ct,))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r, ct: ct)
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r, ct: (ct, ct))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r, ct: (jnp.ones(3),))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r: (r,))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x["a"])
f.defvjp(lambda x: (x["a"], None), lambda r, ct: ({"b": ct},))
jax.grad(f)({"a": 1.0})
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: ((x, x), None), lambda r, ct: (ct,))
jax.grad(f)(1.0)
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
jax.jvp(f, (1.0,), (1.0,))
---
f = jax.custom_vjp(lambda x: x)
f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
jax.jacfwd(f)(1.0)
---
f = jax.custom_vjp(lambda n, x: x, nondiff_argnums=(0,))
f.defvjp(lambda n, x: (x, None), lambda r, ct: (ct,))
jax.grad(f, 1)(1, 1.0)
---
f = jax.custom_vjp(lambda x, n: x, nondiff_argnums=(-3,))
f.defvjp(lambda x, n: (x, None), lambda r, ct: (ct,))
jax.grad(f)(1.0, 2.0)
---
x = jnp.ones(3)
jax.jit(lambda x: x + 1.0, donate_argnums=0)(x)
x + 1.0
---
x = jnp.ones(3)
jax.jit(lambda x: x + 1.0, donate_argnums=0)(x)
np.asarray(x)
---
x = jnp.ones(3)
x[0] = 1.0
---
x = jnp.ones(3)
x += "a"
---
np.asarray(jnp.ones(3))[0] = 1.0
---
@jax.jit
def f(x):
    while x < 3:
        x = x + 1
    return x
f(1.0)
---
@jax.jit
def f(x):
    for i in range(x):
        x = x + i
    return x
f(3)
---
@jax.jit
def f(x):
    assert x > 0
    return x
f(3.0)
---
@jax.jit
def f(x):
    return x and x
f(3.0)
---
@jax.jit
def f(x):
    return not x
f(3.0)
---
@jax.jit
def f(x):
    return max(x, 2.0)
f(3.0)
---
@jax.jit
def f(x):
    return sorted([x, 1.0])
f(3.0)
---
@jax.jit
def f(x):
    return 1.0 in [x]
f(3.0)
---
@jax.jit
def f(x):
    return [1, 2, 3][x]
f(1)
---
@jax.jit
def f(x):
    return [1, 2, 3][:x]
f(1)
---
@jax.jit
def f(x):
    return (1, 2) * x
f(1)
---
@jax.jit
def f(x):
    return "a" * x
f(1)
---
@jax.jit
def f(x):
    return math.sin(x)
f(1.0)
---
@jax.jit
def f(x):
    return math.floor(x)
f(1.0)
---
@jax.jit
def f(x):
    return math.factorial(x)
f(3)
---
@jax.jit
def f(x):
    return np.linalg.inv(np.array(x))
f(np.eye(2, dtype=np.float32))
---
@jax.jit
def f(x):
    y = np.zeros(3)
    y[0] = x
    return y
f(1.0)
---
@jax.jit
def f(x):
    return np.arange(3)[x]
f(1)
---
@jax.jit
def f(x):
    return np.ones(3).reshape(x, 1)
f(3)
---
@jax.jit
def f(x):
    return hex(x)
f(3)
---
@jax.jit
def f(x):
    return {x: 1}
f(3)
---
@jax.jit
def f(x):
    return {x}
f(3)
---
@jax.jit
def f(x):
    match x:
        case 1.0:
            return x
        case _:
            return -x
f(1.0)
---
@jax.jit
def f(x):
    a, b = x
    return a
f(jnp.ones(3))
---
@jax.jit
def f(x):
    return sum(x)
f(1.0)
---
@jax.jit
def f(x):
    return x.tolist()
f(jnp.ones(3))
---
@jax.jit
def f(x):
    return x.tobytes()
f(jnp.ones(3))
---
@jax.jit
def f(x):
    return memoryview(x)
f(jnp.ones(3))
---
@jax.jit
def f(x):
    return x.__array__()
f(jnp.ones(3))
---
@jax.jit
def f(x):
    x[0] = 1.0
    return x
f(jnp.ones(3))
---
@jax.jit
def f(x):
    return jax.random.normal(jax.random.PRNGKey(0), (x,))
f(3)
---
@jax.jit
def f(x):
    return jnp.broadcast_to(1.0, (x,))
f(3)
---
@jax.jit
def f(x):
    return lax.scan(lambda c, _: (c, c), 1.0, None, length=x)
f(3)
---
@jax.jit
def f(x):
    return jax.nn.one_hot(1, x)
f(3)
---
@jax.jit
def f(x):
    return lax.top_k(jnp.ones(5), x)
f(3)
---
@jax.jit
def f(x):
    return jnp.diag(jnp.ones(3), k=x)
f(1)
---
@jax.jit
def f(x):
    return jnp.pad(jnp.ones(3), x)
f(1)
---
@jax.jit
def f(x):
    return jnp.stack([jnp.ones(3)], axis=x)
f(0)
---
@jax.jit
def f(x):
    return jnp.moveaxis(jnp.ones((3, 2)), x, 0)
f(1)
---
@jax.jit
def f(x):
    return jnp.transpose(jnp.ones((3, 2)), (x, 0))
f(1)
---
@jax.jit
def f(x):
    return jnp.squeeze(jnp.ones((3, 1)), x)
f(1)
---
@jax.jit
def f(x):
    return jnp.take(jnp.ones((3, 1)), 0, axis=x)
f(1)
---
class Strange:
    pass
jax.jit(lambda x: x)(Strange())
---
class Strange:
    pass
jax.jit(lambda: Strange())()
---
class Strange:
    pass
jnp.ones(3) + Strange()
---
class Strange:
    __hash__ = None
jax.jit(lambda x, n: x, static_argnums=1)(1.0, Strange())
---
class Strange:
    def __hash__(self):
        raise TypeError("no")
jax.jit(lambda x, n: x, static_argnums=1)(1.0, Strange())
---
jax.jit(lambda x: jax.grad(lambda y: (y, y))(x))(1.0)
---
jax.vmap(lambda x: jax.vmap(lambda y, z: y)(x, jnp.ones(4)))(jnp.ones((2, 3)))
---
jax.vmap(jax.grad(lambda x: x))(jnp.ones((2, 3)))
---
jax.vmap(lambda x: x + jnp.ones(4))(jnp.ones((2, 3)))
---
jax.vmap(lambda x: x.reshape(4))(jnp.ones((2, 3)))
---
jax.vmap(lambda x: jnp.sum(x, axis=1))(jnp.ones((2, 3)))
---
jax.vmap(lambda x: lax.cond(x > 0, lambda: jnp.ones(2), lambda: jnp.ones(3)))(jnp.ones(3))
---
jax.vmap(lambda x: lax.while_loop(lambda c: c < x, lambda c: (c, c), 0.0))(jnp.ones(3))
---
jax.vmap(lambda x: lax.axis_index("j"), axis_name="i")(jnp.ones(3))
---
jax.vmap(lambda x: lax.pmean(x, ("i", "j")), axis_name="i")(jnp.ones(3))
---
jax.vmap(lambda x: lax.all_gather(x, "k"), axis_name="i")(jnp.ones(3))
---
jax.grad(lambda x: x.astype(int))(1.0)
---
jax.grad(lambda x: x.at[0].set("a"))(jnp.ones(3))
---
jax.grad(lambda x: x[5, 5])(jnp.ones(3))
---
jax.grad(lambda x: lax.while_loop(lambda c: c < 3.0, lambda c: (c, c), x))(1.0)
---
jax.grad(lambda x, y: x @ y)(jnp.ones(3), jnp.ones(4))
---
jax.grad(lambda x: {"a": x})(1.0)
---
jax.grad(lambda x: jnp.stack([x, x]))(1.0)
---
jax.jacrev(lambda x: {"a": x > 0})(1.0)
---
jax.jacfwd(lambda x: x)(jnp.ones(3, int))
---
jax.hessian(lambda x: x > 0)(1.0)
---
jax.hessian(lambda x: x)(jnp.ones(3, int))
---
jax.value_and_grad(lambda x: (x, x), has_aux=False)(1.0)
---
jax.linearize(lambda x: x, 1.0)[1]({"a": 1.0})
---
jax.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0})
---
jax.vjp(lambda x: {"a": x}, 1.0)[1]({"a": jnp.ones(3)})
---
jax.vjp(lambda x: [x], 1.0)[1]((1.0,))
---
jax.linear_transpose(lambda x: jnp.sin(x), 1.0)(1.0)
---
jax.linear_transpose(lambda x: x, jnp.ones(3))(jnp.ones(4))
---
jax.linear_transpose(lambda x: {"a": x}, jnp.ones(3))({"b": jnp.ones(3)})
---
jax.jvp(lambda x: x["a"], ({"a": 1.0},), ({"a": 1},))
---
jax.jvp(lambda x: x["a"], ({"a": 1},), ({"a": 1.0},))
---
jax.jvp(lambda x, n: x, (1.0, 2), (1.0, 0.0))
---
jax.jvp(lambda x, n: x, (1.0, 2), (1.0, 0))
---
jax.make_jaxpr(lambda x: x + jnp.ones(4))(jnp.ones(3))
---
jax.make_jaxpr(lambda x: "a")(1.0)
---
jax.eval_shape(lambda x: "a", 1.0)
---
jax.eval_shape(lambda x: x if x > 0 else 1, 1.0)
---
jax.jit(lambda x: x).lower("a")
---
jax.jit(lambda x: x).lower(1.0).compile()(jnp.ones(3))
---
jax.jit(lambda x: x).lower(1.0).compile()(1.0, 2.0)
---
jax.checkpoint(lambda x: x + jnp.ones(4))(jnp.ones(3))
---
jax.grad(jax.checkpoint(lambda x: (x, x)))(1.0)
---
jax.tree.map(lambda x, y: x, {"a": 1}, {"a": 1, "b": 2})
---
jax.tree.map(lambda x, y: x, [1, 2], [1])
---
jax.tree.map(lambda x, y: x, (1, (2,)), (1, 2))
---
jax.tree.leaves({1: 1, "a": 2})
---
jax.tree.unflatten(jax.tree.structure({"a": 1}), [])
---
x, w = jnp.ones((1, 3, 3)), jnp.ones((4, 1, 3))
lax.conv_general_dilated(x, w, (1,), "SAME", feature_group_count=2)
---
x, w = jnp.ones((3, 1, 3)), jnp.ones((4, 1, 3))
lax.conv_general_dilated(x, w, (1,), "SAME", batch_group_count=2)
---
x, w = jnp.ones((1, 1, 3)), jnp.ones((1, 1, 3))
lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NHC", "OIH"))
---
numbers = lax.GatherDimensionNumbers((), (0,), (0,))
lax.gather(jnp.ones(3), jnp.zeros((1, 1), int), numbers, (5,))
---
numbers = lax.GatherDimensionNumbers((), (0,), (0,))
lax.gather(jnp.ones(3), jnp.zeros((1, 2), int), numbers, (1,))
---
numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
lax.scatter(jnp.ones(3), jnp.zeros((1, 1)), jnp.ones(1), numbers)
---
numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
lax.scatter_add(jnp.ones(3), jnp.zeros((1, 1), int), jnp.ones((1, 1)), numbers)
---
declared = jax.ShapeDtypeStruct((3,), np.float32)
jax.jit(lambda x: jax.pure_callback(lambda x: x, declared, x))(jnp.ones(4))
---
jax.jit(lambda x: copy.copy(x) if x else x)(1.0)
"""
