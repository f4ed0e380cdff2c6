"""The errors a user can meet: one class per cause, each carrying its data.

Every message says what was expected, what came, and what to do; the base class adds the user's
line. Each class is also an instance of the builtin classes that JAX raises for its cause. For some
causes those are TypeError in one function and ValueError in another, and NumPy says the opposite;
then it is both, so that whichever a program catches is caught.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar, Protocol, Self

from tinyjax._base import frames, tracebacks


class _Typed(Protocol):
    """An object with a type of its own, as arrays have."""

    @property
    def aval(self) -> object: ...


class TinyjaxError(Exception):
    """Base of all errors raised on purpose by tinyjax.

    Catch this class to catch them all. Each is also an instance of the built-in classes that NumPy
    and JAX raise for its cause.

    Attributes:
        message: the text without the location.
        location: the innermost line outside the package when the error was made, if any.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.ones(2) + jnp.ones(3)
        ... except tinyjax.errors.TinyjaxError as error:
        ...     print(error.message)
        add: incompatible shapes for broadcasting: (2,) and (3,). Counted from the last axis, sizes
        must be equal or 1.

        The same program, for those who catch what NumPy raises:

        >>> try:
        ...     jnp.ones(2) + jnp.ones(3)
        ... except ValueError as error:
        ...     print(type(error).__name__)
        ShapeError
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.location: frames.Location | None = frames.user_location()
        tracebacks.hide(sys._getframe(1))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the error's attributes: few classes are made of their message alone."""
        return _made_again, (type(self), self.args), self.__dict__

    def at(self, location: frames.Location | None) -> Self:
        """Return the error, with the line that it is about.

        Example:
            >>> from tinyjax.errors import ArgumentError
            >>> str(ArgumentError("there is no such axis.").at(None))
            'there is no such axis.'
        """
        self.location = location
        return self

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        line = self.location.text  # empty where the source is not at hand, as in python -c
        return f"{self.message}\n  at {self.location}{line and f': {line}'}"


def _made_again(kind: type[TinyjaxError], args: tuple[object, ...]) -> TinyjaxError:
    return kind.__new__(kind, *args)


class ArgumentError(TinyjaxError, TypeError, ValueError):
    """An argument has a type or a value that the function does not take.

    Lists are the most common: a function that took them would copy them at each call.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.sin([0.0, 1.0])
        ... except tinyjax.errors.ArgumentError as error:
        ...     print(error.message)
        x of sin: expected an array or a number, but got list: [0.0, 1.0], which is not a valid JAX
        type. Convert it with jnp.asarray(...).

        Make an array of the list, once:

        >>> jnp.sin(jnp.array([0.0, 1.0]))
        Array([0.      , 0.841471], dtype=float32)
    """


class MemoryBudgetError(ArgumentError):
    """A memory budget is less than the least possible one, which is ``least``, in bytes.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> loss = lambda w: jnp.sum(jnp.sin(w @ w) @ w)
        >>> try:
        ...     tinyjax.grad(loss, memory_budget=1000)(jnp.ones((32, 32)))
        ... except tinyjax.errors.MemoryBudgetError as error:
        ...     least = error.least
        >>> least > 1000
        True

        Give as much as it says:

        >>> tinyjax.grad(loss, memory_budget=least)(jnp.ones((32, 32))).shape
        (32, 32)
    """

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least


class NumberRangeError(ArgumentError, OverflowError):
    """A number does not fit in the dtype that it is converted to.

    A Python number takes the dtype of the array that it meets, in which it has to fit.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.array([1, 2], dtype=jnp.uint8) + 300
        ... except tinyjax.errors.NumberRangeError as error:
        ...     print(error.message)
        other of add: 300 does not fit in the other operand's dtype, uint8. Convert that operand to
        a wider one with .astype(...).

        Give the array a wider dtype first:

        >>> jnp.array([1, 2], dtype=jnp.uint8).astype(jnp.int32) + 300
        Array([301, 302], dtype=int32)
    """


class DonatedArrayError(ArgumentError, RuntimeError):
    """An array was used after it was donated to a compiled function.

    ``donate_argnums`` lets a compiled function write its results where the argument was.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> step = tinyjax.jit(lambda x: x + 1, donate_argnums=0)
        >>> x = jnp.zeros(3)
        >>> y = step(x)
        >>> try:
        ...     x * 2
        ... except tinyjax.errors.DonatedArrayError as error:
        ...     print(error.message)
        this array (float32[3]) was donated to a compiled function, which has reused its memory, or
        it was deleted. Use the function's result, or do not donate the argument.

        Go on with the result, best under the same name:

        >>> x = jnp.zeros(3)
        >>> x = step(x)
        >>> x * 2
        Array([2., 2., 2.], dtype=float32)
    """


class PlatformError(TinyjaxError, RuntimeError):
    """A requested platform is not there: programs run on the CPU.

    ``tinyjax.devices()`` lists the devices that there are.

    Example:
        >>> import tinyjax
        >>> try:
        ...     tinyjax.devices('tpu')
        ... except tinyjax.errors.PlatformError as error:
        ...     print(error.message)
        there are no devices of the platform 'tpu': there are those of ...

        Ask for a platform that is there:

        >>> tinyjax.devices('cpu')[0].platform
        'cpu'
    """


class ShardingError(ArgumentError):
    """An array cannot have the requested sharding.

    A sharding names an axis of a mesh for each axis of an array that is to be divided. The mesh
    must have that axis, and its size must divide the array's.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P
        >>> mesh = tinyjax.make_mesh((1,), ("rows",))
        >>> try:
        ...     tinyjax.device_put(jnp.ones(4), NamedSharding(mesh, P("columns")))
        ... except tinyjax.errors.ShardingError as error:
        ...     print(error.message)
        P('columns',) names the axis 'columns', but the axes of the mesh are ('rows',).

        Name an axis of the mesh:

        >>> tinyjax.device_put(jnp.ones(4), NamedSharding(mesh, P("rows"))).sharding.spec
        P('rows',)
    """


class ShardingTypeError(ShardingError):
    """The types of operands do not say how a result lies, or types that must agree do not.

    On a mesh with explicit axes the type of an array says how it is divided, and operations on
    types say how their results are. Where they cannot, the program has to.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P
        >>> from tinyjax.sharding import AxisType
        >>> mesh = tinyjax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
        >>> rows = tinyjax.device_put(jnp.ones((2, 2)), NamedSharding(mesh, P("i", None)))
        >>> columns = tinyjax.device_put(jnp.ones((2, 2)), NamedSharding(mesh, P(None, "i")))
        >>> try:
        ...     rows + columns
        ... except tinyjax.errors.ShardingTypeError as error:
        ...     print(error.message)
        add of float32[2@i,2] and float32[2,2@i] does not say how its result lies: the result would
        lie by P('i', 'i'), which has an axis twice. Divide operands otherwise, by
        tinyjax.reshard(x, P(...)); or say how the result is to lie, by out_sharding=P(...) where
        the function takes it, or else by tinyjax.sharding.auto_axes(f, out_sharding=P(...)), within
        which XLA chooses.

        Divide one as the other is:

        >>> (rows + tinyjax.reshard(columns, rows.sharding)).sharding.spec
        P('i', None)
    """


class NotAddressableError(TinyjaxError, RuntimeError):
    """A request for data of an array that lies in other processes.

    Each process has a part of an array that lies on devices of several, and NumPy's functions ask
    for all of it.

    Example:
        In every process, first give each device all of the array:

        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P
        >>> mesh = tinyjax.make_mesh((1,), ("i",))
        >>> x = tinyjax.device_put(jnp.arange(3.0), NamedSharding(mesh, P("i")))
        >>> np.asarray(tinyjax.device_put(x, NamedSharding(mesh, P())))
        array([0., 1., 2.], dtype=float32)

        The parts of this process are at hand without that:

        >>> [shard.data.shape for shard in x.addressable_shards]
        [(3,)]
    """


class DistributedError(TinyjaxError, RuntimeError):
    """Processes were not brought together, or their data differs.

    Processes find each other before anything is computed, since that decides which devices there
    are.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.ones(3).block_until_ready()
        >>> device = tinyjax.devices()[0]
        >>> try:
        ...     tinyjax.distributed.initialize("localhost:1234", num_processes=1, process_id=0)
        ... except tinyjax.errors.DistributedError as error:
        ...     print(error.message)
        distributed.initialize must be called before tinyjax.devices(), before a mesh is made and
        before anything is compiled or put on a device: it decides what devices there are.

        Call ``initialize`` first, before any array is made. In one process it is not needed:

        >>> tinyjax.process_count()
        1
    """


class ProcessesDifferError(DistributedError, AssertionError):
    """Processes hold different values of data that must be the same in all.

    All processes run the same program on the same values, but for the parts of arrays that lie on
    their own devices. A random seed, a file or an order of a set that differs between them breaks
    that.

    Example:
        Check what has to agree, in every process:

        >>> import tinyjax
        >>> from tinyjax.experimental import multihost_utils
        >>> seed = 7
        >>> multihost_utils.assert_equal({"seed": seed}, "settings")

        What one process has read, give to all:

        >>> int(multihost_utils.broadcast_one_to_all(seed))
        7
    """


class DtypeError(TinyjaxError, TypeError, ValueError):
    """An operand's dtype is not one the operation is defined on.

    A function says which kinds of numbers it takes; none is converted silently.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.bitwise_and(jnp.array([6.0]), 3)
        ... except tinyjax.errors.DtypeError as error:
        ...     print(error.message)
        bitwise_and does not accept dtype float32: it takes bool, signed integer, unsigned integer.
        Convert the operand with .astype(...).

        Convert the operand:

        >>> jnp.bitwise_and(jnp.array([6.0]).astype(int), 3)
        Array([2], dtype=int32)
    """


class ShapeError(TinyjaxError, TypeError, ValueError):
    """Operand shapes do not fit each other or the parameters.

    Shapes are aligned at their last axes, as NumPy's are. Sizes there must be equal, or one of them
    1.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.ones((3, 2)) + jnp.arange(3)
        ... except tinyjax.errors.ShapeError as error:
        ...     print(error.message)
        add: incompatible shapes for broadcasting: (3, 2) and (3,). Counted from the last axis,
        sizes must be equal or 1.

        Give the vector an axis of size 1 after its own, to add it to each column:

        >>> (jnp.ones((3, 2)) + jnp.arange(3)[:, None]).shape
        (3, 2)
    """

    @classmethod
    def got(cls, needs: str, *operands: _Typed) -> Self:
        """Return the error that says what a function needs, and the types of what it got.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.errors import ShapeError
            >>> print(ShapeError.got("f needs a vector", jnp.ones((2, 3))).message)
            f needs a vector, but got float32[2,3].
        """
        *others, last = [str(x.aval) for x in operands]
        came = f"{', '.join(others)} and {last}" if others else last
        return cls(f"{needs}, but got {came}.")


class IndexingError(ArgumentError, IndexError):
    """An object in an index, in ``x[...]`` for instance, does not index the array.

    An index is made of integers, slices, ``None``, ``...``, and arrays of integers or bools.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.arange(6).reshape(2, 3)
        >>> try:
        ...     x[0.5]
        ... except tinyjax.errors.IndexingError as error:
        ...     print(error.message)
        an index must be made of integers, slices, None, '...', and arrays of integers or bools, but
        got float: 0.5.

        Make an integer of it:

        >>> x[int(0.5)]
        Array([0, 1, 2], dtype=int32)
    """


class OutOfBoundsError(IndexingError):
    """An index lies beyond the ends of its axis (setting ``debug_bounds``).

    Attributes:
        index: the index, as it was given.
        axis: the axis that it is about.
        size: the size of that axis.
        examples: in which example of each ``vmap`` around it, the outermost first.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x, i = jnp.arange(3), jnp.array([0, 7])
        >>> try:
        ...     with tinyjax.debug_bounds(True):
        ...         x[i]
        ... except tinyjax.errors.OutOfBoundsError as error:
        ...     print(error.message)
        index 7 is out of bounds for axis 0 of size 3, at (1,) of the indices. Without debug_bounds
        what is read there is taken from elsewhere or filled in, and what is written is moved or
        dropped. If that is meant, say so by mode='clip', 'fill' or 'drop'; otherwise keep the index
        within the axis.

        Say what becomes of it:

        >>> with tinyjax.debug_bounds(True):
        ...     print(x.at[i].get(mode="fill", fill_value=-1))
        [ 0 -1]
    """

    def __init__(
        self, message: str, index: int, axis: int, size: int, examples: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.index = index
        self.axis = axis
        self.size = size
        self.examples = examples


class AxisError(TinyjaxError, TypeError, ValueError, IndexError):
    """An axis is out of range or repeated.

    Axes are numbered from 0, or from the last one as -1.

    Attributes:
        axis: the offending axis.
        ndim: the number of axes there are.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     jnp.sum(jnp.ones((2, 3)), axis=2)
        ... except tinyjax.errors.AxisError as error:
        ...     print(error.message)
        axis 2 is out of bounds for array of dimension 2: it must be in [-2, 2).

        Name an axis that there is:

        >>> jnp.sum(jnp.ones((2, 3)), axis=-1)
        Array([3., 3.], dtype=float32)
    """

    def __init__(self, message: str, axis: int, ndim: int) -> None:
        super().__init__(message)
        self.axis = axis
        self.ndim = ndim


class PromotionError(TinyjaxError, TypeError, ValueError):
    """Two dtypes have no common type to promote to.

    With the setting ``dtype_promotion`` at ``"strict"``, only Python numbers take the dtype of
    others. Some dtypes, such as those of 8-bit floats, are never promoted to one another.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     with tinyjax.numpy_dtype_promotion("strict"):
        ...         jnp.ones(2) + jnp.arange(2)
        ... except tinyjax.errors.PromotionError as error:
        ...     print(error.message)
        dtypes float32 and int32 differ, and dtype_promotion is 'strict'. Convert one of them with
        .astype(...).

        Say to which dtype:

        >>> with tinyjax.numpy_dtype_promotion("strict"):
        ...     print(jnp.ones(2) + jnp.arange(2).astype(jnp.float32))
        [1. 2.]
    """


class JAXTypeError(TinyjaxError, TypeError):
    """A traced value was used as only data can be.

    It is the base of the errors about tracers: catch it to catch them all. While a function is
    traced, its arguments have types and no data.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x: x * float(x))(2.0)
        ... except tinyjax.errors.JAXTypeError as error:
        ...     print(error.message)
        a Python float needs the data of an array, but float32[] is traced by jit of <lambda>
        (...), and depends on the value of the argument x. Keep the array: NumPy's functions and
        tinyjax.numpy's take it. Make the argument static (static_argnums=...), or compute this
        outside of the function. tinyjax.source.capture takes programs that use math, or write into
        NumPy's arrays.

        Stay with arrays, which functions of ``tinyjax.numpy`` take:

        >>> float(tinyjax.jit(lambda x: x * x)(2.0))
        4.0
    """


class JAXIndexError(TinyjaxError, IndexError):
    """A traced value was used as an index that only data can be.

    It is the base of those errors about tracers that are instances of ``IndexError``, too.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x, n: x[:n])(jnp.arange(4.0), 2)
        ... except tinyjax.errors.JAXIndexError as error:
        ...     print(error.message)
        a slice needs bounds that are known, but got slice(None, StagingTracer<int32[]>, None): the
        result's shape depends on them. Use lax.dynamic_slice(x, start, size) for a slice of fixed
        size that starts anywhere.

        Slices have sizes that are known; where they begin may be computed:

        >>> tinyjax.jit(lambda x, n: tinyjax.lax.dynamic_slice(x, (n,), (2,)))(jnp.arange(4.0), 1)
        Array([1., 2.], dtype=float32)
    """


class ConcretizationError(JAXTypeError):
    """A request for the data of a value that is only known abstractly.

    ``jit``, ``scan`` and the like run a function once, on tracers that have a shape and a dtype, to
    record what it computes. The numbers come later. Therefore ``float(x)``, ``x.item()`` and
    ``print(f"{x:.2f}")`` cannot be done there.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x: x * float(x))(2.0)
        ... except tinyjax.errors.ConcretizationError as error:
        ...     print(error.message)
        a Python float needs the data of an array, but float32[] is traced by jit of <lambda>
        (...), and depends on the value of the argument x. Keep the array: NumPy's functions and
        tinyjax.numpy's take it. Make the argument static (static_argnums=...), or compute this
        outside of the function. tinyjax.source.capture takes programs that use math, or write into
        NumPy's arrays.

        Leave the array an array; convert its dtype, if that was meant:

        >>> tinyjax.jit(lambda x: x * x.astype(jnp.float32))(2.0)
        Array(4., dtype=float32)
    """


class TracedArgumentError(ArgumentError, ConcretizationError):
    """An argument that must be known while a function is traced is a traced value.

    Lengths, axes, tolerances and names decide what the program is, and so must be known when it is
    recorded.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> power = lambda n: tinyjax.lax.scan(lambda c, _: (2 * c, None), 1.0, None, n)[0]
        >>> try:
        ...     tinyjax.jit(power)(3)
        ... except tinyjax.errors.TracedArgumentError as error:
        ...     print(error.message)
        The `length` argument to `scan` expects a concrete `int` value, but got a value of type
        int32[] that is traced by jit of <lambda> (...), and depends on the value of the
        argument n. Make the argument static (static_argnums=...), or compute this outside of the
        function.

        Make the argument static: for each value there is a program of its own.

        >>> float(tinyjax.jit(power, static_argnums=0)(3))
        8.0
    """


class TracerArrayConversionError(ConcretizationError):
    """A traced value was to be a NumPy array.

    NumPy's functions take traced values, and call those of ``tinyjax.numpy``. But what makes an
    array of NumPy's, or writes into one, needs data at once: ``np.array``, ``np.asarray``,
    ``out=``, ``table[x]`` and ``np.random``.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x: np.array([x[0], x[1]]))(jnp.ones(4))
        ... except tinyjax.errors.TracerArrayConversionError as error:
        ...     print(error.message)
        a NumPy array needs the data of an array, but float32[] is traced by jit of <lambda>
        (...), and depends on the value of the argument x. Write jnp.array in place of np.array.

        Call the function of ``tinyjax.numpy``; with ``like=x``, NumPy's calls it itself. For a
        function that there is not, there is ``pure_callback``.

        >>> tinyjax.jit(lambda x: jnp.array([x[0], x[1]]))(jnp.ones(4))
        Array([1., 1.], dtype=float32)
    """


class CaptureError(TracerArrayConversionError):
    """A captured program handed a traced value to code that takes only data.

    ``source.capture`` follows a program through all Python code that has a source. Code in C sees
    no traced value: it needs a rule, by ``source.rule``, or a counterpart in tinyjax.

    Example:
        >>> import pickle
        >>> import tinyjax
        >>> from tinyjax import source
        >>> try:
        ...     tinyjax.grad(source.capture(lambda x: len(pickle.dumps(x)) * x))(2.0)
        ... except tinyjax.errors.CaptureError as error:
        ...     print(error.message)
        pickle needs data, but its value is traced. Give the function that needs it a rule:
        tinyjax.source.rule.

        Hand on what is not traced, or leave it out:

        >>> tinyjax.grad(source.capture(lambda x: len(pickle.dumps("x")) * x))(2.0)
        Array(..., dtype=float32, weak_type=True)
    """


class UndecidedError(ConcretizationError):
    """A captured program decides by the value of a staged argument.

    ``jit`` of a captured function stages it again, with the data of the call, where it has data.

    Example:
        >>> import tinyjax
        >>> from tinyjax import source
        >>> clip = source.capture(lambda x: x if x < 1.0 else 1.0)
        >>> tinyjax.jit(clip)(0.5), tinyjax.jit(clip)(2.0)
        (Array(0.5, dtype=float64), Array(1., dtype=float32, weak_type=True))
        >>> try:
        ...     tinyjax.make_jaxpr(clip)(0.5)
        ... except tinyjax.errors.UndecidedError as error:
        ...     print(error.message)
        a captured program decides by the value of bool[], which make_jaxpr of <lambda> (...)
        records without data. Capture the whole function and apply jit to it, or write np.where in
        place of if.

        With ``np.where`` there is nothing to decide:

        >>> import numpy as np
        >>> soft = source.capture(lambda x: np.where(x < 1.0, x, 1.0))
        >>> tinyjax.make_jaxpr(soft)(0.5).jaxpr.outvars
        [...]
    """


class DivergenceError(ConcretizationError):
    """Examples of a batch take different paths through a captured program.

    ``vmap`` of a captured function maps over each group of examples of one path by itself.

    Attributes:
        trace: the trace of the batch.
        rows: what each example decides.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import source
        >>> clip = source.capture(lambda x: x if x < 1.0 else 1.0)
        >>> tinyjax.vmap(clip)(jnp.array([0.5, 2.0]))
        Array([0.5, 1. ], dtype=float32)
        >>> try:
        ...     tinyjax.vmap(clip, axis_name="i")(jnp.array([0.5, 2.0]))
        ... except tinyjax.errors.DivergenceError as error:
        ...     print(error.message)
        examples of a batch take different paths through the program, which depends on their values.
        Map over fewer examples, or write np.where in place of if.

        Without a name of the axis there are groups; and ``np.where`` takes both paths:

        >>> import numpy as np
        >>> soft = source.capture(lambda x: np.where(x < 1.0, x, 1.0))
        >>> tinyjax.vmap(soft, axis_name="i")(jnp.array([0.5, 2.0]))
        Array([0.5, 1. ], dtype=float32)
    """

    def __init__(self, message: str, trace: object = None, rows: object = None) -> None:
        super().__init__(message)
        self.trace: object = trace
        self.rows: object = rows


class TracerBoolConversionError(ConcretizationError):
    """A traced value was to be a Python bool, as ``if`` and ``while`` ask for.

    Python's ``if``, ``while``, ``and``, ``or`` and ``not`` ask for a bool at once. While a function
    is traced there is none: both ways would have to be in the program.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def distance(x):
        ...     if x < 0:
        ...         x = -x
        ...     return x
        >>> try:
        ...     distance(-2.0)
        ... except tinyjax.errors.TracerBoolConversionError as error:
        ...     print(error.message)
        a Python bool needs the data of an array, but bool[] is traced by jit of distance (...),
        and depends on the value of the argument x. Use jnp.where or lax.cond for if, lax.while_loop
        for while, tinyjax.source.stage, or static_argnums.

        Compute both, and choose by ``jnp.where``; with ``lax.cond``, only one is computed:

        >>> @tinyjax.jit
        ... def distance(x):
        ...     return jnp.where(x < 0, -x, x)
        >>> float(distance(-2.0))
        2.0
    """


class TracerIntegerConversionError(ConcretizationError):
    """A traced value was to be a Python int where only integers will do, such as an index.

    Lists, ``range`` and shapes take Python ints, which are known when the function is recorded.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> table = [1.0, 10.0, 100.0]
        >>> try:
        ...     tinyjax.jit(lambda i: table[i])(2)
        ... except tinyjax.errors.TracerIntegerConversionError as error:
        ...     print(error.message)
        a Python index needs the data of an array, but int32[] is traced by jit of <lambda>
        (...), and depends on the value of the argument i. Shapes and range() need Python ints: take
        them from x.shape, or make the argument static (static_argnums=...). Use lax.fori_loop in
        place of a for loop whose length is traced.

        Make an array of the list, which an array indexes. Where a size or the length of a ``for``
        loop is meant, make the argument static, or use ``lax.fori_loop``.

        >>> float(tinyjax.jit(lambda i: jnp.array(table)[i])(2))
        100.0
    """


class ConcreteIndexError(ConcretizationError, JAXIndexError):
    """An index decides on the shape of the result, but is only known abstractly.

    The shapes in a compiled program are fixed. How many elements a mask chooses is known only when
    it runs.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x: jnp.sum(x[x > 0]))(jnp.array([1.0, -2.0, 3.0]))
        ... except tinyjax.errors.ConcreteIndexError as error:
        ...     print(error.message)
        a mask whose values are not known, bool[3], cannot be an index: the shape of the result
        depends on them. Use jnp.where(mask, x, y) to choose between values, or jnp.nonzero(mask,
        size=n) for a fixed number of positions. x.at[mask] can be changed, and read by
        .get(fill_value=...), if no array of indices is beside the mask.

        Keep the shape, and replace what is not chosen:

        >>> positive = tinyjax.jit(lambda x: jnp.sum(jnp.where(x > 0, x, 0.0)))
        >>> float(positive(jnp.array([1.0, -2.0, 3.0])))
        4.0
    """


class TracingForbiddenError(TinyjaxError, RuntimeError):
    """A jitted function would have been traced where ``no_tracing`` is in force.

    Within ``no_tracing`` a program may only be called as it was before, so that nothing is compiled
    where time matters.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> double = tinyjax.jit(lambda x: 2 * x)
        >>> try:
        ...     with tinyjax.no_tracing(True):
        ...         double(jnp.ones(3))
        ... except tinyjax.errors.TracingForbiddenError as error:
        ...     print(error.message)
        <lambda> (...) would be traced for a call, but no_tracing is in force here: it was not
        called before with arguments of these types.

        Call it once before, with arguments of the same types:

        >>> _ = double(jnp.ones(3))
        >>> with tinyjax.no_tracing(True):
        ...     print(double(jnp.zeros(3)))
        [0. 0. 0.]
    """


class LeakedTracerError(JAXTypeError, RuntimeError):
    """A tracer was used after the transformation that made it had ended.

    A tracer means something only while its function is traced. Stored in a list, a global or an
    attribute, it outlives that. With the setting ``check_leaks`` the error comes where it is
    stored.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> log = []
        >>> @tinyjax.jit
        ... def square(x):
        ...     y = x * x
        ...     log.append(y)
        ...     return y
        >>> _ = square(3.0)
        >>> try:
        ...     log[0] + 1
        ... except tinyjax.errors.LeakedTracerError as error:
        ...     print(error.message)
        a value of type float32[] that was traced by jit of square (...) is used after that
        transformation ended. That intermediate value was created by mul on line ... in square. It
        was probably stored in a global, an attribute or a list by the function; return it from the
        function instead.

        Return what is to be known outside:

        >>> @tinyjax.jit
        ... def square(x):
        ...     y = x * x
        ...     return y, y
        >>> _, y = square(3.0)
        >>> float(y + 1)
        10.0
    """


class MissingRuleError(TinyjaxError, NotImplementedError):
    """A primitive lacks the rule that a transformation needs.

    Attributes:
        primitive: the primitive's name.
        rule: the rule's name.
        registered: the names of the rules that the primitive has.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> twice_p = extend.Primitive("twice_of_docs", extend.NoParams)
        >>> @twice_p.def_impl
        ... def _(operands, params):
        ...     return [operands[0] + operands[0]]
        >>> twice = lambda x: extend.bind(twice_p, [x], extend.NO_PARAMS)[0]
        >>> try:
        ...     tinyjax.jvp(twice, (jnp.ones(1),), (jnp.ones(1),))
        ... except tinyjax.errors.MissingRuleError as error:
        ...     print(error.message)
        primitive 'twice_of_docs' has no jvp rule. It has: impl. Register one with @p.def_jvp, where
        p is the Primitive 'twice_of_docs'.

        Register the rule that the message names:

        >>> @twice_p.def_jvp
        ... def _(primals, tangents, params):
        ...     return [twice(primals[0])], [twice(tangents[0])]
        >>> tinyjax.jvp(twice, (jnp.ones(1),), (jnp.ones(1),))
        (Array([2.], dtype=float32), Array([2.], dtype=float32))
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
    """A collective names an axis that no enclosing ``vmap`` has.

    ``lax.psum``, ``lax.pmean`` and their kin work across the examples of a ``vmap`` or the parts of
    a ``shard_map``, whose axis they name.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> centred = lambda x: x - tinyjax.lax.pmean(x, "examples")
        >>> try:
        ...     tinyjax.vmap(centred)(jnp.array([1.0, 3.0]))
        ... except tinyjax.errors.UnboundAxisError as error:
        ...     print(error.message)
        unbound axis name: psum names the axis 'examples', but no enclosing vmap has an axis of that
        name, nor has the mesh of a shard_map. Give it to the vmap around this function: vmap(...,
        axis_name='examples').

        Give the axis its name:

        >>> tinyjax.vmap(centred, axis_name="examples")(jnp.array([1.0, 3.0]))
        Array([-1.,  1.], dtype=float32)
    """


class JaxprTypeError(TinyjaxError, TypeError):
    """A jaxpr is ill-formed: an unbound or rebound variable, or an equation of the wrong type.

    It is met by who writes or rewrites jaxprs; with the setting ``check_jaxprs`` each is checked
    when it is made.

    Example:
        >>> import attrs
        >>> import tinyjax
        >>> from tinyjax.extend import core
        >>> jaxpr = tinyjax.make_jaxpr(lambda x: x + 1.0)(2.0).jaxpr
        >>> try:
        ...     core.check_jaxpr(attrs.evolve(jaxpr, in_binders=()))
        ... except tinyjax.errors.JaxprTypeError as error:
        ...     print(error.message)
        a variable of type float32[] is used but not bound in the equation 'b:float32[] = add a
        1.0'.

        Bind each variable before it is used:

        >>> core.check_jaxpr(jaxpr)
        >>> print(jaxpr)
        { lambda a:float32[] .
          let b:float32[] = add a 1.0
          in ( b ) }
    """


class StaticArgumentError(TinyjaxError, ValueError):
    """A static argument of ``jit`` is missing, unhashable or an array.

    For each value of a static argument there is a program, which is found by the value's hash.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> shaped = tinyjax.jit(lambda x, shape: x.reshape(shape), static_argnums=1)
        >>> try:
        ...     shaped(jnp.arange(4), [2, 2])
        ... except tinyjax.errors.StaticArgumentError as error:
        ...     print(error.message)
        static argument 1 of <lambda> (...) is of type list, which is not hashable. Non-hashable
        static arguments cannot be told apart. Pass a tuple instead of a list, or a frozen class.

        Pass what is hashable: a tuple in place of a list, a frozen class in place of a dict:

        >>> shaped(jnp.arange(4), (2, 2)).shape
        (2, 2)
    """


class CallbackError(TinyjaxError, ValueError, NotImplementedError):
    """A callback returned an undeclared result, or was transformed in an unsupported way.

    The compiled program has to know what comes back from Python: a shape and a dtype.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> scalar = tinyjax.ShapeDtypeStruct((), jnp.float32)
        >>> try:
        ...     tinyjax.pure_callback(np.sin, scalar, jnp.zeros(3))
        ... except tinyjax.errors.CallbackError as error:
        ...     print(error.message)
        callback sin returned at result an array of type float32[3], but float32[] was declared in
        result_shape_dtypes. Return what was declared, with .astype(...) or .reshape(...) where
        needed, or declare what is returned.

        Declare what is returned:

        >>> tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((3,), jnp.float32), jnp.zeros(3))
        Array([0., 0., 0.], dtype=float32)
    """


class ForeignCallError(TinyjaxError, NotImplementedError):
    """A foreign function is under ``vmap``, without a rule for it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import ffi
        >>> scalar = tinyjax.ShapeDtypeStruct((), jnp.float32)
        >>> function = ffi.ffi_call("scale", scalar)
        >>> try:
        ...     tinyjax.vmap(function)(jnp.ones(3))
        ... except tinyjax.errors.ForeignCallError as error:
        ...     print(error.message)
        the foreign function 'scale' is under vmap, but ffi_call does not say what to do there. Pass
        vmap_method="sequential" to call it once for each example, "expand_dims" or "broadcast_all"
        to call it once with one axis more in front.

        Say it. The program is only staged here, since nothing is registered as ``scale``.

        >>> function = ffi.ffi_call("scale", scalar, vmap_method="sequential")
        >>> tinyjax.eval_shape(tinyjax.vmap(function), jnp.ones(3)).shape
        (3,)
    """


class EffectOrderError(TinyjaxError, NotImplementedError):
    """The requested order of effects cannot be kept.

    Ordered callbacks run in the order in which the program calls them, which a token carries from
    one to the next. A lowering of your own that calls one within a region has to return it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import NO_PARAMS, NoParams, Primitive, bind
        >>> tell_p = Primitive("tell_of_docs", NoParams)
        >>> tell_p.def_abstract_eval(lambda avals, params: avals)  # doctest: +ELLIPSIS
        <function ...>
        >>> @tell_p.def_lowering
        ... def _(b, operands, params):
        ...     def body(_):
        ...         b.host_call(print, operands, b.results, True, True)
        ...         return list(operands)
        ...     return b.emit("stablehlo.case", operands, b.results, {}, [b.region((), body)])
        >>> try:
        ...     tinyjax.jit(lambda x: bind(tell_p, [x], NO_PARAMS)[0])(jnp.array(0))
        ... except tinyjax.errors.EffectOrderError as error:
        ...     print(error.message)
        a primitive's lowering rule writes a region that makes ordered callbacks and does not return
        the token, so that their order among others would be lost. Return lowering.token from the
        region and set it from the operation's result, as cond does, or write a loop with
        lowering.loop.

        Use ``lax.cond``, which passes the token on:

        >>> tell = lambda x: tinyjax.debug.print("{}", x, ordered=True)
        >>> tinyjax.jit(lambda x: tinyjax.lax.cond(x >= 0, tell, lambda x: None, x))(jnp.array(0))
        0
    """


class SparseRuleError(TinyjaxError, NotImplementedError):
    """An operation on a sparse array would have a dense result, or is not known of sparse ones.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.eye(2))
        >>> try:
        ...     sparse.sparsify(jnp.cos)(x)
        ... except tinyjax.errors.SparseRuleError as error:
        ...     print(error.message)
        cos of a sparse array would be dense, or is not known of sparse arrays. Give it x.todense().

        The cosine of zero is not zero. Make the array dense, or apply a function that keeps zeros:

        >>> jnp.cos(x.todense()).shape
        (2, 2)
        >>> sparse.sparsify(jnp.sin)(x).nse
        2
    """


class JaxRuntimeError(TinyjaxError, RuntimeError):
    """XLA failed to compile a program, or to run it: there is not enough memory, for instance.

    The message is XLA's. Most often memory is exhausted: then compute in chunks, by ``chunk_size``
    of ``vmap`` or ``batch_size`` of ``lax.map``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import ffi
        >>> scale = ffi.ffi_call("scale_of_docs", tinyjax.ShapeDtypeStruct((3,), jnp.float32))
        >>> try:
        ...     tinyjax.jit(scale)(jnp.ones(3)).block_until_ready()
        ... except tinyjax.errors.JaxRuntimeError as error:
        ...     print(error.message)
        NOT_FOUND: No FFI handler registered for scale_of_docs on a platform Host (canonical host)

        Call what is there: a foreign function has to be registered first, by
        ``ffi.register_ffi_target``.

        >>> tinyjax.jit(lambda x: 2 * x)(jnp.ones(3))
        Array([2., 2., 2.], dtype=float32)
    """


class OutOfMemoryError(JaxRuntimeError, MemoryError):
    """An operation on the host needs more memory than there is.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.ones(2**23)
        >>> try:
        ...     x[:, None] * x
        ... except tinyjax.errors.OutOfMemoryError as error:
        ...     print(error.message)
        mul of float32[8388608,8388608], ... gives float32[8388608,8388608], 262,144.0 GiB, for
        which there is not enough memory. Compute less at a time ..., or have gradients keep less
        (grad's memory_budget).

        Compute less at a time:

        >>> tinyjax.lax.map(lambda row: (row * x).sum(), x[:3]).shape
        (3,)
    """

    #: What a program can do to need less.
    ADVICE: ClassVar[str] = (
        "Compute less at a time (vmap's chunk_size, lax.map's batch_size), within jit, which keeps "
        "fewer results between operations, or have gradients keep less (grad's memory_budget)."
    )


class ProfilerError(TinyjaxError, RuntimeError):
    """A profile was begun twice, or ended without having begun.

    Example:
        >>> import tempfile
        >>> import tinyjax
        >>> try:
        ...     tinyjax.profiler.stop_trace()
        ... except tinyjax.errors.ProfilerError as error:
        ...     print(error.message)
        no profile is being recorded. Call start_trace first.

        Begin it, or let ``trace`` begin and end it:

        >>> with tempfile.TemporaryDirectory() as folder, tinyjax.profiler.trace(folder):
        ...     _ = tinyjax.numpy.ones(3) + 1
    """


class TransferError(JaxRuntimeError):
    """Data would be transferred where ``transfer_guard`` disallows it.

    The guard finds transfers that happen unseen, such as that of NumPy's data at each call.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> double = tinyjax.jit(lambda x: 2 * x)
        >>> try:
        ...     with tinyjax.transfer_guard("disallow"):
        ...         double(np.ones(2))
        ... except tinyjax.errors.TransferError as error:
        ...     print(error.message)
        x of <lambda> (...): Disallowed host-to-device transfer of array([1., 1.]): the guard is
        'disallow'. Put it on a device before, x = tinyjax.device_put(x), or compute within jit.

        Put the data on the device, by a call that says so:

        >>> with tinyjax.transfer_guard("disallow"):
        ...     print(double(tinyjax.device_put(np.ones(2))))
        [2. 2.]
    """


class CheckFailedError(JaxRuntimeError, ValueError):
    """A check of ``error_if`` or ``checkify`` has failed.

    The message is the program's own.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def root(x):
        ...     return jnp.sqrt(tinyjax.error_if(x, x < 0, "x must not be negative"))
        >>> try:
        ...     root(-1.0)
        ... except tinyjax.errors.CheckFailedError as error:
        ...     print(error.message)
        x must not be negative

        Call it with what passes the check:

        >>> float(root(4.0))
        2.0
    """


class NanError(TinyjaxError, FloatingPointError):
    """A NaN that originates in an operation has reached a result (setting ``debug_nans``).

    Attributes:
        primitive: the operation.
        direction: "forward", "tangent" or "backward": the pass of the line's computation.
        iterations: the iteration of each loop around it, the outermost first, counted from 0.
        examples: the example of each ``vmap`` around it, the outermost first.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     with tinyjax.debug_nans(True):
        ...         tinyjax.jit(lambda x: jnp.log(x) + 1)(-1.0)
        ... except tinyjax.errors.NanError as error:
        ...     print(error.message)
        a NaN was born in log: log(-1.0). It is in result of <lambda> (...).

        Keep the operand where the operation is defined:

        >>> with tinyjax.debug_nans(True):
        ...     print(tinyjax.jit(lambda x: jnp.log(jnp.maximum(x, 1.0)) + 1)(-1.0))
        1.0
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


class DifferentiationError(TinyjaxError, TypeError, ValueError, NotImplementedError):
    """A requested derivative does not exist: of an integer, or of a non-scalar.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.grad(lambda x: x * x)(3)
        ... except tinyjax.errors.DifferentiationError as error:
        ...     print(error.message)
        grad requires real- or complex-valued inputs, which are floats, but x of <lambda> (...) is
        int32[]. Pass a float, such as 1.0, convert it with .astype(float), or differentiate another
        argument with argnums.

        Pass a float:

        >>> float(tinyjax.grad(lambda x: x * x)(3.0))
        6.0
    """


class UndefinedRuleError(DifferentiationError, AttributeError):
    """A function with a custom rule was transformed before it was given one.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_jvp
        ... def clipped(x):
        ...     return jnp.clip(x, 0.0, 1.0)
        >>> try:
        ...     tinyjax.grad(clipped)(2.0)
        ... except tinyjax.errors.UndefinedRuleError as error:
        ...     print(error.message)
        No JVP defined for custom_jvp function clipped using defjvp. Give clipped (...) a rule with
        clipped.defjvp.

        Give it the rule, by ``defjvp`` or for each argument by ``defjvps``:

        >>> clipped.defjvps(lambda t, result, x: t)
        >>> float(tinyjax.grad(clipped)(2.0))
        1.0
    """


class MissingMethodError(TinyjaxError, NotImplementedError):
    """A primitive's class lacks the method that a transformation needs.

    Attributes:
        primitive: the name of the class.
        method: the method's.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental.hijax import VJPHiPrimitive
        >>> class Twice(VJPHiPrimitive):
        ...     def __init__(self, aval):
        ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        ...         super().__init__()
        ...     def expand(self, x):
        ...         return 2.0 * x
        >>> x = jnp.ones(2)
        >>> twice = Twice(tinyjax.typeof(x))
        >>> try:
        ...     tinyjax.jvp(twice, (x,), (x,))
        ... except tinyjax.errors.MissingMethodError as error:
        ...     print(error.message)
        Twice lacks a method that is needed here: define jvp.

        Define it:

        >>> class Linear(Twice):
        ...     def jvp(self, primals, tangents):
        ...         return self(*primals), 2.0 * tangents[0]
        >>> tinyjax.jvp(Linear(tinyjax.typeof(x)), (x,), (x,))[1]
        Array([2., 2.], dtype=float32)
    """

    def __init__(self, primitive: str, method: str) -> None:
        super().__init__(f"{primitive} lacks a method that is needed here: define {method}.")
        self.primitive = primitive
        self.method = method


class BatchSizeError(TinyjaxError, ValueError):
    """The mapped arguments of ``vmap`` disagree about the size of the mapped axis.

    All mapped arguments have as many examples.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.vmap(jnp.dot)(jnp.ones((2, 4)), jnp.ones(4))
        ... except tinyjax.errors.BatchSizeError as error:
        ...     print(error.message)
        vmap of dot (...) got inconsistent sizes for array axes to be mapped:
          a has size 2 along axis 0
          b has size 4 along axis 0
        Make the sizes equal, or give None in in_axes for arguments that all examples share.

        Say which arguments all examples share:

        >>> tinyjax.vmap(jnp.dot, in_axes=(0, None))(jnp.ones((2, 4)), jnp.ones(4))
        Array([4., 4.], dtype=float32)
    """


class BranchTypeError(TinyjaxError, TypeError):
    """The branches of ``cond`` or ``switch`` return results that cannot be given one type.

    Both branches are in the program, and what comes after it works on the result of either.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.lax.cond(True, lambda x: x, lambda x: jnp.stack([x, x]), 1.0)
        ... except tinyjax.errors.BranchTypeError as error:
        ...     print(error.message)
        cond branches must have equal output types but they differ. The output of true_fun has type
        float32[] but the corresponding output of false_fun has type float32[2], so the shapes do
        not match. true_fun is <lambda> (...) and false_fun is <lambda> (...). Reshape or broadcast
        one of them.

        Return arrays of the same shapes, in the same containers:

        >>> float(tinyjax.lax.cond(True, lambda x: x, lambda x: jnp.sum(jnp.stack([x, x])), 1.0))
        1.0
    """


class CarryTypeError(TinyjaxError, TypeError):
    """The body of a loop does not return its carry as it was given it.

    Each iteration gets what the one before it returned, so that both are of one type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> add = lambda total, x: (total + x, total)
        >>> try:
        ...     tinyjax.lax.scan(add, jnp.zeros((), int), jnp.ones(3))
        ... except tinyjax.errors.CarryTypeError as error:
        ...     print(error.message)
        scan body function carry input and carry output must have equal types, but they differ:
        <BLANKLINE>
        The input carry total has type int32[] but the corresponding output carry component has type
        float32[], so the dtypes do not match.
        <BLANKLINE>
        The body function is <lambda> (...). Return it as .astype('int32'), or start with an array
        of dtype float32.

        Begin with what the body returns:

        >>> tinyjax.lax.scan(add, jnp.zeros(()), jnp.ones(3))[0]
        Array(3., dtype=float32)
    """


class RefError(TinyjaxError, TypeError, ValueError):
    """A reference was used where it cannot be, or was to hold an unsupported value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.zeros(2))
        >>> try:
        ...     jnp.cos(ref)
        ... except tinyjax.errors.RefError as error:
        ...     print(error.message)
        a Ref of type float32[2] is no array: read it, ref[...]. One can be an argument of what jit,
        vmap, scan, cond, switch, checkpoint and custom_vjp make of a function and of jvp, and of no
        other transformation's.

        Read it:

        >>> jnp.cos(ref[...])
        Array([1., 1.], dtype=float32)
    """


class OuterRefError(RefError):
    """A function uses a reference that was made outside of it, where it is to have none.

    A program that reads and writes a reference is called with it; it cannot be shown, exported or
    sent without.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> count = tinyjax.new_ref(jnp.array(0.0))
        >>> @tinyjax.jit
        ... def step(x):
        ...     count[...] += x
        ...     return 2 * x
        >>> try:
        ...     step.explain(1.0)
        ... except tinyjax.errors.OuterRefError as error:
        ...     print(error.message)
        step (...) uses a Ref that was made outside of it. It can be called, but its program is no
        function of its arguments: pass in ref[...], and return the new value.

        Pass the value, and return the one that takes its place:

        >>> @tinyjax.jit
        ... def step(count, x):
        ...     return count + x, 2 * x
        >>> count[...], y = step(count[...], 1.0)
        >>> float(y)
        2.0
    """


class KeyReuseError(JAXTypeError):
    """A key of random numbers was used twice, with the setting ``debug_key_reuse``.

    The same key gives the same numbers, so that draws which look independent are not.

    Example:
        >>> import tinyjax
        >>> from tinyjax import random
        >>> key = random.key(0)
        >>> try:
        ...     with tinyjax.debug_key_reuse(True):
        ...         random.uniform(key), random.normal(key)
        ... except tinyjax.errors.KeyReuseError as error:
        ...     print(error.message)
        a key is used by normal at ... in <module> that was used before, by uniform at ... in
        <module>: both draw the same numbers. Make keys of it with random.split; or if this is
        meant, give one of them random.clone(key).

        Split a key into as many as there are draws:

        >>> with tinyjax.debug_key_reuse(True):
        ...     first, second = random.split(random.key(0))
        ...     print(random.uniform(first).shape, random.normal(second).shape)
        () ()
    """


class InconclusiveDimensionOperation(TinyjaxError, TypeError, ValueError):  # noqa: N818 (JAX's name)
    """A comparison of a symbolic size depends on the size.

    Example:
        >>> from tinyjax.errors import InconclusiveDimensionOperation
        >>> from tinyjax import export
        >>> n, m = export.symbolic_shape("n, m")
        >>> try:
        ...     bool(n >= m)
        ... except InconclusiveDimensionOperation as error:
        ...     print(error.message)
        whether 'n' >= 'm' depends on the sizes, of which is known that they are at least 1. Say
        more of them where they are made, such as constraints=['n >= m']; or take export.max_dim and
        export.min_dim in place of max and min.

        Say what is known of the sizes where they are made:

        >>> n, m = export.symbolic_shape("n, m", constraints=["n >= m"])
        >>> bool(n >= m)
        True
    """


class UnsupportedVersionError(TinyjaxError, ImportError):
    """The jaxlib that is installed is older or newer than those tinyjax runs on.

    Example:
        >>> from tinyjax.errors import UnsupportedVersionError
        >>> from tinyjax.core.xla import versions
        >>> try:
        ...     versions.check('0.4.1')
        ... except UnsupportedVersionError as error:
        ...     print(error.message)
        tinyjax runs on jaxlib..., but jaxlib 0.4.1 is installed. Install another by pip
        install 'jaxlib...'.

        Install one of these, by the command that the message gives:

        >>> versions.check(versions.VERSION) == versions.release_of(versions.VERSION)
        True
    """


class MissingJaxlibError(PlatformError, ImportError):
    """A request needs compiled programs, and jaxlib cannot be loaded.

    NumPy evaluates all programs then. The message names the one that needs jaxlib.

    Example:
        In a process that cannot load it:

        >>> import subprocess, sys
        >>> program = '''
        ... import sys
        ... sys.modules["jaxlib"] = None
        ... import tinyjax
        ... double = tinyjax.jit(lambda x: 2 * x)
        ... try:
        ...     double.lower(1.0).compile()
        ... except tinyjax.errors.MissingJaxlibError as error:
        ...     print(error.message)
        ... '''
        >>> print(subprocess.check_output([sys.executable, "-c", program], text=True))
        jaxlib cannot be loaded: ... Without it, NumPy evaluates all programs, on one device,
        however long it takes. Nothing can be compiled, divided over devices, exported or profiled,
        nor foreign functions called. pip install 'jaxlib...' brings all of it.
    """


class ForkError(TinyjaxError, RuntimeError):
    """A program is to be compiled or run by XLA in a process that was forked from one that runs it.

    XLA computes in threads, which a forked process does not have: it would wait for them without
    end. The same is raised for an array that was being computed at the fork.

    Example:
        Start processes anew, or before the first compiled call. To let ``multiprocessing`` do so:

        >>> import multiprocessing
        >>> context = multiprocessing.get_context("spawn")
        >>> context.get_start_method()
        'spawn'
    """


class CheckpointError(TinyjaxError, ValueError):
    """A checkpoint cannot be read or written: it is missing, damaged, or of other arrays.

    Example:
        >>> import tempfile
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkpoints
        >>> folder = f"{tempfile.mkdtemp()}/first"
        >>> checkpoints.save(folder, {"w": jnp.ones(2)})
        >>> try:
        ...     checkpoints.restore(folder, {"w": jnp.ones(3)})
        ... except tinyjax.errors.CheckpointError as error:
        ...     print(error.message)
        `like` has float32[3] at ['w'], but the checkpoint has float32[2]. Restore it as it is, and
        convert it then.

        Give arrays of the shapes that were saved, or none:

        >>> checkpoints.restore(folder, {"w": jnp.zeros(2)})
        {'w': Array([1., 1.], dtype=float32)}
    """


class PaddingError(TinyjaxError, NotImplementedError):
    """A function is padded to a bucket of lengths, and uses an operation without a rule for it.

    Each operation needs a rule that keeps what pads the arrays out of its result. The message names
    the one that has none, and the line.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> try:
        ...     tinyjax.jit(lambda x: jnp.abs(jnp.fft.fft(x)), pad_to=8)(jnp.ones(3))
        ... except tinyjax.errors.PaddingError as error:
        ...     print(error.message)
        fft of (complex64[n]) to (complex64[n]) cannot be applied to padded arrays.

        Let ``jit`` compile a program for each length instead:

        >>> tinyjax.jit(lambda x: jnp.abs(jnp.fft.fft(x)))(jnp.ones(3))
        Array([3., 0., 0.], dtype=float32)
    """


class ExportError(TinyjaxError, ValueError):
    """A program cannot be exported, or an exported one cannot be read.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> try:
        ...     export.deserialize(b"something else")
        ... except tinyjax.errors.ExportError as error:
        ...     print(error.message)
        these bytes are no exported program. Give what Exported.serialize() returned.

        Read what ``serialize`` wrote:

        >>> x = tinyjax.ShapeDtypeStruct((2,), jnp.float32)
        >>> exported = export.export(tinyjax.jit(jnp.cos))(x)
        >>> export.deserialize(exported.serialize()).call(jnp.zeros(2))
        Array([1., 1.], dtype=float32)
    """


class SourceError(TinyjaxError, NotImplementedError):
    """A program uses Python that ``tinyjax.source`` lacks, or a call without a known derivative.

    ``source.grad`` captures such programs; what reads their source raises.

    Attributes:
        location: the line of the program.

    Example:
        >>> from tinyjax.errors import SourceError
        >>> import math
        >>> from tinyjax import source
        >>> def energy(x):
        ...     return math.exp(x) * float.fromhex(x.hex())
        >>> try:
        ...     source.forward(energy, 2.0)
        ... except SourceError as error:
        ...     print(error.message)
        no derivative is known of the method float.hex of builtins.float. Write it with operators
        and the functions of math, NumPy and tinyjax.numpy that are known, or give it a derivative
        with tinyjax.custom_vjp.

        Write it with functions whose derivatives are known, or give one with ``custom_vjp``:

        >>> def energy(x):
        ...     return math.exp(x) * x
        >>> round(source.grad(energy)(2.0), 4)
        22.1672
    """

    def __init__(self, message: str, location: frames.Location | None = None) -> None:
        super().__init__(message)
        if location is not None:
            self.location: frames.Location | None = location


def described(value: object) -> str:
    """Show a value and its type, for a message.

    Example:
        >>> from tinyjax.errors import described
        >>> described(3), described([1.0])
        ('3 (int)', '[1.0] (list)')
    """
    return "None" if value is None else f"{shortened(value)} ({type_name(value)})"


def type_name(value: object) -> str:
    """Name the type of a value as users know it: that of every array is ``Array``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.errors import type_name
        >>> type_name(3), type_name(jnp.ones(2))
        ('int', 'Array')
    """
    names = [kind.__name__ for kind in type(value).__mro__]
    return "Array" if "Array" in names else names[0]


def shortened(value: object) -> str:
    """Show the beginning of a value, in one line.

    Example:
        >>> from tinyjax.errors import shortened
        >>> shortened([*range(100)])
        '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16...'
    """
    try:
        text = " ".join(repr(value).split())
    except (RecursionError, ValueError):  # nested too deep, or an int of thousands of digits
        return f"<{type(value).__name__}, too large to show>"
    return text if len(text) <= 60 else f"{text[:57]}..."


class DiskCacheWarning(UserWarning):
    """The cache of compiled programs on disk cannot be used as requested.

    Programs are compiled all the same, and kept in memory.

    Example:
        >>> import tempfile, warnings
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> triple = lambda: tinyjax.jit(lambda x: 3.25 * x).lower(jnp.ones(2)).compile()
        >>> try:
        ...     with warnings.catch_warnings():
        ...         warnings.simplefilter("error")
        ...         with tinyjax.config.scoped(cache_dir="/dev/null/here"):
        ...             triple()
        ... except tinyjax.errors.DiskCacheWarning as error:
        ...     print(error)
        the cache of compiled programs in /dev/null/here cannot be used: ...
        Programs that are not there are compiled, as without a cache. (This is said once.)

        Name a folder that can be written:

        >>> with tempfile.TemporaryDirectory() as folder, tinyjax.config.scoped(cache_dir=folder):
        ...     _ = triple()
    """


# What JAX calls them
ConcretizationTypeError = ConcretizationError
NonConcreteBooleanIndexError = ConcreteIndexError
UnexpectedTracerError = LeakedTracerError


def check_function(name: str, value: object, argument: str = "fun") -> None:
    """Raise an error where a function was expected and something else came.

    Args:
        name: of the function that was called.
        value: what it was called with.
        argument: the parameter.

    Raises:
        ArgumentError: the value cannot be called.

    Example:
        >>> from tinyjax.errors import check_function
        >>> check_function("vmap", len)  # and 3 is "fun of vmap must be a function (callable) ..."
    """
    if not callable(value):
        message = f"{argument} of {name} must be a function (callable), but got"
        raise ArgumentError(f"{message} {described(value)}.")
