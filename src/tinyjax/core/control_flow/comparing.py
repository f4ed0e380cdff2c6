"""A comparison of the results of the branches of ``cond`` and ``switch``, which must have one type.

Where the index is known, only one branch is called. The others are staged for the types of their
results, once for branches that look alike: fresh lambdas of one line that close over values of the
same types are compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, TypeVar
from weakref import ref

import numpy as np

from tinyjax import config, dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core.control_flow.common import is_filled, stage_function
from tinyjax.core.tracing import calling, trace as tr
from tinyjax.core.tracing.staging import is_called
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.tree.mismatches import with_article
from tinyjax.tree.treedef import first_difference

T = TypeVar("T")

#: Whether a branch is being staged only for its types. A conditional within it is not compared: a
#: function that calls itself in a branch would never end.
_staging: Final[ContextVar[bool]] = ContextVar("staging", default=False)
#: The types that results are given, where they are others than they have, by what decides them.
_compared: Final[dict[Hashable, Sequence[av.ShapedArray] | None]] = {}
_MOST_KEPT: Final = 1024
_BY_VALUE: Final = frozenset((bool, bytes, int, str, type(None)))
_BY_TYPE: Final = frozenset((complex, float))


def compared(
    name: str,
    branches: Sequence[Callable[..., Any]],
    branch_index: int,
    operands: tuple[tree.PyTreeDef, Sequence[av.ShapedArray]],
    result: tuple[tree.PyTreeDef, Sequence[Array]],
) -> Sequence[av.ShapedArray] | None:
    """Compare the results of a branch with the types of the others' results.

    A branch that cannot be staged is not compared: it may need values that only its call has.

    Args:
        name: the function that chooses.
        branches: all of them.
        branch_index: the index of the one that was called.
        operands: the structure of ``(args, kwargs)``, and the types of their leaves.
        result: the structure of what it has returned, and the leaves.

    Returns:
        The types that the leaves must be converted to; None if they have these.

    Raises:
        BranchTypeError: the structures or the shapes differ.
    """
    if is_called() or _staging.get():
        return None
    others = [*branches]
    del others[branch_index]
    out_tree = result[0]
    own = [x.aval for x in result[1]]
    key: Hashable = None
    try:
        here = config.settings(), tr.enclosing_axes(), tr.current_trace().adapters
        key = (*here, operands[0], out_tree, *operands[1], *own, *map(_likeness, others))
        return _compared[key]  # 2 us, of 10 that such a call takes
    except KeyError:  # not met before, or another thread has cleared them
        pass
    except TypeError:  # one closes over something that no key can be made of
        key = None
    results = [
        (out_tree, own)
        if branch is branches[branch_index]
        else _staged(name, branch, operands, (out_tree, own))
        for branch in others
    ]
    results.insert(branch_index, (out_tree, own))
    types = common_types(name, branches, *zip(*results, strict=True))
    targets = None if types == own else types
    # what is converted is compared each time: a variable that is no part of the key may change
    if key is not None and all(a.dtype == b.dtype for a, b in zip(own, types, strict=True)):
        if len(_compared) >= _MOST_KEPT:
            _compared.clear()
        _compared[key] = targets
    return targets


def _staged(
    api_name: str,
    branch: Callable[..., Any],
    operands: tuple[tree.PyTreeDef, Sequence[av.ShapedArray]],
    otherwise: tuple[tree.PyTreeDef, Sequence[av.ShapedArray]],
) -> tuple[tree.PyTreeDef, Sequence[av.ShapedArray]]:
    """Return the structure and the types of a branch's results, or others where it is not known."""
    before = _staging.set(True)
    try:
        staged, out_tree = stage_function(branch, *operands, api_name)
    except Exception:
        return otherwise
    finally:
        _staging.reset(before)
    return out_tree, staged.out_avals


def _likeness(x: Any, callers: tuple[CodeType, ...] = ()) -> Hashable:
    """Return a key that determines the types of a function's results.

    Raises:
        TypeError: there is no such key.
    """
    kind: object = type(x)
    if kind is FunctionType:
        code: CodeType = x.__code__
        cells = x.__closure__
        if code in callers or not (cells or x.__defaults__ or x.__kwdefaults__):
            return code
        values = [cell.cell_contents for cell in cells or () if is_filled(cell)]
        callers = (*callers, code)
        return code, *[_likeness(y, callers) for y in (*values, x.__defaults__, x.__kwdefaults__)]
    if isinstance(x, Array):
        return x.aval
    if kind in _BY_VALUE:
        return kind, x
    if kind in _BY_TYPE:
        return kind
    if isinstance(x, np.ndarray | np.generic):
        return x.shape, x.dtype
    if kind is MethodType:
        return _likeness(x.__func__, callers), _likeness(x.__self__, callers)
    leaves, treedef = tree.flatten(x)
    if len(leaves) == 1 and leaves[0] is x:
        return ref(x)
    return treedef, *[_likeness(leaf, callers) for leaf in leaves]


def common_types(
    name: str,
    branches: Sequence[Callable[..., Any]],
    out_trees: Sequence[tree.PyTreeDef],
    avals: Sequence[Sequence[av.ShapedArray]],
) -> list[av.ShapedArray]:
    """Return the types that the results of all branches are given.

    Raises:
        BranchTypeError: their structures or shapes differ.
    """
    first = out_trees[0]
    for fun, out_tree in zip(branches, out_trees, strict=True):
        if out_tree != first:
            path, *nodes = first_difference(first, out_tree, "")
            (one, here), (other, there) = _in_order(name, branches, fun, nodes)
            at = f" at path {path}" * bool(path)
            raise errors.BranchTypeError(
                f"{name} branch outputs must have the same pytree structure, but they differ: "
                f"{one} output{at} is {with_article(here)} but {other} output{at} is "
                f"{with_article(there)}. {_named(name, branches, fun)} Make the containers, their "
                "keys and lengths equal."
            )
    return [
        _join_avals(name, branches, partial(calling.leaf_path, "", first, i), column)
        for i, column in enumerate(zip(*avals, strict=True))
    ]


def _in_order(
    name: str, branches: Sequence[Callable[..., Any]], fun: Callable[..., Any], items: Sequence[T]
) -> list[tuple[str, T]]:
    """Pair the names of the first branch and of another with something, in the user's order."""
    if name == "cond":
        return [("true_fun", items[1]), ("false_fun", items[0])]
    return [("branch 0", items[0]), (f"branch {branches.index(fun)}", items[1])]


def _named(name: str, branches: Sequence[Callable[..., Any]], fun: Callable[..., Any]) -> str:
    """Return the names of two branches: several may be lambdas of one line."""
    pair = _in_order(name, branches, fun, [branches[0], fun])
    return f"{' and '.join([f'{which} is {frames.describe_function(f)}' for which, f in pair])}."


def _join_avals(
    name: str,
    branches: Sequence[Callable[..., Any]],
    path: Callable[[], str],
    avals: Sequence[av.ShapedArray],
) -> av.ShapedArray:
    first = avals[0]
    for fun, aval in zip(branches, avals, strict=True):
        if aval.shape != first.shape:
            (one, a), (other, b) = _in_order(name, branches, fun, [first, aval])
            at = f" at path {path()}" * bool(path())
            raise errors.BranchTypeError(
                f"{name} branches must have equal output types but they differ. The output of "
                f"{one}{at} has type {a} but the corresponding output of {other} has type {b}, so "
                f"the shapes do not match. {_named(name, branches, fun)} Reshape or broadcast one "
                "of them."
            )
    try:
        dtype, weak = dtypes.promote([(a.dtype, a.weak_type) for a in avals])
        if all(a.dtype == first.dtype for a in avals):
            weak = first.weak_type  # as in JAX: what is checked in a branch keeps its type
    except errors.PromotionError as error:
        raise errors.BranchTypeError(
            f"result{path()} of the branches of {name}: {error.message}"
        ) from None
    if not all(av.lie_alike(first, aval) for aval in avals):
        raise errors.BranchTypeError(
            f"the branches of {name} must return arrays that are divided alike, but result{path()} "
            f"is {' or '.join(map(str, avals))}. Divide it alike by tinyjax.reshard(x, P(...))."
        )
    lying = next((aval for aval in avals if aval.plain is not aval), first)
    where = None if lying.where is None else lying.where.of_all
    return av.ShapedArray(lying.shape, dtype, weak, where)
