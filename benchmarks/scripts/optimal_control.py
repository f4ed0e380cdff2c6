"""A pendulum swung up: the forces by gradient descent through the simulation, then by iLQR."""

from benchmarks.scripts.library import jax, jnp, lax, show

STEPS = 60


def dynamics(x, u):
    angle, spin = x
    spin = spin + 0.05 * (-9.8 * jnp.sin(angle) - 0.1 * spin + u[0])
    return jnp.stack([angle + 0.05 * spin, spin])


def cost(x, u):
    return 0.01 * jnp.sum(u**2) + 0.05 * (1 + jnp.cos(x[0])) + 1e-3 * x[1] ** 2


def final(x):
    return 5 * (1 + jnp.cos(x[0])) + 0.1 * x[1] ** 2


def simulate(us):
    def body(x, u):
        return dynamics(x, u), x

    last, xs = lax.scan(body, jnp.array([0.1, 0.0]), us)
    return last, xs


def total(us):
    last, xs = simulate(us)
    return jax.vmap(cost)(xs, us).sum() + final(last)


@jax.jit
def descend(us):
    value, grad = jax.value_and_grad(total)(us)
    return us - 0.2 * grad, value


@jax.jit
def ilqr(us):
    last, xs = simulate(us)
    A, B = jax.vmap(jax.jacfwd(dynamics, (0, 1)))(xs, us)
    lx, lu = jax.vmap(jax.grad(cost, (0, 1)))(xs, us)
    (lxx, _), (_, luu) = jax.vmap(jax.hessian(cost, (0, 1)))(xs, us)

    def back(carry, inputs):
        V, VV = carry
        A, B, lx, lu, lxx, luu = inputs
        Qx, Qu = lx + A.T @ V, lu + B.T @ V
        Qxx, Quu, Qux = lxx + A.T @ VV @ A, luu + B.T @ VV @ B + jnp.eye(1), B.T @ VV @ A
        k, K = -jnp.linalg.solve(Quu, Qu), -jnp.linalg.solve(Quu, Qux)
        return (
            Qx + K.T @ Quu @ k + K.T @ Qu + Qux.T @ k,
            Qxx + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K,
        ), (k, K)

    start = jax.grad(final)(last), jax.hessian(final)(last)
    _, (ks, Ks) = lax.scan(back, start, (A, B, lx, lu, lxx, luu), reverse=True)

    def forward(x, inputs):
        old, u, k, K = inputs
        u = u + 0.3 * k + K @ (x - old)
        return dynamics(x, u), u

    return lax.scan(forward, xs[0], (xs, us, ks, Ks))[1]


us = 0.1 * jnp.ones((STEPS, 1))
for i in range(60):
    us, value = descend(us)
    if i in (0, 5):
        show("cost", value)
show("later", bool(value < 15))
for _ in range(10):
    us = ilqr(us)
show("finite", bool(jnp.isfinite(total(us))))
