"""Staging of loop bodies: the carry keeps its type, and includes the state of extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults
from tinyjax.core.control_flow.common import (
    Body,
    Observer,
    convert_all,
    observer_of,
    stage_function,
)
from tinyjax.core.tracing import calling, staging
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, Var, eval_jaxpr, zero_literal
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.staging import with_state
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import check_number, is_weak
from tinyjax.tree.mismatches import with_article
from tinyjax.tree.treedef import first_difference

T = TypeVar("T")


def stage_loop(
    primitive: Primitive[Any],
    name: str,
    fun: Callable[..., Any],
    carry: list[Array],
    carry_tree: tree.PyTreeDef,
    stage_body: Callable[[Sequence[av.ShapedArray]], tuple[staging.Staged, tree.PyTreeDef]],
    total: int | None = None,
) -> Loop:
    """Stage a loop of a user's function.

    Args:
        primitive: the loop's primitive.
        name: the loop's name, for messages.
        fun: the user's function, for messages.
        carry: the first carry.
        carry_tree: its structure.
        stage_body: as of ``match_carry``.
        total: the number of iterations, where it is known.
    """
    observer = observer_of(primitive, name, fun, total)
    with nullcontext() if observer is None else observer.while_staging():
        carry, body = match_carry(name, fun, carry, carry_tree, stage_body)
    return Loop(name, body, carry, observer)


class Loop:
    """A loop whose carry ends with the state of extensions that the body changes.

    Attributes:
        body: the program, of constants, carry and inputs.
        carry: the first carry.
        observer: the observer of its run.
    """

    __slots__ = ("_cells", "_name", "_num_carry", "body", "carry", "observer")

    def __init__(
        self, name: str, body: staging.Staged, carry: Sequence[Array], observer: Observer | None
    ) -> None:
        self._name, self._num_carry = name, len(carry)
        self.observer: Observer | None = observer
        self._cells: Sequence[staging.MutableCell] = ()
        self.body: staging.Staged = body
        self.carry: Sequence[Array] = carry
        if body.cells_in:
            self._cells = [kept for kept in body.cells_in if kept in body.cells_out]
            self.body = self._with_kept(body)
            self.carry = [*carry, *[kept.contents for kept in self._cells]]

    def _with_kept(self, staged: staging.Staged) -> staging.Staged:
        """Add modified state to a program's carry; other state becomes constants."""
        if not (staged.cells_in or self._cells):
            return staged
        read = [kept for kept in staged.cells_in if kept not in self._cells]
        left = self._cells if staged.cells_out else []
        jaxpr = with_state(staged, [*read, *self._cells], left)
        body = LoopBody(jaxpr, len(staged.consts), self._num_carry)
        n = len(jaxpr.in_binders) - len(read) - len(self._cells)
        own = body.operands(jaxpr.in_binders[:n])
        state = LoopOperands(jaxpr.in_binders[n:][: len(read)], jaxpr.in_binders[n + len(read) :])
        results = body.results(jaxpr.outs[: staged.num_results])
        results += LoopResults(jaxpr.outs[staged.num_results :])
        jaxpr = Jaxpr((own + state).flat, jaxpr.eqns, results.flat)
        all_consts = (*staged.consts, *[kept.contents for kept in read])
        return staging.Staged(jaxpr, all_consts, staged.hooks)

    def stage_condition(
        self, fun: Callable[..., Any], in_tree: tree.PyTreeDef, api_name: str
    ) -> tuple[staging.Staged, tree.PyTreeDef]:
        """Stage a condition on the user's carry, and return the structure of its result, too."""
        avals = [x.aval for x in self.carry[: self._num_carry]]
        with nullcontext() if self.observer is None else self.observer.while_staging():
            return stage_function(fun, in_tree, avals, api_name)

    def condition(self, staged: staging.Staged) -> staging.Staged:
        """Let a staged condition take the carry of the body, before the loop runs."""
        condition = self._with_kept(staged)
        self._begin(condition, (*condition.consts, *self.carry), (), repeated=True)
        return condition

    def _begin(
        self,
        staged: staging.Staged,
        operands: Sequence[Array],
        carried: Sequence[Atom],
        repeated: bool,
    ) -> None:
        for note in staged.hooks:
            if repeated:
                constants = staged.jaxpr.in_binders[: len(staged.consts)]
                note.repeats(self._name, constants, carried)
            note.before([(note, staged.jaxpr, operands)])

    def run(
        self,
        bind: Callable[[Sequence[Array]], Sequence[Array]],
        inputs: Sequence[Array] = (),
        iterations: int | None = None,
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        """Run it, and return the user's last carry, and the outputs.

        Args:
            bind: runs it, given the constants, the carry and the inputs.
            inputs: the inputs.
            iterations: the number of iterations, if it is known.
        """
        body, n = self.body, len(self.carry)
        operands = (*body.consts, *self.carry, *inputs)
        if not body.hooks or iterations == 0:
            outs = bind(operands)
        else:
            carried = body.jaxpr.outs[:n]
            self._begin(body, operands, carried, repeated=iterations != 1)
            outs = bind(operands)
            left = [*zip(self._cells, outs[self._num_carry : n], strict=True)]
            for note in body.hooks:
                note.after(carried, outs[:n])
                note.keep(left, ())
        return outs[: self._num_carry], outs[n:]


# Carries


#: A message names at most so many values of the carry whose types change.
_MOST_SHOWN: Final = 8


class _CarryTypes:
    """The types of one loop's carry.

    Attributes:
        first: its initial types.
        fixpoint: its fixed point.
        inside: the types of the loops in its body, in order.
    """

    __slots__ = ("first", "fixpoint", "inside")

    def __init__(
        self,
        first: Sequence[av.ShapedArray],
        fixpoint: list[av.ShapedArray],
        inside: Sequence[_CarryTypes],
    ) -> None:
        self.first, self.fixpoint, self.inside = first, fixpoint, inside


class _StagingPass:
    """One staging of a loop's body.

    The body of a loop whose carry starts from a Python number may have to be staged twice. In a
    nest of ``n`` such loops the innermost body would be staged ``2**n`` times. So the first staging
    is for types only: in it, a loop whose carry changes is not staged again, but gets a placeholder
    of the right types for its body. The second staging starts each loop with the types from the
    first one.

    Attributes:
        only_types: whether only the types of the results matter.
        previous: the types of the loops in the body by the staging before.
        inner: their types by this one.
        used_placeholder: whether an inner loop has a placeholder.
    """

    __slots__ = ("inner", "only_types", "previous", "used_placeholder")

    def __init__(self, only_types: bool, previous: Sequence[_CarryTypes]) -> None:
        self.only_types, self.previous = only_types, previous
        self.inner: list[_CarryTypes] = []
        self.used_placeholder: bool = False

    def run(
        self,
        stage_body: Callable[[Sequence[av.ShapedArray]], staging.Staged],
        types: Sequence[av.ShapedArray],
    ) -> staging.Staged:
        """Stage the body for a carry of these types."""
        token = _current_pass.set(self)
        before = staging.placeholders.get()
        try:
            return stage_body(types)
        finally:
            self.used_placeholder = staging.placeholders.get() != before
            _current_pass.reset(token)

    def expected_types(self, first: Sequence[av.ShapedArray]) -> _CarryTypes | None:
        """Return the types of the next inner loop by the staging before, if it is the same."""
        place = len(self.inner)
        if place >= len(self.previous):
            return None
        previous = self.previous[place]
        return previous if av.same_types(previous.first, first) else None


_current_pass: ContextVar[_StagingPass | None] = ContextVar("tinyjax_loop_staging", default=None)


def _placeholder(staged: staging.Staged, carry: Sequence[av.ShapedArray]) -> staging.Staged:
    """Return a body that keeps a carry of the given types, and has the other results' types."""
    staging.placeholders.set(staging.placeholders.get() + 1)
    jaxpr, n, m = staged.jaxpr, len(staged.consts), len(carry)
    binders = (*jaxpr.in_binders[:n], *map(Var, carry), *jaxpr.in_binders[n + m :])
    outs = tuple([zero_literal(aval) for aval in (*carry, *jaxpr.out_avals[m:])])
    return attrs.evolve(staged, jaxpr=Jaxpr(binders, (), outs))


def match_carry(
    name: str,
    fun: Callable[..., Any],
    carry: list[Array],
    carry_tree: tree.PyTreeDef,
    stage_body: Callable[[Sequence[av.ShapedArray]], tuple[staging.Staged, tree.PyTreeDef]],
) -> tuple[list[Array], staging.Staged]:
    """Stage a loop's body so that the new carry has the types of the old one.

    A first carry that is weakly typed (a Python number) is promoted to the type that the body gives
    it; anything else that changes is an error.

    Args:
        name: the loop's name, for messages.
        fun: the user's function, for messages.
        carry: the first carry.
        carry_tree: its structure.
        stage_body: stages the body for a carry of given types, and gives the structure of the new
            carry, which is the first part of the results.

    Returns:
        The first carry and the staged body.

    Raises:
        CarryTypeError: the body returns a carry of another structure or type.
    """

    def stage(types: Sequence[av.ShapedArray]) -> staging.Staged:
        staged, new_tree = stage_body(types)
        if new_tree != carry_tree:
            raise _changed_structure(name, fun, carry_tree, new_tree)
        return staged

    first = [x.aval.with_dtype(x.dtype, is_weak(x)) for x in carry]
    # numbers of 64 bits where ints have 32 keep them unless the body gives another type
    wide = [is_weak(x) and not x.weak_type for x in carry]
    staged, types = _stable_types(first, wide, stage)
    for x, aval in zip(carry, types, strict=True):
        check_number(x, aval.dtype)
    carry = convert_all(carry, types)
    after = staged.jaxpr.out_avals[: len(carry)]
    promoted = [*map(_promoted, types, after, wide)]
    if promoted != types:
        # Only weakness changes. The function is not run again: a nest of loops that each start from
        # a Python number would run the innermost as often as two to the depth.
        carry = convert_all(carry, promoted)
        staged = _retype(staged, promoted)
    _check_types(name, fun, carry_tree, types, after)
    stable = LoopBody(staged.jaxpr, len(staged.consts), len(carry)).stabilised()
    return carry, attrs.evolve(staged, jaxpr=stable.jaxpr)


def _stable_types(
    first: list[av.ShapedArray],
    wide: Sequence[bool],
    stage: Callable[[Sequence[av.ShapedArray]], staging.Staged],
) -> tuple[staging.Staged, list[av.ShapedArray]]:
    """Stage a body until its carry keeps its types but for weakness, and return these.

    Args:
        first: the types of the first carry.
        wide: which parts are numbers of 64 bits where ints have 32.
        stage: stages the body for a carry of given types.
    """
    outer = _current_pass.get()
    known = None if outer is None else outer.expected_types(first)
    types = first if known is None else known.fixpoint
    inside: Sequence[_CarryTypes] = () if known is None else known.inside
    nested = outer is not None and outer.only_types
    only_types = nested or (known is None and any(aval.weak_type for aval in first))
    while True:
        this = _StagingPass(only_types, inside)
        try:
            staged = this.run(stage, types)
        except Exception:  # perhaps only because of a placeholder
            if nested or not this.used_placeholder:
                raise
            only_types, inside = False, ()
            continue
        inside, after = this.inner, staged.jaxpr.out_avals[: len(first)]
        if known is not None:
            joined = [*map(_promoted, first, after, wide)]
            if not (av.same_types(joined, types) and av.same_types(after, types)):
                types, known = first, None
                continue
        promoted = [*map(_promoted, types, after, wide)]
        narrowed = any(w and aval.weak_type for w, aval in zip(wide, types, strict=True))
        if not narrowed and av.same_types(promoted, types):
            if nested or not this.used_placeholder:
                break
        else:
            types = promoted
            if nested:
                staged = _placeholder(staged, types)
                break
        only_types = False
    if outer is not None:
        outer.inner.append(_CarryTypes(first, types, inside))
    return staged, types


def _user_carry(name: str, fun: Callable[..., Any]) -> tuple[str, Callable[..., Any], str, str]:
    """Return the loop and the body that the user wrote, the carry's name there, and its path."""
    if isinstance(fun, Body):
        is_counted = fun.loop == "fori_loop"  # its body takes the counter first
        return fun.loop, fun.fun, calling.parameter_name(fun.fun, is_counted), f"carry[{fun.place}]"
    return name, fun, calling.parameter_name(fun, 0), "carry"


def _changed_structure(
    name: str, fun: Callable[..., Any], in_tree: tree.PyTreeDef, out_tree: tree.PyTreeDef
) -> errors.CarryTypeError:
    if isinstance(fun, Body):
        in_tree, out_tree = (x.children()[fun.place] for x in (in_tree, out_tree))
    name, fun, carry, _ = _user_carry(name, fun)
    path, before, after = first_difference(in_tree, out_tree, carry)
    return errors.CarryTypeError(
        f"{name} body function carry input and carry output must have the same pytree structure, "
        f"but they differ:\n\nThe input carry {'component ' * (path != carry)}{path} is "
        f"{with_article(before)} but the corresponding component of the carry output is "
        f"{with_article(after)}.\n\nThe body function is "
        f"{frames.describe_function(fun)}. Make the containers, their keys and lengths equal."
    )


def _check_types(
    name: str,
    fun: Callable[..., Any],
    carry_tree: tree.PyTreeDef,
    in_avals: Sequence[av.ShapedArray],
    out_avals: Sequence[av.ShapedArray],
) -> None:
    changed = [
        (i, a, b)
        for i, (a, b) in enumerate(zip(in_avals, out_avals, strict=True))
        if a is not b and ((a.shape, a.dtype) != (b.shape, b.dtype) or not av.lie_alike(a, b))
    ]
    if not changed:
        return
    changes = [(calling.leaf_path("carry", carry_tree, i), a, b) for i, a, b in changed]
    name, fun, carry, place = _user_carry(name, fun)
    lines = [
        f"the input carry {'component ' * (path != place)}{path.replace(place, carry, 1)} has type "
        f"{a} but the corresponding output carry component has type {b}, so {_mismatch(a, b)}"
        for path, a, b in changes[:_MOST_SHOWN]
    ]
    if len(changes) > len(lines):
        lines.append(f"and {len(changes) - len(lines)} more")
    shown = f"T{lines[0][1:]}" if len(lines) == 1 else "  * " + ";\n  * ".join(lines)
    _, before, after = changes[0]
    advice = (
        "Return it divided as it was, or divide it so at the start: tinyjax.reshard(x, P(...))."
        if (before.shape, before.dtype) == (after.shape, after.dtype)
        else f"Return it as .astype({before.dtype.name!r}), or start with an array of dtype "
        f"{after.dtype.name}."
        if before.shape == after.shape
        else "Return an array of the shape it had, or start with one of the new shape."
    )
    if after.dtype.name in ("float64", "complex128") and before.dtype != after.dtype:
        advice += (
            " NumPy makes float64 of what has no dtype, np.ones(3) and np.sqrt(2): name a dtype, "
            "make a number Python's by float(...), or switch 64-bit types off (jax_enable_x64)."
        )
    raise errors.CarryTypeError(
        f"{name} body function carry input and carry output must have equal types, but they "
        f"differ:\n\n{shown}.\n\nThe body function is {frames.describe_function(fun)}. {advice}"
    )


def _mismatch(a: av.ShapedArray, b: av.ShapedArray) -> str:
    parts = [("dtypes", a.dtype, b.dtype), ("shapes", a.shape, b.shape)]
    differing = [f"the {what} do not match" for what, one, other in parts if one != other]
    return ", and ".join(differing) or "they are divided in two ways"


def _retype(staged: staging.Staged, carry: Sequence[av.ShapedArray]) -> staging.Staged:
    """Return the program for a carry of other weakness; other results are as weak as before."""
    jaxpr, n = staged.jaxpr, len(staged.consts)
    avals = [*jaxpr.in_avals[:n], *carry, *jaxpr.in_avals[n + len(carry) :]]
    m = len(carry)

    def retyped(*args: Array) -> list[Array]:
        outs = eval_jaxpr(jaxpr, args)
        return [*outs[:m], *convert_all(outs[m:], jaxpr.out_avals[m:])]

    again = staging.stage(retyped, avals)
    hooks = tuple([hook.moved(jaxpr, again.jaxpr) for hook in staged.hooks])
    return attrs.evolve(staged, jaxpr=again.jaxpr, hooks=hooks)


def _promoted(
    before: av.ShapedArray, after: av.ShapedArray, is_wide: bool = False
) -> av.ShapedArray:
    """Return a carried value with its promoted type, if it was weakly typed at the start."""
    if not before.weak_type or before.shape != after.shape or (before == after and not is_wide):
        return before
    dtype, weak = dtypes.promote([(a.dtype, a.weak_type) for a in (before, after)])
    if is_wide and dtype == before.dtype:
        weak = False
    # as in JAX, what begins as the number 0 and becomes a float is a float for good
    return before.with_dtype(dtype, weak and dtype == before.dtype)
