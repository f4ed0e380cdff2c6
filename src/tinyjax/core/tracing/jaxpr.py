"""Jaxprs: typed, first-order programs in A-normal form.

A jaxpr is closed: each variable in its equations is bound once, by ``in_binders`` or by an earlier
equation. Two jaxprs are equal when they are the same up to the names of their variables. The
equality and the hash use a digest that is the same in every process. They are printed in the
notation of the literature, in colour on a terminal:

```
{ lambda a:float32[] .
  let b:float32[] = sin a
      c:float32[] = mul b 2.0
  in ( c ) }
```
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import frames, lazy, records
from tinyjax._base.frames import LEVEL
from tinyjax.core import devices
from tinyjax.core.tracing import encoding, primitive as prim, trace as tr
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray

if TYPE_CHECKING:
    from hashlib import blake2b

K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")


@attrs.frozen(eq=False, repr=False, init=False)
class Var:
    """A variable: a type, and an identity.

    Example:
        >>> import tinyjax
        >>> jaxpr = tinyjax.make_jaxpr(lambda x: x + 1)(0)
        >>> jaxpr.jaxpr.in_binders
        (Var(int32[]),)
    """

    aval: av.ShapedArray

    def __init__(self, aval: av.ShapedArray) -> None:
        _set_aval(self, aval)

    def __repr__(self) -> str:
        return f"Var({self.aval})"


# Staging makes a variable for every value, and the derivative of a nest of functions one for every
# residual at every level. The slots' own setters take half the time of the ``__init__`` that attrs
# gives a frozen class.
_set_aval: Callable[[Var, av.ShapedArray], None] = Var.__dict__["aval"].__set__


@final
@attrs.frozen(eq=False, repr=False)
class Lit:
    """A constant that stands in the program itself: a scalar, or one repeated over a shape.

    Attributes:
        value: the constant.
        aval: its type.

    Example:
        >>> import tinyjax
        >>> (eqn,) = tinyjax.make_jaxpr(lambda x: x + 7)(0).eqns
        >>> [atom.val for atom in eqn.inputs if isinstance(atom, tinyjax.extend.Lit)]
        [Array(7, dtype=int32, weak_type=True)]
    """

    value: ConcreteArray
    aval: av.ShapedArray

    @property
    def val(self) -> ConcreteArray:
        """The constant."""
        return self.value

    @property
    def is_regular(self) -> bool:
        """Return whether it is finite and not zero: no product or quotient with it makes a NaN."""
        value = opd.first_element(self.value.host) if self.value.size else 1
        return bool(value and np.isfinite(value))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        host = self.value.host
        element = opd.first_element(host) if host.size else np.zeros((), host.dtype)[()]
        return str(element.tolist())


Atom: TypeAlias = Var | Lit


def splat_literal(value: float, aval: av.ShapedArray) -> Lit:
    """Return a number, repeated over the shape of a type."""
    return Lit(opd.splat(value, aval), aval)


@lru_cache(maxsize=1024)
def zero_literal(aval: av.ShapedArray) -> Lit:
    """Zeros of a type: a result of a program that takes no equation."""
    return splat_literal(0, aval)


def is_zero(atom: Atom) -> bool:
    """Return whether it is a constant array of zeros."""
    return isinstance(atom, Lit) and bool(atom.aval.size) and not opd.first_element(atom.value.host)


@attrs.frozen(eq=False, repr=False, init=False)
class JaxprEqn:
    """One equation: ``out_binders = primitive[params] inputs``, with the line that it comes from.

    Example:
        >>> import tinyjax
        >>> (eqn,) = tinyjax.make_jaxpr(lambda x: x + 1)(0).eqns
        >>> eqn.primitive, len(eqn.inputs), eqn.out_binders
        (add, 2, (Var(int32[]),))
    """

    primitive: prim.Primitive[Any]
    inputs: tuple[Atom, ...]
    params: Any
    out_binders: tuple[Var, ...]
    source: frames.Source | None

    def __init__(
        self,
        primitive: prim.Primitive[Any],
        inputs: tuple[Atom, ...],
        params: Any,
        out_binders: tuple[Var, ...],
        source: frames.Source | None = None,
    ) -> None:
        _set_primitive(self, primitive)
        _set_inputs(self, inputs)
        _set_params(self, params)
        _set_out_binders(self, out_binders)
        _set_source(self, source)

    @property
    def invars(self) -> list[Atom]:
        """The operands."""
        return [*self.inputs]

    @property
    def outvars(self) -> list[Var]:
        """The variables of the results."""
        return [*self.out_binders]

    @property
    def effects(self) -> frozenset[Effect]:
        """Its effects besides computing its results: one per primitive."""
        effects = (side_effects(jaxpr) for jaxpr in subjaxprs(self.params))
        own = [PrimitiveEffect(self.primitive.name)] if self.primitive.effectful else []
        return frozenset(own).union(*effects)

    @property
    def in_avals(self) -> list[av.ShapedArray]:
        """The types of the operands."""
        return [x.aval for x in self.inputs]

    @property
    def out_avals(self) -> list[av.ShapedArray]:
        """The types of the results."""
        return [var.aval for var in self.out_binders]

    @property
    def source_info(self) -> frames.Source:
        """The line that it comes from, with the names of scopes in ``name_stack``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> (eqn,) = tinyjax.make_jaxpr(tinyjax.named_scope("wave")(jnp.sin))(1.0).eqns
            >>> eqn.source_info.name_stack
            'wave'
        """
        return frames.NO_SOURCE if self.source is None else self.source

    def replace(
        self,
        invars: Sequence[Atom] | None = None,
        outvars: Sequence[Var] | None = None,
        primitive: prim.Primitive[Any] | None = None,
        params: Any = None,
    ) -> JaxprEqn:
        """Return the equation with other parts.

        Args:
            invars: the operands.
            outvars: the variables of the results.
            primitive: what is applied.
            params: the parameters: an instance of the primitive's class for them, or its fields.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> (eqn,) = tinyjax.make_jaxpr(jnp.sin)(1.0).eqns
            >>> eqn.replace(primitive=tinyjax.lax.cos_p)
            b:float32[] = cos a
        """
        applied = self.primitive if primitive is None else primitive
        params_in = self.params if params is None else params
        return JaxprEqn(
            applied,
            self.inputs if invars is None else tuple(invars),
            params_in if isinstance(params_in, applied.params) else applied.params(**params_in),
            self.out_binders if outvars is None else tuple(outvars),
            self.source,
        )

    def __repr__(self) -> str:
        return print_eqn(self)


_set_primitive, _set_inputs, _set_params, _set_out_binders, _set_source = (
    JaxprEqn.__dict__[field.name].__set__ for field in attrs.fields(JaxprEqn)
)


@attrs.frozen(eq=False, repr=False)
class JaxprType(records.Record):
    """The type of a jaxpr: the types it takes and the types it gives."""

    in_types: tuple[av.ShapedArray, ...]
    out_types: tuple[av.ShapedArray, ...]

    def __str__(self) -> str:
        ins = ", ".join(map(str, self.in_types))
        outs = ", ".join(map(str, self.out_types))
        return f"({ins}) -> ({outs})"


class _PrintedProgram:
    """An object that is shown as the text of a program."""

    __slots__ = ()

    @property
    def jaxpr(self) -> Jaxpr:
        """The program."""
        raise NotImplementedError

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
        use_color: bool | None = None,
    ) -> str:
        """Return the program's text.

        Args:
            source_info: whether to write at each equation the line that it comes from.
            print_shapes: has no effect, like all below but the last.
            custom_pp_eqn_rules: has no effect.
            name_stack: has no effect.
            print_effects: has no effect.
            use_color: whether to use a terminal's colours; by default, where the text goes to one.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> print(tinyjax.make_jaxpr(jnp.sin)(1.0).pretty_print(use_color=False))
            { lambda a:float32[] .
              let b:float32[] = sin a
              in ( b ) }
        """
        return print_jaxpr(self.jaxpr, use_color, source_info)

    def __repr__(self) -> str:
        return print_jaxpr(self.jaxpr)

    def _repr_html_(self) -> str:
        lines = print_jaxpr(self.jaxpr, colour=True).split("\n")
        shown: str = lazy.hook("display").shown_program(lines)
        return shown


@attrs.frozen(eq=False, repr=False)
class Inverse:
    """The inverse of a program that records a loop, for the arrays that the loop updates.

    Attributes:
        program: takes the record; returns these arrays as they were before.
        first: the place of the record among the results of the recording.
        places: for each array its place among the operands of the recording, among the loop's
            results, and among all results, where the record has it.
    """

    program: Jaxpr
    first: int
    places: Sequence[tuple[int, int, int]]


@attrs.frozen(eq=False, repr=False)
class ProgramFacts:
    """Facts about one program, which programs made of it do not inherit.

    Attributes:
        is_counted: whether its loops have their trip counts, also from programs around it.
        inverse: its inverse, if it records a loop and has one.
    """

    is_counted: bool = False
    inverse: Inverse | None = None


NO_FACTS: Final = ProgramFacts()


@final
@attrs.frozen(eq=False, repr=False)
class Jaxpr(_PrintedProgram, encoding.Digested):
    """A program: parameters, equations in order, results.

    Two that differ in the names of their variables alone are equal.

    Attributes:
        in_binders: the parameters.
        eqns: the equations.
        outs: the results.
        num_consts: how many of the first parameters ``constvars`` has: those for which a
            ``ClosedJaxpr`` of ``make_jaxpr`` holds the values.
        facts: what is known of it.

    Example:
        >>> import tinyjax
        >>> first, second = (tinyjax.make_jaxpr(lambda x: x * 2)(0).jaxpr for _ in range(2))
        >>> first == second, first.in_avals
        (True, (ShapedArray(int32[], weak_type=True),))
    """

    in_binders: tuple[Var, ...]
    eqns: tuple[JaxprEqn, ...]
    outs: tuple[Atom, ...]
    num_consts: int = 0
    facts: ProgramFacts = attrs.field(init=False, default=NO_FACTS)
    _derived: dict[Any, Any] = attrs.field(init=False, factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return Jaxpr, (self.in_binders, self.eqns, self.outs, self.num_consts)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program itself: programs in parameters are read as closed ones are."""
        return self

    @property
    def consts(self) -> tuple[Array, ...]:
        """The constants of a closed program; this one has none."""
        return ()

    @property
    def constvars(self) -> list[Var]:
        """The parameters for constants."""
        return [*self.in_binders[: self.num_consts]]

    @property
    def invars(self) -> list[Var]:
        """The parameters for arguments."""
        return [*self.in_binders[self.num_consts :]]

    @property
    def outvars(self) -> list[Atom]:
        """The results."""
        return [*self.outs]

    @property
    def in_avals(self) -> tuple[av.ShapedArray, ...]:
        avals: tuple[av.ShapedArray, ...] | None = self._derived.get("in_avals")
        if avals is None:
            avals = self._derived["in_avals"] = tuple([v.aval for v in self.in_binders])
        return avals

    @property
    def out_avals(self) -> tuple[av.ShapedArray, ...]:
        avals: tuple[av.ShapedArray, ...] | None = self._derived.get("out_avals")
        if avals is None:
            avals = self._derived["out_avals"] = tuple([x.aval for x in self.outs])
        return avals

    @property
    def effects(self) -> frozenset[Effect]:
        """Its effects besides computing its results: one per primitive."""
        return side_effects(self)

    def replace(
        self,
        constvars: Sequence[Var] | None = None,
        invars: Sequence[Var] | None = None,
        outvars: Sequence[Atom] | None = None,
        eqns: Sequence[JaxprEqn] | None = None,
    ) -> Jaxpr:
        """Return the program with other parts; it is not checked, which ``check_jaxpr`` does.

        Args:
            constvars: the parameters for constants.
            invars: the parameters for arguments.
            outvars: the results.
            eqns: the equations.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> jaxpr = tinyjax.make_jaxpr(lambda x: jnp.sin(jnp.cos(x)))(1.0).jaxpr
            >>> jaxpr.replace(eqns=jaxpr.eqns[:1], outvars=jaxpr.eqns[0].outvars)
            { lambda a:float32[] .
              let b:float32[] = cos a
              in ( b ) }
        """
        first = self.constvars if constvars is None else constvars
        return Jaxpr(
            (*first, *(self.invars if invars is None else invars)),
            self.eqns if eqns is None else tuple(eqns),
            self.outs if outvars is None else tuple(outvars),
            len(first),
        )

    @property
    def type(self) -> JaxprType:
        return JaxprType(self.in_avals, self.out_avals)

    @property
    def digest(self) -> bytes:
        """16 bytes that agree for two jaxprs exactly when they are equal up to renaming."""
        return self.derive("digest", lambda: _digest(self))

    @property
    def held_objects(self) -> tuple[object, ...]:
        """The callbacks and rules of its equations that hold the user's objects alive."""

        def find() -> tuple[object, ...]:
            objects: tuple[object, ...] = ()
            for eqn in self.eqns:
                if eqn.params is not prim.NO_PARAMS:
                    objects += getattr(eqn.params, "held_objects", ())
            return objects

        return self.derive("held objects", find)

    def derive(self, key: K, make: Callable[[], V]) -> V:
        """Return the result of ``make`` for this jaxpr, computed once per key.

        Transformed versions of a jaxpr live and die with it, so transforming a nested program
        costs time linear in its size.

        Example:
            >>> import tinyjax
            >>> jaxpr = tinyjax.make_jaxpr(lambda x: x + 1)(0).jaxpr
            >>> jaxpr.derive("length", lambda: len(jaxpr.eqns))
            1
        """
        try:
            value: V = self._derived[key]
        except KeyError:  # an error of make is raised without it as context
            pass
        else:
            return value
        with LEVEL:
            value = self._derived[key] = make()
        return value

    def derived(self, key: object) -> Any:
        """Return the cached result of ``derive`` for a key, or None.

        Example:
            >>> import tinyjax
            >>> jaxpr = tinyjax.make_jaxpr(lambda x: x + 1)(0).jaxpr
            >>> print(jaxpr.derived("length"))
            None
        """
        return self._derived.get(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Jaxpr) and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)


_set_facts = Jaxpr.__dict__["facts"].__set__


def with_facts(jaxpr: Jaxpr, facts: ProgramFacts) -> Jaxpr:
    """Return an equal program of which these facts are known."""
    program = attrs.evolve(jaxpr)
    _set_facts(program, facts)
    return program


@attrs.frozen(eq=False, repr=False)
class ClosedJaxpr(_PrintedProgram):
    """A jaxpr with the values of its first parameters: the arrays that the function closed over.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> weights = jnp.array([1.0, 2.0])
        >>> closed = tinyjax.make_jaxpr(lambda x: x * weights)(1.0)
        >>> closed.consts, closed.in_avals
        ((Array([1., 2.], dtype=float32),), (ShapedArray(float32[], weak_type=True),))
    """

    jaxpr: Jaxpr
    consts: tuple[Array, ...]

    @property
    def in_avals(self) -> tuple[av.ShapedArray, ...]:
        return self.jaxpr.in_avals[len(self.consts) :]

    @property
    def out_avals(self) -> tuple[av.ShapedArray, ...]:
        return self.jaxpr.out_avals

    @property
    def eqns(self) -> tuple[JaxprEqn, ...]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Effect]:
        """Its effects besides computing its results: one per primitive."""
        return self.jaxpr.effects

    @property
    def constvars(self) -> list[Var]:
        """The parameters for constants."""
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        """The parameters for arguments."""
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        """The results."""
        return self.jaxpr.outvars

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Array] | None = None
    ) -> ClosedJaxpr:
        """Return the program with another jaxpr, or other values of the constants.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> scale = jnp.array([2.0])
            >>> closed = tinyjax.make_jaxpr(lambda x: scale * x)(jnp.ones(1))
            >>> other = closed.replace(consts=[jnp.array([5.0])])
            >>> tinyjax.core.eval_jaxpr(other.jaxpr, other.consts, jnp.ones(1))
            [Array([5.], dtype=float32)]
        """
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr,
            self.consts if consts is None else tuple(consts),
        )

    @property
    def literals(self) -> tuple[Array, ...]:
        """The values of the constants."""
        return self.consts

    def __call__(self, *args: Array) -> Sequence[Array]:
        return eval_jaxpr(self.jaxpr, (*self.consts, *args))


def close(jaxpr: Jaxpr, consts: tuple[Array, ...]) -> ClosedJaxpr:
    """Return a program as users see it: its constants are separate from its parameters."""
    return ClosedJaxpr(attrs.evolve(jaxpr, num_consts=len(consts)), consts)


def jaxpr_of(primitive: prim.Primitive[P], avals: Sequence[av.ShapedArray], params: P) -> Jaxpr:
    """Return the program that applies a primitive to its parameters."""
    binders = tuple([Var(aval) for aval in avals])
    outs = tuple([Var(aval) for aval in primitive.rules.abstract_eval(avals, params)])
    return Jaxpr(binders, (JaxprEqn(primitive, binders, params, outs),), outs)


class EndlessError(Exception):
    """A loop of unknown length has gone on for too long."""


class ProgramTrace(tr.EvalTrace):
    """A trace that evaluates programs as a whole, and not one equation after the other.

    Attributes:
        budget: the estimated seconds that it may still spend on evaluation.
    """

    __slots__ = ("budget",)

    evaluates = False

    def __init__(self, budget: float) -> None:
        super().__init__()
        self.budget: float = budget

    def evaluate(self, jaxpr: Jaxpr, args: Sequence[Array]) -> list[Array]:
        """Evaluate a program on as many arrays as it has parameters."""
        raise NotImplementedError


def eval_jaxpr(jaxpr: Jaxpr, args: Sequence[Array], *more: object) -> list[Array]:
    """Evaluate a jaxpr by binding its equations under the current trace, one by one.

    Whatever the current trace does with primitives it does with the jaxpr's: an evaluated jaxpr can
    be differentiated, batched, or staged again.

    Args:
        jaxpr: the program.
        args: one array per parameter; or the constants only, as of a ``ClosedJaxpr``.
        more: in that case the arguments: arrays or numbers.

    Returns:
        One array per result.

    Example:
        >>> import tinyjax
        >>> closed = tinyjax.make_jaxpr(lambda x: x**2)(0.0)
        >>> tinyjax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
        [Array(9., dtype=float32, weak_type=True)]
    """
    if more:
        args = [*args, *map(opd.as_array, more)]
    if len(args) != len(jaxpr.in_binders):
        raise errors.ArgumentError(
            f"this jaxpr takes {len(jaxpr.in_binders)} arguments, but got {len(args)}: its type is "
            f"{jaxpr.type}."
        )
    trace = tr.current_trace()
    if isinstance(trace, ProgramTrace):
        return trace.evaluate(jaxpr, args)
    env: dict[Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))
    before = tr.evaluated_source()
    if before is None and trace.keeps_lines:
        # found once here, and not per equation: it is far where programs are nested
        tr.set_evaluated_source(frames.user_source())
    try:
        with LEVEL:
            for eqn in jaxpr.eqns:
                operands = [x.value if isinstance(x, Lit) else env[x] for x in eqn.inputs]
                if trace.keeps_lines and eqn.source is not None:
                    tr.set_evaluated_source(eqn.source)
                outs = trace.process(eqn.primitive, operands, eqn.params)
                env.update(zip(eqn.out_binders, outs, strict=True))
    finally:
        tr.set_evaluated_source(before)
    return [env[x] if isinstance(x, Var) else x.value for x in jaxpr.outs]


def typecheck_jaxpr(jaxpr: Jaxpr, *, weakness: bool = True) -> JaxprType:
    """Check that a jaxpr is well-formed, and return its type.

    Every variable is bound once and before it is used, and every equation's binders have the types
    that the primitive's typing rule gives for its inputs.

    Args:
        jaxpr: the program.
        weakness: whether weak types must agree, too. Passes that prepare a program for a compiler
            need not preserve them.

    Raises:
        JaxprTypeError: one of these does not hold; the message shows the equation.
    """
    bound: set[Var] = set()

    def bind_var(var: Var, where: str) -> None:
        if var in bound:
            raise errors.JaxprTypeError(
                f"a variable of type {var.aval} is bound twice, the second time in {where}."
            )
        bound.add(var)

    def check_atom(atom: Atom, where: str) -> av.ShapedArray:
        if isinstance(atom, Var) and atom not in bound:
            raise errors.JaxprTypeError(
                f"a variable of type {atom.aval} is used but not bound in {where}."
            )
        return atom.aval

    for var in jaxpr.in_binders:
        bind_var(var, "the parameters")
    for eqn in jaxpr.eqns:
        where = f"the equation '{eqn}'"
        in_types = [check_atom(x, where) for x in eqn.inputs]
        if not isinstance(eqn.params, eqn.primitive.params):
            raise errors.JaxprTypeError(
                f"{where} has parameters of type {type(eqn.params).__name__}, but "
                f"'{eqn.primitive}' "
                f"takes {eqn.primitive.params.__name__}."
            )
        try:
            said = av.where_of((*in_types, *eqn.out_avals))
            if said is None:
                expected = list(eqn.primitive.rules.abstract_eval(in_types, eqn.params))
            else:
                expected = list(devices.ops().result_types(eqn.primitive, in_types, eqn.params))
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(error, errors.TinyjaxError):
                raise
            # a rule may take as many operands for granted, or as many axes
            raise errors.JaxprTypeError(
                f"{where} has operands of types ({', '.join(map(repr, in_types))}), which "
                f"'{eqn.primitive}' does not take: {error}."
            ) from error
        actual = eqn.out_avals
        if not weakness:
            expected, actual = ([a.strip_weak() for a in avals] for avals in (expected, actual))
        if expected != actual:
            raise errors.JaxprTypeError(
                f"{where} binds types ({', '.join(map(repr, actual))}), but its primitive gives "
                f"({', '.join(map(repr, expected))})."
            )
        for var in eqn.out_binders:
            bind_var(var, where)
    for atom in jaxpr.outs:
        check_atom(atom, "the results")
    return jaxpr.type


def subjaxprs(params: Any) -> list[Jaxpr]:
    """Return the jaxprs that an equation's parameters hold, also in tuples.

    Args:
        params: the parameters of an equation, such as ``eqn.params``.

    Returns:
        The programs of a loop, of branches or of a call; none for an ordinary primitive. Programs
        within these are not included: apply the function to their equations.

    Example:
        >>> import tinyjax
        >>> (eqn,) = tinyjax.make_jaxpr(tinyjax.jit(lambda x: x + 1))(0).eqns
        >>> [len(jaxpr.eqns) for jaxpr in tinyjax.extend.subjaxprs(eqn.params)]
        [1]
    """
    jaxprs: list[Jaxpr] = []
    if params is prim.NO_PARAMS:  # most often
        return jaxprs
    for name in records.field_names(type(params)):
        value = getattr(params, name)
        if type(value) is Jaxpr:
            jaxprs.append(value)
        elif type(value) is tuple and Jaxpr in map(type, value):
            jaxprs += [item for item in value if type(item) is Jaxpr]
    return jaxprs


def with_subjaxprs(params: Any, change: Callable[[Jaxpr], Jaxpr]) -> Any:
    """Return an equation's parameters with other programs in place of those that they hold."""
    changes: dict[str, Any] = {}
    for name in records.field_names(type(params)):
        value = getattr(params, name)
        if isinstance(value, Jaxpr):
            changes[name] = change(value)
        elif isinstance(value, tuple):
            changes[name] = tuple([change(x) if isinstance(x, Jaxpr) else x for x in value])
    return attrs.evolve(params, **changes)


class Effect:
    """A kind of side effect.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend import core
        >>> jaxpr = tinyjax.make_jaxpr(lambda x: tinyjax.debug.print("{}", x))(1.0)
        >>> all(isinstance(effect, core.Effect) for effect in jaxpr.effects)
        True
    """


@attrs.frozen(eq=False, repr=False)
class PrimitiveEffect(Effect, records.Record):
    """The effect of a primitive of a given name besides computing its results."""

    primitive: str


def side_effects(jaxpr: Jaxpr) -> frozenset[Effect]:
    """Return the effects of a program by primitive, those of the programs in it included."""

    def find() -> frozenset[Effect]:
        return frozenset[Effect]().union(*(eqn.effects for eqn in jaxpr.eqns))

    return jaxpr.derive("side effects", find)


def some_eqn(jaxpr: Jaxpr, key: Hashable, test: Callable[[JaxprEqn], bool]) -> bool:
    """Return whether a test holds for an equation of a program, or for one in its inner programs.

    Args:
        jaxpr: the program.
        key: the key of the cached result, on each of the programs.
        test: the test.
    """

    def holds(eqn: JaxprEqn) -> bool:
        return test(eqn) or any(some_eqn(inner, key, test) for inner in subjaxprs(eqn.params))

    return jaxpr.derive(key, lambda: any(map(holds, jaxpr.eqns)))


@attrs.frozen(eq=False, repr=False)
class Effects(records.Record):
    """The effects of a program besides computing its results.

    Attributes:
        any: whether it has effects.
        ordered: whether it has effects whose order matters.
    """

    any: bool
    ordered: bool


_NO_EFFECTS: Final = Effects(any=False, ordered=False)


def effects_of(eqn: JaxprEqn) -> Effects:
    """Return the effects of an equation, those of the programs in its parameters included."""
    own, programs = eqn.primitive.effectful, subjaxprs(eqn.params)
    if not (own or programs):
        return _NO_EFFECTS
    inner = [effects(jaxpr) for jaxpr in programs]
    return Effects(
        own or any(e.any for e in inner),
        (own and bool(getattr(eqn.params, "ordered", False))) or any(e.ordered for e in inner),
    )


def effects(jaxpr: Jaxpr) -> Effects:
    """Return the effects of a program."""

    def find() -> Effects:
        effects = [effects_of(eqn) for eqn in jaxpr.eqns]
        some = [e for e in effects if e is not _NO_EFFECTS]
        return Effects(any(e.any for e in some), any(e.ordered for e in some))

    return jaxpr.derive("effects", find)


_DIGEST_BYTES: Final = 16


def _digest(jaxpr: Jaxpr) -> bytes:
    """Digest a program up to renaming of its variables.

    Variables are numbered in the order of their binding, so names do not matter.
    """
    names: dict[Atom, bytes] = {}
    parts: list[bytes] = [b"J%d" % len(jaxpr.in_binders)]
    append = parts.append

    for var in jaxpr.in_binders:
        names[var] = b"V%d" % len(names)
        append(encoding.encode_aval(var.aval))
    for eqn in jaxpr.eqns:
        primitive = eqn.primitive
        append(b"E%s#%d;" % (primitive.name.encode(), primitive.rules.revision))
        for x in eqn.inputs:
            append(b"L" + encoding.encode(x.value) if type(x) is Lit else names[x])
        append(encoding.encode(eqn.params))
        for var in eqn.out_binders:
            names[var] = b"V%d" % len(names)
            append(encoding.encode_aval(var.aval))
    append(b"O%d;" % len(jaxpr.outs))
    for x in jaxpr.outs:
        append(b"L" + encoding.encode(x.value) if type(x) is Lit else names[x])
    return _hash()(b"".join(parts), digest_size=_DIGEST_BYTES).digest()


@cache
def _hash() -> type[blake2b]:
    """Load the hash function, which eager programs never need."""
    try:  # hashlib takes it from there, and loads OpenSSL as well
        from _blake2 import blake2b  # noqa: PLC0415
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    return blake2b


# Printing

_BINDER, _TYPE, _PRIMITIVE, _KEYWORD = "36", "2", "1;34", "35"


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class _Names(defaultdict[Var, str]):
    """The names a, b, ..., z, aa, ab, ... of variables, in the order of their first use."""

    def __init__(self) -> None:
        super().__init__()
        self._fresh = self._generate()

    def __missing__(self, var: Var) -> str:
        name = self[var] = next(self._fresh)
        return name

    @staticmethod
    def _generate() -> Iterator[str]:
        for length in itertools.count(1):
            for letters in itertools.product(_LETTERS, repeat=length):
                yield "".join(letters)


@attrs.frozen(eq=False, repr=False)
class _Style(records.Record):
    colour: bool
    sources: bool = False

    def __call__(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def print_jaxpr(jaxpr: Jaxpr, colour: bool | None = None, sources: bool = False) -> str:
    """Return a jaxpr as text.

    Args:
        jaxpr: the program.
        sources: whether to write at each equation the line that it comes from.
        colour: whether to use terminal colours; by default, when standard output is a terminal
            and ``NO_COLOR`` is not set.
    """
    if colour is None:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return "\n".join(_jaxpr_lines(jaxpr, _Style(colour, sources)))


@attrs.frozen(eq=False, repr=False)
class JaxprText(records.Record):
    """A jaxpr as text, in parts, without the programs in its equations' parameters.

    Attributes:
        binders: the parameters with their types.
        eqns: the equations.
        outs: the results.
    """

    binders: str
    eqns: tuple[str, ...]
    outs: str


def jaxpr_text(jaxpr: Jaxpr) -> JaxprText:
    """Return the parts of a jaxpr's text; nested programs are left out."""
    names, style = _Names(), _Style(False)
    binders = ", ".join([_binder(names, v, style) for v in jaxpr.in_binders])
    eqns = tuple([_eqn_head(eqn, names, style) for eqn in jaxpr.eqns])
    return JaxprText(binders, eqns, ", ".join([_atom(names, x) for x in jaxpr.outs]))


def print_eqn(eqn: JaxprEqn) -> str:
    """Return one equation as text, its variables named from ``a``."""
    return "\n".join(_eqn_lines(eqn, _Names(), _Style(False)))


def _jaxpr_lines(jaxpr: Jaxpr, style: _Style) -> list[str]:
    names = _Names()
    binders = ", ".join(_binder(names, v, style) for v in jaxpr.in_binders)
    lines = [f"{{ {style(_KEYWORD, 'lambda')} {binders} ."]
    indent = "  " + style(_KEYWORD, "let") + " "
    for eqn in jaxpr.eqns:
        for line in _eqn_lines(eqn, names, style):
            lines.append(indent + line)
            indent = "      "
    outs = ", ".join(_atom(names, x) for x in jaxpr.outs)
    lines.append(f"  {style(_KEYWORD, 'in')} ( {outs} ) }}")
    return lines


def _eqn_lines(eqn: JaxprEqn, names: _Names, style: _Style) -> list[str]:
    nested: list[str] = []
    for name, value in _programs(eqn):
        nested += _nested_lines(name, value, style)
    return [_eqn_head(eqn, names, style), *nested]


def _programs(eqn: JaxprEqn) -> Iterator[tuple[str, Jaxpr]]:
    """Yield the programs in an equation's parameters, with their names."""
    for name in records.field_names(type(eqn.params)):
        value = getattr(eqn.params, name)
        if isinstance(value, Jaxpr):
            yield name, value
        elif _are_programs(value):
            for i, jaxpr in enumerate(value):
                yield f"{name}[{i}]", jaxpr


def _are_programs(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Jaxpr) for v in value)


def _eqn_head(eqn: JaxprEqn, names: _Names, style: _Style) -> str:
    """Return an equation without the programs in its parameters."""
    inputs = " ".join(_atom(names, x) for x in eqn.inputs)
    binders = " ".join(_binder(names, v, style) for v in eqn.out_binders)
    fields = [field for field in records.fields(type(eqn.params)) if field.repr]
    values = [
        (field.name, value)
        for field in fields
        if (value := getattr(eqn.params, field.name)) is not None or not records.is_optional(field)
    ]
    simple = [
        f"{name}={_param(value)}"
        for name, value in values
        if not (isinstance(value, Jaxpr) or _are_programs(value))
    ]
    params = f" [ {' '.join(simple)} ]" if simple else ""
    text = f"{binders} = {style(_PRIMITIVE, eqn.primitive.name)}{params} {inputs}".rstrip()
    if style.sources and eqn.source is not None:
        text += style(_TYPE, f"  # {eqn.source.location}")
    return text


def _nested_lines(name: str, jaxpr: Jaxpr, style: _Style) -> list[str]:
    with LEVEL:
        first, *rest = _jaxpr_lines(jaxpr, style)
    return [f"  {name}={first}", *(f"    {line}" for line in rest)]


def _binder(names: _Names, var: Var, style: _Style) -> str:
    return f"{style(_BINDER, names[var])}:{style(_TYPE, str(var.aval))}"


def _atom(names: _Names, atom: Atom) -> str:
    return str(atom) if isinstance(atom, Lit) else names[atom]


def _param(value: Any) -> str:
    name = getattr(value, "name", None)  # dtypes and enums print as their names
    return name if isinstance(name, str) else str(value)
