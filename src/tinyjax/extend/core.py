"""The interface for interpreters of jaxprs, by the names of ``jax.extend.core``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames, lazy
from tinyjax.core.control_flow.cond import calls_of_branches
from tinyjax.core.jit.program import def_call
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.transforms.batching import batched_aval, unbatched_aval
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.lax import placement

lazy.answer_for(
    __name__,
    "CallPrimitive ClosedJaxpr DebugInfo DropVar Effect Effects InconclusiveDimensionOperation "
    "Jaxpr JaxprEqn JaxprTypeError Literal Primitive Token TraceTag Var array_types call_impl "
    "check_jaxpr concrete_or_error find_top_trace gensym get_opaque_trace_state jaxpr_as_fun "
    "jaxprs_in_params mapped_aval new_jaxpr_eqn no_effects nonempty_axis_env_DO_NOT_USE "
    "primal_dtype_to_tangent_dtype set_current_trace subjaxprs take_current_trace unmapped_aval "
    "unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE "
    "unsafe_get_axis_names_DO_NOT_USE valid_jaxtype",
)

ClosedJaxpr = jx.ClosedJaxpr
Effect = jx.Effect
InconclusiveDimensionOperation = errors.InconclusiveDimensionOperation
Jaxpr = jx.Jaxpr
JaxprEqn = jx.JaxprEqn
JaxprTypeError = errors.JaxprTypeError
Literal = jx.Lit
Primitive = prim.Primitive
Token = placement.Token
Var = jx.Var
subjaxprs: Final = jx.subjaxprs

Effects: TypeAlias = AbstractSet[Effect]
no_effects: Final[Effects] = frozenset()

#: The types of values that arrays are made of.
array_types: Final[frozenset[type]] = frozenset((Array, np.ndarray, *(d.type for d in dtypes.ALL)))


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Array]]:
    """Return the function of arrays that a jaxpr stands for.

    Args:
        closed_jaxpr: a program with its constants, as ``make_jaxpr`` returns it.

    Returns:
        A function of the program's flat arguments, which returns a list of its results. It can be
        transformed and compiled as any other.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import jaxpr_as_fun
        >>> double = jaxpr_as_fun(tinyjax.make_jaxpr(lambda x: 2 * x)(1.0))
        >>> double(3.0)
        [Array(6., dtype=float32, weak_type=True)]
    """

    def run(*args: Any) -> list[Array]:
        return list(closed_jaxpr(*[opd.as_array(x) for x in args]))

    return run


class DropVar(Var):
    """A variable of a result that nothing uses, in programs that interpreters make.

    What is staged has variables with names for such results, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> core.DropVar(jnp.float32(0.0).aval)
        _
    """

    def __repr__(self) -> str:
        return "_"


class DebugInfo(NamedTuple):
    """The description of a function, for signatures: messages find it themselves.

    Attributes:
        traced_for: the transformation.
        func_src_info: the function's name and line.
        arg_names: the paths of the arguments.
        result_paths: those of the results.

    Example:
        >>> from tinyjax.extend import core
        >>> core.DebugInfo("jit", "fun at a.py:1", ("x",), ("",)).arg_names
        ('x',)
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | None


class TraceTag:
    """A tag for the user's own traces; all are equal.

    Example:
        >>> from tinyjax.extend import core
        >>> core.TraceTag() == core.TraceTag()
        True
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTag)

    def __hash__(self) -> int:
        return hash(TraceTag)


# Primitives that call functions


@attrs.frozen(eq=False, repr=False)
class CallPrimitiveParams(prim.Params):
    """The program that is called."""

    jaxpr: Jaxpr


def call_impl(f: Any, *args: Any, **params: object) -> list[Any]:
    """Call a wrapped function.

    Args:
        f: has the function as ``call_wrapped``.
        args: its arguments.
        params: of no effect.

    Example:
        >>> from tinyjax.extend import core
        >>> from types import SimpleNamespace
        >>> core.call_impl(SimpleNamespace(call_wrapped=lambda x: (x, 2 * x)), 3)
        [3, 6]
    """
    return [*f.call_wrapped(*args)]


class CallPrimitive(Primitive[CallPrimitiveParams]):
    """A primitive that calls a function, and stays a call when it is transformed.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import CallPrimitive
        >>> from tinyjax._jax.linear_util import wrap_init
        >>> region_p = CallPrimitive("region")
        >>> def f(x):
        ...     (y,) = region_p.bind(x, subfuns=(wrap_init(lambda x: [3 * x]),))
        ...     return y
        >>> float(tinyjax.grad(f)(2.0)), str(tinyjax.make_jaxpr(f)(2.0).eqns[0].primitive)
        (3.0, 'region')
    """

    call_primitive = True

    def __init__(self, name: str) -> None:
        super().__init__(name, CallPrimitiveParams)
        def_call(self, f"the program of '{name}'", lambda _, jaxpr: CallPrimitiveParams(jaxpr))
        self.def_lowering(lambda b, args, params: call_jaxpr(b, params.jaxpr, name, args))

    def bind(self, *args: Any, **params: Any) -> list[Array]:
        """Apply the primitive under the current trace.

        Args:
            args: the arguments: arrays, or numbers.
            params: ``subfuns``, a tuple with the wrapped function, which returns a list; or the
                parameters of an equation.

        Returns:
            The results.
        """
        (fun,) = params.pop("subfuns", (None,))
        if fun is None:
            results: list[Array] = super().bind(*args, **params)
            return results
        arrays = [opd.as_array(x) for x in args]

        def call(*values: Array) -> list[Array]:
            return [opd.as_array(x) for x in call_impl(fun, *values)]

        staged = staging.stage(call, [x.aval for x in arrays], fun.call_wrapped)
        results = super().bind(*staged.consts, *arrays, jaxpr=staged.jaxpr)
        return results


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check that every variable is bound once and every equation has the types it says.

    Raises:
        JaxprTypeError: the program is ill-formed.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import check_jaxpr
        >>> check_jaxpr(tinyjax.make_jaxpr(lambda x: 2 * x)(1.0).jaxpr)
    """
    jx.typecheck_jaxpr(jaxpr)


def jaxprs_in_params(params: Any) -> Iterator[Jaxpr]:
    """Go through the programs that an equation's parameters hold; see ``subjaxprs``.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend import core
        >>> (eqn,) = tinyjax.make_jaxpr(tinyjax.jit(lambda x: x + 1))(0).eqns
        >>> [len(jaxpr.eqns) for jaxpr in core.jaxprs_in_params(eqn.params)]
        [1]
    """
    return iter(subjaxprs(params))


def new_jaxpr_eqn(
    invars: Sequence[Var | Literal],
    outvars: Sequence[Var],
    primitive: Primitive[Any],
    params: Any,
    effects: Effects = no_effects,
    source_info: Any = None,
    ctx: object = None,
) -> JaxprEqn:
    """Make an equation.

    Args:
        invars: its operands.
        outvars: the variables that it defines.
        primitive: what it applies.
        params: the parameters: an instance of the primitive's class for them, or its fields.
        effects: has no effect: primitives say what they do.
        source_info: the user's line, as another equation has it in ``source_info``.
        ctx: has no effect.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import new_jaxpr_eqn
        >>> (eqn,) = tinyjax.make_jaxpr(tinyjax.numpy.sin)(1.0).eqns
        >>> new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params)
        b:float32[] = sin a
    """
    source = None if source_info is frames.NO_SOURCE else source_info
    eqn = JaxprEqn(primitive, tuple(invars), params, tuple(outvars), source)
    return eqn.replace(params=params)


def gensym() -> Callable[[av.ShapedArray], Var]:
    """Return a function that makes a new variable of a type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> core.gensym()(jnp.float32(0.0).aval)
        Var(float32[])
    """
    return Var


def mapped_aval(size: int, axis: int | None, aval: av.ShapedArray) -> av.ShapedArray:
    """Return the type of one example of arrays that have a batch axis of a size.

    Args:
        size: the size of the batch axis.
        axis: which axis that is; None where the examples share the array.
        aval: the type of the whole array.

    Example:
        >>> from tinyjax.core import ShapedArray
        >>> from tinyjax.extend.core import mapped_aval
        >>> import numpy as np
        >>> print(mapped_aval(3, 0, ShapedArray((3, 2), np.dtype("float32"))))
        float32[2]
    """
    return aval if axis is None else unbatched_aval(aval, axis)


def unmapped_aval(
    size: int, axis: int | None, aval: av.ShapedArray, explicit_mesh_axis: object = None
) -> av.ShapedArray:
    """Return the type of so many examples of a type along a batch axis; see ``mapped_aval``.

    The axis of a mesh is of no account.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> core.unmapped_aval(8, 0, jnp.ones((2, 3)).aval)
        ShapedArray(float32[8,2,3])
    """
    return aval if axis is None else batched_aval(aval, axis, size)


def primal_dtype_to_tangent_dtype(primal_dtype: dtypes.DTypeLike) -> dtypes.DType:
    """Return the dtype of tangents: float0 where there is no derivative.

    Args:
        primal_dtype: a dtype. Those of floats and complex numbers are returned as they are.

    Raises:
        DtypeError: there is no such dtype.

    Example:
        >>> from tinyjax import dtypes
        >>> from tinyjax.extend import core
        >>> str(core.primal_dtype_to_tangent_dtype("float32"))
        'float32'
        >>> core.primal_dtype_to_tangent_dtype("int32") == dtypes.float0
        True
    """
    dtype = dtypes.check(primal_dtype)
    return dtype if dtypes.is_inexact(dtype) else dtypes.float0


def valid_jaxtype(x: object) -> bool:
    """Return whether something is an array or can become one.

    Example:
        >>> from tinyjax.extend import core
        >>> core.valid_jaxtype(1.0), core.valid_jaxtype("text")
        (True, False)
    """
    try:
        opd.as_array(x)
    except errors.TinyjaxError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return a value, converted by ``force``, if its data is there.

    Args:
        force: makes of it what is wanted, such as ``int``; None for the value itself.
        val: the value.
        context: what it is for, which the error says.

    Raises:
        ConcretizationError: it is a traced value.

    Example:
        >>> from tinyjax.extend.core import concrete_or_error
        >>> concrete_or_error(int, 3.0)
        3
    """
    if isinstance(val, tr.Tracer):
        val = opd.as_array(val.concrete(context or "data"))
    return val if force is None else force(val)


# Where we are: which transformations run


def find_top_trace(_: Iterable[object] = ()) -> tr.Trace:
    """Return the trace that primitives are handed to.

    Example:
        >>> from tinyjax.extend import core
        >>> type(core.find_top_trace()).__name__
        'EvalTrace'
    """
    return tr.current_trace()


def take_current_trace() -> AbstractContextManager[tr.Trace]:
    """Give the trace that primitives are handed to, as a context.

    Example:
        >>> from tinyjax.extend import core
        >>> with core.take_current_trace() as trace:
        ...     type(trace).__name__
        'EvalTrace'
    """
    return nullcontext(tr.current_trace())


def set_current_trace(trace: tr.Trace, check_leaks: bool = False) -> AbstractContextManager[None]:
    """Hand primitives to a trace within a block.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> def fun(x):
        ...     with core.set_current_trace(x._trace.parent):
        ...         size = float(jnp.float32(2.0) * 3)  # not traced
        ...     return size * x
        >>> tinyjax.jit(fun)(1.0)
        Array(6., dtype=float32, weak_type=True)
    """
    return tr.use_trace(trace)


def get_opaque_trace_state(convention: object = None) -> object:
    """Return something that is equal where the same transformations run.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> outside = core.get_opaque_trace_state()
        >>> outside == core.get_opaque_trace_state()
        True
        >>> look = lambda x: print(outside == core.get_opaque_trace_state()) or x
        >>> _ = tinyjax.vmap(look)(jnp.ones(1))
        False
    """
    return (*map(id, tr.enclosing_traces()), *calls_of_branches.get())


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return whether the current code is recorded: by ``jit``, a loop or ``make_jaxpr``.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend import core
        >>> core.unsafe_am_i_under_a_jit_DO_NOT_USE()
        False
        >>> _ = tinyjax.make_jaxpr(lambda: print(core.unsafe_am_i_under_a_jit_DO_NOT_USE()))()
        True
    """
    return any(isinstance(trace, staging.StagingTrace) for trace in tr.enclosing_traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return whether a ``vmap`` is around us.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> core.unsafe_am_i_under_a_vmap_DO_NOT_USE()
        False
        >>> look = lambda x: print(core.unsafe_am_i_under_a_vmap_DO_NOT_USE()) or x
        >>> _ = tinyjax.vmap(look)(jnp.ones(1))
        True
    """
    return any(trace.mapped_axis() is not None for trace in tr.enclosing_traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return the names of the axes of each ``vmap`` around us, the outermost first.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import core
        >>> look = lambda x: print(core.unsafe_get_axis_names_DO_NOT_USE()) or x
        >>> _ = tinyjax.vmap(look, axis_name="batch")(jnp.ones(1))
        ['batch']
    """
    return [axis.name for axis in reversed(tr.enclosing_axes())]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return whether a ``vmap`` with or without a name is around us.

    Example:
        >>> from tinyjax.extend import core
        >>> core.nonempty_axis_env_DO_NOT_USE()
        False
    """
    return bool(tr.enclosing_axes())
