"""Keras with JAX as its backend: `fit`, saving, a loop of one's own, recurrence and attention."""

import os
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits

TOLERANCE = 1e-3


def images():
    keras.utils.set_random_seed(0)
    digits = load_digits()
    x, y = (digits.images / 16).astype("float32")[..., None], digits.target
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.BatchNormalization(),
            layers.Dense(32, activation="gelu"),
            layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(1e-2),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(x[:1000], y[:1000], batch_size=100, epochs=2, verbose=0, shuffle=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        again = keras.models.load_model(path).predict(x[:5], verbose=0)
    return {"loss": np.array(history.history["loss"]), "saved": again}


def sequences():
    keras.utils.set_random_seed(0)
    words = keras.Input((20,), dtype="int32")
    h = layers.Embedding(50, 16)(words)
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 8)(h, h))
    h = layers.Bidirectional(layers.LSTM(8))(h)
    model = keras.Model(words, layers.Dense(1, activation="sigmoid")(h))
    optimizer, cost = keras.optimizers.AdamW(1e-2), keras.losses.BinaryCrossentropy()
    optimizer.build(model.trainable_variables)

    def loss(weights, others, x, y):
        out, others = model.stateless_call(weights, others, x, training=True)
        return cost(y, out), others

    @jax.jit
    def step(state, x, y):
        weights, others, moments = state
        (value, others), slope = jax.value_and_grad(loss, has_aux=True)(weights, others, x, y)
        weights, moments = optimizer.stateless_apply(moments, slope, weights)
        return value, (weights, others, moments)

    rng = np.random.RandomState(0)
    x = rng.randint(0, 50, (64, 20))
    state = jax.tree.map(
        lambda v: v.value,
        (model.trainable_variables, model.non_trainable_variables, optimizer.variables),
    )
    losses = []
    for _ in range(5):
        value, state = step(state, x, (x[:, :1] > 25).astype("float32"))
        losses.append(value)
    return {"losses": np.array(losses)}


def operations():
    square = ops.reshape(ops.arange(16.0), (4, 4, 1))
    return {
        "top": ops.top_k(ops.array([1.0, 3.0, 2.0]), 2)[0],
        "resized": ops.image.resize(square, (2, 2)),
        "segments": ops.segment_sum(ops.array([1.0, 2.0, 3.0]), ops.array([0, 0, 1]), 2),
    }


def main():
    return {**images(), **sequences(), **operations()}
