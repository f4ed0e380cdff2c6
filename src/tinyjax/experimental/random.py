"""Random numbers by a generator with a state, as NumPy's: each draw takes a new key.

Example:
    >>> from tinyjax.experimental import random
    >>> rng = random.stateful_rng(42)
    >>> first, second = rng.random(), rng.random()
    >>> bool(first == second)
    False
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Sequence

import attrs
import numpy as np

from tinyjax import dtypes, errors, numpy as jnp, random, tree
from tinyjax._base import lazy
from tinyjax._extensions.state.references import Ref, new_ref
from tinyjax.core.values import Array, ArrayLike
from tinyjax.dtypes import DTypeLike

lazy.answer_for(__name__, "StatefulPRNG stateful_rng")

Size = int | Sequence[int] | None


def _shape(size: Size, *operands: ArrayLike) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*[np.shape(x) for x in operands])
    if isinstance(size, Sequence):
        return tuple([operator.index(n) for n in size])
    return (operator.index(size),)


def _floats(dtype: DTypeLike) -> DTypeLike:
    return dtypes.float32 if dtype is None else dtype


@attrs.frozen(eq=False)
class StatefulPRNG:
    """A generator of random numbers, made by ``stateful_rng``.

    It is a tree of a key and a reference, so that it can be an argument of ``jit``; and after
    ``split`` of ``vmap``, where each example has its own.

    Attributes:
        base_key: a typed key.
        counter: how many keys were made of it, in a reference.

    Raises:
        ArgumentError: they are not these.

    Example:
        >>> from tinyjax.experimental.random import StatefulPRNG, stateful_rng
        >>> rng = stateful_rng(0)
        >>> isinstance(rng, StatefulPRNG), rng.key() == rng.key()
        (True, Array(False, dtype=bool))
    """

    base_key: Array
    counter: Ref

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """Make a new key, or an array of keys of this shape.

        The counter rises by one, so that no two calls give the same.

        Raises:
            ArgumentError: the generator was split, and is not mapped over.

        Example:
            >>> from tinyjax.experimental import random
            >>> random.stateful_rng(0).key((3,)).shape
            (3,)
        """
        if self.base_key.shape:
            raise errors.ArgumentError(
                f"this generator was split to shape {self.base_key.shape}: map over it by vmap."
            )
        key = random.fold_in(self.base_key, self.counter[...])
        self.counter[...] = self.counter[...] + 1
        sizes = _shape(shape)
        return random.split(key, sizes) if sizes else key

    def random(self, size: Size = None, dtype: DTypeLike = None) -> Array:
        """Draw uniformly from 0 to 1.

        ``size`` is the shape, and the dtype that of floats by default.

        Example:
            >>> from tinyjax.experimental import random
            >>> x = random.stateful_rng(0).random((2, 3))
            >>> x.shape, bool((x >= 0).all() & (x < 1).all())
            ((2, 3), True)
        """
        return random.uniform(self.key(), _shape(size), dtype=_floats(dtype))

    def uniform(
        self, low: ArrayLike = 0, high: ArrayLike = 1, size: Size = None, *, dtype: DTypeLike = None
    ) -> Array:
        """Draw uniformly from ``low`` to ``high``.

        Without ``size`` the shape is that to which the bounds broadcast; ``high`` itself is not
        drawn.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import random
            >>> random.stateful_rng(0).uniform(jnp.array([0.0, 10.0]), jnp.array([1.0, 20.0])).shape
            (2,)
        """
        shape = _shape(size, low, high)
        return random.uniform(self.key(), shape, dtype=_floats(dtype), minval=low, maxval=high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = None,
    ) -> Array:
        """Draw from the normal distribution of this mean and standard deviation.

        Without ``size`` the shape is that to which the arguments broadcast.

        Example:
            >>> from tinyjax.experimental import random
            >>> x = random.stateful_rng(0).normal(100.0, 0.01, (1000,))
            >>> abs(float(x.mean()) - 100) < 0.01
            True
        """
        drawn = random.normal(self.key(), _shape(size, loc, scale), _floats(dtype))
        return (jnp.asarray(loc) + jnp.asarray(scale) * drawn).astype(_floats(dtype))

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dtype: DTypeLike = None,
    ) -> Array:
        """Draw integers from ``low`` up to ``high``, or from 0 up to ``low``.

        ``high`` itself is not drawn. The dtype is int32 by default.

        Example:
            >>> from tinyjax.experimental import random
            >>> dice = random.stateful_rng(0).integers(1, 7, 100)
            >>> int(dice.min()), int(dice.max())
            (1, 6)
        """
        first, end = (0, low) if high is None else (low, high)
        integer = dtypes.int32 if dtype is None else dtype
        shape = _shape(size, first, end)
        return random.randint(self.key(), shape, minval=first, maxval=end, dtype=integer)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Make generators for ``vmap``: one, of so many keys and counters.

        Example:
            >>> import tinyjax
            >>> from tinyjax.experimental import random
            >>> rng = random.stateful_rng(123)
            >>> tinyjax.vmap(lambda r: r.integers(10))(rng.split(3)).shape
            (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(jnp.zeros(num, dtypes.int32)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Make so many generators that are independent of this one.

        Example:
            >>> from tinyjax.experimental import random
            >>> first, second = random.stateful_rng(0).spawn(2)
            >>> bool(first.random() == second.random())
            False
        """
        return [StatefulPRNG(key, new_ref(jnp.asarray(0))) for key in self.key(n_children)]


tree.register_pytree_node(
    StatefulPRNG,
    lambda rng: ((rng.base_key, rng.counter), None),
    lambda _, parts: StatefulPRNG(*parts),
)


def stateful_rng(seed: ArrayLike | None = None, *, impl: str | None = None) -> StatefulPRNG:
    """Make a generator of random numbers.

    Args:
        seed: an int or a key; by default what the operating system draws.
        impl: how its keys make bits, as for ``random.key``.

    Example:
        >>> from tinyjax.experimental import random
        >>> random.stateful_rng(0).integers(0, 10, size=2).shape
        (2,)
    """
    start = secrets.randbits(31) if seed is None else seed
    if isinstance(start, Array) and dtypes.issubdtype(start.dtype, dtypes.prng_key):
        key = start
    else:
        key = random.key(start, impl=impl)
    return StatefulPRNG(key, new_ref(jnp.asarray(0)))
