"""The functions that texts of jaxprs use (``jaxpr_source``).

A text calls primitives by name, on arrays, with their parameters as keyword arguments. It runs as
it stands. Run on the types that it declares, it returns the original jaxpr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.parallel import program_keys, xla
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax._extensions.parallel.types import Share, with_varying
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.values import Array, ArrayLike, avals as av, concrete, operands as opd
from tinyjax.errors import ArgumentError, SourceError, shortened

WEAK: Final = "weak "
#: The packages that define primitives, not all of which are loaded at the start.
_HOMES: Final = ("_extensions.callbacks", "_extensions.checkpointing", "autodiff",
                 "custom_derivatives", "export", "implicit", "lax", "nn", "random",
                 "scipy")  # fmt: skip


def aval(text: str) -> av.ShapedArray:
    """Return the type named by a text, ``"float32[3,4]"`` or, for a weak one, ``"weak float32[]"``.

    ``"float32[3]{V:x}"`` varies between the devices along the axis ``x`` of a mesh.
    ``"float32[3]{U:x}"`` is the sum of their parts, and ``"float32[3]{R:x}"`` is a value of all
    devices whose cotangent is such a sum.

    Raises:
        ArgumentError: it names none.

    Example:
        >>> from tinyjax.source.jaxprs.text_runtime import aval
        >>> aval("weak float32[3,4]")
        ShapedArray(float32[3,4], weak_type=True)
    """
    plain, differs, axes = text.removeprefix(WEAK).partition("{")
    name, bracket, sizes = plain.partition("[")
    dtype = getattr(dtypes, f"{name}_" if name == "bool" else name, None)
    whole = sizes.endswith("]") and (axes.endswith("}") or not differs)
    if not (bracket and whole and isinstance(dtype, np.dtype)):
        raise ArgumentError(f"a type is written as 'float32[3,4]', but got {shortened(text)}.")
    shape = tuple([int(size) for size in sizes[:-1].split(",") if size.strip()])
    result = av.ShapedArray(shape, dtype, text.startswith(WEAK))
    across: set[Hashable] = set()
    for letter, names in re.findall(r"([VUR]):(\([^)]*\)|[^,)]*)", axes[:-1]):
        several = names.strip("()").split(",")
        across.update(several if letter == "V" else [Share(letter, axis) for axis in several])
    return with_varying(result, frozenset(across))


def lying(text: str, sharding: Sharding) -> av.ShapedArray:
    """Return the type named by a text, with its sharding along axes that are ``Explicit``.

    Args:
        text: the type without its sharding, such as ``"float32[3,4]"``.
        sharding: the sharding.

    Example:
        >>> import tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> from tinyjax.source.jaxprs.text_runtime import lying
        >>> mesh = tinyjax.make_mesh((1,), ("x",))
        >>> lying("float32[4,3]", NamedSharding(mesh, P("x")))
        ShapedArray(float32[4@x,3])
    """
    return sharding.typed(aval(text))


def _typed(kind: str | av.ShapedArray) -> av.ShapedArray:
    return aval(kind) if isinstance(kind, str) else kind


def _element(dtype: np.dtype[Any], value: complex | str) -> np.generic:
    """Return a number of a type: its value, its text, or its bits."""
    if not isinstance(value, str):
        return _scalar(dtype, value)
    if value.startswith("0x"):
        element: np.generic = np.frombuffer(bytes.fromhex(value[2:]), dtype)[0]
        return element
    readers: dict[str, Callable[[str], complex]]
    readers = {"b": "True".__eq__, "i": int, "u": int, "c": complex}
    return _scalar(dtype, readers.get(dtypes.kind(dtype), float)(value))


def _scalar(dtype: np.dtype[Any], value: complex) -> np.generic:
    element: np.generic = np.array(value).astype(dtype).reshape(-1)[0]
    return element


def literal(kind: str | av.ShapedArray, value: complex | str) -> Array:
    """Return a number, repeated over the shape of a type.

    Args:
        kind: the type, or its text.
        value: the number; its bits ("0x...") where it is a NaN of an unusual kind.

    Example:
        >>> from tinyjax.source.jaxprs.text_runtime import literal
        >>> literal("float32[2]", 0.5)
        Array([0.5, 0.5], dtype=float32)
    """
    declared = _typed(kind)
    return opd.splat(_element(declared.dtype, value), declared)


def array(kind: str | av.ShapedArray, values: str) -> Array:
    """Return an array.

    Args:
        kind: its type, or the text of it.
        values: its elements in order, separated by blanks.

    Example:
        >>> from tinyjax.source.jaxprs.text_runtime import array
        >>> array("int32[2,2]", "1 2 3 4")
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """
    declared = _typed(kind)
    host = np.array([_element(declared.dtype, part) for part in values.split()], declared.dtype)
    whole = concrete.ConcreteArray(host.reshape(declared.shape), declared.plain)
    if declared.sharding_or_none is None:
        return whole
    return xla.moving.put(whole, declared.sharding_or_none)


@attrs.frozen(eq=False, repr=False)
class TypedFunction:
    """A function of arrays with its types: the text of a jaxpr.

    Attributes:
        fun: takes the constants and the arguments, and returns a tuple of arrays.
        types: the types of the constants and of the arguments.
        constants: the values of the first parameters; None where the text is of a jaxpr without.
    """

    fun: Callable[..., tuple[Array, ...]]
    types: tuple[av.ShapedArray, ...]
    constants: tuple[Array, ...] | None

    @property
    def jaxpr(self) -> jx.Jaxpr:
        """The program as a jaxpr.

        Raises:
            SourceError: it uses arrays other than its parameters and literals.
        """
        staged = staging.stage(self.fun, self.types, self.fun)
        if staged.consts:
            raise SourceError(
                f"the program {self.fun.__name__} uses an array that is neither a parameter nor a "
                "literal. Make it one of its constants."
            )
        return staged.jaxpr

    @property
    def closed(self) -> jx.ClosedJaxpr:
        """The program with its constants."""
        return jx.ClosedJaxpr(self.jaxpr, self.constants or ())

    def __call__(self, *args: ArrayLike) -> tuple[Array, ...]:
        return self.fun(*(self.constants or ()), *[opd.as_array(x) for x in args])


def program(
    *types: str | av.ShapedArray, constants: Sequence[Array] | None = None
) -> Callable[[Callable[..., tuple[Array, ...]]], TypedFunction]:
    """Make a program of a function of arrays.

    Args:
        types: the types of its parameters, or their texts.
        constants: the values of the first of them.

    Returns:
        A decorator.

    Example:
        >>> from tinyjax import Array
        >>> from tinyjax.source.jaxprs.text_runtime import op, program
        >>> @program("float32[3]")
        ... def total(a: Array) -> tuple[Array, ...]:
        ...     b = op.sin(a)
        ...     c = op.reduce_sum(b, axes=(0,))
        ...     return (c,)
        >>> total.jaxpr
        { lambda a:float32[3] .
          let b:float32[3] = sin a
              c:float32[] = reduce_sum [ axes=(0,) ] b
          in ( c ) }
    """
    declared = tuple([_typed(kind) for kind in types])
    consts = None if constants is None else tuple(constants)
    return lambda fun: TypedFunction(fun, declared, consts)


@attrs.frozen
class Operation:
    """A primitive as a function of arrays; its parameters are keyword arguments."""

    primitive: prim.Primitive[Any]

    def __call__(self, *operands: Array, **params: Any) -> Any:
        extensions = self.primitive.rules.extensions
        recording: AbstractContextManager[None] = nullcontext()
        if program_keys.RECORDED_IN in extensions:
            recording = self.primitive.rule(program_keys.RECORDED_IN)(params)
        with recording:
            values = {name: _parameter(value) for name, value in params.items()}
        outs = tr.bind(self.primitive, operands, self._kind(values)(**values))
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _kind(self, values: Mapping[str, object]) -> type[Any]:
        """Return the class of parameters that has all these names, of several by sharding."""
        plain = self.primitive.params
        known = {field.alias for field in attrs.fields(plain)}
        several = () if known.issuperset(values) else plain.__subclasses__()
        fields = {kind: {field.alias for field in attrs.fields(kind)} for kind in several}
        return next((kind for kind in several if fields[kind].issuperset(values)), plain)


def _parameter(value: object) -> object:
    if isinstance(value, TypedFunction):
        return value.jaxpr
    if isinstance(value, tuple):
        return tuple([_parameter(item) for item in value])
    return value


class Operations:
    """The primitives by name: ``op.sin(x)``, ``op.reduce_sum(x, axes=(0,))``.

    Names that are keywords of Python end with an underscore: ``op.and_(x, y)``.
    """

    def __getattr__(self, name: str) -> Operation:
        return self[name.removesuffix("_")]

    def __getitem__(self, name: str) -> Operation:
        """Return the primitive of a name, which need not be an identifier."""
        if name not in prim.registry:
            for home in _HOMES:
                module = import_module(f"tinyjax.{home}")
                for public in module.__all__:  # loads the modules that define them
                    getattr(module, public)
        if name not in prim.registry:
            raise AttributeError(
                f"there is no primitive '{name}'. Import the module that defines it."
            )
        return Operation(prim.registry[name].with_rules())


#: The primitives by name.
op: Final = Operations()


def bits_of(element: dtypes.HostArray) -> str:
    """Return the bits of a number, as ``literal`` and ``array`` take them."""
    return f"0x{element.tobytes().hex()}"
