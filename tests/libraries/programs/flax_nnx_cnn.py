"""Train a CNN to classify small pictures by flax.nnx, with metrics and an accuracy."""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from flax import nnx

TOLERANCE = 2e-3


class CNN(nnx.Module):
    def __init__(self, *, rngs):
        self.conv1 = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.conv2 = nnx.Conv(4, 8, kernel_size=(3, 3), rngs=rngs)
        self.norm = nnx.LayerNorm(32, rngs=rngs)
        self.pool = partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))
        self.linear1 = nnx.Linear(32, 16, rngs=rngs)
        self.dropout = nnx.Dropout(0.025)
        self.linear2 = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x, rngs=None):
        x = self.pool(nnx.relu(self.conv1(x)))
        x = self.pool(nnx.relu(self.conv2(x)))
        x = self.norm(x.reshape(x.shape[0], -1))
        return self.linear2(nnx.relu(self.dropout(self.linear1(x), rngs=rngs)))


def loss_fn(model, rngs, batch):
    logits = model(batch["image"], rngs)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"])
    return losses.mean(), logits


@nnx.jit
def train_step(model, optimizer, metrics, rngs, batch):
    grad_fn = nnx.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(model, rngs, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)


@nnx.jit
def predict(model, images):
    return jnp.argmax(model(images), axis=1)


def main():
    keys = jax.random.split(jax.random.key(0), 2)
    labels = jax.random.randint(keys[0], (32,), 0, 10)
    image = jax.random.normal(keys[1], (10, 8, 8, 1))[labels]
    model = CNN(rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(0.005, 0.9), wrt=nnx.Param)
    metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
    rngs = nnx.Rngs(1)
    history = []
    for _ in range(8):
        train_step(model, optimizer, metrics, rngs, {"image": image, "label": labels})
        found = metrics.compute()
        history.append(jnp.stack([found["loss"], found["accuracy"]]))
        metrics.reset()
    model.eval()
    return {"history": jnp.stack(history), "predicted": predict(model, image)}
