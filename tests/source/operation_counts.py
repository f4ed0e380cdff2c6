"""An interpreter of programs that counts the numbers they compute, and the bytes they move.

It goes into the functions of a program, of adjoints and of their rules, as the second derivative
does, and makes all iterations. Whatever else is called counts by its operands and its result.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

from tinyjax._base import frames
from tinyjax.errors import SourceError
from tinyjax.source import context
from tinyjax.source.adjoint import pullbacks, shadows, standard_library
from tinyjax.source.ir import find, program as ir, read, runtime

#: What moves numbers and computes none.
_MOVING: Final[frozenset[Any]] = frozenset(
    (operator.getitem, operator.pos, np.array, np.asarray, np.broadcast_to, np.concatenate, np.copy,
     np.diagonal, np.empty, np.empty_like, np.expand_dims, np.eye, np.flip, np.full, np.full_like,
     np.ones, np.ones_like, np.pad, np.ravel, np.repeat, np.reshape, np.stack, np.tile,
     np.transpose, np.tril, np.triu, np.where, np.zeros, np.zeros_like)
)  # fmt: skip
#: What only makes zeros.
_MAKING: Final[frozenset[Any]] = frozenset((np.empty, np.empty_like, np.zeros, np.zeros_like))
#: What writes to an array, and returns what was there.
_WRITING: Final[dict[Any, int]] = {
    runtime.exchange: 0, runtime.replaced: 0, runtime.increased: 1, runtime.accumulate_at: 1
}  # fmt: skip
_PRODUCTS: Final[frozenset[Any]] = frozenset((operator.matmul, np.matmul, np.dot))
_OWN: Final = f"{frames.PACKAGE_DIRECTORY}source/"


class Costs:
    """The costs of what an interpreter has run.

    Attributes:
        computed: the numbers that were computed; a sum or a product counts each of its terms.
        moved: the bytes that were read from arrays and written to them.
    """

    def __init__(self) -> None:
        self.computed = 0
        self.moved = 0

    def call(self, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Call a function and count what it does."""
        kwargs = kwargs or {}
        if fun is runtime.apply:
            return self.call(*args)
        if fun is pullbacks.pull:
            return self.call(*pullbacks.route(args[0], args[1:], kwargs))
        if isinstance(fun, pullbacks.Pullback):
            return self.call(fun.run, (fun.stack, *args))
        if isinstance(fun, MethodType):
            return self.call(fun.__func__, (fun.__self__, *args), kwargs)
        if isinstance(fun, functools.partial):
            return self.call(fun.func, (*fun.args, *args), {**fun.keywords, **kwargs})
        if fun not in _WRITING and (program := _program_of(fun)) is not None:
            values = (fun, *find.bound(fun, args, kwargs).values)
            return context.run_program(program, values, self._apply)
        result = fun(*args, **kwargs)
        self._add(fun, [*args, *kwargs.values()], result)
        return result

    def _apply(
        self, _: ir.Statement, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self.call(fun, args, kwargs)

    def _add(self, fun: Any, args: list[Any], result: Any) -> None:
        if runtime.is_in(fun, _WRITING):
            if _size(args[0]):
                part, adds = int(np.size(args[0][args[1]])), _WRITING[fun]
                self.computed += part * adds
                self.moved += 8 * (2 + adds) * part  # what was there may be kept
            return
        size, home = _size(result), getattr(fun, "__module__", None) or ""
        if fun is runtime.updated:
            fun, args, home = args[0], args[1:], ""
        if isinstance(getattr(fun, "__self__", None), (dict, list, tuple)):
            return
        if not size or fun is getattr or runtime.is_in(fun, _MAKING):
            return
        if home.startswith("tinyjax.source.") or (fun is operator.getitem and not _size(args[0])):
            return  # it names what is there
        if isinstance(result, np.ndarray) and result.base is not None:
            return  # a view
        operands = size if fun is operator.getitem else sum(map(_size, args))
        self.moved += 8 * (size + operands)
        if runtime.is_in(fun, _PRODUCTS):
            self.computed += size * int(np.shape(args[0])[-1])
        elif not runtime.is_in(fun, _MOVING):
            self.computed += max([size, *map(_size, args)])


def _program_of(fun: Any) -> ir.IR | None:
    """Return the program of a function of a user, of an adjoint or of a rule, if it is one."""
    if not isinstance(fun, FunctionType):
        return None
    name = fun.__code__.co_filename
    if fun.__module__ == runtime.__name__ or (find.is_library(name) and not name.startswith(_OWN)):
        return None
    if fun in (shadows.shadow_of, shadows.taken) or standard_library.equivalent(fun) is not None:
        return None
    try:
        return read.program_of(fun)
    except SourceError:  # the machinery, which is not written in the language
        return None


def _size(x: Any) -> int:
    """Return the number of floats in a number or an array."""
    if isinstance(x, (float, complex)):
        return 1
    return x.size if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc" else 0


def of_function(fun: Callable[..., Any], args: list[Any]) -> Costs:
    """Return the costs of a function."""
    costs = Costs()
    costs.call(fun, tuple([np.copy(x) if isinstance(x, np.ndarray) else x for x in args]))
    return costs


def of_gradient(fun: Callable[..., Any], args: list[Any]) -> Costs:
    """Return the costs of a function's gradient."""
    try:
        return _of_gradient(fun, args)
    except runtime.InPlaceError:
        return _of_gradient(fun, args, is_cautious=True)


def _of_gradient(fun: Callable[..., Any], args: list[Any], *, is_cautious: bool = False) -> Costs:
    writes, costs = runtime.writes, Costs()
    copies = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
    writes.log, writes.is_cautious = [], is_cautious
    try:
        _, back = costs.call(pullbacks.pull, (fun, *copies))
        with shadows.Pass():
            costs.call(back, (1.0,))
    finally:
        writes.log, writes.is_cautious = None, False
    return costs
