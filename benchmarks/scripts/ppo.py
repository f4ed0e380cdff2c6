"""A policy for a pole on a cart, by clipped policy gradients; worlds run side by side."""

from benchmarks.scripts.library import jax, jnp, lax, show

WORLDS, STEPS = 32, 64


def world(state, force):
    x, v, angle, spin = state
    temp = (force + 0.05 * spin**2 * jnp.sin(angle)) / 1.1
    pull = (9.8 * jnp.sin(angle) - jnp.cos(angle) * temp) / (
        0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1)
    )
    push = temp - 0.05 * pull * jnp.cos(angle) / 1.1
    new = jnp.array([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * pull])
    fell = (jnp.abs(new[2]) > 0.2) | (jnp.abs(new[0]) > 2.4)
    return jnp.where(fell, jnp.zeros(4), new), 1.0 - fell


def net(params, s):
    h = jnp.tanh(s @ params["w1"] + params["b1"])
    return h @ params["policy"], (h @ params["value"])[..., 0]


@jax.jit
def rollout(params, states, key):
    def step(states, key):
        logits, value = net(params, states)
        actions = jax.random.categorical(key, logits)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
        new, reward = jax.vmap(world)(states, 20.0 * actions - 10.0)
        return new, (states, actions, logp, reward, value)

    return lax.scan(step, states, jax.random.split(key, STEPS))


@jax.jit
def advantages(rewards, values):
    def back(carry, x):
        reward, value, following = x
        delta = reward + 0.99 * following * reward - value
        carry = delta + 0.95 * 0.99 * reward * carry
        return carry, carry

    following = jnp.concatenate([values[1:], values[-1:]])
    return lax.scan(back, jnp.zeros(WORLDS), (rewards, values, following), reverse=True)[1]


def loss(params, states, actions, old, adv, returns):
    logits, value = net(params, states)
    logp_all = jax.nn.log_softmax(logits)
    logp = jnp.take_along_axis(logp_all, actions[..., None], -1)[..., 0]
    ratio = jnp.exp(logp - old)
    clipped = jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv)
    entropy = -jnp.sum(jnp.exp(logp_all) * logp_all, -1)
    return -jnp.mean(clipped) + 0.5 * jnp.mean((value - returns) ** 2) - 0.01 * jnp.mean(entropy)


@jax.jit
def update(params, *batch):
    grads = jax.grad(loss)(params, *batch)
    return jax.tree.map(lambda p, g: p - 0.01 * jnp.clip(g, -1, 1), params, grads)


k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {"w1": jax.random.normal(k1, (4, 32)), "b1": jnp.zeros(32)}
params |= {
    "policy": 0.1 * jax.random.normal(k2, (32, 2)),
    "value": 0.1 * jax.random.normal(k3, (32, 1)),
}
states = 0.05 * jax.random.normal(jax.random.key(1), (WORLDS, 4))
for i in range(12):
    states, (seen, actions, logp, rewards, values) = rollout(params, states, jax.random.key(i))
    adv = advantages(rewards, values)
    returns = adv + values
    adv = (adv - adv.mean()) / (adv.std() + 1e-5)
    if i == 0:
        show("rewards", rewards.mean())
        show("returns", returns.mean())
    for _ in range(4):
        params = update(params, seen, actions, logp, adv, returns)
show("alive", bool(rewards.mean() > 0.9))
