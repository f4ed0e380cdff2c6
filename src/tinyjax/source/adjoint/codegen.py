"""From programs in static single assignment form back to Python."""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.core.values import Array, operands as opd
from tinyjax.source.adjoint import cotangents, differentiate
from tinyjax.source.adjoint.kinds import FLOAT, kind_of
from tinyjax.source.adjoint.rules.registry import length, rule_of
from tinyjax.source.ir import find, program as ir, runtime
from tinyjax.source.text import names, structure


def _is_scalar(function: Any) -> bool:
    rule = rule_of(function)
    return rule is not None and rule.scalar


def _count(call: ir.Call) -> int | None:
    """Return the number of results of a call to one of tinyjax's own functions, if known."""
    function = ir.value_of(call.function)
    home, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if home == _CALLEES and name == "pull":
        return 2
    if home == _CALLEES and name == "pull_back" and isinstance(call.args[0], ir.Constant):
        count = length(call.args[0].value)
        return count if count == ir.value_of(call.args[2]) else None
    is_rule = home.startswith("tinyjax.source.") and name.endswith("_adjoint")
    return length(function) if is_rule else None


#: The module of what adjoints call (``activity.Callees``).
_CALLEES: Final = "tinyjax.source.adjoint.pullbacks"
_ADDS: Final = frozenset((operator.add, cotangents.accumulate))
CONVENTIONS: Final = names.Conventions(_is_scalar, _ADDS, _count)


def scope_of(fun: FunctionType) -> Callable[[str], Any]:
    """Return a lookup of names in the module where a function was defined."""
    return lambda name: fun.__globals__.get(name, getattr(builtins, name, None))


def compile_adjoint(adjoint: differentiate.Adjoint, fun: FunctionType) -> FunctionType:
    """Compile both halves of an adjoint; give the forward one."""
    name, pullback = adjoint.pullback.name, adjoint.pullback
    conventions = _conventions(adjoint)
    back = _compiled(pullback, {}, fun, {}, conventions)
    return _compiled(adjoint.forward, {name: pullback}, fun, {name: back}, conventions)


def _conventions(adjoint: differentiate.Adjoint) -> names.Conventions:
    return attrs.evolve(CONVENTIONS, is_ordered=adjoint.is_ordered)


def _compiled(
    program: ir.IR,
    names: dict[str, Any],
    fun: FunctionType,
    functions: dict[str, Any],
    conventions: names.Conventions,
) -> FunctionType:
    text, namespace, lines = structure.write(program, scope_of(fun), names, conventions)
    code = fun.__code__
    origin = find.Origin(code.co_filename, code.co_qualname, code.co_firstlineno, lines)
    scope = {"_role": "interprets", **namespace, **functions}  # see ``frames.Role``
    function = find.run_text(program.name, text, scope, origin)[program.name]
    assert isinstance(function, FunctionType), f"{program.name} is no function in\n{text}"
    return function


def adjoint_text(adjoint: differentiate.Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """Write both halves of an adjoint as a module, annotated for arguments such as these."""
    scope = scope_of(fun)
    kinds = names.annotated(
        adjoint.forward, [names.ANY, *map(names.type_of, values)], "", CONVENTIONS
    )
    value = names.joined([kinds.type_of(items[0]) for items in _returned(kinds.ir)])
    result = _cotangents(adjoint, fun, values)
    conventions = _conventions(adjoint)
    back = names.annotated(adjoint.pullback, [_stack_type(kinds), value], result, conventions)
    pullback, namespace, _ = structure.write(adjoint.pullback, scope, {}, conventions, back)
    annotations = names.Annotations(kinds.ir, kinds.types, f"tuple[{value}, Pullback]")
    own = {adjoint.pullback.name: adjoint.pullback}
    forward, more, _ = structure.write(adjoint.forward, scope, own, conventions, annotations)
    del more[adjoint.pullback.name]
    body = f"{pullback}\n\n{forward}"
    return f"{names.header({**namespace, **more}, body, fun)}\n\n\n{body}"


def _returned(program: ir.IR) -> list[tuple[ir.Atom, ...]]:
    """Return the items of the tuples that a program returns."""
    statements = program.statements
    tuples = {s.variable: s.call.args for s in statements if s.function is runtime.make_tuple}
    values = [block.returned for block in program.blocks]
    return [tuples[v] for v in values if isinstance(v, ir.Variable) and v in tuples]


def _cotangents(adjoint: differentiate.Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """Return the type of the pullback's result."""
    returned = _returned(adjoint.pullback)
    if len(returned) != 1:
        return names.ANY
    types = [_cotangent(*pair) for pair in zip(returned[0], (fun, *values), strict=True)]
    return _tuple_of(types)


def _cotangent(atom: ir.Atom, argument: Any) -> str:
    """Return the type of the cotangent of an argument."""
    if isinstance(atom, ir.Constant) and atom.value is None:
        return "None"
    if kind_of(argument) is FLOAT:
        return "float"
    kind = names.type_of(argument)
    return names.ANY if kind == names.ANY else f"{kind} | None"


def _stack_type(forward: names.Annotations) -> str:
    """Return the type of the residuals of a program without branches."""
    if len(forward.ir.blocks) > 1:
        return names.ANY
    calls = forward.ir.calls
    ((_, back),) = _returned(forward.ir)
    stack = calls[back].args[1]
    if isinstance(stack, ir.Constant):
        return "tuple[()]"
    return _tuple_of([names.joined([forward.type_of(atom)]) for atom in calls[stack].args])


#: How long the type of a tuple may be.
_LONGEST: Final = 80


def _tuple_of(types: Sequence[str]) -> str:
    """Return the type of a tuple, in short where it has many items."""
    text = f"tuple[{', '.join(types)}]"
    return text if len(text) <= _LONGEST else "tuple[Any, ...]"


# Representative arguments of each kind

_OF_TYPE: Final[dict[Any, Any]] = {
    float: 1.0, int: 1, bool: True, complex: 1j, str: "", type(None): None,
    np.floating: np.float64(1), np.ndarray: np.ones(1), Array: opd.as_array(1.0),
}  # fmt: skip
_LISTS: Final = (list, Sequence, Iterable)


def sample_arguments(fun: FunctionType) -> tuple[Any, ...]:
    """Make an argument for each parameter by position that has no default.

    It has the type of the parameter's annotation, or is a float without a usable one.

    Raises:
        ArgumentError: it is annotated with a type that is not known here.
    """
    try:
        hints = get_type_hints(fun)
    except (NameError, AttributeError, TypeError):  # what only a type checker can look up
        hints = {}
    samples: list[Any] = []
    for name, parameter in inspect.signature(fun).parameters.items():
        by_position = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if parameter.default is not parameter.empty or not by_position:
            break
        try:
            samples.append(_sample(hints.get(name, Any)))
        except KeyError:
            raise errors.ArgumentError(
                f"the annotation of '{name}' of {frames.describe_function(fun)} does not tell what "
                f"it takes: {parameter.annotation}. Give arguments of the kinds that the "
                "derivative is for."
            ) from None
    return tuple(samples)


def _sample(hint: Any) -> Any:
    if hint is Any or isinstance(hint, TypeVar):
        return 1.0
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return _sample(inner[0])
    if origin in _LISTS:
        return [_sample(x) for x in inner[:1] or (Any,)]
    if origin is tuple:
        return tuple([_sample(x) for x in inner or (Any,) if x is not Ellipsis])
    return _OF_TYPE[origin]
