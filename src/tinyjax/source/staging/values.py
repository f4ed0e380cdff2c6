"""Values of programs under staging: which are traced, their parts, and when two are the same.

A value's parts are the leaves of its tree, where objects of attrs classes and dataclasses count as
trees even if they are not registered. Arrays and numbers can depend on a traced condition; every
other part must be the same whatever the condition.

Some values are known in each iteration of a rolled loop. One program represents all iterations. Yet
a counter is known, and so is a value computed from it and constants alone: Python computes it for
every iteration, with unbounded integers and floats of double precision. Only where it meets a
traced value does it become traced, and is looked up by the number of the iteration.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Hashable, Sequence
from contextvars import ContextVar
from functools import lru_cache, partial, reduce
from itertools import pairwise
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NoReturn, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors, tree
from tinyjax._extensions.callbacks.effects import debug_callback
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import trace as tr
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values import Array, avals as av, concrete, operands as opd
from tinyjax.custom_derivatives import closures
from tinyjax.source.adjoint import cotangents
from tinyjax.source.adjoint.rules import formulas
from tinyjax.source.ir import find, runtime
from tinyjax.tree.treedef import leaf_paths

_NUMBERS: Final = (bool, int, float, complex)
_KINDS: Final = (*_NUMBERS, np.generic)
_PLAIN: Final = (*_KINDS, str, bytes, type(None))
_COMPARED: Final = (*_PLAIN, range, slice, MethodType, partial)


@attrs.frozen
class Shell:
    """An object of a class, without the values of its fields."""

    kind: type
    like: Any = attrs.field(eq=False)

    def filled(self, values: Sequence[Any]) -> Any:
        """Return an object of the class with these values."""
        fields = zip(cotangents.field_names(self.kind), values, strict=True)
        return cotangents.with_fields(self.like, dict(fields))


@attrs.frozen(eq=False)
class Opened:
    """An object with fields as a node of trees."""

    value: Any

    def fields(self) -> tuple[list[tuple[tree.GetAttrKey, Any]], Shell]:
        """Return its fields, and the rest of it."""
        kind = type(self.value)
        attributes = [(name, getattr(self.value, name)) for name in cotangents.field_names(kind)]
        shell = Shell(kind, self.value)  # emptied, so that it keeps no tracer
        empty = Shell(kind, shell.filled([None] * len(attributes)))
        return [(tree.GetAttrKey(name), opened(value)) for name, value in attributes], empty


tree.register_pytree_with_keys(Opened, Opened.fields, Shell.filled)


def is_opened(leaf: Any) -> bool:
    """Return whether a leaf is an object with fields of its own."""
    return cotangents.is_declared(leaf) and not isinstance(leaf, tree.PyTreeDef)


def opened(value: Any) -> Any:
    """Return a value as a tree, with a node for each object with fields."""
    return tree.map(lambda leaf: Opened(leaf) if is_opened(leaf) else leaf, value)


def take_apart(value: Any) -> tuple[list[Any], tree.PyTreeDef]:
    """Return the parts of a value, and its structure."""
    parts, structure = tree.flatten(value)
    return tree.flatten(opened(value)) if any(map(is_opened, parts)) else (parts, structure)


def paths_of(structure: tree.PyTreeDef, name: str) -> list[str]:
    """Return an expression for each part, starting from a variable."""
    return [tree.path_str(name, path) for path in leaf_paths(structure)]


def is_dynamic(part: Any) -> bool:
    """Return whether a part is an array or a number, and so can depend on a traced condition."""
    if isinstance(part, (Array, *_NUMBERS)):
        return True
    if isinstance(part, Known):
        return isinstance(part.item(0), _KINDS)
    return isinstance(part, (np.ndarray, np.generic)) and part.dtype.kind in "biufc"


def is_same(x: Any, y: Any) -> bool:
    """Return whether two parts are the same value, so that either may be used."""
    if x is y:
        return True
    if type(x) is not type(y) or not isinstance(x, _COMPARED):
        return False
    if isinstance(x, _KINDS):
        return repr(x) == repr(y)  # by which -0.0 is not 0.0, and NaN is NaN
    return bool(x == y)


#: The type of a Python integer: weak, and of 64 bits whatever the default dtypes are.
INTEGER: Final = av.ShapedArray((), dtypes.int64, True)


def as_array(part: Any) -> Array:
    """Return an array or a number as an array.

    Raises:
        ArgumentError: it is an integer of more than 64 bits.
    """
    if isinstance(part, Known):
        return part.array()
    if type(part) is not int:
        return opd.as_array(part)
    try:
        return opd.splat(part, INTEGER)
    except OverflowError:
        raise errors.ArgumentError(
            f"{part} does not fit in 64 bits, as integers must beside traced values. Make it a "
            "float."
        ) from None


def aval_of(part: Any) -> av.ShapedArray:
    """Return the type of an array or a number."""
    return part.aval if isinstance(part, Known) else as_array(part).aval


def join_avals(x: av.ShapedArray, y: av.ShapedArray) -> av.ShapedArray:
    """Return the type of a value that is of one of two types; the shapes must be equal.

    Raises:
        PromotionError: the dtypes have no common one.
    """
    if x is y:
        return x
    dtype, weak = dtypes.promote([(x.dtype, x.weak_type), (y.dtype, y.weak_type)])
    return av.ShapedArray(x.shape, dtypes.int64 if weak and dtype.kind == "i" else dtype, weak)


def common_aval(avals: Sequence[av.ShapedArray]) -> av.ShapedArray | None:
    """Return the common type of several values; None where shapes or dtypes do not fit."""
    if any(aval.shape != avals[0].shape for aval in avals):
        return None
    try:
        return reduce(join_avals, avals)
    except errors.PromotionError:
        return None


def is_undecided(x: object) -> bool:
    """Return whether a value is an array whose data is not known yet."""
    while isinstance(x, JVPTracer):
        x = x.primal
    return isinstance(x, Array) and not isinstance(x, concrete.ConcreteArray)


def truth(value: Any) -> bool | Array:
    """Return the truth value of a condition: a bool, or a traced one.

    Raises:
        ArgumentError: it is an array with axes.
    """
    if isinstance(value, Known):
        value = value.array()
    if not is_undecided(value):
        return bool(value)
    if value.shape:
        raise errors.ArgumentError(
            f"a condition must be a scalar, but this one is an array of type {value.aval}. Reduce "
            "it with jnp.any(...) or jnp.all(...); for a choice element by element use jnp.where."
        )
    condition = ew.convert_element_type(value, dtypes.bool_)
    return condition if is_undecided(condition) else bool(condition)


#: The text for a variable without a value, in messages.
NOTHING: Final = "without a value"


def describe(value: Any) -> str:
    """Return the kind of a value, for messages."""
    if value is runtime.UNDEFINED:
        return NOTHING
    if isinstance(value, MutableArray):
        return "an array that is changed in place"
    if is_dynamic(value):
        return str(aval_of(value))
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of length {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {[*value]}"
    if value is None or isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        return f"the function {value.__name__}"
    return f"of type {errors.type_name(value)}"


class StagingError(Exception):
    """A part of a program cannot be staged in one way; another way may work."""


class NotStagedError(StagingError):
    """A part of a program cannot be staged, and so the whole is captured.

    Attributes:
        reason: the error of the user's, if it cannot be captured either.
    """

    def __init__(self, reason: errors.TinyjaxError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def not_staged(message: str) -> NotStagedError:
    """Return a ``NotStagedError`` for the user's line that runs."""
    return NotStagedError(find.refusal(message))


class MutableArray:
    """An array that the program changes in place (``staging.arrays``)."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise not_staged(
            "an array that changes is used by code whose source is not read: by a method that "
            "Python calls itself, or by a library."
        )

    __getitem__ = __setitem__ = __iter__ = __array__ = __bool__ = __float__ = __abs__ = _refuse
    __array_ufunc__ = __array_function__ = __neg__ = __pos__ = __invert__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __matmul__ = __rmatmul__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __rpow__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = _refuse
    __imatmul__ = __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _refuse


def is_object(value: Any) -> bool:
    """Return whether a value is an object of a class of the user's."""
    is_ours = runtime.module_of_class(type(value)).startswith("tinyjax.")
    return not is_ours and formulas.is_foreign(value)


def places(array: Any, index: Any) -> Any:
    """Return an index of the elements of an array for one of its ``flat``, which takes others."""
    return index if holds_tracer(index) else np.arange(array.size).flat[index]


def are_of_objects(x: Any, y: Any = None) -> bool:
    """Return whether NumPy gives the elements of x to a method of y, which takes no arrays."""
    if not (isinstance(x, Array) and x.ndim and is_object(y)):
        return False
    kind: Any = type(y)
    takes_arrays = getattr(kind, "__array_ufunc__", kind) is None
    return not takes_arrays and getattr(kind, "__array_priority__", 0) <= 0


def holds_tracer(value: object, undecided: bool = False, seen: set[int] | None = None) -> bool:
    """Return whether a value contains a tracer, as far as its contents can be inspected.

    Args:
        value: anything.
        undecided: whether to count only tracers whose data is not known.
        seen: the objects that were inspected before, by identity.
    """
    if isinstance(value, tr.Tracer):
        return is_undecided(value) if undecided else True
    if isinstance(value, (Known, MutableArray)):
        return True
    seen = set() if seen is None else seen
    if isinstance(value, Array) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(holds_tracer(part, undecided, seen) for part in contents_of(value))


def contents_of(value: object) -> list[Any]:
    """Return the parts of a value, as far as it can be inspected; none of what is opaque."""
    match value:
        case _ if isinstance(value, _OPAQUE) or value is runtime.UNDEFINED:
            return []
        case _ if (parts := closures.parts_of(value)) is not None:
            return parts
        case set() | frozenset():
            return [*value]
        case BuiltinFunctionType():
            return [value.__self__]
        case _ if runtime.module_of_class(type(value)).partition(".")[0] == "tinyjax":
            names = ("__wrapped__", "fun", "args", "kwargs")
            return [getattr(value, name, None) for name in names]
        case _:
            slots = getattr(type(value), "__slots__", ())
            named = [slots] if isinstance(slots, str) else [*slots]
            parts = [getattr(value, name, None) for name in named]
            return [*parts, *getattr(value, "__dict__", {}).values()]


# Values that Python knows in each iteration of a rolled loop

#: A function, and the arguments it is called with.
Recipe: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class NotUniformError(StagingError):
    """The iterations of a loop cannot be one program."""


@attrs.frozen(eq=False)
class Iterations:
    """The iterations of a loop that is rolled up.

    Attributes:
        index: the number of the iteration, traced.
        count: the number of iterations.
        outer: the iterations of the loop around it.
        numbers: by identity, integers that Python knows in each iteration: the traced one, and all.
    """

    index: Array
    count: int
    outer: Iterations | None = attrs.field()
    numbers: dict[int, tuple[Array, Sequence[int]]] = attrs.field(factory=dict)

    @outer.default
    def _current(self) -> Iterations | None:
        return current_iterations.get()


@attrs.frozen(eq=False)
class Range:
    """The values of a traced integer in the iterations of a loop.

    Attributes:
        iterations: the iterations.
        numbers: the integers.
    """

    iterations: Iterations
    numbers: Sequence[int]

    def is_within(self, first: int, last: int) -> bool:
        """Return whether all integers are within bounds."""
        return min(self.numbers) >= first and max(self.numbers) <= last

    @property
    def name(self) -> tuple[Hashable, int]:
        """The identity of its differences from the first, and the first."""
        first = self.numbers[0]
        return (id(self.iterations), *[n - first for n in self.numbers]), first


def range_of(x: object) -> Range | None:
    """Return the integers that a traced one is, if Python knows it in each iteration of a loop."""
    if isinstance(x, Known):
        is_known = x.complete and all(type(n) is int for n in x.values)
        return Range(x.iterations, x.values) if is_known else None
    iterations = current_iterations.get()
    while iterations is not None:
        if id(x) in iterations.numbers:
            return Range(iterations, iterations.numbers[id(x)][1])
        iterations = iterations.outer
    return None


class Known:
    """A value that Python knows in each iteration of a loop; no attrs class, which would be opened.

    Attributes:
        iterations: the iterations.
        values: its value in the first iteration, and in others as far as it was computed.
        recipe: a function and its arguments that compute it in the other iterations; None if it is
            carried from iteration to iteration.
    """

    __slots__ = ("iterations", "recipe", "values")

    def __init__(
        self, iterations: Iterations, values: list[Any], recipe: Recipe | None = None
    ) -> None:
        self.iterations: Iterations = iterations
        self.values: list[Any] = values
        self.recipe: Recipe | None = recipe

    @property
    def complete(self) -> bool:
        """Return whether it was computed in all iterations."""
        return len(self.values) >= self.iterations.count

    @property
    def aval(self) -> av.ShapedArray:
        """Its type as an array."""
        return av.ShapedArray((), *_type_of(self.values))

    def array(self) -> Array:
        """Return the value in the iteration that is staged, as an array.

        Raises:
            NotUniformError: it is not a number, or does not fit.
        """
        numbers = self.values if self.complete else self.values[:1] * self.iterations.count
        dtype, weak = _type_of(numbers)
        if self.complete and _is_progression(numbers):
            start, step, index = numbers[0], numbers[1] - numbers[0], self.iterations.index
            distance = index if step == 1 else step * index
            made = opd.as_array(distance if start == 0 else start + distance)
            self.iterations.numbers[id(made)] = made, numbers
            return made
        try:
            host = np.array(numbers, dtype)
        except OverflowError:
            raise NotUniformError from None
        aval = av.ShapedArray(host.shape, dtype, weak)
        return jnp.asarray(concrete.ConcreteArray(host, aval))[self.iterations.index]

    def item(self, iteration: int) -> Any:
        """Return the value in an iteration; a carried value must have been computed.

        Raises:
            NotUniformError: the function that computes it raises an exception.
        """
        for place in range(len(self.values), iteration + 1):
            assert self.recipe is not None, "what is carried is found out from the first on"
            fun, *operands = self.recipe
            args, kwargs = replaced(operands, self.iterations, operator.methodcaller("item", place))
            try:
                self.values.append(fun(*args, **kwargs))
            except Exception as error:
                raise NotUniformError from error
        return self.values[iteration]

    def __str__(self) -> str:
        return f"<{self.aval}>" if isinstance(self.item(0), _KINDS) else "<a text>"


_OPAQUE: Final = (*_PLAIN, type, ModuleType, np.ndarray, range)
#: The iterations that are being staged, of the innermost loop that is rolled up.
current_iterations: ContextVar[Iterations | None] = ContextVar(
    "tinyjax_source_iterations", default=None
)
#: The result where no known value can be made.
NOT_KNOWN: Final = object()


def _type_of(values: Sequence[Any]) -> tuple[dtypes.DType, bool]:
    kinds = {type(value) for value in values}
    if not all(issubclass(kind, _KINDS) for kind in kinds):
        raise NotUniformError
    if any(issubclass(kind, np.generic) for kind in kinds):
        if len(kinds) > 1:
            raise NotUniformError
        return np.dtype(type(values[0])), False
    if kinds == {bool}:
        return dtypes.bool_, True
    if kinds <= {bool, int}:
        return dtypes.int64, True
    return dtypes.scalar_dtype(complex if complex in kinds else float), True


def _is_progression(numbers: Sequence[Any]) -> bool:
    """Return whether numbers are an arithmetic progression of Python integers."""
    if len(numbers) < 2 or not all(type(n) is int and abs(n) < 2**31 for n in numbers):
        return False
    step = numbers[1] - numbers[0]
    return all(y - x == step for x, y in pairwise(numbers))


def known_of(values: Sequence[Any], iterations: Iterations) -> Any:
    """Return the value that has these values in the iterations, a constant if all are equal.

    Returns:
        The constant, a ``Known``, a tuple of such; ``NOT_KNOWN`` for objects of other classes.
    """
    first = values[0]
    if all(isinstance(value, _PLAIN) for value in values):
        constant = all(is_same(value, first) for value in values)
        return first if constant else Known(iterations, [*values])
    if all(type(value) is tuple and len(value) == len(first) for value in values):
        columns = [known_of(column, iterations) for column in zip(*values, strict=True)]
        return NOT_KNOWN if NOT_KNOWN in columns else tuple(columns)
    return first if all(value is first for value in values) else NOT_KNOWN


def items_in(value: Any) -> Collection[Any]:
    """Return the items of a tuple, a list or a dict; nothing for other values."""
    if type(value) is dict:
        return value.values()
    return value if type(value) in (tuple, list) else ()


def with_items(value: Any, fun: Callable[[Any], Any]) -> Any:
    """Return a tuple, a list or a dict with a function applied to its items; others as they are."""
    if type(value) is dict:
        return {key: fun(part) for key, part in value.items()}
    return type(value)(map(fun, value)) if type(value) in (tuple, list) else value


def replaced(value: Any, iterations: Iterations, fun: Callable[[Known], Any]) -> Any:
    """Return a value with replacements for parts known in each iteration, in containers too."""
    if isinstance(value, Known):
        return fun(value) if value.iterations is iterations else value.array()
    return with_items(value, lambda part: replaced(part, iterations, fun))


def holds_known(value: Any) -> bool:
    """Return whether a value contains one that is known in each iteration."""
    return isinstance(value, Known) or any(map(holds_known, items_in(value)))


def iterations_of(value: Any, default: Iterations) -> Iterations:
    """Return the iterations in which the known parts of a value are known, if it is one loop's."""
    loops: dict[int, Iterations] = {}

    def enter(part: Any) -> None:
        if isinstance(part, Known):
            loops[id(part.iterations)] = part.iterations
        for item in items_in(part):
            enter(item)

    enter(value)
    return default if len(loops) != 1 else next(iter(loops.values()))


def in_each_iteration(
    iterations: Iterations, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the result of a function of known values in each iteration.

    Raises:
        NotUniformError: it raises an exception in one.
    """
    operands: list[Known] = []
    replaced((args, kwargs), iterations, operands.append)
    known = Known(iterations, [], (fun, args, kwargs))
    if all(operand.complete for operand in operands):
        return known_of([known.item(i) for i in range(iterations.count)], iterations)
    return known if isinstance(known.item(0), _PLAIN) else NOT_KNOWN


# Texts of traced values, which are known when the program runs.


_print: Final = print
_METHODS: Final = frozenset(name for name in dir(str) if not name.startswith("_"))


@attrs.frozen(eq=False, repr=False)
class TracedText:
    """A text that a function makes of traced values, among others.

    It may be printed, be the text of an exception, and be part of another text. All other uses
    depend on its characters, and are refused: a number that is read from them has no derivative.

    Attributes:
        function: the function that makes it.
        args: its arguments.
        kwargs: its keyword arguments.
    """

    function: Callable[..., str]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def with_values(self, fun: Callable[[Any], Any]) -> str:
        """Return the text with something in place of each traced value."""
        args, kwargs = _with_values(self.args, fun), _with_values(self.kwargs, fun)
        return self.function(*args, **kwargs)

    def __str__(self) -> str:
        """Return the text for messages, with types in place of values that are not known."""
        if not holds_tracer((self.args, self.kwargs), True):
            return self.with_values(python_number)
        try:
            return self.with_values(lambda value: Placeholder(f"<{value.aval}>"))
        except (TypeError, ValueError):  # of "%.2f" % x and its like
            return "<a text of traced values>"

    def __add__(self, other: Any) -> TracedText:
        return TracedText(operator.add, (self, other), {})

    def __radd__(self, other: Any) -> TracedText:
        return TracedText(operator.add, (other, self), {})

    def __mod__(self, other: Any) -> TracedText:
        return TracedText(operator.mod, (self, other), {})

    def _refuse(self, *_: object) -> NoReturn:
        raise _refused()

    __eq__ = __ne__ = __lt__ = __gt__ = __contains__ = __getitem__ = _refuse
    __hash__ = __bool__ = __len__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            raise _refused()
        raise AttributeError(name)


def _refused() -> errors.SourceError:
    return errors.SourceError(
        "what a text of traced values says is not known when the program is staged: it may be "
        "printed, or be the text of an exception. Compare the values themselves."
    )


class Placeholder(str):
    """A substitute for a traced value in the text of an exception, for any format."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str(self)

    __repr__ = str.__str__


def python_number(value: Any) -> Any:
    """Return a value that is known: a number as Python's, an array as NumPy's.

    A float of less than double precision becomes the number of the fewest digits that rounds to it,
    as it would be printed.
    """
    while isinstance(value, JVPTracer):
        value = value.primal
    host = np.asarray(value)
    if host.ndim:
        return host
    narrow = host.dtype.kind not in "biuc" and host.dtype.itemsize < 8
    return float(str(host[()])) if narrow else host.item()


def _with_values(value: Any, fn: Callable[[Any], Any]) -> Any:
    """Replace the arrays in a value, and make the texts that then are known."""
    match value:
        case TracedText():
            return value.with_values(fn)
        case Array():
            return value if value.shape and isinstance(value, concrete.ConcreteArray) else fn(value)
        case np.ndarray():
            return fn(value)
        case tuple() | list() if type(value) in (tuple, list):
            return type(value)([_with_values(part, fn) for part in value])
        case dict():
            return {key: _with_values(part, fn) for key, part in value.items()}
        case _:
            parts, structure = take_apart(value)
            if structure is tree.LEAF:
                return value
            return tree.unflatten(structure, [_with_values(part, fn) for part in parts])


def text_of(function: Callable[..., str]) -> Callable[..., Any]:
    """Return a function that makes a text, as one of traced values."""

    def made(*args: Any, **kwargs: Any) -> Any:
        text = TracedText(function, args, kwargs)
        parts, _ = take_apart((args, kwargs))
        is_real = any(isinstance(x, tr.Tracer) and x.dtype.kind in "fc" for x in parts)
        is_known = not is_real and not holds_tracer((args, kwargs), True)
        return text.with_values(python_number) if is_known else text

    return made


def print_when_run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Print the values that the program computes when it runs."""
    parts, structure = take_apart((args, kwargs))
    debug_callback(_printing(structure), tuple(parts), {}, False)


@lru_cache(maxsize=256)  # so that programs with equal calls are equal
def _printing(structure: tree.PyTreeDef) -> Callable[..., None]:
    def write(*parts: Any) -> None:
        args, kwargs = _with_values(tree.unflatten(structure, parts), python_number)
        _print(*args, **kwargs)

    return write


def as_texts(args: Sequence[Any]) -> list[Any]:
    """Return the arguments of an exception."""
    return [str(arg) if isinstance(arg, (TracedText, Known)) else arg for arg in args]
