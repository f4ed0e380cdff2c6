"""First-class pull-backs: the results of ``vjp``, as values to inspect, to pass on and to direct.

A pull-back is a program and the residuals that it reads. Some residuals are arguments as they were,
the others were computed from them. So arguments can be left out, and restored before the pull-back
is applied. Each gradient can be returned, added to a reference, or not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar, TypeVarTuple, overload

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, lazy, records
from tinyjax.core.api.arguments import as_cotangents, as_tangents
from tinyjax.core.primitives.shape import zero_tangent
from tinyjax.core.tracing import calling, jaxpr as jx
from tinyjax.core.tracing.calling import whole_places
from tinyjax.core.tracing.primitive import ZERO, Tangent
from tinyjax.core.tracing.staging import Hook
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.linearize import LinearizedFunction
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array, ArrayLike

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

#: A bool for all arguments, or a tuple with one for each, or with tuples of them.
Saveable: TypeAlias = bool | Sequence[Any]


class _Mark:
    """An empty node of a tree, which marks an absent value."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class GradValue(_Mark):
    """A direction for ``with_refs``: return this gradient, as by default.

    It is the default of every argument.

    Example:
        >>> import tinyjax
        >>> _, pull_back = tinyjax.vjp(lambda x, y: x * y, 3.0, 5.0)
        >>> pull_back.with_refs(tinyjax.ad.GradValue(), tinyjax.ad.DontWant())(1.0)
        (Array(5., dtype=float32, weak_type=True), DidntWant())
    """

    __slots__ = ()


class DontWant(_Mark):
    """Given to ``with_refs``: do not compute this gradient.

    The backward pass leaves out all that serves only this gradient. ``DidntWant`` is returned in
    its place.

    Example:
        >>> import tinyjax
        >>> _, pull_back = tinyjax.vjp(lambda x, y: x * y, 3.0, 5.0)
        >>> pull_back.with_refs(tinyjax.ad.DontWant(), tinyjax.ad.GradValue())(1.0)
        (DidntWant(), Array(3., dtype=float32, weak_type=True))
    """

    __slots__ = ()


class GradRef(_Mark):
    """Stands for a gradient that was added to a reference.

    It is in the place of the gradient of an argument for which ``with_refs`` was given a reference:
    the sum is in the reference, in place.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> _, pull_back = tinyjax.vjp(lambda x: x**2, 3.0)
        >>> total = tinyjax.new_ref(jnp.float32(10.0))
        >>> pull_back.with_refs(total)(1.0), total
        ((GradRef(),), Ref(16., dtype=float32))
    """

    __slots__ = ()


class DidntWant(_Mark):
    """Stands for a gradient that was not computed.

    It is in the place of the gradient of an argument for which ``with_refs`` was given
    ``DontWant``.

    Example:
        >>> import tinyjax
        >>> _, pull_back = tinyjax.vjp(lambda x, y: x * y, 3.0, 5.0)
        >>> pull_back.with_refs(tinyjax.ad.DontWant(), tinyjax.ad.GradValue())(1.0)[0]
        DidntWant()
    """

    __slots__ = ()


class NotNeeded(_Mark):
    """Stands for an argument that a pull-back does not read."""

    __slots__ = ()


class NotSaveable(_Mark):
    """Stands for an argument that a pull-back reads, and that was not to be kept."""

    __slots__ = ()


for _kind in (GradValue, DontWant, GradRef, DidntWant, NotNeeded, NotSaveable):
    tree.register_static(_kind)


def _is_mark(x: object) -> bool:
    return isinstance(x, _Mark)


@attrs.frozen(eq=False, repr=False)
class Structure(records.Record):
    """The part of a linear map without its residuals; equal for equal programs."""

    jaxpr: jx.Jaxpr
    nonzero_in: tuple[bool, ...]
    nonzero_out: tuple[bool, ...]
    in_tree: tree.PyTreeDef
    in_avals: tuple[av.ShapedArray, ...]
    out_tree: tree.PyTreeDef
    out_avals: tuple[av.ShapedArray, ...]
    #: For each residual the argument that it is, or None where it was computed.
    places: tuple[int | None, ...]
    fun: Callable[..., Any] = attrs.field(eq=False)
    hooks: tuple[Hook, ...] = ()

    @staticmethod
    def describe(
        linearized: LinearizedFunction,
        args: Sequence[Array],
        in_tree: tree.PyTreeDef,
        flat: calling.FlatFunction,
        fun: Callable[..., Any],
    ) -> Structure:
        """Describe a linearized function."""
        numbers = {id(x): i for i, x in enumerate(args)}
        return Structure(
            linearized.jaxpr,
            linearized.nonzero_in,
            linearized.nonzero_out,
            in_tree,
            tuple([x.aval for x in args]),
            flat.out_tree,
            tuple([x.aval for x in linearized.primals_out]),
            tuple([numbers.get(id(x)) for x in linearized.residuals]),
            fun,
            linearized.hooks,
        )

    def bare(self) -> Structure:
        """Return the part of it in the structure of a tree, without the function's objects."""
        return attrs.evolve(self, fun=frames.bare(self.fun))

    def with_residuals(self, residuals: tuple[Any, ...]) -> LinearizedFunction:
        """The linearized function, less its results."""
        return LinearizedFunction(
            [], self.jaxpr, residuals, self.nonzero_in, self.nonzero_out, self.hooks
        )

    @property
    def args_tree(self) -> tree.PyTreeDef:
        """The structure of the positional arguments."""
        return self.in_tree.children()[0]

    def path(self, position: int) -> str:
        """Name an argument."""
        return calling.argument_path(self.fun, self.in_tree, position)

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Put together a tuple with a tree for each argument."""
        return tree.unflatten_arguments(self.in_tree, leaves)[0]

    def __repr__(self) -> str:
        return frames.describe_function(self.fun)


def drop_unsaved(residuals: Sequence[Any], structure: Structure, saveable: Saveable) -> list[Any]:
    """Replace residuals that are arguments not to be saved by placeholders.

    Raises:
        TreeMismatchError: the marks do not fit the arguments.
    """
    marks = _spread(saveable, structure.args_tree, "saveable_args")
    return [
        x if place is None or marks[place] else NotSaveable()
        for x, place in zip(residuals, structure.places, strict=True)
    ]


_MARKS: Final = "Write one bool for an argument, or a tuple with one for each part of it."


def _spread(marks: Saveable, treedef: tree.PyTreeDef, name: str) -> list[bool]:
    """Return a mark for each leaf; containers are matched by their numbers of children alone."""
    if isinstance(marks, bool):
        return [marks] * treedef.num_leaves
    if not isinstance(marks, (tuple, list)):
        raise tree.TreeMismatchError(name, "a bool or a tuple", errors.described(marks), _MARKS)
    children = treedef.children()
    if len(children) != len(marks):
        expected = f"a bool, or a tuple of {len(children)}" if children else "a bool"
        raise tree.TreeMismatchError(name, expected, f"a tuple of {len(marks)}", _MARKS)
    spread: list[bool] = []
    for i, (mark, child) in enumerate(zip(marks, children, strict=True)):
        spread += _spread(mark, child, f"{name}[{i}]")
    return spread


@attrs.frozen(eq=False, repr=False)
class TangentMap:
    """Map tangents of a function's arguments to that of its result; ``linearize`` returns it.

    It is a tree whose leaves are the residuals, so transformed functions can take and return it.

    Attributes:
        residuals: the arrays kept from the evaluation.
        structure: its program and its types.
    """

    residuals: tuple[Any, ...]
    structure: Structure

    @watched
    def __call__(self, *tangents: Any) -> Any:
        known = self.structure
        args_tree, in_avals, fun = known.args_tree, known.in_avals, known.fun
        flat = as_tangents(tangents, args_tree, in_avals, "tangents", fun, known.path, "linearize")
        needed = [t for t, has in zip(flat, known.nonzero_in, strict=True) if has]
        linearized = known.with_residuals(self.residuals)
        outs = linearized.apply([t for t in needed if t is not ZERO])
        pairs = zip(known.out_avals, outs, strict=True)
        filled = [zero_tangent(aval) if t is ZERO else t for aval, t in pairs]
        return tree.unflatten(known.out_tree, filled)

    def __repr__(self) -> str:
        return f"<tangent map of {self.structure}>"


tree.register_pytree_with_keys(
    TangentMap,
    lambda x: (((tree.GetAttrKey("residuals"), x.residuals),), x.structure.bare()),
    lambda structure, children: TangentMap(children[0], structure),
    lambda x: ((x.residuals,), x.structure.bare()),
)


@attrs.define(eq=False, repr=False)
class PullBack(Generic[R, *Ts]):
    """Map cotangents of a function's result to cotangents of its arguments; ``vjp`` returns it.

    It is a tree whose leaves are the residuals, so transformed functions can take and return it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> xs, ys = jnp.zeros(2), jnp.arange(2.0)
        >>> _, pull_back = tinyjax.vjp(lambda x, y: x * jnp.exp(y), xs, ys)
        >>> pull_back.args_res, len(pull_back.opaque_residuals)
        ([NotNeeded(), NotNeeded()], 1)
        >>> total = tinyjax.new_ref(jnp.ones(2))
        >>> pull_back.with_refs(tinyjax.ad.DontWant(), total)(jnp.ones(2)), total
        ((DidntWant(), GradRef()), Ref([1., 1.], dtype=float32))
    """

    _saved: tuple[Any, ...]
    structure: Structure
    _args_res: list[Any] | None = attrs.field(default=None, init=False)

    @property
    def residuals(self) -> tuple[Any, ...]:
        """The values that it reads; ``NotSaveable()`` for an argument that is not restored."""
        if self._args_res is None:
            return self._saved
        known = self.structure
        leaves = tree.leaves(self._args_res, _is_mark)
        if len(leaves) != known.in_tree.num_leaves:
            raise tree.TreeMismatchError(
                "args_res",
                f"{known.in_tree.num_leaves} leaves, as the arguments of {self} have",
                f"{len(leaves)} leaves",
                "Restore each argument as it was given.",
            )
        pairs = zip(self._saved, known.places, strict=True)
        return tuple([x if place is None else leaves[place] for x, place in pairs])

    @property
    def args_res(self) -> list[Any]:
        """The arguments that it reads as they were, in their trees.

        An argument that it does not read is ``NotNeeded()``, and one that was not to be kept is
        ``NotSaveable()``. Assign to an entry, or to the whole, to restore them.
        """
        if self._args_res is None:
            known = self.structure
            leaves: list[Any] = [NotNeeded()] * known.in_tree.num_leaves
            for x, place in zip(self._saved, known.places, strict=True):
                if place is not None:
                    leaves[place] = x
            self._args_res = list(known.arguments(leaves))
        return self._args_res

    @args_res.setter
    def args_res(self, arguments: Sequence[Any]) -> None:
        self._args_res = list(arguments)

    @property
    def opaque_residuals(self) -> list[Any]:
        """The values that it reads besides arguments."""
        return [
            x for x, place in zip(self._saved, self.structure.places, strict=True) if place is None
        ]

    def replace(self, *, args_res: Sequence[Any]) -> PullBack[R, *Ts]:
        """Return another one with the arguments restored.

        Args:
            args_res: a tree for each argument; entries that are not needed are ignored.
        """
        changed = PullBack[R, *Ts](self._saved, self.structure)
        changed.args_res = list(args_res)
        return changed

    def with_refs(self, *directions: Any) -> Callable[[Any], tuple[Any, ...]]:
        """Return the pull-back with a direction for each gradient.

        Args:
            directions: for each argument a tree, or a prefix of it. Its leaves are references, to
                which gradients are added; ``ad.GradValue()`` for gradients that are returned; and
                ``ad.DontWant()`` for those that need not be computed.

        Returns:
            A function of the cotangent. It returns a tuple as the pull-back does, with
            ``ad.GradRef()`` and ``ad.DidntWant()`` in the places of gradients that it does not
            return.

        Raises:
            TreeMismatchError: the trees are not prefixes of the arguments.
            ArgumentError: a leaf is nothing of these.
            RefError: a reference is not of its gradient's type.
        """
        known = self.structure
        leaves = tree.flatten_prefix(
            directions, known.args_tree, lambda x: x is None or _is_mark(x), "with_refs"
        )
        held = whole_places(leaves)
        for i, (leaf, aval) in enumerate(zip(leaves, known.in_avals, strict=True)):
            if i in held:
                if not dtypes.is_inexact(aval.dtype) or leaf.aval != aval.strip_weak():
                    raise errors.RefError(
                        f"with_refs: the gradient of {known.path(i)}, of type {aval}, cannot be "
                        f"added to a Ref of type {leaf.aval}. Make one by new_ref(zeros_like(...))."
                    )
            elif not isinstance(leaf, (GradValue, DontWant)):
                raise errors.ArgumentError(
                    f"with_refs takes a Ref, ad.GradValue() or ad.DontWant() for {known.path(i)}, "
                    f"but got {errors.described(leaf)}."
                )

        @watched
        def pull_back(cotangent: Any, /) -> tuple[Any, ...]:
            required = [not isinstance(leaf, DontWant) for leaf in leaves]
            cotangents = self._cotangents(cotangent, None if all(required) else required)
            return known.arguments([*map(_direct, cotangents, leaves, known.in_avals)])

        return pull_back

    @property
    def with_logs(self) -> Any:
        """A pull-back that returns what rules logged, too: ``(gradients, logs)``.

        ``logs`` is a dict of the values that rules given to ``defvjp_with_logs`` logged. The result
        has ``with_refs``, too.
        """
        return lazy.hook("logs").LoggingPullBack(self)

    @overload
    def __call__(self: PullBack[Array, *Ts], cotangent: ArrayLike, /) -> tuple[*Ts]: ...
    @overload
    def __call__(self: PullBack[float, *Ts], cotangent: ArrayLike, /) -> tuple[*Ts]: ...
    @overload
    def __call__(self, cotangent: R, /) -> tuple[*Ts]: ...
    @watched
    def __call__(self, cotangent: Any, /, *others: Any) -> Any:
        known = self.structure
        if others:
            raise errors.ArgumentError(
                f"the pull-back of {frames.describe_function(known.fun)} takes one cotangent, but "
                f"got {1 + len(others)}. Give the cotangents of several results in containers as "
                f"{frames.describe_function(known.fun)} returns them: {known.out_tree}."
            )
        return known.arguments(
            [
                zero_tangent(aval.cotangent()) if ct is ZERO else ct
                for aval, ct in zip(known.in_avals, self._cotangents(cotangent), strict=True)
            ]
        )

    def _cotangents(self, cotangent: Any, required: Sequence[bool] | None = None) -> list[Tangent]:
        """Return a cotangent for each leaf of the arguments, or ``ZERO``."""
        known = self.structure
        out_tree, out_avals = known.out_tree, known.out_avals
        flat = as_cotangents(cotangent, out_tree, out_avals, known.fun, "vjp")
        residuals = self.residuals
        if residuals is not self._saved or NotSaveable in map(type, residuals):
            residuals = self._restored(residuals)
        return known.with_residuals(residuals).pull_back(flat, required)

    def _restored(self, residuals: Sequence[Any]) -> tuple[Array, ...]:
        """Check residuals that are arguments, which may be missing or replaced."""
        known = self.structure
        missing = [
            known.path(place)
            for x, place in zip(residuals, known.places, strict=True)
            if place is not None and _is_mark(x)
        ]
        if missing:
            raise errors.ArgumentError(
                f"{self} needs arguments that were not saveable: {', '.join(missing)}. Restore "
                "them before: pull_back.args_res[i] = ..., or pull_back.replace(args_res=[...])."
            )
        arrays = [opd.as_array(x) for x in residuals]
        for x, place in zip(arrays, known.places, strict=True):
            if place is not None and (x.shape, x.dtype) != (
                known.in_avals[place].shape,
                known.in_avals[place].dtype,
            ):
                raise errors.ArgumentError(
                    f"args_res of {self}: {known.path(place)} is of type {known.in_avals[place]}, "
                    f"but was restored by {x.aval}."
                )
        return tuple(arrays)

    def __repr__(self) -> str:
        return f"<pull-back of {self.structure}>"


def _direct(ct: Tangent, direction: Any, aval: av.ShapedArray) -> Any:
    """Return a gradient, or the mark that replaces it."""
    if isinstance(direction, DontWant):
        return DidntWant()
    if isinstance(direction, GradValue):
        return zero_tangent(aval.cotangent()) if ct is ZERO else ct
    if ct is not ZERO:
        direction.addupdate(ct)
    return GradRef()


tree.register_pytree_with_keys(
    PullBack,
    lambda x: (((tree.GetAttrKey("residuals"), x.residuals),), x.structure.bare()),
    lambda structure, children: PullBack(children[0], structure),
    lambda x: ((x.residuals,), x.structure.bare()),
)
