"""The errors a user can meet: one class per cause, each carrying its data.

Every message says what was expected, what came, and what to do; the base class adds the user's
line. Each class is also an instance of the builtin classes that JAX raises for its cause. For some
causes those are TypeError in one function and ValueError in another, and NumPy says the opposite;
then it is both, so that whichever a program catches is caught.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Self

from tinyjax import frames, tracebacks


class TinyjaxError(Exception):
    """Base of all errors raised on purpose by tinyjax.

    Attributes:
        message: the text without the location.
        location: the innermost line outside the package when the error was made, if any.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.location: frames.Location | None = frames.user_location()
        tracebacks.hide(sys._getframe(1))

    def at(self, location: frames.Location | None) -> Self:
        """Return the error, with the line that it is about."""
        self.location = location
        return self

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        line = self.location.text  # empty where the source is not at hand, as in python -c
        return f"{self.message}\n  at {self.location}{line and f': {line}'}"


class ArgumentError(TinyjaxError, TypeError, ValueError):
    """An argument has a type or a value that the function does not take."""


class MemoryBudgetError(ArgumentError):
    """A memory budget is less than the least possible one, which is ``least``, in bytes.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> loss = lambda w: jnp.sum(jnp.sin(w @ w) @ w)
        >>> try:
        ...     tinyjax.grad(loss, memory_budget=1000)(jnp.ones((32, 32)))
        ... except tinyjax.errors.MemoryBudgetError as error:
        ...     print(error.least > 1000)
        True
    """

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least


class NumberRangeError(ArgumentError, OverflowError):
    """A number does not fit in the dtype that it is converted to."""


class DonatedArrayError(ArgumentError, RuntimeError):
    """An array was used after it was donated to a compiled function."""


class PlatformError(TinyjaxError, RuntimeError):
    """A platform was asked for that is not there: programs run on the CPU."""


class ShardingError(ArgumentError):
    """An array cannot lie on devices in the way asked for."""


class ShardingTypeError(ShardingError):
    """The types of operands do not say how a result lies, or types that must agree do not."""


class NotAddressableError(TinyjaxError, RuntimeError):
    """An array was asked for data that lies in other processes."""


class DistributedError(TinyjaxError, RuntimeError):
    """Processes were not brought together, or what they hold differs."""


class ProcessesDifferError(DistributedError, AssertionError):
    """Processes hold different values of what is to be the same in all."""


class DtypeError(TinyjaxError, TypeError, ValueError):
    """An operand's dtype is not one the operation is defined on."""


class ShapeError(TinyjaxError, TypeError, ValueError):
    """Operand shapes do not fit each other or the parameters."""


class IndexingError(ArgumentError, IndexError):
    """What is given as an index, in ``x[...]`` for instance, does not index the array."""


class AxisError(TinyjaxError, TypeError, ValueError, IndexError):
    """An axis is out of range or repeated.

    Attributes:
        axis: the offending axis.
        ndim: the number of axes there are.
    """

    def __init__(self, message: str, axis: int, ndim: int) -> None:
        super().__init__(message)
        self.axis = axis
        self.ndim = ndim


class PromotionError(TinyjaxError, TypeError, ValueError):
    """Two dtypes have no common type to promote to."""


class JAXTypeError(TinyjaxError, TypeError):
    """A traced value was used as only data can be."""


class JAXIndexError(TinyjaxError, IndexError):
    """A traced value was used as an index that only data can be."""


class ConcretizationError(JAXTypeError):
    """A value that is only known abstractly was asked for its data."""


class TracedArgumentError(ArgumentError, ConcretizationError):
    """An argument that must be known while a function is traced is a traced value."""


class TracerArrayConversionError(ConcretizationError):
    """A traced value was to be a NumPy array."""


class TracerBoolConversionError(ConcretizationError):
    """A traced value was to be a Python bool, as ``if`` and ``while`` ask for."""


class TracerIntegerConversionError(ConcretizationError):
    """A traced value was to be a Python int where only integers will do, such as an index."""


class ConcreteIndexError(ConcretizationError, JAXIndexError):
    """An index decides on the shape of the result, but is only known abstractly."""


class TracingForbiddenError(TinyjaxError, RuntimeError):
    """A jitted function would have been traced where ``no_tracing`` is in force."""


class LeakedTracerError(JAXTypeError, RuntimeError):
    """A tracer was used after the transformation that made it had ended."""


class MissingRuleError(TinyjaxError, NotImplementedError):
    """A primitive lacks the rule that a transformation needs.

    Attributes:
        primitive: the primitive's name.
        rule: the rule's name.
        registered: the names of the rules that the primitive has.
    """

    def __init__(
        self, primitive: str, rule: str, registered: Sequence[str], keyed: bool = False
    ) -> None:
        what = f"p is the Primitive '{primitive}'"
        how = (
            f"rule(KEY), where {what} and KEY is RuleKey({rule!r})"
            if keyed
            else f"{rule}, where {what}"
        )
        super().__init__(
            f"primitive '{primitive}' has no {rule} rule. It has: "
            f"{', '.join(registered) or 'none'}. Register one with @p.def_{how}."
        )
        self.primitive = primitive
        self.rule = rule
        self.registered: tuple[str, ...] = tuple(registered)


class UnboundAxisError(TinyjaxError, NameError):
    """A collective names an axis that no enclosing ``vmap`` has."""


class JaxprTypeError(TinyjaxError, TypeError):
    """A jaxpr is ill-formed: an unbound or rebound variable, or an equation of the wrong type."""


class StaticArgumentError(TinyjaxError, ValueError):
    """A static argument of ``jit`` is missing, unhashable or an array."""


class CallbackError(TinyjaxError, ValueError, NotImplementedError):
    """A callback returned what was not declared, or was transformed in a way it cannot be."""


class ForeignCallError(TinyjaxError, NotImplementedError):
    """A foreign function is under ``vmap``, and nobody said how to call it there."""


class EffectOrderError(TinyjaxError, NotImplementedError):
    """The order of effects that was asked for cannot be kept."""


class SparseRuleError(TinyjaxError, NotImplementedError):
    """An operation on a sparse array would have a dense result, or is not known of sparse ones."""


class JaxRuntimeError(TinyjaxError, RuntimeError):
    """XLA failed to compile a program, or to run it: there is not enough memory, for instance."""


class ProfilerError(TinyjaxError, RuntimeError):
    """A profile was begun twice, or ended without having begun."""


class TransferError(JaxRuntimeError):
    """Data would be transferred where ``transfer_guard`` disallows it."""


class CheckFailedError(JaxRuntimeError, ValueError):
    """What ``error_if`` or ``checkify`` was told to watch for has happened."""


class NanError(TinyjaxError, FloatingPointError):
    """A NaN that an operation gave birth to has reached a result (setting ``debug_nans``).

    Attributes:
        primitive: the operation.
        direction: "forward", "tangent" or "backward": which computation of the line it belongs to.
        iterations: in which iteration of each loop around it, the outermost first, counted from 0.
        examples: in which example of each ``vmap`` around it, the outermost first.
    """

    def __init__(
        self,
        message: str,
        location: frames.Location | None,
        primitive: str,
        direction: frames.Direction,
        iterations: tuple[int, ...],
        examples: tuple[int, ...],
    ) -> None:
        super().__init__(message)
        self.location = location
        self.primitive = primitive
        self.direction: frames.Direction = direction
        self.iterations = iterations
        self.examples = examples

    def __reduce__(self) -> tuple[type[NanError], tuple[object, ...]]:
        rest = (self.location, self.primitive, self.direction, self.iterations, self.examples)
        return type(self), (self.message, *rest)


class DifferentiationError(TinyjaxError, TypeError, ValueError, NotImplementedError):
    """A derivative was asked for that does not exist: of an integer, or of a non-scalar."""


class UndefinedRuleError(DifferentiationError, AttributeError):
    """A function with a custom rule was transformed before it was given one."""


class MissingMethodError(TinyjaxError, NotImplementedError):
    """A primitive's class lacks the method that a transformation needs.

    Attributes:
        primitive: the name of the class.
        method: the method's.
    """

    def __init__(self, primitive: str, method: str) -> None:
        super().__init__(f"{primitive} lacks a method that is needed here: define {method}.")
        self.primitive = primitive
        self.method = method


class BatchSizeError(TinyjaxError, ValueError):
    """The mapped arguments of ``vmap`` disagree about the size of the mapped axis."""


class BranchTypeError(TinyjaxError, TypeError):
    """The branches of ``cond`` or ``switch`` return results that cannot be given one type."""


class CarryTypeError(TinyjaxError, TypeError):
    """The body of a loop does not return its carry as it was given it."""


class RefError(TinyjaxError, TypeError, ValueError):
    """A reference was used where it cannot be, or was to hold what it cannot."""


class OuterRefError(RefError):
    """A function uses a reference that was made outside of it, where it is to have none."""


class KeyReuseError(JAXTypeError):
    """A key of random numbers was used twice, with the setting ``debug_key_reuse``."""


class InconclusiveDimensionOperation(TinyjaxError, TypeError, ValueError):  # noqa: N818 (JAX's name)
    """What is asked of a symbolic size depends on the size."""


class UnsupportedVersionError(TinyjaxError, ImportError):
    """The jaxlib that is installed is older or newer than those tinyjax runs on."""


class MissingJaxlibError(PlatformError, ImportError):
    """What only compiled programs can do was asked for, and jaxlib cannot be loaded."""


class ForkError(TinyjaxError, RuntimeError):
    """A program is to be compiled in a process that was forked from one that runs XLA."""


class CheckpointError(TinyjaxError, ValueError):
    """A checkpoint cannot be read or written: it is missing, damaged, or of other arrays."""


class PaddingError(TinyjaxError, NotImplementedError):
    """A function is padded to a bucket of lengths, and uses what has no rule for that."""


class ExportError(TinyjaxError, ValueError):
    """A program cannot be exported, or what was exported cannot be read."""


class SourceError(TinyjaxError, NotImplementedError):
    """A program does what ``tinyjax.source`` does not take, or calls what has no known derivative.

    Attributes:
        location: the line of the program.
    """

    def __init__(self, message: str, location: frames.Location | None = None) -> None:
        super().__init__(message)
        if location is not None:
            self.location: frames.Location | None = location

    def __reduce__(self) -> tuple[type[SourceError], tuple[object, ...]]:
        return type(self), (self.message, self.location)


def described(value: object) -> str:
    """Show a value and its type, for a message."""
    return "None" if value is None else f"{shortened(value)} ({type(value).__name__})"


def shortened(value: object) -> str:
    """Show the beginning of a value, in one line."""
    try:
        text = " ".join(repr(value).split())
    except (RecursionError, ValueError):  # nested too deep, or an int of thousands of digits
        return f"<{type(value).__name__}, too large to show>"
    return text if len(text) <= 60 else f"{text[:57]}..."


class DiskCacheWarning(UserWarning):
    """The cache of compiled programs on disk cannot be used as it was asked for."""


# What JAX calls them
ConcretizationTypeError = ConcretizationError
NonConcreteBooleanIndexError = ConcreteIndexError
UnexpectedTracerError = LeakedTracerError
