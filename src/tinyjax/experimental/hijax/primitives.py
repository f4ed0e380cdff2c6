"""``VJPHiPrimitive``, the classes that its methods take, and the primitive that calls them."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import attrs

from tinyjax import dtypes, tree
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.rules import add_arrays
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, staging, trace as tr
from tinyjax.core.tracing.calling import leaf_path
from tinyjax.core.transforms import batching
from tinyjax.core.values import Array, ShapedArray, operands as opd
from tinyjax.custom_derivatives import custom_calls
from tinyjax.custom_derivatives.custom_calls import Zero
from tinyjax.errors import ArgumentError, DifferentiationError, MissingMethodError, TinyjaxError


@attrs.frozen
class AxisData:
    """The axis that ``vmap`` maps over, as an argument of batching methods.

    Attributes:
        name: its name for collectives, or None.
        size: its size.

    Example:
        >>> from tinyjax.experimental import hijax
        >>> hijax.AxisData(name="batch", size=8)
        AxisData(name='batch', size=8)
    """

    name: Hashable | None
    size: int


class GradAccum:
    """Takes the cotangents of an argument.

    Attributes:
        aval: their type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import hijax
        >>> total: hijax.GradAccum = hijax.ValAccum(jnp.float32(0.0).aval)
        >>> total.accum(jnp.float32(2.0))
        >>> total.val
        Array(2., dtype=float32)
    """

    aval: ShapedArray

    def accum(self, ct: Any) -> None:
        """Add a cotangent; ``None`` and ``Zero`` add nothing.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import hijax
            >>> total: hijax.GradAccum = hijax.ValAccum(jnp.float32(0.0).aval)
            >>> total.accum(jnp.float32(2.0))
            >>> total.accum(jnp.float32(3.0))
            >>> total.val
            Array(5., dtype=float32)
        """
        raise NotImplementedError


class ValAccum(GradAccum):
    """Sums the cotangents of an argument.

    Attributes:
        aval: their type.
        val: their sum so far, or ``Zero``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import hijax
        >>> total = hijax.ValAccum(jnp.float32(0.0).aval)
        >>> total.accum(jnp.float32(2.0))
        >>> total.accum(jnp.float32(3.0))
        >>> total.val
        Array(5., dtype=float32)
    """

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval
        self.val: Any = Zero(aval)

    def accum(self, ct: Any) -> None:
        ct = _tangent(ct, self.aval, "a cotangent given to accum")
        if ct is not prim.ZERO:
            self.val = ct if isinstance(self.val, Zero) else add_arrays(self.val, ct)


class NullAccum(GradAccum):
    """Drops the cotangents of an argument in which no derivative is taken.

    Attributes:
        aval: their type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import hijax
        >>> unused = hijax.NullAccum(jnp.float32(0.0).aval)
        >>> unused.accum(jnp.float32(2.0))
        >>> unused.aval
        ShapedArray(float32[])
    """

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def accum(self, ct: Any) -> None:
        pass


def _as_given(x: object) -> bool:
    """Return whether something stands for a value in trees of tangents."""
    return x is None or isinstance(x, (Zero, custom_calls.SymbolicZero, GradAccum))


def _tangent(value: Any, aval: ShapedArray, what: str) -> prim.Tangent:
    """Check a tangent or cotangent that a method returned."""
    if _as_given(value) or value is Zero or not dtypes.is_inexact(aval.dtype):
        return prim.ZERO
    array = opd.as_array(value)
    if array.weak_type and array.dtype != aval.dtype:
        array = array.astype(aval.dtype)
    if (array.shape, array.dtype) != (aval.shape, aval.dtype):
        raise DifferentiationError(f"{what} must be of type {aval}, but is {array.aval}.")
    return array


class VJPHiPrimitive:
    """A primitive with its implementation, and its rules as methods.

    The initialiser of a subclass sets the attributes below, and calls this one. An instance is
    called with arrays of exactly these types; usually a function makes it of ``typeof`` of its
    arguments and calls it. Only ``expand`` must be defined.

    Attributes:
        in_avals: a tuple with the type of each argument, or a tree of types.
        out_aval: the type of the result, or a tree of types.
        params: parameters that are static, which become attributes, too. Instances of one class are
            equal if their types and these are.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental.hijax import VJPHiPrimitive
        >>> class Squared(VJPHiPrimitive):
        ...     def __init__(self, aval):
        ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        ...         super().__init__()
        ...     def expand(self, x):
        ...         return x * x
        >>> Squared(tinyjax.typeof(jnp.float32(3.0)))(jnp.float32(3.0))
        Array(9., dtype=float32)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: Mapping[str, Any]
    in_avals_flat: list[Any]
    out_avals_flat: list[Any]
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef

    def __init__(self) -> None:
        name = type(self).__name__
        for attribute in ("in_avals", "out_aval", "params"):
            if not hasattr(self, attribute):
                raise ArgumentError(f"the initialiser of {name} must set self.{attribute} first.")
        if self._has("vjp_bwd") and self._has("vjp_bwd_retval"):
            raise ArgumentError(f"{name} defines vjp_bwd and vjp_bwd_retval, of which one is used.")
        self.in_avals_flat, self.in_tree = tree.flatten(tuple(self.in_avals))
        self.out_avals_flat, self.out_tree = tree.flatten(self.out_aval)
        for aval in (*self.in_avals_flat, *self.out_avals_flat):
            if not isinstance(aval, ShapedArray):
                raise ArgumentError(
                    f"in_avals and out_aval of {name} hold types of arrays, as typeof(x) gives "
                    f"them, but there is {aval!r}."
                )
        vars(self).update(self.params)
        self.check(*self.in_avals)

    def expand(self, *args: Any) -> Any:
        """Compute the result with functions of arrays."""
        raise self._lacks("expand")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """Compute the result for reverse mode.

        Args:
            nzs_in: for each argument, whether a derivative is taken in it.
            args: the arguments.

        Returns:
            ``(result, residuals)``. An optional third item is a tree of bools, or a prefix of one:
            the mask of results that depend on the arguments. An optional fourth is a tree of
            structured residuals, which ``vjp_bwd`` takes after the residuals.
        """
        raise self._lacks("vjp_fwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> dict[str, Any] | None:
        """Give each argument's accumulator its cotangent.

        Args:
            res: the residuals.
            outgrad: the cotangent of the result; ``Zero`` where it is known to be zero.
            arg_accums: a ``GradAccum`` for each array of the arguments.

        Returns:
            A dict of trees of arrays that are logged, if wanted: ``pull_back.with_logs(cotangent)``
            gives them.
        """
        cotangents_in = self.vjp_bwd_retval(res, outgrad)
        if not isinstance(cotangents_in, (tuple, list)) or len(cotangents_in) != len(arg_accums):
            raise DifferentiationError(
                f"{type(self).__name__}.vjp_bwd_retval must return a tuple of {len(arg_accums)} "
                f"cotangents, one for each argument, but returned {tree.structure(cotangents_in)}."
            )
        accums, treedef = tree.flatten(arg_accums, _as_given)
        cotangents = tree.flatten_prefix(tuple(cotangents_in), treedef, _as_given, "cotangents")
        for i, (accum, ct) in enumerate(zip(accums, cotangents, strict=True)):
            what = f"{type(self).__name__}.vjp_bwd_retval: {leaf_path('cotangents', treedef, i)}"
            accum.accum(ct if _as_given(ct) else _tangent(ct, accum.aval, what))
        return None

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Return a tuple with the cotangent of each argument; None where it is zero."""
        raise self._lacks("vjp_bwd_retval")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """Return the result and its tangent; a tangent may be ``Zero``.

        Example:
            >>> import tinyjax
            >>> from tinyjax.experimental import hijax
            >>> class Halved(hijax.VJPHiPrimitive):
            ...     def __init__(self, aval):
            ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
            ...         super().__init__()
            ...     def expand(self, x):
            ...         return x / 2
            ...     def lin(self, nzs_in, x):
            ...         return x / 2, ()
            ...     def linearized(self, residuals, tangent):
            ...         return tangent / 2
            ...     jvp = hijax.jvp_from_lin
            >>> float(tinyjax.jvp(lambda x: Halved(tinyjax.typeof(x))(x), (3.0,), (1.0,))[1])
            0.5
        """
        raise self._lacks("jvp")

    def lin(self, nzs_in: Any, /, *primals: Any) -> Any:
        """Return ``(result, residuals)`` for ``linearized``, and so on; as ``vjp_fwd``."""
        raise self._lacks("lin")

    def linearized(self, residuals: Any, /, *tangents: Any) -> Any:
        """Return the tangent of the result, which is linear in the tangents."""
        raise self._lacks("linearized")

    def transpose(self, out_ct: Any, /, *maybe_accums: Any) -> None:
        """Give cotangents to the accumulators of the operands in which it is linear."""
        raise self._lacks("transpose")

    def batch(self, axis_data: AxisData, args: Any, dims: Any) -> tuple[Any, Any]:
        """Compute a batch of results.

        Args:
            axis_data: the batch.
            args: the arguments.
            dims: for each array of them which axis is the batch, or None.

        Returns:
            The results, and a tree (or a prefix of it) of the axes that are the batch.
        """
        raise self._lacks("batch")

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        """Return which axis of the result is the batch, if each method is batched by ``vmap``."""
        raise self._lacks("batch_dim_rule")

    def check(self, *arg_tys: Any) -> None:
        """Check the types of the arguments."""

    def __call__(self, *args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        if in_tree is not self.in_tree and in_tree != self.in_tree:
            raise ArgumentError(f"{self} takes arguments {self.in_tree}, but got {in_tree}.")
        arrays = [opd.as_array(x) for x in leaves]
        for i, (x, aval) in enumerate(zip(arrays, self.in_avals_flat, strict=True)):
            if (x.shape, x.dtype) != (aval.shape, aval.dtype):
                raise ArgumentError(
                    f"{self} was made for {leaf_path('args', in_tree, i)} of type {aval}, but got "
                    f"{x.aval}."
                )
        return tree.unflatten(self.out_tree, _bind(_Own(self), arrays))

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{dict(self.params)}]"

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.params.items())))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VJPHiPrimitive)
            and type(self) is type(other)
            and self.params == other.params
            and self.in_tree == other.in_tree
            and self.in_avals_flat == other.in_avals_flat
            and self.out_tree == other.out_tree
            and self.out_avals_flat == other.out_avals_flat
        )

    def _has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(VJPHiPrimitive, method)

    def _lacks(self, method: str) -> TinyjaxError:
        return MissingMethodError(type(self).__name__, method)


#: Methods that say in a class which rules follow from which. They follow where none is defined:
#: ``lin, linearized = linearize_from_jvp``, ``vjp_fwd, vjp_bwd_retval = vjp_from_lin``.
linearize_from_jvp: Final = (VJPHiPrimitive.lin, VJPHiPrimitive.linearized)
vjp_from_lin: Final = (VJPHiPrimitive.vjp_fwd, VJPHiPrimitive.vjp_bwd_retval)
vjp_from_jvp: Final = vjp_from_lin
jvp_from_lin: Final = VJPHiPrimitive.jvp


# As functions of flat lists


class _FlatRules:
    """The rules of a primitive on lists of arrays: those that a user wrote, or these of a batch."""

    name: str
    logs: custom_calls.LogTree
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]

    def __repr__(self) -> str:
        return self.name


class _Own(_FlatRules):
    """The rules that a user wrote."""

    def __init__(self, primitive: VJPHiPrimitive) -> None:
        self.primitive = primitive
        self.name = type(primitive).__name__
        self.logs = custom_calls.LogTree()
        self.in_avals = primitive.in_avals_flat
        self.out_avals = primitive.out_avals_flat

    def key(self) -> Hashable:
        """Return its key, which distinguishes it from others."""
        return self.primitive

    def _args(self, leaves: Sequence[Any]) -> Any:
        return tree.unflatten(self.primitive.in_tree, leaves)

    def _results(self, out: Any, method: str) -> list[Array]:
        leaves, out_tree = tree.flatten(out)
        expected = self.primitive.out_tree
        if out_tree is not expected and out_tree != expected:
            raise ArgumentError(
                f"{self.name}.{method} must return a result of the structure of out_aval, "
                f"{expected}, but returned {out_tree}."
            )
        arrays = [opd.as_array(x) for x in leaves]
        for i, (x, aval) in enumerate(zip(arrays, self.out_avals, strict=True)):
            if (x.shape, x.dtype) != (aval.shape, aval.dtype):
                raise ArgumentError(
                    f"{self.name}.{method} must return {leaf_path('result', out_tree, i)} of type "
                    f"{aval}, as out_aval says, but returned {x.aval}."
                )
        return arrays

    def expand(self, *args: Array) -> list[Array]:
        """Compute the results."""
        return self._results(tr.at_own_lines(self.primitive.expand, *self._args(args)), "expand")

    def _tangents(self, tangents: Any, method: str) -> list[prim.Tangent]:
        treedef = self.primitive.out_tree
        leaves = tree.flatten_prefix(tangents, treedef, _as_given, "tangents")
        return [
            _tangent(t, aval, f"{self.name}.{method}: {leaf_path('tangent', treedef, i)}")
            for i, (t, aval) in enumerate(zip(leaves, self.out_avals, strict=True))
        ]

    def jvp(
        self, primals: prim.Arrays, tangents: prim.Tangents
    ) -> tuple[list[Array], list[prim.Tangent]]:
        """Compute the results and their tangents."""
        own, tangents_in = self.primitive, self._args([*_zeros(tangents, self.in_avals)])
        if own._has("lin") and not own._has("jvp"):
            out, saved, _ = self._parts("lin", prim.nonzeros(tangents), primals)
            return out, self._tangents(
                tr.at_own_lines(own.linearized, *saved, *tangents_in), "linearized"
            )
        pair = tr.at_own_lines(own.jvp, self._args(primals), tangents_in)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DifferentiationError(f"{self.name}.jvp must return a result and its tangent.")
        return self._results(pair[0], "jvp"), self._tangents(pair[1], "jvp")

    def _parts(
        self, method: str, nonzero: Sequence[bool], args: prim.Arrays
    ) -> tuple[list[Array], tuple[Any, ...], list[bool]]:
        parts = tr.at_own_lines(
            getattr(self.primitive, method), self._args(nonzero), *self._args(args)
        )
        if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3, 4):
            raise DifferentiationError(
                f"{self.name}.{method} must return a result and residuals, and after them, if "
                "wanted, which results depend on the arguments, and structured residuals."
            )
        if len(parts) == 4 and method == "vjp_fwd" and not self.primitive._has("vjp_bwd"):
            raise DifferentiationError(
                f"{self.name}.vjp_fwd returns structured residuals, which vjp_bwd takes: define "
                "vjp_bwd(res, structured, outgrad, *arg_accums) in place of vjp_bwd_retval."
            )
        outs = self._results(parts[0], method)
        depends = parts[2] if len(parts) > 2 else True
        marks = tree.flatten_prefix(depends, self.primitive.out_tree, None, "nzs_out")
        floats = [dtypes.is_inexact(aval.dtype) for aval in self.out_avals]
        marks = [bool(a) and b for a, b in zip(marks, floats, strict=True)]
        return outs, (parts[1], *parts[3:]), marks

    @property
    def has_pull_back(self) -> bool:
        """Return whether reverse mode has a rule, and is not the transpose of forward mode's."""
        has = self.primitive._has
        return has("vjp_fwd") or not (has("jvp") or has("lin"))

    def forward(
        self, nonzero: Sequence[bool], args: prim.Arrays
    ) -> tuple[list[Array], list[bool], list[Array], custom_calls.Backward]:
        """Return the results, which of them depend on tangents, residuals, and the pull-back."""
        outs, saved, depends = self._parts("vjp_fwd", nonzero, args)
        leaves, saved_tree = tree.flatten(saved)

        def backward(residuals: prim.Arrays, cotangents: prim.Tangents) -> list[prim.Tangent]:
            cotangents_out = prim.fill_list(depends, cotangents, prim.ZERO)
            ct = tree.unflatten(self.primitive.out_tree, [*_zeros(cotangents_out, self.out_avals)])
            accums: list[GradAccum] = [
                ValAccum(aval) if has else NullAccum(aval.tangent())
                for aval, has in zip(self.in_avals, nonzero, strict=True)
            ]
            parts, bwd = tree.unflatten(saved_tree, residuals), self.primitive.vjp_bwd
            logs = tr.at_own_lines(bwd, *parts, ct, *self._args(accums))
            totals = [_total(accum) for accum in accums if isinstance(accum, ValAccum)]
            return [*totals, *self.logs.leaves(logs, bwd)]

        return outs, depends, [opd.as_array(x) for x in leaves], backward

    def batch(
        self, mapped: prim.MappedAxis, args: prim.Arrays, axes: prim.BatchAxes
    ) -> prim.BatchResult:
        """Compute a batch of results."""
        own = self.primitive
        axis = AxisData(mapped.name, mapped.size)
        dims = self._args(axes)
        if own._has("batch"):
            out, out_dims = tr.at_own_lines(own.batch, axis, self._args(args), dims)
            outs = [opd.as_array(x) for x in own.out_tree.flatten_up_to(out, "result")]
            return outs, self._out_axes(out_dims)
        out_axes = self._out_axes(own.batch_dim_rule(axis, dims))
        return _bind(_Mapped(self, mapped, tuple(axes), out_axes), args), out_axes

    def _out_axes(self, dims: Any) -> tuple[batching.BatchAxis, ...]:
        return tuple(tree.flatten_prefix(dims, self.primitive.out_tree, _as_given, "out_dims"))

    def transpose(self, cotangents: prim.Tangents, operands: prim.Operands) -> list[prim.Tangent]:
        """Return a cotangent for each operand without a value, and ``ZERO`` for the others."""
        ct = tree.unflatten(self.primitive.out_tree, [*_zeros(cotangents, self.out_avals)])
        args = [ValAccum(x.aval) if isinstance(x, prim.UndefinedPrimal) else x for x in operands]
        tr.at_own_lines(self.primitive.transpose, ct, *self._args(args))
        return [_total(x) if isinstance(x, ValAccum) else prim.ZERO for x in args]


def _zeros(tangents: prim.Tangents, avals: Sequence[ShapedArray]) -> Iterator[Any]:
    for t, aval in zip(tangents, avals, strict=True):
        yield Zero(aval.tangent()) if t is prim.ZERO else t


def _total(accum: ValAccum) -> prim.Tangent:
    return prim.ZERO if isinstance(accum.val, Zero) else accum.val


class _Mapped(_FlatRules):
    """The rules of a primitive, each batched by ``vmap``."""

    def __init__(
        self,
        rules: _Rules,
        mapped: prim.MappedAxis,
        axes: prim.BatchAxes,
        out_axes: Sequence[batching.BatchAxis],
    ) -> None:
        self.rules, self.mapped, self.axes, self.out_axes = rules, mapped, axes, out_axes
        self.name, self.logs = rules.name, rules.logs
        self.in_avals = self._types(rules.in_avals, axes)
        self.out_avals = self._types(rules.out_avals, out_axes)

    def _types(self, avals: prim.Avals, axes: prim.BatchAxes) -> list[ShapedArray]:
        size = self.mapped.size
        return [
            batching.batched_aval(aval, axis, size) for aval, axis in zip(avals, axes, strict=True)
        ]

    def key(self) -> Hashable:
        return (self.rules.key(), self.mapped, tuple(self.axes), tuple(self.out_axes))

    def _placed(self, outs: prim.Arrays, axes: prim.BatchAxes) -> list[Array]:
        """Move results' batch axes to their declared positions."""
        moved: list[Array] = []
        for out, axis, to in zip(outs, axes, self.out_axes, strict=True):
            if to is None and axis is not None:
                raise ArgumentError(
                    f"{self.name}.batch_dim_rule says that a result is the same for all examples, "
                    "but it is not."
                )
            moved.append(out if to is None else sh.move_batch_axis(out, axis, to, self.mapped.size))
        return moved

    def expand(self, *args: Array) -> list[Array]:
        return self._placed(*batching.batch_flat(self.rules.expand, self.mapped, args, self.axes))

    def jvp(
        self, primals: prim.Arrays, tangents: prim.Tangents
    ) -> tuple[list[Array], list[prim.Tangent]]:
        nonzero = prim.nonzeros(tangents)
        run, nonzero_out = custom_calls.flat_jvp(self.rules.jvp, len(primals), nonzero)
        axes = [*self.axes, *prim.marked(self.axes, nonzero)]
        results, result_axes = batching.batch_flat(
            run, self.mapped, [*primals, *prim.present(tangents)], axes
        )
        n = len(self.out_axes)
        places = prim.marked(self.out_axes, nonzero_out)
        outs = self._placed(results[:n], result_axes[:n])
        size = self.mapped.size
        directions = [
            t if to is None else sh.move_batch_axis(t, axis, to, size)
            for t, axis, to in zip(results[n:], result_axes[n:], places, strict=True)
        ]
        return outs, prim.with_zeros(nonzero_out, directions)

    @property
    def has_pull_back(self) -> bool:
        return self.rules.has_pull_back

    def forward(
        self, nonzero: Sequence[bool], args: prim.Arrays
    ) -> tuple[list[Array], list[bool], list[Array], custom_calls.Backward]:
        forwards: list[tuple[list[bool], custom_calls.Backward]] = []

        def run(*values: Array) -> list[Array]:
            outs, depends, residuals, backward = self.rules.forward(nonzero, values)
            forwards.append((depends, backward))
            return [*outs, *residuals]

        results, axes = batching.batch_flat(run, self.mapped, args, self.axes)
        ((depends, inner),) = forwards
        n = len(self.out_axes)
        res_axes, ct_axes = axes[n:], prim.marked(self.out_axes, depends)
        in_axes = prim.marked(self.axes, nonzero)

        def backward(residuals: prim.Arrays, cotangents: prim.Tangents) -> list[prim.Tangent]:
            present_cts, count = prim.nonzeros(cotangents), len(residuals)

            def pull(*values: Array) -> Sequence[prim.Tangent]:
                return inner(values[:count], prim.with_zeros(present_cts, values[count:]))

            operands = [*residuals, *prim.present(cotangents)]
            given_axes = [*res_axes, *prim.marked(ct_axes, present_cts)]
            return custom_calls.pull_back_batch(pull, self.mapped, operands, given_axes, in_axes)

        return self._placed(results[:n], axes[:n]), depends, results[n:], backward

    def batch(
        self, mapped: prim.MappedAxis, args: prim.Arrays, axes: prim.BatchAxes
    ) -> prim.BatchResult:
        out_axes = [0] * len(self.out_axes)
        return _bind(_Mapped(self, mapped, tuple(axes), out_axes), args), out_axes

    def transpose(self, cotangents: prim.Tangents, operands: prim.Operands) -> list[prim.Tangent]:
        linear = [isinstance(x, prim.UndefinedPrimal) for x in operands]
        values = [x for x in operands if isinstance(x, Array)]
        nonzero, count = prim.nonzeros(cotangents), len(values)

        def pull(*flat: Array) -> Sequence[prim.Tangent]:
            known = iter(flat[:count])
            inner = [
                prim.UndefinedPrimal(aval) if is_linear else next(known)
                for aval, is_linear in zip(self.rules.in_avals, linear, strict=True)
            ]
            return self.rules.transpose(prim.with_zeros(nonzero, flat[count:]), inner)

        axes = [axis for axis, is_linear in zip(self.axes, linear, strict=True) if not is_linear]
        axes += prim.marked(self.out_axes, nonzero)
        flat_in = [*values, *prim.present(cotangents)]
        return custom_calls.pull_back_batch(pull, self.mapped, flat_in, axes, self.axes)


# The primitive

_Rules: TypeAlias = _Own | _Mapped
_numbers: Final = itertools.count()


@lru_cache(maxsize=4096, typed=True)  # 1 and True differ
def _number_of(key: Hashable) -> int:
    return next(_numbers)


def number_of(key: object) -> int:
    """Return a number that equal keys share; an unhashable key has one of its own."""
    try:
        return _number_of(key)
    except TypeError:
        return next(_numbers)


@attrs.frozen
class HiParams(prim.Params):
    """A user's primitive.

    Attributes:
        number: tells it from others.
        rules: what it does.
    """

    number: int
    rules: _Rules = attrs.field(eq=False)


hi_call_p: prim.Primitive[HiParams] = prim.Primitive("hi_call", HiParams)


def _bind(rules: _Rules, args: Sequence[Array]) -> list[Array]:
    return [
        *tr.bind(hi_call_p, args, HiParams(number_of((rules.key(), tuple(rules.in_avals))), rules))
    ]


hi_call_p.def_evaluate(lambda args, params: params.rules.expand(*args))
hi_call_p.def_abstract_eval(lambda avals, params: tuple(params.rules.out_avals))
hi_call_p.def_jvp(lambda primals, tangents, params: params.rules.jvp(primals, tangents))
hi_call_p.def_transpose(lambda cts, operands, params: params.rules.transpose(cts, operands))
hi_call_p.def_batch(lambda mapped, args, axes, params: params.rules.batch(mapped, args, axes))


@hi_call_p.def_lowering
def _hi_lowering(b: Lowering, operands: hlo.Values, params: HiParams) -> hlo.Values:
    staged = staging.stage(params.rules.expand, params.rules.in_avals)
    consts = [b.constant(opd.as_array(c).concrete("data")) for c in staged.consts]
    return lower_jaxpr(b, staged.jaxpr, [*consts, *operands])


@hi_call_p.def_linearize
def _hi_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: HiParams
) -> prim.LinearizeResult:
    rules = params.rules
    if not rules.has_pull_back:
        outs = _bind(rules, primals)
        floats = [dtypes.is_inexact(aval.dtype) for aval in rules.out_avals]

        def push(tangents: prim.Arrays) -> prim.Arrays:
            _, tangents_out = rules.jvp(primals, prim.with_zeros(nonzero, tangents))
            return [
                sh.zero_tangent(aval) if t is prim.ZERO else t
                for t, aval in zip(tangents_out, rules.out_avals, strict=True)
                if dtypes.is_inexact(aval.dtype)
            ]

        return outs, floats, push
    outs, depends, residuals, backward = rules.forward(nonzero, primals)
    out_avals = prim.marked(rules.out_avals, depends)
    tangent_params = custom_calls.PullBackParams(
        backward, len(residuals), tuple(out_avals), rules.name, rules.logs
    )
    return (
        outs,
        depends,
        lambda tangents: tr.bind(
            custom_calls.custom_vjp_tangent_p, [*residuals, *tangents], tangent_params
        ),
    )
