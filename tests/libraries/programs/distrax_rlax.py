"""distrax and rlax: flows, hidden Markov models, returns and losses of reinforcement learning."""

import distrax
import jax
import jax.numpy as jnp
import rlax


def main():
    key = jax.random.PRNGKey(0)
    x, log_prob = distrax.Normal(0.0, 1.0).sample_and_log_prob(seed=key, sample_shape=(3,))
    choices = distrax.Categorical(logits=jnp.array([[0.0, 1.0, 2.0]]))
    squashed = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Tanh())
    coupling = distrax.MaskedCoupling(
        mask=jnp.array([True, False]),
        bijector=lambda p: distrax.ScalarAffine(p[..., 0], p[..., 1]),
        conditioner=lambda x: jnp.stack([x, x], -1),
    )
    hidden = distrax.HMM(
        distrax.Categorical(probs=jnp.ones(2) / 2),
        distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
        distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2)),
    )
    # inverted by their programs
    logistic = distrax.Lambda(lambda x: 5 / (1 + jnp.exp(-x)))
    sinh = distrax.Transformed(distrax.Normal(0.0, 1.0), jnp.sinh)

    def policy_loss(logits):
        policy = distrax.Categorical(logits=logits)
        actions, log_probs = policy.sample_and_log_prob(seed=key, sample_shape=(6,))
        return -(log_probs * jnp.cos(1.0 * actions)).mean() - policy.entropy().mean() / 10

    discounts = 0.9 * jnp.ones(4)
    q = jax.vmap(rlax.q_learning)
    return {
        "samples": x,
        "log_prob": log_prob,
        "divergence": distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0)),
        "choice": choices.sample(seed=key),
        "entropy": choices.entropy(),
        "policy_gradient": jax.grad(policy_loss)(jnp.array([[0.1, 0.5, -1.0], [1.0, 0.0, 2.0]])),
        "squashed": squashed.log_prob(0.3),
        "coupling": coupling.forward(jnp.ones(2)),
        "inverse": jnp.stack(logistic.inverse_and_log_det(jnp.array([1.0, 2.0]))),
        "by_inverse": sinh.log_prob(jnp.array([0.3, 2.0])),
        "posterior": hidden.forward_backward(jnp.array([-1.0, 1.0, 1.0]))[2],
        "returns": rlax.lambda_returns(jnp.ones(4), discounts, jnp.ones(4), 0.5),
        "vtrace": rlax.vtrace(jnp.ones(4), jnp.ones(4), jnp.ones(4), discounts, jnp.ones(4)),
        "error": q(
            jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2), 0.9 * jnp.ones(2), jnp.ones((2, 3))
        ),
        "greedy": rlax.epsilon_greedy(0.1).sample(key, jnp.array([1.0, 2.0, 3.0])),
    }
