"""Primitives, their rules, and the arguments of rules: lists of operands and of tangents.

A primitive is a name, a class of parameters, and the rules registered on it. Rules all have one
shape: operands first, as a sequence, then the parameters; results come as a sequence too. The rules
of the built-in transformations are typed by the primitive's parameter class. A third party's
transformation brings its own typed ``RuleKey``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import compress
from math import prod
from operator import is_not, not_
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NoReturn,
    TypeAlias,
    TypeVar,
    overload,
)

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames, lazy, records
from tinyjax._base.pickling import PickledByName
from tinyjax.core import devices
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import rule_checks
from tinyjax.core.tracing.kernels import KernelCache, forget_kernels
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray

P = TypeVar("P")
T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")


class ZeroTangent(Enum):
    """The tangent or cotangent that is known to be zero, and is therefore never computed."""

    ZERO = 0


ZERO: Final = ZeroTangent.ZERO
Tangent: TypeAlias = Array | Literal[ZeroTangent.ZERO]


@attrs.frozen(eq=False, repr=False)
class ActiveMask:
    """The mask of examples that execute a branch or iteration which is computed for all.

    Attributes:
        mask: a bool for each example.
        batched: the batched programs for these examples, by program and mapped axes. They close
            over the mask, so they are not kept on the programs.
    """

    mask: Array
    batched: dict[Hashable, Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False, repr=False)
class MappedAxis(records.Record):
    """The axis that ``vmap`` maps over.

    Attributes:
        size: its size.
        name: its name for collectives.
        of_basis: whether its examples are the directions of a Jacobian, not examples of the user.
        last: whether it is the last axis, as the columns of a Jacobian are. Rules then leave it
            last instead of moving it to the front. So nothing is transposed in the end, and the
            innermost loops of all operations run over one axis.
        active: the mask of examples that execute this code; None where all do, or it makes no
            difference.
        where: what types say of where its examples are, for an extension (``ShapedArray.where``).
    """

    size: int
    name: Hashable | None = None
    of_basis: bool = False
    last: bool = attrs.field(default=False, kw_only=True)
    active: ActiveMask | None = attrs.field(default=None, eq=False)
    where: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    #: Whether Python functions are called for each example by itself.
    is_separate: ClassVar[bool] = False

    @property
    def in_step(self) -> bool:
        """Return whether all examples along it reach a collective together, or raise an error."""
        return False


@attrs.frozen(eq=False, repr=False)
class UndefinedPrimal(records.Printed):
    """An operand without a value: one that a transposed primitive is linear in.

    A transpose rule returns a cotangent for each of these operands, and None for the others.

    Attributes:
        aval: the type that the operand has, and its cotangent must have.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> from tinyjax.core.primitives import elementwise as ew
        >>> cotangent = jnp.float32(3.0)
        >>> operand = extend.UndefinedPrimal(cotangent.aval)
        >>> ew.neg.rules.transpose([cotangent], [operand], extend.NO_PARAMS)
        (Array(-3., dtype=float32),)
    """

    aval: ShapedArray


# What rules take and return. Operands come first, as a sequence, then the parameters.

Hosts: TypeAlias = Sequence[dtypes.HostArray]
HostResults: TypeAlias = Sequence[dtypes.HostResult]
Arrays: TypeAlias = Sequence[Array]
Avals: TypeAlias = Sequence[ShapedArray]
Tangents: TypeAlias = Sequence[Tangent]
Operands: TypeAlias = Sequence[Array | UndefinedPrimal]
Cotangents: TypeAlias = Sequence[Tangent | None]
BatchAxes: TypeAlias = Sequence[int | None]
JvpResult: TypeAlias = tuple[Arrays, Tangents]
LinearizeResult: TypeAlias = tuple[Arrays, Sequence[bool], Callable[[Arrays], Arrays]]
BatchResult: TypeAlias = tuple[Arrays, BatchAxes]

#: NumPy arrays in, NumPy arrays out: eager evaluation, and the oracle for the compiled one.
ImplRule = Callable[[Hosts, P], HostResults]
#: Evaluates operands of given types: gives the one result, or a list or tuple of several.
Kernel = Callable[..., Any]


@attrs.frozen(eq=False, repr=False)
class HostCall(records.Printed):
    """NumPy's implementation for operands of given types, with its properties for a compiler.

    Attributes:
        call: takes the operands as arrays, and gives the one result, or a list or tuple of several.
        text: the source that replaces a call, with braces for the operands.
        numbers: the source for Python with NumPy's numbers in place of the braces, if all operands
            are real and of one element: numbers are added ten times as fast as arrays.
        fresh: whether the result is in new memory: no part of an operand.
        repeats: where the result only repeats the elements of the operand, in their order, the
            shape that this has to have for NumPy to broadcast it.
        element: where the one result is an element of the operand, its index.
        undoes: the name of a primitive that this one undoes. Applied to that one's result, it
            returns that one's operand, if the types are the same.

    Example:
        >>> import numpy as np
        >>> from tinyjax import extend
        >>> call = extend.HostCall(np.add, text="({} + {})", fresh=True)
        >>> call.call(np.ones(2), np.ones(2)), call.text
        (array([2., 2.]), '({} + {})')
    """

    call: Kernel
    text: str | None = None
    numbers: str | None = None
    fresh: bool = False
    repeats: tuple[int, ...] | None = None
    element: tuple[int, ...] | None = None
    undoes: str = ""


#: From types of the operands to NumPy's implementation, or the function alone; None where ``impl``
#: is called each time, because equal values of the parameters, such as 0.0 and -0.0, differ.
HostRule = Callable[[Avals, P], HostCall | Kernel | None]
#: Values in, values out: evaluation of primitives that are themselves programs.
EvaluateRule = Callable[[Arrays, P], Arrays]
#: Types of the operands to types of the results; raises where the operands do not fit.
AbstractEvalRule = Callable[[Avals, P], Avals]
#: Writes StableHLO and returns the results.
LoweringRule = Callable[[Lowering, Values, P], Values]
#: Primals and tangents to primals and tangents. Not all the tangents are ``ZERO``.
JvpRule = Callable[[Arrays, Tangents, P], JvpResult]
#: Primals, and which have tangents, to primals, which results have tangents, and the tangent map.
#: The map takes and returns the tangents that are there, and only those.
LinearizeRule = Callable[[Arrays, Sequence[bool], P], LinearizeResult]
#: Cotangents of the results, not all of them ``ZERO``, to cotangents of the operands. An operand
#: the primitive is linear in comes undefined; the others come as values and get None.
TransposeRule = Callable[[Tangents, Operands, P], Cotangents]
#: Applies the transpose rule of an equation to cotangents and operands.
ApplyTranspose: TypeAlias = Callable[[Any, Tangents, Operands], Cotangents]
#: The mapped axis, operands and their batch axes to results and theirs; of a collective too.
BatchRule = Callable[[MappedAxis, Arrays, BatchAxes, P], BatchResult]

#: The parameters of an equation by name, as interpreters written for JAX take them.
ParamDict: TypeAlias = dict[str, Any]


#: Of these there are many in parameters, and none holds anything.
_PLAIN: Final = frozenset((bool, int, str, type(None)))


class Params(records.Record):
    """Base for parameter classes.

    Example:
        >>> from tinyjax import extend
        >>> import attrs
        >>> @attrs.frozen(eq=False, repr=False)
        ... class ScaleParams(extend.Params):
        ...     factor: int
        >>> ScaleParams(2), ScaleParams(2) == ScaleParams(2), dict(ScaleParams(2))
        (ScaleParams(factor=2), True, {'factor': 2})
    """

    __slots__ = ()

    @property
    def held_objects(self) -> tuple[object, ...]:
        """The user's objects in the parameters, which no cache of the process may keep alive."""
        objects: tuple[object, ...] = ()
        for name in records.field_names(type(self)):
            value = getattr(self, name)
            for part in value if type(value) is tuple else (value,):
                if type(part) not in _PLAIN:
                    objects += getattr(part, "held_objects", ())
        return objects

    # As a mapping, so that ``bind(*operands, **params)`` and interpreters that read ``eqn.params``
    # as a dict work; an abstract class for it would slow down the loading of each class.

    def keys(self) -> tuple[str, ...]:
        """Return the names of the parameters.

        Example:
            >>> import attrs
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class ScaleParams(extend.Params):
            ...     factor: int
            >>> ScaleParams(2).keys()
            ('factor',)
        """
        return records.field_names(type(self))

    def values(self) -> tuple[Any, ...]:
        """Return the values of the parameters, in the order of their names.

        Example:
            >>> import attrs
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class ScaleParams(extend.Params):
            ...     factor: int
            >>> ScaleParams(2).values()
            (2,)
        """
        return tuple([self[name] for name in self.keys()])

    def items(self) -> tuple[tuple[str, Any], ...]:
        """Return the names with the values.

        Example:
            >>> import attrs
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class ScaleParams(extend.Params):
            ...     factor: int
            >>> ScaleParams(2).items()
            (('factor', 2),)
        """
        return tuple(zip(self.keys(), self.values(), strict=True))

    def copy(self) -> dict[str, Any]:
        """Return the names with the values, as a dictionary that can be changed.

        Example:
            >>> import attrs
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class ScaleParams(extend.Params):
            ...     factor: int
            >>> ScaleParams(2).copy()
            {'factor': 2}
        """
        return dict(self.items())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a parameter, or ``default`` where there is none of that name.

        Example:
            >>> import attrs
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class ScaleParams(extend.Params):
            ...     factor: int
            >>> ScaleParams(2).get("factor"), ScaleParams(2).get("offset", 0)
            (2, 0)
        """
        return self[name] if name in self.keys() else default

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


@attrs.frozen(repr=False, eq=False)
class NoParams(Params):
    """The parameters of a primitive that has none; there is one such object, ``NO_PARAMS``.

    It is compared and hashed by identity, faster than by a generated method.

    Example:
        >>> from tinyjax import extend
        >>> extend.NoParams() is extend.NO_PARAMS
        True
    """

    if not TYPE_CHECKING:  # to checkers these are as Params declares them
        __eq__, __hash__ = object.__eq__, object.__hash__

    _only: ClassVar[list[NoParams]] = []

    def __new__(cls) -> NoParams:
        if not cls._only:
            cls._only.append(super().__new__(cls))
        return cls._only[0]


NO_PARAMS: Final = NoParams()


@attrs.frozen(eq=False, repr=False)
class RuleKey(records.Printed, PickledByName, Generic[R]):
    """A transformation's own kind of rule, of type ``R``; two keys are never the same.

    Primitives register rules under it by ``def_rule``, and ``Primitive.rule`` gives them back.

    Attributes:
        name: what messages call the rule, where a primitive lacks it.

    Example:
        >>> from collections.abc import Callable
        >>> from tinyjax.core.tracing.primitive import NoParams, Primitive, RuleKey
        >>> COST: RuleKey[Callable[[], int]] = RuleKey("cost")
        >>> double_p = Primitive("double", NoParams)
        >>> @double_p.def_rule(COST)
        ... def double_cost() -> int:
        ...     return 1
        >>> double_p.rule(COST)()
        1
    """

    name: str


#: The rule of a primitive that works element by element: says so.
ELEMENTWISE: Final[RuleKey[Callable[[], bool]]] = RuleKey("elementwise")

#: The rule of a primitive that is linear in some operands together: the places of these, or none
#: where it is in all.
LINEAR: Final[RuleKey[Callable[[], tuple[int, ...]]]] = RuleKey("linear")

#: The rule of a primitive whose result is its one operand in another form, at no cost: returns the
#: parameters of two applications in one, of those of the first and of the second.
VIEW: Final[RuleKey[Callable[[Any, Any], Any]]] = RuleKey("view")

#: The rule for NumPy's implementation in place of the ``host`` rule, where the first operand has so
#: many elements; it may return None.
LARGE: Final[RuleKey[HostRule[Any]]] = RuleKey("large")
MANY: Final = 50_000


#: The rule of a primitive that does more, or less, than an operation for each element of its
#: operands and results: how many, of the parameters and the types of the operands and results.
FLOPS: Final[RuleKey[Callable[[Any, Avals, Avals], float]]] = RuleKey("flops")

#: The rule of a primitive that is a function such as ``exp``, of each element: about how many
#: operations that takes, of those that a product of matrices has most of.
TRANSCENDENTAL: Final[RuleKey[Callable[[], float]]] = RuleKey("transcendental")

#: Marks such a function that XLA computes for one element at a time in any case.
ONE_AT_A_TIME: Final[RuleKey[Callable[[], bool]]] = RuleKey("one_at_a_time")

#: Marks a primitive whose results are its operands.
IDENTITY: Final[RuleKey[Callable[[], bool]]] = RuleKey("identity")

#: The rule of a linear primitive that moves elements and adds them, but multiplies none: whether an
#: element of its operands may be in several of its results.
MOVES: Final[RuleKey[Callable[[], bool]]] = RuleKey("moves")

#: Marks a primitive that solves systems, whose right-hand sides are its last operand.
SOLVES: Final[RuleKey[Callable[[], bool]]] = RuleKey("solves")

#: Marks a primitive, besides elementwise ones, whose results XLA computes where they are read.
FUSES: Final[RuleKey[Callable[[], bool]]] = RuleKey("fuses")

#: The rule of a primitive whose results XLA keeps in memory: whether in that of an operand which
#: ends there.
MATERIALIZES: Final[RuleKey[Callable[[], bool]]] = RuleKey("materializes")

#: The rule of a primitive with a kink: a primitive of the same values, which is applied in its
#: place where derivatives are differentiated. Its own derivative, and values that its derivative
#: rule returns, are those of one side; its rule is itself.
ONE_SIDED: Final[RuleKey[Callable[[], Any]]] = RuleKey("one_sided")

#: The rule of a primitive that reads parts of its first operand, at places that other operands say:
#: whether at several places.
READS: Final[RuleKey[Callable[[], bool]]] = RuleKey("reads")

#: The rule of a primitive that writes over parts of its first operand, likewise.
WRITES: Final[RuleKey[Callable[[], bool]]] = RuleKey("writes")

#: Marks the primitive that adds two arrays.
SUM: Final[RuleKey[Callable[[], bool]]] = RuleKey("sum")


class Rules(Generic[P]):
    """The rules of one primitive; each field is a rule, or one that raises ``MissingRuleError``."""

    impl: ImplRule[P]
    host: HostRule[P] | None
    evaluate: EvaluateRule[P] | None
    abstract_eval: AbstractEvalRule[P]
    lowering: LoweringRule[P]
    #: Those for one platform each, by its name.
    lowerings: dict[str, LoweringRule[P]]
    jvp: JvpRule[P]
    linearize: LinearizeRule[P] | None
    transpose: TransposeRule[P]
    batch: BatchRule[P]
    collective: BatchRule[P] | None
    extensions: dict[RuleKey[Any], Any]
    registered: list[str]
    #: Counts rules replaced and primitives of the same name before this one: a program compiled
    #: with other rules is another program. (Cells of a notebook are run again.)
    revision: int
    #: Whether results of rules are held to their types, as those from outside of this package are.
    are_checked: bool
    #: Types met before, by the parameters and the types of the operands: those of the results, and
    #: what evaluates operands of these types, if the ``host`` rule says it.
    types: dict[Hashable, tuple[tuple[ShapedArray, ...], Kernel | None]]
    cache: KernelCache[tuple[tuple[ShapedArray, ...], Kernel | None]]

    def __init__(self, primitive: str) -> None:
        self.registered = []
        self.revision = 0
        self.are_checked = False
        self.extensions = {}
        self.lowerings = {}
        self.cache = KernelCache()
        self.types = self.cache.kernels
        self.host = self.evaluate = self.linearize = self.collective = None

        def missing(rule: str) -> Callable[..., NoReturn]:
            def raise_missing(*_args: object) -> NoReturn:
                raise errors.MissingRuleError(primitive, rule, self.registered)

            return raise_missing

        self.impl = missing("impl")
        self.abstract_eval = missing("abstract_eval")
        self.lowering = missing("lowering")
        self.jvp = missing("jvp")
        self.transpose = missing("transpose")
        self.batch = missing("batch")


#: So many types are remembered of each primitive.
_MOST_TYPES: Final = 1024

#: Every primitive that exists in this process, by name; the tests hold their table against it.
registry: dict[str, Primitive[Any]] = {}

#: The last revision of rules by the primitive's name, of primitives that are gone as well.
_revisions: Final[dict[str, int]] = {}


def _next_revision(name: str) -> int:
    _revisions[name] = _revisions.get(name, -1) + 1
    return _revisions[name]


@attrs.frozen(eq=False, repr=False)
class Primitive(PickledByName, Generic[P]):
    """An operation that transformations interpret, compared by identity.

    Its jvp rule is not called where all tangents are known to be zero, and its transpose rule is
    not called where all cotangents are. So if there is one result, its cotangent is there.

    Attributes:
        name: what a jaxpr prints.
        params: the attrs class of its parameters.
        effectful: whether it has an effect besides computing its results. Then no equation of it
            may be dropped, or merged with an equal one. It is ordered with respect to others where
            its parameters have a field ``ordered`` that is true.
        orders: whether it orders its operands by value, so that its results for other values do not
            show the dependences.
        selects: whether each element of its result is an element of one of its operands.
        repeatable: whether its rules do the same each time with the same types and parameters,
            without effects. Then repeated work may be replayed without calling them.
        rules_in: the module that registers its rules, if it is not the one that declares it: a
            lookup of the primitive by its name loads it (``with_rules``).
        rules: the rules registered on it; use the ``def_`` methods to add to them.

    Example:
        >>> from tinyjax.core.tracing.primitive import NoParams, Primitive
        >>> half_p = Primitive("half", NoParams)
        >>> @half_p.def_impl
        ... def half_impl(operands, params):
        ...     (x,) = operands
        ...     return (x / 2,)
        >>> half_p.rule_names
        ('impl',)
    """

    name: str = attrs.field(validator=attrs.validators.instance_of(str))
    params: type[P] = attrs.field()
    effectful: bool = attrs.field(default=False, kw_only=True)
    orders: bool = attrs.field(default=False, kw_only=True)
    selects: bool = attrs.field(default=False, kw_only=True)
    repeatable: bool = attrs.field(default=False, kw_only=True)
    rules_in: str = attrs.field(default="", kw_only=True)
    rules: Rules[P] = attrs.field(
        init=False, default=attrs.Factory(lambda p: Rules(p.name), takes_self=True)
    )

    @params.validator
    def _check_params(self, _attribute: object, value: object) -> None:
        if not isinstance(value, type) or not attrs.has(value):
            raise errors.ArgumentError(
                f"primitive '{self.name}' needs an attrs class for its parameters, but got "
                f"{value!r}. "
                "Use NoParams if it has none."
            )

    def __attrs_post_init__(self) -> None:
        self.rules.revision = _next_revision(self.name)
        self.rules.are_checked = frames.is_called_by_user()
        registry[self.name] = self

    def __repr__(self) -> str:
        return self.name

    def with_rules(self) -> Primitive[P]:
        """Load the module that registers its rules, and return the primitive.

        Example:
            >>> import tinyjax
            >>> tinyjax.lax.sin_p.with_rules() is tinyjax.lax.sin_p
            True
        """
        if self.rules_in:
            import_module(self.rules_in)
        return self

    def _ready(self) -> Primitive[P]:
        return self.with_rules()

    #: Whether it calls a function that is one of its operands, or maps it over devices.
    call_primitive: ClassVar[bool] = False
    map_primitive: ClassVar[bool] = False

    @property
    def multiple_results(self) -> bool:
        """Return whether ``bind`` returns a list even for one result, as most do."""
        return True

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace.

        Args:
            args: its operands: arrays, or numbers.
            params: the fields of its parameters; ``**eqn.params`` gives those of an equation.

        Returns:
            The results, or the only one: see ``multiple_results``.

        Example:
            >>> import tinyjax
            >>> tinyjax.lax.sin_p.bind(0.0)
            Array(0., dtype=float32, weak_type=True)
        """
        operands = [opd.as_array(x) for x in args]
        results = lazy.hook("bind").bind(self, operands, self.params(**params))
        return [*results] if self.multiple_results else results[0]

    def get_bind_params(self, params: Params) -> dict[str, Any]:
        """Return the parameters of an equation as ``bind`` takes them.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> (eqn,) = tinyjax.make_jaxpr(jnp.sum)(jnp.ones(2)).eqns
            >>> eqn.primitive.get_bind_params(eqn.params)
            {'axes': (0,)}
        """
        return {name: params[name] for name in params.keys()}  # noqa: SIM118

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of the rules this primitive has."""
        return tuple(self.rules.registered)

    def has_rule(self, name: str) -> bool:
        """Return whether a rule of this name is registered.

        Example:
            >>> import tinyjax
            >>> tinyjax.lax.sin_p.has_rule("jvp"), tinyjax.lax.sin_p.has_rule("transpose")
            (True, False)
        """
        return name in self.rules.registered

    def def_impl(self, rule: ImplRule[P]) -> ImplRule[P]:
        """Register how NumPy evaluates it: ``rule(operands, params) -> results``.

        Example:
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble", extend.NoParams)
            >>> @treble_p.def_impl
            ... def treble_impl(operands, params):
            ...     return [3 * operands[0]]
            >>> treble_p.bind(2.0)
            [Array(6., dtype=float32)]
        """
        self._register("impl", rule)
        self.rules.impl, self.rules.host = rule, None
        self.rules.types.clear()
        return rule

    def def_numpy(self, fun: Callable[..., dtypes.HostResult]) -> None:
        """Register a NumPy function of the operands that evaluates them, of any types.

        Example:
            >>> import numpy as np
            >>> from tinyjax import extend
            >>> cosine_p = extend.Primitive("cosine_", extend.NoParams)
            >>> cosine_p.def_numpy(np.cos)
            >>> cosine_p.bind(0.0)
            [Array(1., dtype=float32)]
        """
        self.def_impl(lambda operands, params: (fun(*operands),))
        self.rules.host = lambda avals, params: fun

    def def_host(self, rule: HostRule[P]) -> HostRule[P]:
        """Register NumPy's implementation for types of operands: ``rule(avals, params) -> call``.

        The rule runs once for types of operands; eager operations and NumPy's compiled programs
        share its result. It must not depend on the layout of operands, which it does not see.

        Args:
            rule: returns a function of arrays, or a ``HostCall`` that describes one. If it may
                return None, an ``impl`` rule must be registered before.

        Example:
            >>> from tinyjax import extend
            >>> import numpy as np
            >>> treble_p = extend.Primitive("treble_host", extend.NoParams)
            >>> _ = treble_p.def_host(lambda avals, params: lambda x: 3 * x)
            >>> treble_p.bind(np.float32(2.0))
            [Array(6., dtype=float32)]
        """
        if not self.has_rule("impl"):
            self.def_impl(self._impl_of_host)
        self.rules.host = self._checked("host", rule)
        self.rules.types.clear()
        return rule

    def _impl_of_host(self, operands: Hosts, params: P) -> HostResults:
        call = self.host_function([ShapedArray(x.shape, x.dtype) for x in operands], params)
        assert call is not None, "a primitive without an impl rule says what NumPy does"
        out = call(*operands)
        return out if isinstance(out, (list, tuple)) else (out,)

    def _large_host(self, avals: Avals, params: P) -> HostCall | Kernel | None:
        """Return NumPy's implementation by the rule for large arrays, or by the usual one."""
        lazy.hook(LARGE.name)
        for rule in (self.rules.extensions.get(LARGE), self.rules.host):
            host: HostCall | Kernel | None = None if rule is None else rule(avals, params)
            if host is not None:
                return host
        return None

    def host_call(self, avals: Avals, params: P) -> HostCall | None:
        """Return NumPy's implementation for operands of these types; None where ``impl`` is called.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> call = tinyjax.lax.sin_p.host_call([jnp.ones(2).aval], extend.NO_PARAMS)
            >>> call.fresh
            True
        """
        rule = self._large_host if avals and prod(avals[0].shape) >= MANY else self.rules.host
        host = None if rule is None else rule(avals, params)
        if host is None or isinstance(host, HostCall):
            return host
        return HostCall(host, fresh=isinstance(host, np.ufunc))

    def host_function(self, avals: Avals, params: P) -> Kernel | None:
        """Return the function that evaluates operands of these types; None where ``impl`` does.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> tinyjax.lax.sin_p.host_function([jnp.ones(2).aval], extend.NO_PARAMS)
            <ufunc 'sin'>
        """
        is_large = avals and prod(avals[0].shape) >= MANY
        rule = self._large_host if is_large else self.rules.host
        host = None if rule is None else rule(avals, params)
        fun = host.call if isinstance(host, HostCall) else host
        if is_large and isinstance(fun, np.ufunc) and (large := lazy.hook(LARGE.name)):
            fun = large.in_place(self, fun, avals, params)
        return fun

    def def_evaluate(self, rule: EvaluateRule[P]) -> EvaluateRule[P]:
        """Register how it is evaluated on values, in place of ``impl``.

        Example:
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_evaluated", extend.NoParams)
            >>> _ = treble_p.def_evaluate(lambda operands, params: [3 * operands[0]])
            >>> treble_p.bind(2.0)
            [Array(6., dtype=float32, weak_type=True)]
        """
        self._register("evaluate", rule)
        self.rules.evaluate = rule
        return rule

    def def_abstract_eval(self, rule: AbstractEvalRule[P]) -> AbstractEvalRule[P]:
        """Register its typing rule: ``rule(avals, params) -> avals``.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_typed", extend.NoParams)
            >>> _ = treble_p.def_abstract_eval(lambda avals, params: [avals[0]])
            >>> tinyjax.make_jaxpr(lambda x: treble_p.bind(x))(2.0).eqns[0].out_binders[0].aval
            ShapedArray(float32[], weak_type=True)
        """
        self._register("abstract_eval", rule)
        self.rules.abstract_eval = rule
        self.rules.types.clear()
        return rule

    @overload
    def def_lowering(
        self, rule: LoweringRule[P], *, platform: str | None = ...
    ) -> LoweringRule[P]: ...
    @overload
    def def_lowering(self, *, platform: str) -> Callable[[LoweringRule[P]], LoweringRule[P]]: ...
    def def_lowering(
        self, rule: LoweringRule[P] | None = None, *, platform: str | None = None
    ) -> LoweringRule[P] | Callable[[LoweringRule[P]], LoweringRule[P]]:
        """Register its StableHLO: ``rule(lowering, operands, params) -> results``.

        Args:
            rule: the rule; without it, a decorator is returned.
            platform: the only platform that the rule is for, such as ``"cuda"``; by default it is
                for all platforms that have no rule of their own.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_lowering", extend.NoParams)
            >>> _ = treble_p.def_abstract_eval(lambda avals, params: [avals[0]])
            >>> @treble_p.def_lowering
            ... def treble_lowering(b, operands, params):
            ...     (x,) = operands
            ...     return [b.add(x, b.add(x, x))]
            >>> tinyjax.jit(lambda x: treble_p.bind(x)[0], tier="compiled")(2.0)
            Array(6., dtype=float32, weak_type=True)
        """

        def register(rule: LoweringRule[P]) -> LoweringRule[P]:
            if platform is None:
                self._register("lowering", rule)
                self.rules.lowering = self._checked("lowering", rule)
            else:
                self._register(f"lowering for {platform}", rule)
                self.rules.lowerings[platform] = self._checked("lowering", rule)
            return rule

        return register if rule is None else register(rule)

    def def_jvp(self, rule: JvpRule[P]) -> JvpRule[P]:
        """Register its derivative: ``rule(primals, tangents, params) -> primals, tangents``.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_jvp", extend.NoParams)
            >>> _ = treble_p.def_impl(lambda operands, params: [3 * operands[0]])
            >>> @treble_p.def_jvp
            ... def treble_jvp(primals, tangents, params):
            ...     return treble_p.bind(*primals), [3.0 * tangents[0]]
            >>> tinyjax.jvp(lambda x: treble_p.bind(x)[0], (2.0,), (1.0,))
            (Array(6., dtype=float32), Array(3., dtype=float32, weak_type=True))
        """
        self._register("jvp", rule)
        self.rules.jvp = self._checked("jvp", rule)
        return rule

    def def_linearize(self, rule: LinearizeRule[P]) -> LinearizeRule[P]:
        """Register its derivative as results and a separate tangent map, in place of ``jvp``.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_linearized", extend.NoParams)
            >>> _ = treble_p.def_impl(lambda operands, params: [3 * operands[0]])
            >>> @treble_p.def_linearize
            ... def treble_linearize(operands, has_tangent, params):
            ...     return treble_p.bind(*operands), has_tangent, lambda ts: [3.0 * ts[0]]
            >>> tinyjax.grad(lambda x: treble_p.bind(x)[0])(2.0)
            Array(3., dtype=float32)
        """
        self._register("linearize", rule)
        self.rules.linearize = rule
        return rule

    def def_transpose(self, rule: TransposeRule[P]) -> TransposeRule[P]:
        """Register the transpose: ``rule(cotangents, operands, params) -> cotangents``.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_transposed", extend.NoParams)
            >>> _ = treble_p.def_impl(lambda operands, params: [3 * operands[0]])
            >>> _ = treble_p.def_abstract_eval(lambda avals, params: [avals[0]])
            >>> @treble_p.def_jvp
            ... def treble_jvp(primals, tangents, params):
            ...     return treble_p.bind(*primals), treble_p.bind(*tangents)
            >>> _ = treble_p.def_transpose(lambda cts, operands, params: treble_p.bind(*cts))
            >>> tinyjax.grad(lambda x: treble_p.bind(x)[0])(2.0)
            Array(3., dtype=float32, weak_type=True)
        """
        self._register("transpose", rule)
        self.rules.transpose = self._checked("transpose", rule)
        return rule

    def def_batch(self, rule: BatchRule[P]) -> BatchRule[P]:
        """Register its batched form: ``rule(mapped, operands, axes, params) -> results, axes``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_batch", extend.NoParams)
            >>> _ = treble_p.def_impl(lambda operands, params: [3 * operands[0]])
            >>> @treble_p.def_batch
            ... def treble_batch(mapped, operands, axes, params):
            ...     return treble_p.bind(*operands), axes
            >>> tinyjax.vmap(lambda x: treble_p.bind(x)[0])(jnp.arange(3.0))
            Array([0., 3., 6.], dtype=float32)
        """
        self._register("batch", rule)
        self.rules.batch = self._checked("batch", rule)
        return rule

    def def_collective(self, rule: BatchRule[P]) -> BatchRule[P]:
        """Register its effect on the batch axis that its ``axis_name`` parameter names.

        Example:
            >>> import attrs
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> @attrs.frozen(eq=False, repr=False)
            ... class AlongParams(extend.Params):
            ...     axis_name: str
            >>> first_p = extend.Primitive("first_along", AlongParams)
            >>> _ = first_p.def_abstract_eval(lambda avals, params: [avals[0]])
            >>> _ = first_p.def_collective(lambda mapped, xs, axes, params: ([xs[0][0]], [None]))
            >>> first = tinyjax.vmap(lambda x: first_p.bind(x, axis_name="i")[0], axis_name="i")
            >>> first(jnp.array([5, 6, 7]))
            Array([5, 5, 5], dtype=int32)
        """
        self._register("collective", rule)
        self.rules.collective = rule
        return rule

    def def_rule(self, key: RuleKey[R]) -> Callable[[R], R]:
        """Register a third party's rule under its key.

        Example:
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_rule", extend.NoParams)
            >>> _ = treble_p.def_rule(extend.FUSES)(lambda: True)
            >>> treble_p.has_rule(extend.FUSES.name)
            True
        """

        def register(rule: R) -> R:
            self._register(key.name, rule)
            self.rules.extensions[key] = rule
            return rule

        return register

    def rule(self, key: RuleKey[R]) -> R:
        """Return the rule registered under a key.

        Raises:
            MissingRuleError: there is none.

        Example:
            >>> from tinyjax import extend
            >>> treble_p = extend.Primitive("treble_of_rule", extend.NoParams)
            >>> extend.mark(extend.FUSES, True, treble_p)
            >>> treble_p.rule(extend.FUSES)()
            True
        """
        extensions = self.rules.extensions
        rule: R | None = extensions.get(key)
        if rule is None and lazy.hook(key.name) is not None:
            rule = extensions.get(key)
        if rule is None:
            raise errors.MissingRuleError(self.name, key.name, self.rules.registered, keyed=True)
        return rule

    def check_types(
        self, avals: Sequence[ShapedArray], params: P
    ) -> tuple[ShapedArray, ...] | None:
        """Ask ``abstract_eval`` for the types of the results, and remember them.

        Returns:
            The types; None where the primitive has no such rule.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> tinyjax.lax.sin_p.check_types([jnp.ones(2).aval], extend.NO_PARAMS)
            (ShapedArray(float32[2]),)
        """
        rules = self.rules
        if "abstract_eval" not in rules.registered:
            return None
        for aval in avals:
            if aval.where is not None:
                outs = tuple(devices.ops().result_types(self, avals, params))
                break
        else:
            outs = tuple(rules.abstract_eval(avals, params))
        if len(rules.types) >= _MOST_TYPES:
            rules.types.clear()
        try:
            call = self.host_function(avals, params)
        except errors.InconclusiveDimensionOperation:  # of symbolic sizes: nothing is evaluated
            call = None
        if getattr(params, "held_objects", ()):
            return outs
        try:
            rules.types[params, *avals] = outs, call
        except TypeError:  # parameters that have no hash
            return outs
        return outs

    def _checked(self, name: str, rule: R) -> R:
        checked: R = getattr(rule_checks, name)(self, rule) if self.rules.are_checked else rule
        return checked

    def _register(self, name: str, rule: object) -> None:
        if not callable(rule):
            raise errors.ArgumentError(
                f"the {name} rule of '{self.name}' must be callable, but got "
                f"{errors.shortened(rule)}."
            )
        if name in self.rules.registered:
            self.rules.revision = _next_revision(self.name)
            forget_kernels()
        else:
            self.rules.registered.append(name)


def mark(key: RuleKey[Callable[[], T]], value: T, *primitives: Primitive[Any]) -> None:
    """Register a rule of some primitives that is a constant.

    Args:
        key: the kind of rule.
        value: what the rule returns.
        primitives: those that have it.

    Example:
        >>> from tinyjax import extend
        >>> half_p = extend.Primitive("half", extend.NoParams)
        >>> extend.mark(extend.FUSES, True, half_p)
        >>> half_p.rule(extend.FUSES)()
        True
    """
    for primitive in primitives:
        primitive.def_rule(key)(lambda: value)


# Lists of values of two kinds: partitioned and merged. Masks distinguish the kinds.


def split_list(values: Sequence[T], *sizes: int) -> list[list[T]]:
    """Cut a sequence into pieces of the given sizes, and the rest."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(values[start : start + size]))
        start += size
    pieces.append(list(values[start:]))
    return pieces


def marked(values: Sequence[T], marks: Sequence[bool]) -> tuple[T, ...]:
    """Return the values that are marked."""
    return tuple(compress(values, marks))


def partition_list(marks: Sequence[bool], values: Sequence[T]) -> tuple[list[T], list[T]]:
    """Return the values that are not marked, and those that are."""
    # in C, since a nest of programs has many
    return [*compress(values, map(not_, marks))], [*compress(values, marks)]


def fill_list(marks: Iterable[bool], marked: Iterable[T], other: U) -> list[T | U]:
    """Undo ``marked``: put values at the marked places, and one other at the rest."""
    values = iter(marked)
    return [next(values) if mark else other for mark in marks]


#: In C, since a nest of programs has many tangents.
_is_there: Final[Any] = partial(is_not, ZERO)

# For tangents the mask is whether they are ZERO, for operands of a transposition whether they have
# a value.


def nonzeros(tangents: Tangents) -> tuple[bool, ...]:
    """Return the mask of the nonzero tangents."""
    return tuple(map(_is_there, tangents))


def present(tangents: Tangents) -> list[Array]:
    """Return the tangents that are there."""
    return [*filter(_is_there, tangents)]


def with_zeros(nonzero: Iterable[bool], tangents: Iterable[Tangent]) -> list[Tangent]:
    """Undo ``present``: tangents, ``ZERO`` where there is none."""
    return fill_list(nonzero, tangents, ZERO)


def only_present(
    fun: Callable[..., Tangents],
) -> tuple[Callable[..., list[Array]], list[bool]]:
    """Make a function return only its nonzero tangents; the list gets their mask when it runs."""
    nonzero: list[bool] = []

    def run(*args: Array) -> list[Array]:
        tangents = fun(*args)
        nonzero[:] = nonzeros(tangents)
        return present(tangents)

    return run, nonzero


def are_undefined(operands: Operands) -> tuple[bool, ...]:
    """Return the mask of the operands of a transposition that have no value."""
    return tuple([type(x) is UndefinedPrimal for x in operands])


def defined(operands: Operands) -> list[Array]:
    """Return the operands of a transposition that have a value."""
    return [x for x in operands if not isinstance(x, UndefinedPrimal)]


def of_undefined(operands: Operands, cotangents: Tangents) -> Cotangents:
    """Return the cotangents of operands without a value, and None for the others.

    A linear operand with a value is a zero that was made as a placeholder.
    """
    return [
        ct if isinstance(x, UndefinedPrimal) else None
        for x, ct in zip(operands, cotangents, strict=True)
    ]
