"""Scaled dot-product attention, by blocks of queries.

The softmax of a query needs the logits of all keys, but of no other query. So long sequences are
attended in blocks of queries, whose logits are made again in the backward pass: the memory of a
gradient grows with the length, not with its square.
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import attrs

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._extensions import checkpointing
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import identities, shape as sh, slicing
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.numpy.promotion import check_option, whole
from tinyjax.scipy.special import logsumexp

Window: TypeAlias = int | tuple[int, int]
#: How many queries a block has; up to twice as many are attended at once.
_BLOCK: Final = 512
#: What takes the place of masked logits, over the greatest number of their type.
_MASKED: Final = -0.7


class _Rows(NamedTuple):
    """The data of queries: of shapes (B, t, K, G, H), and (., ., ., t or 1, .) or None.

    Attributes:
        query: the queries, grouped by the heads of the keys.
        bias: the term added to logits.
        mask: the mask of keys to attend to.
        positions: of the queries in the sequence.
    """

    query: Array
    bias: Array | None
    mask: Array | None
    positions: Array


#: Along which axis of each the queries are.
_LENGTHS: Final = (1, 3, 3, 0)


@attrs.frozen(eq=False)
class _Attention:
    """The data that all queries share."""

    key: Array
    value: Array
    scale: ArrayLike
    is_causal: bool
    window: tuple[int, int] | None
    query_lengths: Array | None
    key_lengths: Array | None

    def attend(self, rows: _Rows) -> tuple[Array, Array]:
        """Return the attention of some queries, and the logarithms of the sums of exponentials."""
        wide = jnp.promote_types(rows.query.dtype, dtypes.float32)
        logits = jnp.einsum("btkgh,bskh->bkgts", rows.query, self.key, preferred_element_type=wide)
        logits = logits * jnp.asarray(self.scale, wide)
        if rows.bias is not None:
            logits = (logits + rows.bias).astype(wide)
        allowed = self._allowed(rows)
        if allowed is not None:
            greatest = min(float(jnp.finfo(wide).max), float(jnp.finfo(dtypes.float32).max))
            logits = jnp.where(allowed, logits, jnp.asarray(_MASKED * greatest, wide))
        # softmax with a constant shift, a fifth faster: the slopes of shares near 1 have no digits
        greatest_logits = jnp.max(logits, -1, keepdims=True, initial=-math.inf)
        terms = jnp.exp(logits - identities.stop_gradient(greatest_logits))
        shares = (terms / jnp.sum(terms, -1, keepdims=True)).astype(self.key.dtype)
        out = jnp.einsum("bkgts,bskh->btkgh", shares, self.value)
        if self.query_lengths is not None:
            within = rows.positions < self.query_lengths[:, None]
            out = out * within[:, :, None, None, None].astype(out.dtype)
        sums = logsumexp(logits, -1).astype(self.key.dtype)
        return out, identities.stop_gradient(jnp.moveaxis(sums, -1, 1))

    def _allowed(self, rows: _Rows) -> Array | None:
        """Return which keys the queries attend to, with axes of (B, K, G, t, S); None for all."""
        at, keys = rows.positions[:, None], sh.iota((self.key.shape[1],), dtypes.int32, 0)
        masks = [] if rows.mask is None else [rows.mask]
        if self.is_causal:
            masks.append(at >= keys)
        if self.window is not None:
            left, right = self.window
            masks.append((at <= keys + left) & (at >= keys - right))
        if self.query_lengths is not None:
            masks.append((at < self.query_lengths[:, None, None])[:, None, None])
        if self.key_lengths is not None:
            masks.append((keys < self.key_lengths[:, None])[:, None, None, None])
        allowed = None
        for each in masks:
            allowed = each if allowed is None else allowed & each
        return allowed


class AttentionOptions(TypedDict, total=False):
    """Options of ``dot_product_attention``."""

    scale: ArrayLike | None
    is_causal: bool
    query_seq_lengths: ArrayLike | None
    key_value_seq_lengths: ArrayLike | None
    local_window_size: Window | None
    implementation: Literal["xla"] | None


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    return_residual: Literal[False] = False,
    **options: Unpack[AttentionOptions],
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    return_residual: Literal[True],
    **options: Unpack[AttentionOptions],
) -> tuple[Array, Array]: ...
def dot_product_attention(  # noqa: PLR0913 (JAX's signature)
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: Window | None = None,
    implementation: Literal["xla"] | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """Return ``softmax(scale query key^T + bias) value`` for each head.

    A. Vaswani et al., "Attention is all you need" (2017). Of T queries, S keys and N heads, time
    grows with ``T S N``; memory with ``S N`` and a block of queries, in derivatives as well, since
    these make the logits again (M. N. Rabe, C. Staats, "Self-attention does not need O(n^2)
    memory", 2021).

    Args:
        query: floats of shape (B, T, N, H), or (T, N, H) for a batch of one.
        key: of shape (B, S, K, H) or (S, K, H), and the dtype of ``query``. N is a multiple of K:
            so many heads of the queries in a row share one of the keys and values.
        value: of the shape and dtype of ``key``.
        bias: of shape (B, N, T, S), or (N, T, S), where any size but S may be 1.
        mask: bools of such a shape: which keys each query attends to.
        scale: ``1 / sqrt(H)`` if None.
        is_causal: whether a query attends to keys up to its own position only.
        query_seq_lengths: integers of shape (B,): beyond these queries the result is 0.
        key_value_seq_lengths: integers of shape (B,): how many keys are attended to.
        local_window_size: how many keys before its own position, and how many after, a query
            attends to; one number for both.
        implementation: ``"xla"`` is the only one.
        return_residual: whether to return the logarithms of the sums of exponentials, too, by
            which attention to other keys can be added. They have no derivative.

    Returns:
        An array of the shape and dtype of ``query``; with ``return_residual`` also one without its
        last axis. A query that may attend to no key attends to all alike.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, the mask is not of bools, or lengths are not integers.
        ArgumentError: there is no such implementation.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = tinyjax.random.normal(tinyjax.random.key(0), (5, 2, 4))
        >>> out = tinyjax.nn.dot_product_attention(x, x, x, is_causal=True)
        >>> out.shape, bool((abs(out[0] - x[0]) < 1e-6).all())
        ((5, 2, 4), True)
    """
    check_option("dot_product_attention", "implementation", implementation, (None, "xla"))
    queries, keys, values = opd.as_array(query), opd.as_array(key), opd.as_array(value)
    q, k, v = (x[None] if x.ndim == 3 else x for x in (queries, keys, values))
    _check(queries, keys, values, q, k, v)
    (batch, length, heads, size), groups = q.shape, k.shape[2]
    per_group = heads // groups
    window: Any = local_window_size
    if window is not None:
        sides = ints.integers(ints.one_or_more(window, "local_window_size"), "local_window_size")
        window = (*sides, *sides)[:2]
    attention = _Attention(
        k,
        v,
        1 / math.sqrt(size) if scale is None else scale,
        is_causal,
        window,
        _lengths("query_seq_lengths", query_seq_lengths, batch),
        _lengths("key_value_seq_lengths", key_value_seq_lengths, batch),
    )
    logits = (batch, heads, length, k.shape[1])
    rows = _Rows(
        jnp.reshape(q, (batch, length, groups, per_group, size)),
        _grouped("bias", bias, groups, logits),
        _grouped("mask", mask, groups, logits),
        sh.iota((length,), dtypes.int32, 0),
    )
    if rows.mask is not None and rows.mask.dtype != dtypes.bool_:
        raise DtypeError(f"dot_product_attention takes a mask of bools, but got {rows.mask.aval}.")
    out, sums = _by_blocks(attention, rows)
    if return_residual:
        return jnp.reshape(out, queries.shape), jnp.reshape(sums, queries.shape[:-1])
    return jnp.reshape(out, queries.shape)


def _check(queries: Array, keys: Array, values: Array, q: Array, k: Array, v: Array) -> None:
    shapes = f"query {queries.aval}, key {keys.aval} and value {values.aval}"
    if (
        {q.ndim, k.ndim, v.ndim} != {4}
        or k.shape != v.shape
        or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3])
        or q.shape[2] % max(k.shape[2], 1)
    ):
        raise ShapeError(
            "dot_product_attention takes a query of shape (B, T, N, H), and key and value of shape "
            f"(B, S, K, H) where N is a multiple of K, but got {shapes}."
        )
    if not q.dtype == k.dtype == v.dtype or not dtypes.is_float(q.dtype):
        raise DtypeError(f"dot_product_attention takes floats of one dtype, but got {shapes}.")


def _lengths(name: str, lengths: ArrayLike | None, batch: int) -> Array | None:
    if lengths is None:
        return None
    counts = whole("dot_product_attention", lengths, f"integers as {name}")
    if counts.shape != (batch,):
        raise ShapeError.got(f"dot_product_attention takes {name} of shape ({batch},)", counts)
    return counts


def _grouped(
    name: str, operand: ArrayLike | None, groups: int, logits: tuple[int, int, int, int]
) -> Array | None:
    """Return a bias or mask with the heads' axis taken apart into groups and their heads."""
    if operand is None:
        return None
    array = opd.as_array(operand)
    x = array[(None,) * (4 - array.ndim)]
    if x.ndim != 4 or any(n not in (1, m) for n, m in zip(x.shape, logits, strict=True)):
        raise ShapeError(
            f"dot_product_attention takes a {name} that broadcasts to (B, N, T, S), here {logits}, "
            f"but got {array.aval}."
        )
    parts = (1, 1) if x.shape[1] == 1 else (groups, x.shape[1] // groups)
    return jnp.reshape(x, (x.shape[0], *parts, *x.shape[2:]))


def _by_blocks(attention: _Attention, rows: _Rows) -> tuple[Array, Array]:
    """Attend with a block of queries at a time, whose logits no derivative keeps."""
    length = rows.positions.shape[0]
    count = length // _BLOCK
    if isinstance(count, ints.SymbolicSize) or count < 2:
        return attention.attend(rows)
    whole = count * _BLOCK

    @checkpointing.checkpoint
    def attend(block: _Rows) -> tuple[Array, Array]:
        bias = rows.bias if block.bias is None else block.bias
        mask = rows.mask if block.mask is None else block.mask
        return attention.attend(block._replace(bias=bias, mask=mask))

    def cut(start: int, stop: int) -> _Rows:
        """Return the part for some queries; None where there is none, or one for all."""
        return _Rows._make(
            None
            if x is None or x.shape[axis] == 1
            else slicing.slice_in_dim(x, start, stop, axis=axis)
            for x, axis in zip(rows, _LENGTHS, strict=True)
        )

    def blocks(x: Array, axis: int) -> Array:
        parts = (*x.shape[:axis], count, _BLOCK, *x.shape[axis + 1 :])
        return jnp.moveaxis(jnp.reshape(x, parts), axis, 0)

    own = zip(cut(0, whole), _LENGTHS, strict=True)
    stacked = _Rows._make(None if x is None else blocks(x, axis) for x, axis in own)
    _, outs = scan(lambda carry, block: (carry, attend(block)), None, stacked)
    results = []
    last = attend(cut(whole, length)) if whole < length else (None, None)
    for out, tail in zip(outs, last, strict=True):
        joined = jnp.moveaxis(out, 0, 1)
        joined = jnp.reshape(joined, (joined.shape[0], whole, *joined.shape[3:]))
        results.append(joined if tail is None else jnp.concatenate([joined, tail], 1))
    return results[0], results[1]
