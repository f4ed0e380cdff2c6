"""Tokens: values without data that say what comes after what."""

from __future__ import annotations

import attrs

from tinyjax import tree
from tinyjax.core.values.array import Array
from tinyjax.lax.elementwise import optimization_barrier
from tinyjax.numpy.creation import zeros


@attrs.frozen(eq=False, repr=False)
class Token:
    """A value without data; made by ``create_token``. It goes through all transformations."""

    _buf: Array

    def block_until_ready(self) -> Token:
        """Wait until what it comes after is done."""
        self._buf.block_until_ready()
        return self


tree.register_pytree_node(Token, lambda token: ((token._buf,), None), lambda _, bufs: Token(*bufs))


def create_token(_: object = None) -> Token:
    """Return a token that comes after nothing.

    Example:
        >>> from tinyjax import lax, tree
        >>> tree.leaves(lax.after_all(lax.create_token(), lax.create_token()))
        [Array([], shape=(0,), dtype=bool)]
    """
    return Token(zeros(0, bool))


def after_all(*operands: Token) -> Token:
    """Return a token that comes after others."""
    return optimization_barrier((create_token(), *operands))[0]
