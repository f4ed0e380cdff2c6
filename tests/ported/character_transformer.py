"""Train a transformer on the characters of the Zen of Python, and let it write."""

import codecs
import contextlib
import io
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random
from jax.example_libraries import optimizers

with contextlib.redirect_stdout(io.StringIO()):
    import this

TEXT = codecs.decode(this.s, "rot13")
CHARACTERS = sorted(set(TEXT))
CODES = np.array([CHARACTERS.index(c) for c in TEXT])
LENGTH, WIDTH, HEADS, LAYERS, BATCH = 32, 32, 4, 2, 16

normal = nn.initializers.normal(0.1)


def init_layer(key):
    keys = random.split(key, 4)
    return {
        "qkv": normal(keys[0], (WIDTH, 3, HEADS, WIDTH // HEADS)),
        "out": normal(keys[1], (HEADS, WIDTH // HEADS, WIDTH)),
        "up": normal(keys[2], (WIDTH, 4 * WIDTH)),
        "down": normal(keys[3], (4 * WIDTH, WIDTH)),
        "scales": jnp.ones((2, WIDTH)),
    }


def init(key):
    embed, position, layers = random.split(key, 3)
    return {
        "embed": normal(embed, (len(CHARACTERS), WIDTH)),
        "position": normal(position, (LENGTH, WIDTH)),
        "layers": jax.vmap(init_layer)(random.split(layers, LAYERS)),
    }


def attend(layer, x):
    q, k, v = jnp.einsum("btd,dchk->cbthk", x, layer["qkv"])
    y = nn.dot_product_attention(q, k, v, is_causal=True)
    return jnp.einsum("bthk,hkd->btd", y, layer["out"])


def apply(params, tokens, rate=0.0, key=None):
    x = params["embed"][tokens] + params["position"][: tokens.shape[-1]]

    def block(x, inputs):
        layer, key = inputs
        x = x + attend(layer, nn.standardize(x) * layer["scales"][0])
        h = nn.gelu(nn.standardize(x) * layer["scales"][1] @ layer["up"])
        if rate:
            h = jnp.where(random.bernoulli(key, 1 - rate, h.shape), h / (1 - rate), 0)
        return x + h @ layer["down"], None

    keys = random.split(random.key(0) if key is None else key, LAYERS)
    x, _ = lax.scan(block, x, (params["layers"], keys))
    return nn.standardize(x) @ params["embed"].T


def loss(params, tokens, rate, key):
    logits = apply(params, tokens[:, :-1], rate, key)
    labels = nn.one_hot(tokens[:, 1:], len(CHARACTERS))
    return -jnp.mean(jnp.sum(labels * nn.log_softmax(logits), axis=-1))


schedule = optimizers.piecewise_constant([10, 25], [1e-2, 5e-3, 2e-3])
opt_init, opt_update, get_params = optimizers.adam(schedule)


@partial(jax.jit, donate_argnums=1)
def update(i, state, tokens, key):
    value, grads = jax.value_and_grad(loss)(get_params(state), tokens, 0.1, key)
    norm = optimizers.l2_norm(grads)
    return opt_update(i, optimizers.clip_grads(grads, 1.0), state), (value, norm)


def sample_batch(key):
    starts = random.randint(key, (BATCH,), 0, len(CODES) - LENGTH - 1)
    return jnp.take(CODES, starts[:, None] + jnp.arange(LENGTH + 1))


@partial(jax.jit, static_argnames="length")
def write(params, prompt, key, length, temperature=0.7):
    tokens = jnp.zeros(LENGTH, int).at[: len(prompt)].set(prompt)

    def step(i, carry):
        tokens, key = carry
        key, sub = random.split(key)
        logits = apply(params, tokens[None])[0]
        row = lax.dynamic_index_in_dim(logits, i - 1, keepdims=False)
        return tokens.at[i].set(random.categorical(sub, row / temperature)), key

    tokens, _ = lax.fori_loop(len(prompt), length, step, (tokens, key))
    return tokens


def main():
    params = init(random.key(0))
    state = opt_init(params)
    batch_key, drop_key, write_key = random.split(random.key(1), 3)
    history = []
    for i in range(40):
        tokens = sample_batch(random.fold_in(batch_key, i))
        state, figures = update(i, state, tokens, random.fold_in(drop_key, i))
        history.append(figures)
    values, norms = map(jnp.stack, zip(*history))
    params = get_params(state)
    assert values[-1] < 0.75 * values[0]

    prompt = jnp.array([CHARACTERS.index(c) for c in "Beautiful is "])
    written = write(params, prompt, write_key, LENGTH)
    text = "".join(CHARACTERS[c] for c in written)
    assert text.startswith("Beautiful is ")
    logits = jax.jit(apply)(params, jnp.asarray(CODES[None, :LENGTH]))
    top, places = lax.top_k(logits[0], 3)
    return {
        "values": values,
        "norms": norms,
        "written": written,
        "logits": logits,
        "top": top,
        "entropy": jax.scipy.special.entr(nn.softmax(logits)).sum(-1),
        "first choice": places[:, 0],
        **{f"norm of {name}": optimizers.l2_norm(p) for name, p in params.items()},
    }
