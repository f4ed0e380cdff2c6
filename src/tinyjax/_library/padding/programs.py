"""Programs for all sizes as programs for one bucket of sizes.

An axis of symbolic size ``p(n)`` becomes one of ``p(m)`` elements, where ``m`` is the size of the
bucket. The first ``p(k)`` of them are right, where ``k`` is the true size, an argument of the
program; the others may be anything, NaN included. Each rule keeps that so.

The primitive ``padded`` calls a program for all sizes. It is transformed before it is padded: what
pads reaches neither derivatives nor examples of ``vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import attrs

from tinyjax import config, dtypes, errors
from tinyjax._base import records
from tinyjax.core import jit, xla
from tinyjax.core.jit.program import jvp_of_call, linearize_of_call, transpose_of_call
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging, trace as tr
from tinyjax.core.transforms.batching import batch_jaxpr
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.export import dims, polynomials
from tinyjax.export.symbolic_programs import Substitution, with_sizes
from tinyjax.numpy import elementwise

#: Sizes by the names of variables, in an order.
Sizes: TypeAlias = tuple[tuple[str, int], ...]


class Padding:
    """Interprets a program for all sizes in a bucket.

    Args:
        buckets: the sizes of the bucket.
        lengths: the true sizes, int32 scalars.
    """

    def __init__(self, buckets: Sizes, lengths: Sequence[Array]) -> None:
        self.buckets: Sizes = buckets
        self.lengths: Sequence[Array] = lengths
        self._true: dict[str, Array] = {
            name: k for (name, _), k in zip(buckets, lengths, strict=True)
        }
        self._sizes = dict(buckets)
        self._substitution = Substitution(self._sizes)

    def size(self, dim: int) -> int:
        """Return a size in the bucket."""
        return dims.substituted(dim, self._sizes)

    def length(self, dim: int, dtype: dtypes.DType = dtypes.int32) -> Array:
        """Return a true size."""
        if not isinstance(dim, dims.SymbolicDim):
            return opd.scalar(dim, dtype)
        return ew.convert_element_type(self._value(dim.polynomial), dtype)

    def _value(self, p: polynomials.Polynomial) -> Array:
        total: Array = opd.scalar(0, dtypes.int32)
        for term, k in p:
            product: Array = opd.scalar(k, dtypes.int32)
            for factor, power in term:
                product = reduce(ew.mul, [self._factor(factor)] * power, product)
            total = ew.add(total, product)
        return total

    def _factor(self, factor: polynomials.Factor) -> Array:
        if not factor.operands:
            return self._true[factor.name]
        x, y = map(self._value, factor.operands)
        match factor.name:
            case "floordiv":
                return elementwise.floor_divide(x, y)
            case "mod":
                return elementwise.remainder(x, y)
            case "max":
                return ew.max_(x, y)
            case _:
                return ew.min_(x, y)

    def aval(self, aval: av.ShapedArray) -> av.ShapedArray:
        """Return a type in the bucket."""
        for n in aval.shape:
            if isinstance(n, dims.SymbolicDim) and not _grows(n.polynomial):
                raise errors.PaddingError(
                    f"an array of type {aval} has an axis that need not grow with the lengths it "
                    "is of, so that pad_to cannot tell how large it is in a bucket."
                )
        return self._substitution.aval(aval)

    def params(self, params: Any) -> Any:
        """Return parameters with the sizes of the bucket."""
        return self._substitution.value(params)

    def inside(self, aval: av.ShapedArray, axes: Iterable[int] | None = None) -> Array | None:
        """Return which elements of an array are right, along some axes; None where all are."""
        shape = self.aval(aval).shape
        masks = [
            ew.lt(
                sh.iota(shape, dtypes.int32, i),
                broadcast_in_dim(self.length(aval.shape[i]), shape, ()),
            )
            for i in (range(aval.ndim) if axes is None else axes)
            if isinstance(aval.shape[i], dims.SymbolicDim)
        ]
        return reduce(ew.and_, masks) if masks else None

    def filled(
        self,
        x: Array,
        aval: av.ShapedArray,
        value: bool | int | float | complex,
        axes: Iterable[int] | None = None,
    ) -> Array:
        """Return an array with a value in place of its padding along some axes."""
        mask = self.inside(aval, axes)
        return x if mask is None else ew.select(mask, x, sh.full_like(x, value))

    def bind(self, eqn: jx.JaxprEqn, operands: Sequence[Array]) -> Sequence[Array]:
        """Bind the primitive of an equation, with the sizes of the bucket."""
        return tr.bind(eqn.primitive, operands, self.params(eqn.params))

    def program(self, jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        """Return a program in the bucket; its first parameters are the true sizes."""
        return in_bucket(jaxpr, self.buckets)

    def evaluate(self, jaxpr: jx.Jaxpr, args: Sequence[Array], times: int = 1) -> list[Array]:
        """Interpret a program, or one in it."""
        env: dict[jx.Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))

        def read(x: jx.Atom) -> Array:
            return env[x] if isinstance(x, jx.Var) else self._substitution.literal(x).value

        before = tr.evaluated_source()
        try:
            for eqn in jaxpr.eqns:
                if eqn.source is not None:
                    tr.set_evaluated_source(eqn.source)
                try:
                    outs = self._apply(eqn, [read(x) for x in eqn.inputs])
                except errors.PaddingError as error:
                    if eqn.source is not None:
                        error.at(eqn.source.location)
                    raise error from None
                env.update(zip(eqn.out_binders, outs, strict=True))
        finally:
            tr.set_evaluated_source(before)
        return [read(x) for x in jaxpr.outs]

    def _apply(self, eqn: jx.JaxprEqn, operands: Sequence[Array]) -> Sequence[Array]:
        rules = eqn.primitive.rules.extensions
        avals = [x.aval for x in (*eqn.inputs, *eqn.out_binders)]
        is_padded = any(self.aval(aval) is not aval for aval in avals)
        if PADDING in rules:
            return eqn.primitive.rule(PADDING)(self, eqn, operands)
        if program_rules.CALLED in rules:
            (inner,) = jx.subjaxprs(eqn.params)
            params = rules[program_rules.CALLED](eqn.params, self.program(inner))
            return tr.bind(eqn.primitive, (*self.lengths, *operands), params)
        if program_rules.PROGRAM in rules:
            return program_rules.evaluate_stepwise(
                eqn.primitive, operands, eqn.params, self.evaluate
            )
        params = self.params(eqn.params)
        if params is not eqn.params or (is_padded and prim.ELEMENTWISE not in rules):
            raise no_rule(eqn)
        return tr.bind(eqn.primitive, operands, params)


def _grows(p: polynomials.Polynomial) -> bool:
    """Return whether a size is known not to fall as others grow."""
    return all(
        term == polynomials.ONE or (k > 0 and all(_factor_grows(factor) for factor, _ in term))
        for term, k in p
    )


def _factor_grows(factor: polynomials.Factor) -> bool:
    match factor.name, factor.operands:
        case "mod", _:
            return False
        case "floordiv", (x, y):
            divisor = polynomials.as_constant(y)
            return divisor is not None and divisor > 0 and _grows(x)
        case _, operands:
            return all(map(_grows, operands))


#: Applies a primitive in a bucket: of the interpreter, the equation of the program for all sizes,
#: and the operands in the bucket. Without one, a primitive that works element by element is bound
#: as it is, and another is refused where an operand or a result is padded.
PaddingRule: TypeAlias = Callable[[Padding, jx.JaxprEqn, Sequence[Array]], Sequence[Array]]
PADDING: Final[prim.RuleKey[PaddingRule]] = prim.RuleKey("padding")


def no_rule(eqn: jx.JaxprEqn, why: str = "") -> errors.PaddingError:
    """Make the error of an operation that cannot be applied to padded arrays.

    Args:
        eqn: the equation.
        why: what of it cannot.
    """
    ins, outs = [", ".join(str(x.aval) for x in xs) for xs in (eqn.inputs, eqn.out_binders)]
    return errors.PaddingError(
        f"{eqn.primitive.name} of ({ins}) to ({outs}) cannot be applied to padded arrays"
        f"{why and f': {why}'}."
    )


def in_bucket(jaxpr: jx.Jaxpr, buckets: Sizes) -> jx.Jaxpr:
    """Return the program of a bucket; its first parameters are the true sizes, int32 scalars."""

    def make() -> jx.Jaxpr:
        def run(*operands: Array) -> list[Array]:
            padding = Padding(buckets, operands[: len(buckets)])
            return padding.evaluate(jaxpr, operands[len(buckets) :])

        length = av.ShapedArray((), dtypes.int32)
        numbers = Substitution(dict(buckets))
        avals = [*[length] * len(buckets), *map(numbers.aval, jaxpr.in_avals)]
        staged = staging.stage(run, avals)
        assert not staged.consts, "a program is closed, and so is what rules make of it"
        return program_rules.dce(staged.jaxpr)

    return jaxpr.derive(("in bucket", buckets), make)


# The primitive


@attrs.frozen(eq=False, repr=False)
class AllSizes(records.Record):
    """A program for all sizes, where nobody who looks into programs takes it for one to be run."""

    jaxpr: jx.Jaxpr


@attrs.frozen(eq=False, repr=False)
class PaddedParams(prim.Params):
    """A program for all sizes, to be called for some.

    Attributes:
        program: the program.
        name: the function's name; programs that differ in name only are the same.
        sizes: the true sizes.
        buckets: the sizes of the program that is compiled.
        tier: the evaluator of its first calls; None for that of the settings.
        flags: the flags for XLA.
    """

    program: AllSizes
    name: str = attrs.field(eq=False)
    sizes: Sizes
    buckets: Sizes
    tier: config.Tier | None = attrs.field(default=None, eq=False)
    flags: xla.Flags = attrs.field(default=(), eq=False)

    @property
    def jaxpr(self) -> jx.Jaxpr:
        """The program for all sizes."""
        return self.program.jaxpr

    @property
    def compiled(self) -> jit.JitParams:
        """The program that is compiled."""
        options = (self.name, (), self.tier, self.flags)
        return self.jaxpr.derive(
            ("compiled", self.buckets, *options),
            lambda: jit.JitParams(in_bucket(self.jaxpr, self.buckets), *options),
        )

    @property
    def unpadded(self) -> jx.Jaxpr:
        """The program for these sizes alone."""
        sizes = self.sizes
        return self.jaxpr.derive(("of sizes", sizes), lambda: with_sizes(self.jaxpr, dict(sizes)))

    @property
    def true_results(self) -> tuple[av.ShapedArray, ...]:
        """The types of the results for these sizes."""
        numbers = Substitution(dict(self.sizes))
        return tuple(map(numbers.aval, self.jaxpr.out_avals))

    def call(self, staged: staging.Staged, args: Sequence[Array]) -> Sequence[Array]:
        """Call another program for the same sizes."""
        params = attrs.evolve(self, program=AllSizes(staged.jaxpr))
        return tr.bind(padded_p, (*staged.consts, *args), params)


padded_p: prim.Primitive[PaddedParams] = prim.Primitive("padded", PaddedParams)


@padded_p.def_evaluate
def _padded_evaluate(args: prim.Arrays, params: PaddedParams) -> prim.Arrays:
    program = params.compiled
    lengths = [opd.scalar(k, dtypes.int32) for _, k in params.sizes]
    avals = program.jaxpr.in_avals[len(lengths) :]
    operands = [_longer(x, aval.shape) for x, aval in zip(args, avals, strict=True)]
    outs, _ = program.run([*lengths, *operands])
    return [_shorter(out, aval.shape) for out, aval in zip(outs, params.true_results, strict=True)]


def _longer(x: Array, shape: tuple[int, ...]) -> Array:
    if x.shape == shape:
        return x
    config = [(0, m - k, 0) for k, m in zip(x.shape, shape, strict=True)]
    return slicing.pad(x, sh.full((), 0, x.dtype), config)


def _shorter(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else slicing.slice_(x, (0,) * x.ndim, shape)


@padded_p.def_lowering
def _padded_lowering(b: Lowering, operands: Values, params: PaddedParams) -> Values:
    return call_jaxpr(b, params.unpadded, params.name, operands)


@padded_p.def_abstract_eval
def _padded_type(avals: prim.Avals, params: PaddedParams) -> prim.Avals:
    numbers = Substitution(dict(params.sizes))
    expected = [numbers.aval(x) for x in params.jaxpr.in_avals]
    assert av.same_types(avals, expected), f"{params.name}: {avals} are not {expected}"
    return params.true_results


program_rules.def_evaluated(padded_p, lambda params: params.unpadded)


@padded_p.def_jvp
def _padded_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: PaddedParams
) -> prim.JvpResult:
    return jvp_of_call(params.jaxpr, primals, tangents, params.call)


@padded_p.def_linearize
def _padded_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: PaddedParams
) -> prim.LinearizeResult:
    return linearize_of_call(params.jaxpr, primals, nonzero, params.call)


@padded_p.def_transpose
def _padded_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: PaddedParams
) -> prim.Cotangents:
    return transpose_of_call(params.jaxpr, cotangents, operands, params.call)


@padded_p.def_batch
def _padded_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: PaddedParams
) -> prim.BatchResult:
    staged, out_axes = batch_jaxpr(params.jaxpr, mapped, tuple(axes))
    return params.call(staged, values), out_axes
