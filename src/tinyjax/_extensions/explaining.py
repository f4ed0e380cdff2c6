"""Differences between a call of a jitted function and earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from tinyjax import tree
from tinyjax.core.jit.signatures import Signature, same_value
from tinyjax.core.tracing import calling, primitive as prim
from tinyjax.core.values import ShapedArray
from tinyjax.tree.treedef import first_difference


def differences(
    fun: Callable[..., Any], signature: Signature, earlier: Iterable[Signature]
) -> tuple[str, ...]:
    """Return the differences between a call and the most similar earlier one."""
    changes = [tuple(_differences(fun, signature, other)) for other in earlier]
    return min(changes, key=len, default=())


def _differences(fun: Callable[..., Any], new: Signature, old: Signature) -> list[str]:
    lines: list[str] = []
    if new.in_tree is not old.in_tree and new.in_tree != old.in_tree:
        lines += _structures(fun, new, old)
    else:
        for i, (a, b) in enumerate(zip(new.avals, old.avals, strict=True)):
            if a is not b:
                path = calling.argument_path(fun, new.in_tree, i, new.static.positions)
                lines.append(f"{path}: {a} instead of {b}{_advice(a, b)}")
    lines += _values(
        [(calling.parameter_name(fun, i), value) for i, value in new.static.positional],
        [(calling.parameter_name(fun, i), value) for i, value in old.static.positional],
    )
    lines += _values(new.static.keywords, old.static.keywords)
    if new.settings is not old.settings:
        for name, a in attrs.asdict(new.settings).items():
            b = getattr(old.settings, name)
            if a != b:
                lines.append(f"setting {name}: {a!r} instead of {b!r}")
    if new.axes != old.axes:
        lines.append(
            f"named axes around the call: {_names(new.axes)} instead of {_names(old.axes)}"
        )
    return lines


def _advice(new: ShapedArray, old: ShapedArray) -> str:
    if new.shape == old.shape and new.dtype == old.dtype:
        if new.weak_type:
            return ": a Python number, where there was an array"
        return ": an array, where there was a Python number"
    return ""


def _names(axes: Sequence[prim.MappedAxis]) -> str:
    return ", ".join(f"{axis.name!r} of length {axis.size}" for axis in axes) or "none"


def _values(new: Sequence[tuple[str, Any]], old: Sequence[tuple[str, Any]]) -> list[str]:
    before, now = dict(old), dict(new)
    lines = []
    for name in [*now, *(name for name in before if name not in now)]:
        a, b = now.get(name, _MISSING), before.get(name, _MISSING)
        if not same_value(a, b):
            lines.append(f"static {name}: {a!r} instead of {b!r}")
    return lines


class _Missing:
    def __repr__(self) -> str:
        return "its default"


_MISSING = _Missing()


def _structures(fun: Callable[..., Any], new: Signature, old: Signature) -> list[str]:
    """Return the differences between the structures of two calls' arguments, by argument."""
    old_args, old_kwargs = _arguments(fun, old)
    new_args, new_kwargs = _arguments(fun, new)
    lines = []
    if len(new_args) != len(old_args):
        lines.append(f"{len(new_args)} positional arguments instead of {len(old_args)}")
    if new_kwargs.keys() != old_kwargs.keys():
        lines.append(f"keywords {_keywords(new_kwargs)} instead of {_keywords(old_kwargs)}")
    others = old_kwargs | old_args
    for name, treedef in (new_args | new_kwargs).items():
        if name in others and others[name] != treedef:
            path, before, now = first_difference(others[name], treedef, name)
            lines.append(f"{path}: {now} instead of {before}")
    return lines


_Arguments = dict[str, tree.PyTreeDef]


def _arguments(fun: Callable[..., Any], signature: Signature) -> tuple[_Arguments, _Arguments]:
    """Return the structures of the dynamic arguments, by name."""
    treedef = signature.in_tree
    arg_defs, kwarg_defs = treedef.children()
    positions = signature.static.positions
    free = [i for i in range(len(arg_defs.children()) + len(positions)) if i not in positions]
    positional = {
        calling.parameter_name(fun, i): child
        for i, child in zip(free, arg_defs.children(), strict=True)
    }
    return positional, dict(zip(map(str, kwarg_defs.metadata), kwarg_defs.children(), strict=True))


def _keywords(kwargs: _Arguments) -> str:
    return ", ".join(kwargs) or "none"
