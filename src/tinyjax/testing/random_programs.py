"""Random well-typed programs, and the properties of each.

A program is a list of steps on typed values, total by construction: whatever numbers a step is
given, it means something for values of any dtype and shape. So a program shrinks step by step, and
what is left is still a program. It prints as Python that runs (``tinyjax.source``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import custom_derivatives, dtypes, lax, source
from tinyjax._extensions import checkpointing
from tinyjax._primitives import arg_extrema, cumulative, dot
from tinyjax._primitives.sort import sort
from tinyjax.core import jit
from tinyjax.core.api.staging import make_jaxpr
from tinyjax.core.jit.program import jit_p
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.reduce import reduce_max, reduce_min
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.core.xla.lowering import unnest
from tinyjax.export.symbolic_programs import Rewriting
from tinyjax.testing import specs

__all__ = ["Step", "TypedProgram", "check_program"]

Values: TypeAlias = tuple[Array, ...]

#: The dtypes of values.
DTYPES: Final[tuple[dtypes.DType, ...]] = (
    *(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.complex64),
    *(dtypes.int8, dtypes.uint8, dtypes.uint32, dtypes.float16, dtypes.bfloat16, dtypes.int64),
)
MOST_ELEMENTS: Final = 24
#: The greatest number in a step.
MOST_NUMBER: Final = 31


@attrs.frozen
class Step:
    """One operation: its name, operands and parameters, and the body of a function inside.

    Attributes:
        op: which one.
        a: which value, counted back from the newest, modulo how many there are.
        b: a second one.
        k: chooses among the operation's variants.
        body: the steps of a function inside.
    """

    op: str
    a: int = 0
    b: int = 0
    k: int = 0
    body: tuple[Step, ...] = ()


# What steps do


def like(x: Array, y: Array) -> Array:
    """Return a value with the shape and the dtype of another."""
    x = converted(x, y.dtype)
    if x.shape == y.shape:
        return x
    if x.ndim and x.size:
        x = sh.reshape(slicing.slice_in_dim(sh.reshape(x, (x.size,)), 0, 1), ())
    elif x.ndim:
        x = sh.full((), 1, x.dtype)
    return broadcast_in_dim(x, y.shape, ())


def converted(x: Array, dtype: dtypes.DType) -> Array:
    """Return a value in another dtype; of a complex number the real part."""
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = ew.real(x)
    if dtypes.is_complex(dtype) and not dtypes.is_complex(x.dtype):
        part = dtypes.real_part(dtype)
        x = ew.convert_element_type(x, part)
        return ew.complex_(x, sh.full(x.shape, 0, part))
    return ew.convert_element_type(x, dtype)


_UNARY: Final[Mapping[str, Sequence[Callable[[Array], Array]]]] = {
    "f": (ew.sin, ew.tanh, ew.neg, ew.abs_, ew.floor, ew.sign, ew.is_finite, ew.cos, ew.atan),
    "c": (ew.sin, ew.neg, ew.conj, ew.real, ew.imag, ew.abs_),
    "i": (ew.neg, ew.abs_, ew.sign, ew.not_, ew.population_count),
    "u": (ew.not_, ew.sign, ew.population_count),
    "b": (ew.not_,),
}
_BINARY: Final[Mapping[str, Sequence[Callable[[Array, Array], Array]]]] = {
    "f": (ew.add, ew.sub, ew.mul, ew.max_, ew.min_, ew.div, ew.atan2, ew.lt, ew.eq, ew.ge),
    "c": (ew.add, ew.sub, ew.mul, ew.div, ew.eq, ew.ne),
    "i": (ew.add, ew.sub, ew.mul, ew.max_, ew.and_, ew.xor_, ew.lt, ew.shift_left, ew.div),
    "u": (ew.add, ew.sub, ew.mul, ew.min_, ew.or_, ew.ge, ew.shift_right_logical),
    "b": (ew.and_, ew.or_, ew.xor_, ew.eq),
}


def _one(choices: Sequence[Callable[..., Array]], k: int) -> Callable[..., Array]:
    return choices[k % len(choices)]


def unary(x: Array, _: Array, k: int) -> Array:
    return _one(_UNARY[dtypes.kind(x.dtype)], k)(x)


def binary(x: Array, y: Array, k: int) -> Array:
    return _one(_BINARY[dtypes.kind(x.dtype)], k)(x, like(y, x))


def convert(x: Array, y: Array, k: int) -> Array:
    return converted(x, DTYPES[k % len(DTYPES)])


def choose(x: Array, y: Array, k: int) -> Array:
    y = like(y, x)
    return ew.select(ew.eq(x, y) if k % 2 else ew.ne(x, y), x, y)


def reduce(x: Array, _: Array, k: int) -> Array:
    axes = tuple(range(x.ndim)) if k % 3 == 0 else (k % x.ndim,) if x.ndim else ()
    kind = dtypes.kind(x.dtype)
    if kind == "b":
        return ew.convert_element_type(
            reduce_sum(ew.convert_element_type(x, DTYPES[2]), axes), x.dtype
        )
    if kind == "c" or not x.size or k % 4 == 0:
        return reduce_sum(x, axes)
    if k % 4 == 1 and x.ndim:
        return arg_extrema.argmax(x, k % x.ndim, dtypes.int32)
    return reduce_max(x, axes) if k % 2 else reduce_min(x, axes)


def rearrange(x: Array, y: Array, k: int) -> Array:
    if not x.ndim:
        return broadcast_in_dim(x, ((), (1,), (2, 2))[k % 3], ())
    axis, n = k % x.ndim, x.shape[k % x.ndim]
    ends = [(0, 0, 0)] * x.ndim
    ends[axis] = [(1, 0, 0), (-1, 1, 0), (0, 0, 1)][k % 3] if n else (1, 0, 0)
    choices: list[Callable[[], Array]] = [
        lambda: sh.reshape(x, (x.size,)),
        lambda: sh.reshape(x, (1, x.size)),
        lambda: sh.transpose(x, tuple(range(x.ndim))[::-1]),
        lambda: sh.rev(x, (axis,)),
        lambda: slicing.slice_in_dim(x, min(1, n), n, 1 + k % 2, axis),
        lambda: slicing.pad(x, like(y, sh.full((), 0, x.dtype)), ends),
        lambda: slicing.concatenate([x, like(y, x)], axis),
        lambda: broadcast_in_dim(x, (2, *x.shape), tuple(range(1, x.ndim + 1))),
        lambda: cumulative.cumsum(
            converted(x, dtypes.int32) if x.dtype == dtypes.bool_ else x, axis
        ),
    ]
    out = choices[k % len(choices)]()
    return out if out.size <= MOST_ELEMENTS and out.ndim <= 3 else x


def order(x: Array, y: Array, k: int) -> Array:
    if not x.ndim or dtypes.is_complex(x.dtype):
        return x
    keys, carried = sort([x, like(y, x)], k % x.ndim, num_keys=1)
    return carried if k % 2 else keys


def contract(x: Array, y: Array, k: int) -> Array:
    x = converted(x, dtypes.int32) if x.dtype == dtypes.bool_ else x
    y = converted(y, x.dtype)
    for i in range(x.ndim):
        for j in range(y.ndim):
            n = x.shape[i]
            if n and n == y.shape[j] and x.size * y.size // n**2 <= MOST_ELEMENTS and x.ndim < 3:
                return dot.dot_general(x, y, ((i,), (j,)))
    return x


def index(x: Array, y: Array, k: int) -> Array:
    if not x.ndim or not x.shape[0]:
        return x
    if k % 3 == 0:
        return x[converted(like(y, sh.full((2,), 0, y.dtype)), dtypes.int32)]
    return x.at[k % x.shape[0]].set(like(y, x[0]))


def constant(x: Array, y: Array, k: int) -> Array:
    if k % 3 == 0:
        return sh.iota((1 + k % 3, 2), dtypes.int32, k % 2)
    if k % 3 == 1:
        return sh.full((), k, DTYPES[k % len(DTYPES)])
    return opd.splat(k, av.ShapedArray(x.shape, x.dtype))


OPERATIONS: Final[dict[str, Callable[[Array, Array, int], Array]]] = {
    "unary": unary,
    "binary": binary,
    "convert": convert,
    "choose": choose,
    "reduce": reduce,
    "rearrange": rearrange,
    "order": order,
    "contract": contract,
    "index": index,
    "constant": constant,
}

#: What a step does inside: of a value, and of another that it closes over.
Body: TypeAlias = Callable[[Array, Array], Array]


def called(body: Body, x: Array, c: Array, k: int) -> Array:
    return jit.jit(body)(x, c) if k % 2 else jit.jit(lambda x: body(x, c))(x)


def checkpointed(body: Body, x: Array, c: Array, k: int) -> Array:
    result: Array = checkpointing.checkpoint(body)(x, c)
    return result


def ruled(body: Body, x: Array, c: Array, k: int) -> Array:
    fun = custom_derivatives.custom_jvp(body)
    fun.defjvp(lambda primals, tangents: (fun(*primals), like(tangents[0], fun(*primals))))
    result: Array = jit.jit(fun)(x, c)
    return result


def branch(body: Body, x: Array, c: Array, k: int) -> Array:
    place = converted(like(c, sh.full((), 0, c.dtype)), dtypes.int32)
    choices = [lambda x: like(body(x, c), x), lambda x: x, lambda x: like(c, x)]
    result: Array = lax.switch(place, choices, x)
    return result


def scanned(body: Body, x: Array, c: Array, k: int) -> Array:
    xs = like(c, sh.full((2,), 0, c.dtype))
    carry, ys = lax.scan(lambda carry, y: (like(body(carry, y), carry), body(y, c)), x, xs)
    return ys if k % 2 and ys.size <= MOST_ELEMENTS and ys.ndim <= 3 else carry


def repeated(body: Body, x: Array, c: Array, k: int) -> Array:
    return lax.fori_loop(0, 1 + k % 3, lambda i, x: like(body(x, like(i, c)), x), x)


def looped(body: Body, x: Array, c: Array, k: int) -> Array:
    start = (sh.full((), 0, dtypes.int32), x)
    most = sh.full((), 1 + k % 3, dtypes.int32)
    one = sh.full((), 1, dtypes.int32)
    _, out = lax.while_loop(
        lambda s: ew.lt(s[0], most), lambda s: (ew.add(s[0], one), like(body(s[1], c), x)), start
    )
    return out


WITH_BODY: Final[dict[str, Callable[[Body, Array, Array, int], Array]]] = {
    "jit": called,
    "checkpoint": checkpointed,
    "custom_jvp": ruled,
    "switch": branch,
    "scan": scanned,
    "fori_loop": repeated,
    "while_loop": looped,
}


def _body_of(steps: Sequence[Step]) -> Body:
    return lambda x, c: run(steps, [c, x])[-1]


def run(steps: Sequence[Step], values: Sequence[Array]) -> list[Array]:
    """Return the values, and the results of each step on them."""
    results = list(values)
    for step in steps:
        a, b = results[-1 - step.a % len(results)], results[-1 - step.b % len(results)]
        if step.op in OPERATIONS:
            results.append(OPERATIONS[step.op](a, b, step.k))
        else:
            results.append(WITH_BODY[step.op](_body_of(step.body), a, b, step.k))
    return results


@attrs.frozen(eq=False, repr=False, slots=False)
class TypedProgram:
    """A program with the types of its parameters; it prints as Python that runs.

    Attributes:
        avals: the types of the parameters.
        steps: what is done with them.
        seed: chooses the arguments of ``inputs``.
    """

    avals: tuple[av.ShapedArray, ...]
    steps: tuple[Step, ...]
    seed: int = 0

    def __call__(self, *args: Any) -> Values:
        """Run it under the current trace; it returns the last two values."""
        return tuple(run(self.steps, [opd.as_array(x) for x in args])[-2:])

    def stage(self) -> jx.Jaxpr:
        """Trace it anew."""
        structs = [av.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self.avals]
        return make_jaxpr(self)(*structs).jaxpr

    @cached_property
    def jaxpr(self) -> jx.Jaxpr:
        """The program, staged."""
        return self.stage()

    def inputs(self) -> list[Array]:
        """Arguments of its types, of moderate size."""
        rng = np.random.default_rng(self.seed)
        return [_sample(rng, aval) for aval in self.avals]

    def __repr__(self) -> str:
        return f"\n{source.jaxpr_source(self.jaxpr, {})}"


def _sample(rng: np.random.Generator, aval: av.ShapedArray) -> Array:
    low, high = (0, 8) if dtypes.is_integer(aval.dtype) else (-2, 2)
    host = specs.ArraySpec(aval.shape, aval.dtype, low, high).sample(rng)
    if aval.weak_type and not aval.shape:
        return opd.splat(host.item(), aval)
    return opd.as_array(host)


# What must hold of every program


def check_program(program: TypedProgram, compiled: bool = True) -> None:
    """Hold a program through all that is done to programs.

    It is well-typed. Traced again, it has the same digest, and so it has with other variables. It
    prints; as Python it runs, and gives the same program back. Without dead code, with its calls
    inlined, and with its conditionals made flat it gives what it gave. Compiled, it has the same
    types, and the same values unless these depend on rounding; so it has where calls of compiled
    functions are inlined.

    Args:
        program: the program.
        compiled: whether to compile it.

    Raises:
        AssertionError: one of these does not hold.
    """
    jaxpr, args = program.jaxpr, program.inputs()
    jx.typecheck_jaxpr(jaxpr)
    if program.stage().digest != jaxpr.digest or Rewriting().program(jaxpr).digest != jaxpr.digest:
        raise AssertionError("its digest depends on the names of variables")
    text = jx.print_jaxpr(jaxpr, colour=False)
    missing = [eqn.primitive.name for eqn in jaxpr.eqns if eqn.primitive.name not in text]
    if missing:
        raise AssertionError(f"the text names no {missing}:\n{text}")
    objects: dict[str, Any] = {}
    again = source.jaxpr_of_source(source.jaxpr_source(jaxpr, objects), objects)
    if again != jaxpr:
        raise AssertionError(f"the program that it gives, written as Python, is another:\n{again}")
    with np.errstate(all="ignore"):
        expected = jx.eval_jaxpr(jaxpr, args)
        specs.assert_types(expected, jaxpr.out_avals, "evaluated, against its types")
        flat = unnest(jaxpr, deepest=0)
        jx.typecheck_jaxpr(flat, weakness=False)
        if _calls_compiled(jaxpr):  # XLA rounds sin(16) otherwise than NumPy
            _assert_near(program, args, jx.eval_jaxpr(flat, args), expected, "flattened")
        else:
            _assert_same(jx.eval_jaxpr(flat, args), expected, "flattened")
        clean = program_rules.dce(jaxpr)
        jx.typecheck_jaxpr(clean)
        _assert_same(jx.eval_jaxpr(clean, args), expected, "without dead code")
        for i in range(len(jaxpr.outs)):
            used = [k == i for k in range(len(jaxpr.outs))]
            alone = program_rules.dce(jaxpr, used)
            jx.typecheck_jaxpr(alone)
            _assert_same(jx.eval_jaxpr(alone, args), [expected[i]], f"result {i} alone")
    if compiled:
        got = jit.jit(program, tier="compiled")(*args)
        specs.assert_types(got, expected, "compiled, against evaluated")
        _assert_near(program, args, got, expected, "compiled")


def _assert_same(got: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Hold values equal to the last bit; weakness of types is nothing to an evaluator."""
    for x, y in zip(specs.hosts(list(got)), specs.hosts(list(expected)), strict=True):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            raise AssertionError(f"{what}: {x.dtype}{x.shape}, expected {y.dtype}{y.shape}")
        np.testing.assert_array_equal(specs.wide(x), specs.wide(y), err_msg=what)


def _calls_compiled(jaxpr: jx.Jaxpr) -> bool:
    """Return whether evaluation runs a compiled part, which may not be compiled once flat."""
    inner = [other for eqn in jaxpr.eqns for other in jx.subjaxprs(eqn.params)]
    return any(eqn.primitive is jit_p for eqn in jaxpr.eqns) or any(map(_calls_compiled, inner))


def _assert_near(
    program: TypedProgram,
    args: Sequence[Array],
    got: Sequence[Array],
    expected: Sequence[Array],
    what: str,
) -> None:
    """Hold values equal up to roundings, unless they depend on these."""
    with np.errstate(all="ignore"):
        near = [_values(program(*_moved(args, turn))) for turn in range(3)]
        for i, (x, y) in enumerate(zip(_values(got), _values(expected), strict=True)):
            moved = np.max([np.abs(values[i] - y) for values in near], 0)
            size = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
            # a value that jumps near the arguments, or is not finite, is decided by rounding
            steady = np.isfinite(y) & (moved <= 1e-2 * max(size, 1.0))
            if np.all(steady):
                allowed = 100 * moved + _epsilon(program.jaxpr) * max(size, 1.0)
                if np.any(np.abs(x - y) > allowed):
                    raise AssertionError(f"{what}, result {i} is {x}, and evaluated {y}")


def _values(arrays: Sequence[Array]) -> list[Any]:
    return [np.asarray(specs.wide(x), np.complex128) for x in specs.hosts(list(arrays))]


def _moved(args: Sequence[Array], turn: int) -> list[Array]:
    """Return the arguments, but for their last digits."""
    rng = np.random.default_rng(turn)
    result = []
    for x in args:
        host = np.asarray(x)
        if dtypes.is_inexact(x.dtype) and not x.weak_type:
            step = 1 + 4 * specs.epsilon(x.dtype) * rng.choice([-1.0, 1.0], host.shape)
            result.append(opd.as_array(np.asarray(specs.wide(host) * step).astype(x.dtype)))
        else:
            result.append(x)
    return result


def _epsilon(jaxpr: jx.Jaxpr) -> float:
    """Return a bound on the sum of roundings in a program, by its narrowest type."""
    avals = [*jaxpr.in_avals, *[a for eqn in jaxpr.eqns for a in eqn.out_avals]]
    return 200 * max([specs.epsilon(a.dtype) for a in avals], default=0.0)
