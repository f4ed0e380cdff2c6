"""Functions that are compiled for buckets of lengths: the results of ``jit(pad_to=...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

import attrs

from tinyjax import config, errors, tree
from tinyjax._base import frames
from tinyjax._library.padding import programs, rules
from tinyjax.core import jit
from tinyjax.core.jit import signatures
from tinyjax.core.tracing import calling, staging, trace as tr
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.export import dims, polynomials, symbolic_programs

P = ParamSpec("P")
R = TypeVar("R")

#: How a length is rounded up: an int, several, a word, or a function.
Rounding: TypeAlias = int | tuple[int, ...] | str | Callable[[int], int]

_POWERS: Final = "powers of two"
rules.register()
#: Shorter axes are not padded: what a function does with none or one is often something else.
_LEAST: Final = 2


@cache
def _variables(count: int) -> tuple[int, ...]:
    """Return so many lengths that are known by name only: the same in all functions."""
    names = [f"n{i or ''}" for i in range(count)]
    bounds = [text for n in names for text in (f"{n} >= {_LEAST}", f"{n} <= {(1 << 31) - 1}")]
    scope = dims.SymbolicScope(bounds)
    return tuple([scope.dim(polynomials.variable(name)) for name in names])


@attrs.frozen
class Lengths:
    """The axes that vary in length, and the rules that round up their lengths.

    Attributes:
        everywhere: the rule for the first axes of all arrays; None where arguments are named.
        named: otherwise, by the names of arguments, pairs of an axis and its rule.
    """

    everywhere: Rounding | None
    named: tuple[tuple[str, tuple[tuple[int, Rounding], ...]], ...] = ()


def padded(parameters: signatures.Parameters, pad_to: object) -> PaddedFunction[..., Any]:
    """Return a function that is compiled for buckets of lengths.

    Args:
        parameters: what ``jit`` was told of it.
        pad_to: how lengths are rounded up.

    Raises:
        ArgumentError: it is no such rule, or does not go with the other options.
    """
    if parameters.placed is not None or parameters.donate_argnums or parameters.donate_argnames:
        raise errors.ArgumentError(
            "jit with pad_to copies arguments to padded arrays on the default device, so it takes "
            "no device, shardings or donated arguments. Leave them, or pad_to, out."
        )
    return PaddedFunction(attrs.evolve(parameters, padding=_read(parameters.fun, pad_to)))


def _read(fun: Callable[..., Any], pad_to: object) -> Lengths:
    if not isinstance(pad_to, Mapping):
        return Lengths(_rounding(pad_to, "pad_to"))
    named: list[tuple[str, tuple[tuple[int, Rounding], ...]]] = []
    for name, entry in pad_to.items():
        _check_name(fun, name)
        path = f"pad_to[{name!r}]"
        by_axis = entry.items() if isinstance(entry, Mapping) else [(0, entry)]
        named.append(
            (
                name,
                tuple(
                    [
                        (ints.integer(i, f"an axis in {path}"), _rounding(rule, path))
                        for i, rule in by_axis
                    ]
                ),
            )
        )
    return Lengths(None, tuple(named))


def _check_name(fun: Callable[..., Any], name: object) -> None:
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):  # some of those that C defines have none
        return
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    is_open = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if not isinstance(name, str) or (name not in names and not is_open):
        raise errors.ArgumentError(
            f"pad_to names the argument {name!r}, but {frames.describe_function(fun)} takes "
            f"{', '.join(names) or 'no arguments with names'}."
        )


def _rounding(rule: object, path: str) -> Rounding:
    if rule == _POWERS:
        return _POWERS
    if callable(rule):
        return rule
    if isinstance(rule, Sequence) and not isinstance(rule, str):
        sizes = ints.integers(rule, path)
        if sizes and min(sizes) > 0:
            return tuple(sorted(sizes))
    elif not isinstance(rule, str | bool) and hasattr(rule, "__index__"):
        step = ints.integer(rule, path)
        if step > 0:
            return step
    raise errors.ArgumentError(
        f"{path} must say how lengths are rounded up: to a multiple of a positive int, to one of "
        f"several, to {_POWERS!r}, or by a function, but got {errors.shortened(rule)}."
    )


def _bucket(rule: Rounding, length: int, path: str) -> int:
    """Round up the length of an argument."""
    if isinstance(rule, str):
        return 1 << (length - 1).bit_length()
    if isinstance(rule, int):
        return -(-length // rule) * rule
    if isinstance(rule, tuple):
        size = next((n for n in rule if n >= length), 0)
        said = f"the largest of pad_to is {rule[-1]}"
    else:
        size = ints.integer(rule(length), "what the function of pad_to returns")
        said = f"the function of pad_to rounds it to {size}"
    if size < length:
        raise errors.ArgumentError(f"{path} has the length {length}, but {said}.")
    return size


@attrs.frozen
class PaddedCall:
    """The padding of a call.

    Attributes:
        signature: the signature of all calls of such arguments, whatever their lengths.
        sizes: the true lengths.
        buckets: the lengths they are rounded up to.
        names: the argument that has each length.
    """

    signature: signatures.Signature
    sizes: programs.Sizes
    buckets: programs.Sizes
    names: tuple[str, ...]


class PaddedFunction(jit.JitFunction[P, R]):
    """Compile a function for buckets of lengths when it is called; made by ``jit``.

    ``lower``, ``trace`` and ``eval_shape`` are of the function for the very lengths of the
    arguments. So is a call in a function that is staged itself, where lengths are known.
    """

    def __init__(self, parameters: signatures.Parameters) -> None:
        super().__init__(parameters)
        self._entries: dict[
            signatures.Signature, tuple[PaddedCall, signatures.Entry, programs.PaddedParams]
        ] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(args, kwargs)

    @watched
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        # the debugger of NaNs would find those in what pads
        if staging.is_called() or tr.is_in_program() or config.settings().debugging:
            return super()._call(args, kwargs)
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        if any(type(x) in calling.HOLDERS for x in leaves):
            return super()._call(args, kwargs)
        arrays = calling.as_arrays(leaves, self._fun, in_tree, static.positions)
        signature = signatures.make_signature(in_tree, [x.aval for x in arrays], static)
        known = self._entries.get(signature)
        if known is None or self._find().entries.get(known[0].signature) is not known[1]:
            call = self._padded(signature)
            if call is None:
                return super()._call(args, kwargs)
            if signature.settings.explain:
                explanation = self.explain(*args, **kwargs)
                if explanation.traces or explanation.compiles:
                    explanation.log()
            with self._explained(call):
                entry = self._find().entries.get(call.signature) or self._trace(call.signature)
            if entry.staged.hooks:
                return super()._call(args, kwargs)
            if len(self._entries) >= signatures.MOST_SIGNATURES:
                self._entries.clear()
            known = self._entries[signature] = call, entry, self._params(call, entry)
        call, entry, params = known
        with self._explained(call):
            outs = tr.bind(programs.padded_p, (*entry.consts, *arrays), params)
        result: R = tree.unflatten(entry.out_tree, outs)
        return result

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> jit.Explanation:
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        avals = calling.as_avals(leaves, self._fun, in_tree, static.positions)
        call = self._padded(signatures.make_signature(in_tree, avals, static))
        if call is None:
            return super().explain(*args, **kwargs)
        known = self._find().entries.get(call.signature)
        with self._explained(call):
            entry = known or self._stage(call.signature)[0]
            program = self._params(call, entry).compiled
        compiled = signatures.Entry(program, entry.staged, entry.out_tree)
        return self._explain(call.signature, known, compiled)

    def _report(self, signature: signatures.Signature, entry: signatures.Entry) -> None:
        """Say nothing where all lengths are traced: a call says what becomes of its own."""
        if not symbolic_programs.is_symbolic(entry.params.jaxpr):
            super()._report(signature, entry)

    def _params(self, call: PaddedCall, entry: signatures.Entry) -> programs.PaddedParams:
        program, sizes = programs.AllSizes(entry.params.jaxpr), (call.sizes, call.buckets)
        return programs.PaddedParams(
            program, self._name, *sizes, entry.params.tier, entry.params.flags
        )

    def _padded(self, signature: signatures.Signature) -> PaddedCall | None:
        """Return the padding of a call; None where an axis is too short for it."""
        avals, in_tree, static = signature.avals, signature.in_tree, signature.static
        varying = [*self._varying(avals, in_tree, static)]
        places = {(avals[leaf].shape[axis], rule): (leaf, axis) for leaf, axis, rule in varying}
        lengths = [length for length, _ in places]
        if min(lengths, default=0) < _LEAST:
            return None
        variables = dict(zip(places, _variables(len(places)), strict=True))
        shapes = [[*aval.shape] for aval in avals]
        for leaf, axis, rule in varying:
            shapes[leaf][axis] = variables[shapes[leaf][axis], rule]
        by_all = [x.with_shape(tuple(shape)) for x, shape in zip(avals, shapes, strict=True)]
        buckets: list[int] = []
        paths: list[str] = []
        for (length, rule), (leaf, axis) in places.items():
            path = calling.argument_path(self._fun, in_tree, leaf, static.positions)
            paths.append(f"{path}.shape[{axis}]")
            buckets.append(_bucket(rule, length, path))
        names = [str(n) for n in variables.values()]
        return PaddedCall(
            attrs.evolve(signature, avals=tuple(by_all)),
            tuple(zip(names, lengths, strict=True)),
            tuple(zip(names, buckets, strict=True)),
            tuple(paths),
        )

    def _varying(
        self,
        avals: Sequence[av.ShapedArray],
        in_tree: tree.PyTreeDef,
        static: signatures.StaticArguments,
    ) -> Iterator[tuple[int, int, Rounding]]:
        """Iterate over the axes that vary: the leaf, the axis, and its rule."""
        lengths = self._parameters.padding
        assert isinstance(lengths, Lengths), "padded makes this of what it reads"
        if lengths.everywhere is not None:
            yield from [(i, 0, lengths.everywhere) for i, aval in enumerate(avals) if aval.ndim]
        for name, by_axis in lengths.named:
            for leaf in self._parameters.leaves_of((), (name,), in_tree, static):
                for axis, rule in by_axis:
                    yield leaf, self._axis(axis, avals[leaf], leaf, in_tree, static), rule

    def _axis(
        self,
        axis: int,
        aval: av.ShapedArray,
        leaf: int,
        in_tree: tree.PyTreeDef,
        static: signatures.StaticArguments,
    ) -> int:
        if not -aval.ndim <= axis < aval.ndim:
            path = calling.argument_path(self._fun, in_tree, leaf, static.positions)
            raise errors.AxisError(
                f"pad_to rounds up axis {axis} of {path}, which has the type {aval}.",
                axis,
                aval.ndim,
            )
        return axis % aval.ndim

    @contextmanager
    def _explained(self, call: PaddedCall) -> Iterator[None]:
        """Name the lengths where an error speaks of variables."""
        try:
            yield
        except errors.TinyjaxError as error:
            error.add_note(_describe(self._fun, call))
            raise


def _describe(fun: Callable[..., Any], call: PaddedCall) -> str:
    lengths: Iterable[str] = [
        f"'{name}' is {path}" for (name, _), path in zip(call.sizes, call.names, strict=True)
    ]
    return (
        f"{frames.describe_function(fun)} is compiled for many lengths (pad_to): "
        f"{', '.join(lengths)}. What else has such a length must be an argument that pad_to rounds "
        "up alike. Where not all of these vary, name the arguments that do, as in "
        "pad_to={'x': 16}; jit without pad_to compiles each length by itself."
    )
