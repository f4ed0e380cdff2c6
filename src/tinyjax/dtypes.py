"""Element types and how they are promoted.

All of NumPy's numeric types up to 64 bits exist, with bfloat16 and the float8 types from ml_dtypes;
arrays keep theirs. Integers of 2 and 4 bits are kept, moved and converted, not computed with.
A type may be *weak*: it then came from a Python scalar and gives
way to any other type of its kind. Promotion follows JAX's lattice, in which the weak int, float and
complex (``i*``, ``f*``, ``c*``) are nodes between the integers, the floats and the complex types.
Where integers become floats and no operand says which, 64-bit integers become float64, and narrower
ones the default float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, Literal, Protocol, TypeAlias, overload, runtime_checkable

import ml_dtypes
import numpy as np

from tinyjax._base.frames import is_inner_arithmetic, subject, warn_user
from tinyjax.config import Mixed, settings
from tinyjax.errors import ArgumentError, DtypeError, PromotionError, described, shortened

_role = "prepares"  # see ``frames.Role``

DType = np.dtype[Any]


@runtime_checkable
class MakesScalars(Protocol):
    """A dtype that makes scalars when it is called, such as ``tinyjax.numpy.float32``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [isinstance(x, dtypes.MakesScalars) for x in (jnp.float32, jnp.dtype("float32"))]
        [True, False]
    """

    @property
    def dtype(self) -> DType: ...

    def __call__(self, x: Any = 0, /) -> Any: ...


@runtime_checkable
class HasDType(Protocol):
    """An array, of NumPy or of tinyjax, or anything else with a dtype.

    It is a protocol, for type annotations and ``isinstance``. The dtype itself is not checked.

    Example:
        >>> import numpy as np
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [isinstance(x, dtypes.HasDType) for x in (jnp.ones(2), np.ones(2), [1.0])]
        [True, True, False]
    """

    @property
    def dtype(self) -> DType: ...


class IntegerLimits(HasDType, Protocol):
    """The limits of an integer type: NumPy's object, or that of ``ml_dtypes``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> limits: dtypes.IntegerLimits = jnp.iinfo(jnp.int4)
        >>> limits.bits, limits.min, limits.max
        (4, -8, 7)
    """

    @property
    def kind(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def min(self) -> int: ...
    @property
    def max(self) -> int: ...


#: NumPy's own meaning: a dtype, a scalar type, or a name; None for the default.
DTypeLike: TypeAlias = (
    str
    | type[bool]
    | type[int]
    | type[float]
    | type[complex]
    | type[np.generic]
    | DType
    | MakesScalars
    | None
)
HostArray = np.ndarray[Any, DType]
#: NumPy gives scalars for arrays without axes; evaluation makes arrays of them again.
HostResult = HostArray | np.generic

bool_: DType = np.dtype(np.bool_)
int8: DType = np.dtype(np.int8)
int16: DType = np.dtype(np.int16)
int32: DType = np.dtype(np.int32)
int64: DType = np.dtype(np.int64)
uint8: DType = np.dtype(np.uint8)
uint16: DType = np.dtype(np.uint16)
uint32: DType = np.dtype(np.uint32)
uint64: DType = np.dtype(np.uint64)
float16: DType = np.dtype(np.float16)
float32: DType = np.dtype(np.float32)
float64: DType = np.dtype(np.float64)
complex64: DType = np.dtype(np.complex64)
complex128: DType = np.dtype(np.complex128)
bfloat16: Final = np.dtype(ml_dtypes.bfloat16)
float8_e4m3fn: Final = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e5m2: Final = np.dtype(ml_dtypes.float8_e5m2)
float8_e4m3b11fnuz: Final = np.dtype(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fnuz: Final = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2fnuz: Final = np.dtype(ml_dtypes.float8_e5m2fnuz)
float8_e3m4: Final = np.dtype(ml_dtypes.float8_e3m4)
float8_e4m3: Final = np.dtype(ml_dtypes.float8_e4m3)
int2: Final = np.dtype(ml_dtypes.int2)
int4: Final = np.dtype(ml_dtypes.int4)
uint2: Final = np.dtype(ml_dtypes.uint2)
uint4: Final = np.dtype(ml_dtypes.uint4)

_finfo: Final[Callable[[DType], np.finfo[Any]]] = ml_dtypes.finfo
_iinfo: Final[Callable[[DType], ml_dtypes.iinfo]] = ml_dtypes.iinfo

#: The type of the tangent of an integer or a boolean: there is only one, and it holds nothing.
float0: Final = np.dtype([("float0", np.void, 0)])


def _abstract(name: str, base: type[np.generic], doc: str) -> type[np.generic]:
    # NumPy's stubs say that no class may inherit from its record type, which its own does
    return type(name, (base,), {"__doc__": doc, "__module__": __name__, "__slots__": ()})


extended: Final = _abstract(
    "extended",
    np.void,
    """The abstract type of elements that are no numbers, such as keys.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.issubdtype(random.key(0).dtype, dtypes.extended)
        True
    """,
)
prng_key: Final = _abstract(
    "prng_key",
    extended,
    """The abstract type of the keys of random numbers, whatever generates them.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.issubdtype(random.key(0, impl="rbg").dtype, dtypes.prng_key)
        True
    """,
)


def _key(tag: str, words: int) -> DType:
    return np.dtype((prng_key, [(tag, np.uint32, (words,))]))


# To NumPy a key is one element: a record of words. So whatever moves elements, moves keys.
key_threefry: Final = _key("fry", 2)
key_rbg: Final = _key("rbg", 4)
key_unsafe_rbg: Final = _key("urbg", 4)

KEYS = (key_threefry, key_rbg, key_unsafe_rbg)
FLOAT8 = (
    *(float8_e4m3fn, float8_e5m2, float8_e4m3b11fnuz, float8_e4m3fnuz, float8_e5m2fnuz),
    *(float8_e3m4, float8_e4m3),
)
#: Integers that are stored, with the number of their bits: there is no arithmetic of them.
STORED: Final[dict[DType, int]] = {int2: 2, int4: 4, uint2: 2, uint4: 4}
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (*FLOAT8, bfloat16, float16, float32, float64)
COMPLEXES = (complex64, complex128)
INEXACT = FLOATS + COMPLEXES
ALL = (bool_, *INTEGERS, *INEXACT)

#: How XLA holds the elements that it has no type for: keys in a number of as many bytes, which it
#: only moves; and tangents that hold nothing in bools. Of 2 or 4 bits, of which it may store
#: several in a byte, it has types, but few operations that are safe: each has a byte, as in NumPy.
PHYSICAL: Final[dict[DType, DType]] = {
    key_threefry: uint64,
    key_rbg: complex128,
    key_unsafe_rbg: complex128,
    float0: bool_,
    **dict.fromkeys(STORED, uint8),
}

_ALL = frozenset(ALL)
_INEXACT = frozenset(INEXACT)
_FLOATS = frozenset(FLOATS)
_INTEGERS = frozenset(INTEGERS)
_WIDE = frozenset((int64, uint64, float64, complex128))
#: Beside values of these types Python's numbers have 64 bits.
WIDE_FLOATS: Final = frozenset((float64, complex128))
_EXTENDED = frozenset((*FLOAT8, bfloat16))
_NARROW_FLOATS = frozenset((*FLOAT8, bfloat16, float16))


def beside(operands: Iterable[object]) -> Mixed:
    """Return the context of a user's function of these operands.

    Beside a 64-bit float Python's numbers have 64 bits, in the whole function.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> with dtypes.beside([np.ones(2)]):
        ...     dtypes.scalar_dtype(float)
        dtype('float64')
    """
    return Mixed(are_wide(operands))


def are_wide(operands: Iterable[object]) -> bool:
    """Return whether some operand is of 64-bit floats or complex numbers.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> dtypes.are_wide([1.0, np.float32(1.0)]), dtypes.are_wide([1, np.float64(1.0)])
        (False, True)
    """
    # at each gradient: a list is faster than a generator
    return not WIDE_FLOATS.isdisjoint([getattr(x, "dtype", None) for x in operands])


def is_inexact(dtype: DType) -> bool:
    """Return whether a type is a float or complex: one that has derivatives.

    Derivatives with respect to others are of the type ``float0``, which has no data.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_inexact(jnp.dtype(name)) for name in ("bfloat16", "complex64", "int32")]
        [True, True, False]
    """
    return dtype in _INEXACT


def is_float(dtype: DType) -> bool:
    """Return whether a type is a real floating-point type.

    bfloat16 and the narrow floats count, which NumPy does not know.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_float(jnp.dtype(name)) for name in ("bfloat16", "complex64")]
        [True, False]
    """
    return dtype in _FLOATS


def is_complex(dtype: DType) -> bool:
    """Return whether a type is complex.

    It takes a dtype, as ``jnp.dtype`` and arrays give it; ``jnp.issubdtype`` also takes names.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_complex(jnp.dtype(name)) for name in ("complex64", "float32")]
        [True, False]
    """
    return dtype.kind == "c"


def is_integer(dtype: DType) -> bool:
    """Return whether a type is a signed or unsigned integer (not bool).

    Integers of 2 and 4 bits are not among them, with which little arithmetic is done.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_integer(jnp.dtype(name)) for name in ("uint8", "bool", "int4")]
        [True, False, False]
    """
    return dtype in _INTEGERS


def is_whole(dtype: DType) -> bool:
    """Return whether a type holds whole numbers: an integer, or one of those that are only stored.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_whole(jnp.dtype(name)) for name in ("uint8", "bool", "int4")]
        [True, False, True]
    """
    return dtype in _INTEGERS or dtype in STORED


def is_key(dtype: DType) -> bool:
    """Return whether a type is one of the keys of random numbers.

    Keys made by ``random.key`` are; raw ones of ``random.PRNGKey`` are arrays of uint32.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.is_key(random.key(0).dtype)
        True
        >>> dtypes.is_key(random.PRNGKey(0).dtype)
        False
    """
    return dtype.type is prng_key


def dtype_name(dtype: DType) -> str:
    """Return the name of a type, as types of arrays are printed: ``float32``, ``key<fry>``.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.dtype_name(random.key(0).dtype)
        'key<fry>'
    """
    return f"key<{key_tag(dtype)}>" if is_key(dtype) else dtype.name


def named(text: str) -> DType:
    """Return the type of a name that ``dtype_name`` gave.

    Raises:
        DtypeError: there is none.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.named("key<fry>") == random.key(0).dtype
        True
    """
    return next((dtype for dtype in KEYS if dtype_name(dtype) == text), None) or check(text)


def key_tag(dtype: DType) -> str:
    """Return the short name of the generator that keys of a type are for.

    Example:
        >>> from tinyjax import dtypes, random
        >>> dtypes.key_tag(random.key(0).dtype)
        'fry'
    """
    (tag,) = dtype.names or ()
    return tag


def without_repeats(host: HostArray) -> HostArray:
    """Return the elements of a host array that differ in place: one along each axis of stride 0.

    An array that was broadcast may be one value, more often than can be looked at.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> dtypes.without_repeats(np.broadcast_to(7.0, (10**6, 10**6)))
        array([[7.]])
    """
    return host[(*[slice(None) if stride else slice(1) for stride in host.strides], ...)]


def to_physical(host: HostArray) -> HostArray:
    """Return data of a dtype in ``PHYSICAL`` as XLA holds it.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> dtypes.to_physical(np.array([-1, 1], dtypes.int4))
        array([15,  1], dtype=uint8)
    """
    if host.dtype == float0:
        return np.zeros(host.shape, bool_)
    if host.dtype in STORED:  # what the other bits of their bytes are, is left open
        return np.asarray(host.view(uint8) & ((1 << STORED[host.dtype]) - 1))
    return host.view(PHYSICAL[host.dtype])


def of_physical(host: HostArray, dtype: DType) -> HostArray:
    """Return data as XLA holds it in its own dtype.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> dtypes.of_physical(np.array([15, 1], np.uint8), dtypes.int4).astype(int)
        array([-1,  1])
    """
    return np.zeros(host.shape, float0) if dtype == float0 else host.view(dtype)


def is_narrow_float(dtype: DType) -> bool:
    """Return whether a type is a float of at most 16 bits, whose sums are kept in float32.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_narrow_float(jnp.dtype(name)) for name in ("bfloat16", "float16", "float32")]
        [True, True, False]
    """
    return dtype in _NARROW_FLOATS


def is_extended(dtype: DType) -> bool:
    """Return whether a type is one of those that ml_dtypes adds to NumPy's: bfloat16 or a float8.

    NumPy's ``kind`` does not tell: it is "f" for float8_e5m2 and "V" for the others.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.is_extended(jnp.dtype(name)) for name in ("bfloat16", "float16")]
        [True, False]
    """
    return dtype in _EXTENDED


def kind(dtype: DType) -> str:
    """Return NumPy's kind, one of ``b i u f c``; bfloat16 and float8 are floats, keys are ``k``.

    Integers that are only stored are ``s``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [dtypes.kind(jnp.dtype(name)) for name in ("bfloat16", "uint8", "int4")]
        ['f', 'u', 's']
        >>> jnp.dtype("bfloat16").kind
        'V'
    """
    letter = dtype.kind
    if letter != "V":
        return letter
    return "f" if dtype in _FLOATS else "k" if is_key(dtype) else "s" if dtype in STORED else letter


#: What 64-bit types become where there are none.
_NARROWED: Final[dict[DType, DType]] = {
    int64: int32,
    uint64: uint32,
    float64: float32,
    complex128: complex64,
}


def allowed(dtype: DType) -> DType:
    """Return the type that data of a type has as an array: itself, unless ``wide_dtypes`` is off.

    Then it is the 32-bit type in place of a 64-bit one.

    Example:
        >>> from tinyjax import config, dtypes
        >>> str(dtypes.allowed(dtypes.float64))
        'float64'
        >>> with config.scoped(wide_dtypes=False):
        ...     str(dtypes.allowed(dtypes.float64))
        'float32'
    """
    if dtype in _NARROWED and not settings().wide_dtypes:
        return _NARROWED[dtype]
    return dtype


def check(dtype: DTypeLike) -> DType:
    """Return the NumPy dtype that a user asks for, or raise.

    ``float``, ``int`` and ``complex`` mean the default type of their kind. Where ``wide_dtypes`` is
    off, a 64-bit type means the 32-bit one, and a warning says so.

    Raises:
        DtypeError: the type is not one that arrays can have.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.check(float)), str(dtypes.check("float64"))
        ('float32', 'float64')
    """
    wide = parse(dtype)
    held = allowed(wide)
    if held is not wide:
        warn_user(
            f"{wide} is asked for, but arrays have {held} while there are no 64-bit types: set "
            "jax_enable_x64, or tinyjax's wide_dtypes."
        )
    return held


def parse(dtype: DTypeLike) -> DType:
    """Return the NumPy dtype that a user asks for, 64-bit or not, or raise.

    Raises:
        DtypeError: the type is not one that arrays can have.

    Example:
        >>> from tinyjax import config, dtypes
        >>> with config.scoped(wide_dtypes=False):
        ...     str(dtypes.parse("int64"))
        'int64'
    """
    if dtype is int and settings().default_dtypes == "mixed":
        return int64
    if dtype is int or dtype is float or dtype is complex:
        return scalar_dtype(dtype)
    # NumPy takes ten times as long to find that of a class
    own = getattr(dtype, "dtype", None) if isinstance(dtype, type) else None
    try:
        result = own if isinstance(own, np.dtype) else np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError, RecursionError):  # of what describes no type
        hint = (
            " A shape of several axes is one tuple: (2, 3)." if shortened(dtype).isdigit() else ""
        )
        raise DtypeError(f"{subject(dtype)}{shortened(dtype)} is not a dtype.{hint}") from None
    if result not in _ALL and result not in STORED and not is_key(result) and result != float0:
        raise DtypeError(
            f"{subject(dtype)}arrays cannot have dtype {result}. The types are: "
            f"{', '.join(d.name for d in (*ALL, *STORED))}."
        )
    return result


def dtype_in_numpy(dtype: DTypeLike) -> DType:
    """Return the requested NumPy dtype, where ``float`` and ``int`` have 64 bits, as in NumPy.

    That is so in questions about dtypes; to make an array, ``float`` is the default float.

    Raises:
        DtypeError: the type is not one that arrays can have.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.dtype_in_numpy(float)), str(dtypes.check(float))
        ('float64', 'float32')
    """
    return np.dtype(dtype) if _is_weak(dtype) else parse(dtype)


def typed(dtype: DTypeLike) -> tuple[DType, bool]:
    """Return the requested NumPy dtype, and whether it is weak.

    ``int``, ``float`` and ``complex`` are.

    Raises:
        DtypeError: the type is not one that arrays can have.

    Example:
        >>> from tinyjax import dtypes
        >>> dtypes.typed(float), dtypes.typed("float32")
        ((dtype('float32'), True), (dtype('float32'), False))
    """
    return allowed(parse(dtype)), _is_weak(dtype)


def _is_weak(dtype: DTypeLike) -> bool:
    # by identity: NumPy says that its float64 is equal to Python's float
    return dtype is int or dtype is float or dtype is complex


def default_float() -> DType:
    """Return the type of a Python float: float32 unless ``default_dtypes`` says float64.

    It is what ``jnp.ones(2)`` has, and what integers become in functions such as ``sin``. 64-bit
    integers become float64 instead.

    Example:
        >>> from tinyjax import config, dtypes
        >>> str(dtypes.default_float())
        'float32'
        >>> with config.scoped(default_dtypes="float64"):
        ...     str(dtypes.default_float())
        'float64'
    """
    return float64 if settings().default_dtypes == "float64" else float32


def default_int() -> DType:
    """Return the type of a Python int: int32, or int64 with 64-bit defaults.

    It is what ``jnp.arange(3)`` has, and indices; it follows ``default_dtypes`` and ``enable_x64``.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.default_int())
        'int32'
        >>> import tinyjax
        >>> with tinyjax.enable_x64(True):
        ...     str(dtypes.default_int())
        'int64'
    """
    return int64 if settings().default_dtypes == "float64" else int32


def default_complex() -> DType:
    """Return the type of a Python complex: complex64, or complex128 with 64-bit defaults.

    It follows ``default_dtypes`` and ``enable_x64``, in blocks, too.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.default_complex())
        'complex64'
    """
    return complex128 if settings().default_dtypes == "float64" else complex64


def scalar_dtype(kind: type) -> DType:
    """Return the dtype that a Python scalar type stands for.

    It follows ``default_dtypes`` and ``enable_x64``. Arrays made of such numbers are weakly typed:
    another operand's dtype prevails.

    Example:
        >>> from tinyjax import dtypes
        >>> [str(dtypes.scalar_dtype(kind)) for kind in (bool, int, float, complex)]
        ['bool', 'int32', 'float32', 'complex64']
    """
    if kind is bool:
        return bool_
    if kind is int:
        return default_int()
    narrow, wide = (float32, float64) if kind is float else (complex64, complex128)
    return narrow if settings().default_dtypes == "float32" else wide


def real_part(dtype: DType) -> DType:
    """Return the real type of the same precision as a complex one; real types are unchanged.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.real_part(dtypes.complex128))
        'float64'
    """
    if dtype == complex64:
        return float32
    if dtype == complex128:
        return float64
    return dtype


def to_complex(dtype: DType) -> DType:
    """Return the complex type of a real one's precision; complex types are unchanged.

    Floats narrower than float32 become complex64, and so do integers and bools.

    Example:
        >>> from tinyjax import dtypes
        >>> str(dtypes.to_complex(dtypes.float64)), str(dtypes.to_complex(dtypes.bfloat16))
        ('complex128', 'complex64')
    """
    if dtype.kind == "c":
        return dtype
    return complex128 if dtype == float64 else complex64


def to_inexact(dtype: DType, weak: bool = False) -> DType:
    """Return the float or complex type in which to compute with values of a type.

    That is the type itself where it is one; float64 for 64-bit integers, unless they are weak; else
    the type of Python's floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> [str(dtypes.to_inexact(jnp.dtype(name))) for name in ("int8", "int64", "float16")]
        ['float32', 'float64', 'float16']
    """
    if dtype in _INEXACT:
        return dtype
    return float64 if dtype in _WIDE and not weak else scalar_dtype(float)


# The lattice. An edge leads from a node to the nodes just above it.
_Node = DType | str
_ABOVE: dict[_Node, tuple[_Node, ...]] = {
    bool_: ("i*",),
    "i*": (uint8, int8, *STORED),
    **dict.fromkeys(STORED, ()),
    uint8: (int16, uint16),
    uint16: (int32, uint32),
    uint32: (int64, uint64),
    uint64: ("f*",),
    int8: (int16,),
    int16: (int32,),
    int32: (int64,),
    int64: ("f*",),
    "f*": (*FLOAT8, bfloat16, float16, "c*"),
    **dict.fromkeys(FLOAT8, ()),
    bfloat16: (float32,),
    float16: (float32,),
    float32: (float64, complex64),
    float64: (complex128,),
    "c*": (complex64,),
    complex64: (complex128,),
    complex128: (),
}


_WEAK_NAMES: Final = {"i*": "int (Python's)", "f*": "float (Python's)", "c*": "complex (Python's)"}


@cache
def _at_or_above(node: _Node) -> frozenset[_Node]:
    return frozenset([node]).union(*(_at_or_above(n) for n in _ABOVE[node]))


@cache
def _join(nodes: frozenset[_Node]) -> _Node:
    common = frozenset.intersection(*(_at_or_above(node) for node in nodes))
    for node in common:
        if _at_or_above(node) == common:
            return node
    names = sorted(_WEAK_NAMES.get(str(node), str(node)) for node in nodes)
    raise PromotionError(
        f"dtypes {' and '.join(names)} have no common type to promote to. "
        "Convert one of them with .astype(...)."
    )


def _node(dtype: DType, weak: bool) -> _Node:
    if not weak or dtype == bool_:
        return dtype
    if dtype.kind in "iu":
        return "i*"
    return "c*" if dtype.kind == "c" else "f*"


@cache
def _promote(types: tuple[tuple[DType, bool], ...], defaults: str) -> tuple[DType, bool]:
    for dtype, _ in types:
        if is_key(dtype):
            raise DtypeError(
                f"a key of random numbers ({dtype_name(dtype)}) is no number: give it to a "
                "function of tinyjax.random, such as split, fold_in or normal."
            )
        if dtype == float0:
            raise DtypeError(
                "float0s do not support any operations: this is the derivative of an integer or a "
                "bool, which has none."
            )
    joined = _join(frozenset(_node(dtype, weak) for dtype, weak in types))
    if not isinstance(joined, str):
        return joined, False
    # No operand says how wide the result is: 64 bits for what has 64 bits, else the default width.
    # (Weak integers of 64 bits, those of staged Python programs, say nothing of floats.)
    is_wide = defaults == "float64" or (defaults == "mixed" and joined != "i*")
    is_wide = is_wide or any(
        dtype in _WIDE and (joined == "i*" or not (weak and dtype.kind in "iu"))
        for dtype, weak in types
    )
    if not is_wide:
        whole = [_node(*t) for t in types if t[0].kind in "biu"]
        integers = _join(frozenset([bool_, *whole]))
        is_wide = integers in _WIDE or integers == "f*"  # int32 and uint32 meet in int64
    return _WEAK[joined][is_wide], True


#: The kinds of dtypes that a Python number is promoted to where promotion is strict.
_STRICT: Final = {"i*": "iuVfc", "f*": "Vfc", "c*": "c"}


@cache
def _check_strictly(types: tuple[tuple[DType, bool], ...]) -> None:
    """Refuse dtypes that differ; Python numbers take one of their kind, or of a greater one."""
    nodes = {_node(dtype, weak) for dtype, weak in types}
    dtypes = [node for node in nodes if not isinstance(node, str)]
    numbers = [node for node in nodes if isinstance(node, str)]
    if len(dtypes) > 1 or any(dtypes[0].kind not in _STRICT[n] for n in numbers if dtypes):
        names = sorted(dtype_name(dtype) for dtype, _ in types)
        raise PromotionError(
            f"dtypes {' and '.join(names)} differ, and dtype_promotion is 'strict'. Convert one of "
            "them with .astype(...)."
        )


_WEAK: dict[str, tuple[DType, DType]] = {
    "i*": (int32, int64),
    "f*": (float32, float64),
    "c*": (complex64, complex128),
}


def promote(types: Sequence[tuple[DType, bool]]) -> tuple[DType, bool]:
    """Join ``(dtype, weak_type)`` pairs in JAX's promotion lattice.

    Returns:
        The common dtype, and whether it is weak: whether a weak type has decided its kind.

    Raises:
        PromotionError: there is no common type, as for float8 and float16.

    Example:
        >>> from tinyjax import dtypes
        >>> dtypes.promote([(dtypes.int8, False), (dtypes.float32, True)])
        (dtype('float32'), True)
        >>> dtypes.promote([(dtypes.int8, False), (dtypes.float16, False)])
        (dtype('float16'), False)
    """
    dtype, weak = _joined(types)
    return allowed(dtype), weak


def _joined(types: Sequence[tuple[DType, bool]]) -> tuple[DType, bool]:
    first = types[0]
    if all(t == first for t in types[1:]):
        return first
    current = settings()
    if current.dtype_promotion == "strict" and not is_inner_arithmetic():
        _check_strictly(tuple(types))
    return _promote(tuple(types), current.default_dtypes)


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """Return the dtype that two dtypes promote to; Python's ``int`` and ``float`` are weak.

    Raises:
        PromotionError: they have no common type.

    Example:
        >>> from tinyjax import dtypes
        >>> dtypes.promote_types("int32", "bfloat16")
        dtype(bfloat16)
        >>> dtypes.promote_types("int32", "uint32")
        dtype('int64')
    """
    return _joined([(parse(t), _is_weak(t)) for t in (a, b)])[0]


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = ...) -> DType: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> DType | tuple[DType, bool]:
    """Return the dtype of the result of an operation on arrays, numbers or dtypes.

    Python's ``int``, ``float`` and ``complex`` are weak, like their numbers; NumPy's types are not.

    Args:
        args: the operands, or their dtypes.
        return_weak_type_flag: whether to return ``(dtype, weak_type)``.

    Raises:
        PromotionError: they have no common type.
        ArgumentError: no arguments are given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.result_type(jnp.zeros(2, jnp.float16), 3.0)
        dtype('float16')
    """
    if not args:
        raise ArgumentError("result_type needs at least one array, number or dtype.")
    if not isinstance(return_weak_type_flag, (bool, int, np.bool_)):
        raise ArgumentError(
            f"return_weak_type_flag must be a bool, but got {described(return_weak_type_flag)}."
        )
    promoted = promote([_type_of(x) for x in args])
    return promoted if return_weak_type_flag else promoted[0]


def _type_of(x: Any) -> tuple[DType, bool]:
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        kind = next(k for k in (bool, int, float, complex) if isinstance(x, k))
        return scalar_dtype(kind), kind is not bool
    if isinstance(x, type):
        return typed(x)
    return allowed(parse(getattr(x, "dtype", x))), getattr(x, "weak_type", False)


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> DType:
    """Return the NumPy dtype meant; 64-bit types stay as they are, unless there are none.

    Args:
        dtype: a dtype, a scalar type or a name; ``int``, ``float`` and ``complex`` mean the
            default type of their kind.
        allow_extended_dtype: has no effect: no dtype is refused for being extended.

    Raises:
        DtypeError: the type is not one that arrays can have.

    Example:
        >>> from tinyjax import dtypes
        >>> dtypes.canonicalize_dtype(float), dtypes.canonicalize_dtype("float64")
        (dtype('float32'), dtype('float64'))
    """
    return allowed(parse(dtype))


def scalar_type_of(x: Any) -> type[bool | int | float | complex]:
    """Return Python's type for the elements of an array, or for values of a dtype.

    Raises:
        DtypeError: they are keys, which are no numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> dtypes.scalar_type_of(jnp.ones(2, jnp.bfloat16))
        <class 'float'>
    """
    dtype, _ = _type_of(x)
    if is_key(dtype):
        raise DtypeError(f"{dtype_name(dtype)} has no type of Python's: keys are no numbers.")
    return {"b": bool, "i": int, "u": int, "s": int, "f": float, "c": complex}[kind(dtype)]


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits that an element takes in memory.

    It differs from eight times NumPy's ``itemsize`` for types narrower than a byte, of which XLA
    packs several.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> dtypes.itemsize_bits("int4"), dtypes.itemsize_bits(jnp.complex64)
        (4, 64)
    """
    requested = parse(dtype)
    return STORED.get(requested, 8 * requested.itemsize)


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether a dtype is another, or belongs to an abstract type.

    Args:
        arg1: a dtype or an abstract type. Python's ``int``, ``float`` and ``complex`` have 64
            (``complex`` 128) bits here, as in NumPy and JAX.
        arg2: a dtype, or an abstract type such as ``jnp.floating``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
        True
        >>> jnp.issubdtype(jnp.int8, jnp.inexact)
        False
    """
    # the argument may be a dtype of NumPy's that arrays cannot have
    known = isinstance(arg1, np.dtype) or (isinstance(arg1, type) and issubclass(arg1, np.generic))
    first: Any = arg1 if known else dtype_in_numpy(arg1)
    if isinstance(first, type):
        first = next((dtype for dtype in (*_EXTENDED, *STORED) if dtype.type is first), first)
    abstract = isinstance(arg2, type) and issubclass(arg2, np.generic)
    second = arg2 if abstract else dtype_in_numpy(arg2)
    if abstract and isinstance(first, np.dtype) and is_narrow_float(first):
        # NumPy knows of no place for the types of ml_dtypes
        return second in (np.generic, np.number, np.inexact, np.floating) or first.type is second
    if abstract and isinstance(first, np.dtype) and first in STORED:
        signed = np.signedinteger if first.name.startswith("i") else np.unsignedinteger
        return second in (np.generic, np.number, np.integer, signed) or first.type is second
    return bool(np.issubdtype(first, second))


def _dtype_of(owner: Any) -> DType:
    # the attribute of a scalar type is a descriptor
    return dtype_in_numpy(owner if isinstance(owner, type) else getattr(owner, "dtype", owner))


def finfo(dtype: DTypeLike | HasDType) -> np.finfo[Any]:
    """Return the limits of a float type: ``eps``, ``max``, ``tiny`` and kin.

    Args:
        dtype: the type, or an array of it; Python's ``float`` is float64, as in NumPy and JAX.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> float(jnp.finfo(jnp.float32).eps)
        1.1920928955078125e-07
    """
    requested = _dtype_of(dtype)
    if not is_inexact(requested):
        raise DtypeError(
            f"finfo describes floats and complex numbers, but got {dtype_name(requested)}."
        )
    return _finfo(requested)


def iinfo(dtype: DTypeLike | HasDType) -> IntegerLimits:
    """Return the limits of an integer type: ``min``, ``max`` and ``bits``.

    It describes the range of a dtype that you do not know beforehand; ``finfo`` does so for
    floats.

    Args:
        dtype: the type, or an array of it; Python's ``int`` is int64, as in NumPy and JAX.

    Raises:
        DtypeError: the type is none of integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.iinfo(jnp.int8).min, jnp.iinfo(jnp.uint4).max
        (-128, 15)
        >>> jnp.iinfo(jnp.arange(3)).bits
        32
    """
    requested = _dtype_of(dtype)
    if not is_whole(requested):
        raise DtypeError(f"iinfo describes integers, but got {dtype_name(requested)}.")
    return _iinfo(requested) if requested in STORED else np.iinfo(requested)


#: What JAX calls it
TypePromotionError = PromotionError
