"""What the control-flow primitives share: staging functions of trees, and reshaping jaxprs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tinyjax import dtypes, tree, xla
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.calling import FlatFunction
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var, eval_jaxpr, subjaxprs
from tinyjax.core.primitive import Primitive
from tinyjax.core.staging import Staged, stage
from tinyjax.errors import CarryTypeError
from tinyjax.frames import describe_function
from tinyjax.primitives.elementwise import convert_element_type
from tinyjax.tree import PyTreeDef

T = TypeVar("T")
P = TypeVar("P")


def stage_function(
    fun: Callable[..., Any], in_tree: PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[Staged, PyTreeDef]:
    """Stage a user's function of trees; ``in_tree`` is the structure of ``(args, kwargs)``."""
    flat = FlatFunction(fun, in_tree)
    staged = stage(flat, avals, fun)
    return staged, flat.out_tree


def evaluate_compiled(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Evaluate a loop as a compiled program of one equation."""
    binders = tuple([Var(x.aval) for x in args])
    avals = primitive.rules.abstract_eval([v.aval for v in binders], params)
    outs = tuple([Var(aval) for aval in avals])
    jaxpr = Jaxpr(binders, (JaxprEqn(primitive, binders, params, outs),), outs)
    return xla.executable_for(jaxpr, primitive.name)(args)


def close_over(staged: Sequence[Staged]) -> tuple[list[Jaxpr], list[Array]]:
    """Give several jaxprs the same first parameters: the union of what they close over.

    Returns:
        The jaxprs, each with all constants first, and the constants.
    """
    consts: dict[int, Array] = {id(c): c for s in staged for c in s.consts}
    jaxprs = []
    for s in staged:
        own = {id(c): v for c, v in zip(s.consts, s.jaxpr.in_binders, strict=False)}
        binders = [own.get(key) or Var(value.aval) for key, value in consts.items()]
        rest = s.jaxpr.in_binders[len(s.consts) :]
        jaxprs.append(Jaxpr((*binders, *rest), s.jaxpr.eqns, s.jaxpr.outs))
    return jaxprs, list(consts.values())


def rearrange(jaxpr: Jaxpr, inputs: Sequence[int], outputs: Sequence[int] | None = None) -> Jaxpr:
    """The same program with its parameters and results in another order, or fewer results."""
    outs = jaxpr.outs if outputs is None else tuple([jaxpr.outs[i] for i in outputs])
    return Jaxpr(tuple([jaxpr.in_binders[i] for i in inputs]), jaxpr.eqns, outs)


def convert_outputs(jaxpr: Jaxpr, convert: Callable[[list[Array]], Sequence[Array]]) -> Jaxpr:
    """A program followed by something more, which adds no constants but scalars."""
    staged = stage(lambda *args: convert(eval_jaxpr(jaxpr, args)), jaxpr.in_avals)
    assert not staged.consts, "nothing but the program's own values takes part"
    return staged.jaxpr


def convert_all(values: Sequence[Array], avals: Sequence[ShapedArray]) -> list[Array]:
    """Convert arrays to the dtypes, and the weakness, of types of the same shapes."""
    return [
        convert_element_type(x, aval.dtype, aval.weak_type)
        for x, aval in zip(values, avals, strict=True)
    ]


def same(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    """Whether two lists of types are equal but for weakness."""
    return [x.strip_weak() for x in a] == [x.strip_weak() for x in b]


def split(values: Sequence[T], *sizes: int) -> list[list[T]]:
    """Cut a sequence into pieces of the given sizes, and what is left."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(values[start : start + size]))
        start += size
    pieces.append(list(values[start:]))
    return pieces


def at_front(batched: Sequence[bool]) -> tuple[int | None, ...]:
    """The batch axes of values that are batched along their first axis, or not at all."""
    return tuple([0 if b else None for b in batched])


def paths(treedef: PyTreeDef, name: str) -> list[str]:
    """The path of every leaf of a structure, for messages."""
    numbered = tree.unflatten(treedef, range(treedef.num_leaves))
    return [tree.path_str(name, path) for path, _ in tree.leaves_with_path(numbered)]


def contains(jaxpr: Jaxpr, primitive: Primitive[Any]) -> bool:
    """Whether a program, or one inside it, has an equation of this primitive."""

    def find() -> bool:
        return any(
            eqn.primitive is primitive
            or any(contains(inner, primitive) for inner in subjaxprs(eqn.params))
            for eqn in jaxpr.eqns
        )

    return jaxpr.derive(("contains", primitive), find)


def depends(jaxpr: Jaxpr, given: Sequence[bool]) -> tuple[bool, ...]:
    """Which results depend on the parameters that are marked."""
    marked = {v for v, mark in zip(jaxpr.in_binders, given, strict=True) if mark}
    for eqn in jaxpr.eqns:
        if any(x in marked for x in eqn.inputs):
            marked.update(eqn.out_binders)
    return tuple([x in marked for x in jaxpr.outs])


def fixed_point(
    start: Sequence[bool], turn: Callable[[tuple[bool, ...]], Sequence[bool]]
) -> tuple[bool, ...]:
    """Grow a set of carried values until a turn of the loop adds none.

    What has a tangent, or a batch axis, after one turn has it in the next. Every round but the last
    adds a value, and usually the first finds all.
    """
    current = tuple(start)
    while True:
        after = turn(current)
        grown = tuple([a or b for a, b in zip(current, after, strict=True)])
        if grown == current:
            return current
        current = grown


def stabilise(jaxpr: Jaxpr, num_consts: int, num_carry: int) -> Jaxpr:
    """See that a loop's carry keeps its type, of which transformations may change the weakness."""
    before = jaxpr.in_avals[num_consts : num_consts + num_carry]
    if before == jaxpr.out_avals[:num_carry]:
        return jaxpr
    return convert_outputs(
        jaxpr, lambda outs: [*convert_all(outs[:num_carry], before), *outs[num_carry:]]
    )


def match_carry(
    name: str,
    fun: Callable[..., Any],
    carry: list[Array],
    carry_tree: PyTreeDef,
    stage_body: Callable[[Sequence[ShapedArray]], tuple[Staged, PyTreeDef]],
) -> tuple[list[Array], Staged]:
    """Stage a loop's body so that the carry comes out as it went in.

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
    while True:
        before = [x.aval for x in carry]
        staged, new_tree = stage_body(before)
        if new_tree != carry_tree:
            raise CarryTypeError(
                f"the carry of {name} must keep its structure, but {describe_function(fun)} was "
                f"given {carry_tree} and returned {new_tree}."
            )
        after = staged.jaxpr.out_avals[: len(carry)]
        promoted = [_promoted(a, b) for a, b in zip(before, after, strict=True)]
        if same(promoted, before):
            break
        carry = convert_all(carry, promoted)
    if promoted != before:
        # Only weakness changes. The function is not run again: a nest of loops that each start from
        # a Python number would run the innermost as often as two to the depth.
        carry = convert_all(carry, promoted)
        staged = _retype(staged, promoted)
    for path, a, b in zip(paths(carry_tree, "carry"), before, after, strict=True):
        if (a.shape, a.dtype) == (b.shape, b.dtype):
            continue
        advice = (
            f"Return it as .astype({a.dtype.name!r}), or start with an array of dtype "
            f"{b.dtype.name}."
            if a.shape == b.shape
            else "Return an array of the shape it had, or start with one of the new shape."
        )
        raise CarryTypeError(
            f"the carry of {name} must keep its type, but {describe_function(fun)} changes {path} "
            f"from {a} to {b}. {advice}"
        )
    jaxpr = stabilise(staged.jaxpr, len(staged.consts), len(carry))
    return carry, Staged(jaxpr, staged.consts)


def _retype(staged: Staged, carry: Sequence[ShapedArray]) -> Staged:
    """The same program for a carry of other weakness."""
    jaxpr, n = staged.jaxpr, len(staged.consts)
    avals = [*jaxpr.in_avals[:n], *carry, *jaxpr.in_avals[n + len(carry) :]]
    again = stage(lambda *args: eval_jaxpr(jaxpr, args), avals)
    return Staged(again.jaxpr, staged.consts)


def _promoted(before: ShapedArray, after: ShapedArray) -> ShapedArray:
    """What a carried value should have been at the start, if it was weakly typed."""
    if not before.weak_type or before.shape != after.shape or before == after:
        return before
    dtype, weak = dtypes.promote([(a.dtype, a.weak_type) for a in (before, after)])
    return ShapedArray(before.shape, dtype, weak)
