"""The internals of JAX that libraries use, where they have a counterpart here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol, TypeVar

import attrs
import ml_dtypes
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import distributed, errors, tree
from tinyjax._jax import primitives
from tinyjax.core.devices import PLATFORM, devices_are_known
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy import promotion as pm
from tinyjax.tree import node

F = TypeVar("F", bound=Callable[..., object])
S = TypeVar("S")
T = TypeVar("T")


#: The class of scalars, which JAX has in place of the dtype.
bfloat16: Final = ml_dtypes.bfloat16
#: The version of jaxlib: ``jax.lib.__version__``.
__version__: Final = version("jaxlib")

#: What XLA says against a program.
XlaRuntimeError: Final = errors.JaxRuntimeError

#: What annotations say of shapes.
Shape = Sequence[int]

#: The dtype of a value.
_dtype: Final = jnp.result_type

_PACKAGE: Final = str(Path(tinyjax.__file__).parent)

# Primitives that no equation has: libraries treat those of them apart.
call_p: Final = primitives.Primitive("call")
closed_call_p: Final = primitives.Primitive("closed_call")
custom_jvp_call_p: Final = primitives.Primitive("custom_jvp_call")
jit_p: Final = primitives.Primitive("pjit")


class SupportsDType(Protocol):
    """An object with a dtype."""

    @property
    def dtype(self) -> Any:
        """The dtype."""
        ...


class _GlobalState:
    """The state of the group of processes that this one belongs to."""

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return tinyjax.process_index()

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        return tinyjax.process_count()

    @property
    def client(self) -> object:
        """XLA's client of the service that connects them; none where this process is alone."""
        connected = distributed.connection()
        return None if connected is None else connected.client


global_state: Final = _GlobalState()


def canonicalize_sharding(sharding: object, api_name: str) -> None:
    """Return how axes that are explicit divide an array that a library makes: it does not say."""


def infer_argnums_and_argnames(
    signature: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return positions and names of the same parameters, where one of the two is given.

    Parameters that cannot be given by position have no position, and the other way round.
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    names = (argnames,) if isinstance(argnames, str) else argnames
    parameters = list(signature.parameters.values())
    if numbers is None and names is not None:
        names = [*names]
        name_set = {*names}
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        numbers = [
            i for i, p in enumerate(parameters) if p.kind in by_position and p.name in name_set
        ]
    elif names is None and numbers is not None:
        numbers = [*numbers]
        names = [
            parameters[i].name
            for i in numbers
            if 0 <= i < len(parameters)
            and parameters[i].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        ]
    return tuple(numbers or ()), tuple(names or ())


def promote_dtypes(*args: ArrayLike) -> list[Array]:
    """Convert arrays to their common dtype."""
    return pm.promote_dtypes(*pm.arrays("promote_dtypes", *args)) if args else []


def promote_dtypes_inexact(*args: ArrayLike) -> list[Array]:
    """Convert arrays to their common dtype, or the float that stands for it."""
    return pm.promote_inexact(*pm.arrays("promote_dtypes_inexact", *args))


def check_arraylike(fun_name: str, *args: Any, emit_warning: bool = False) -> None:
    """Raise an error where an argument is no array and no number."""
    pm.arrays(fun_name, *args)


def promote_dtypes_complex(*args: ArrayLike) -> list[Array]:
    """Convert arrays to their common dtype, and that to a complex one."""
    dtype = jnp.result_type(*args, np.complex64)
    return [jnp.asarray(x, dtype) for x in args]


@attrs.frozen
class _Entry:
    """The functions that flatten nodes of a class, to children and metadata, and rebuild them."""

    to_iter: Callable[[Any], tuple[Sequence[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


class _Backends(Mapping[str, str]):
    """The platforms whose devices were listed, whose number is fixed from then on."""

    def __iter__(self) -> Iterator[str]:
        return iter((PLATFORM,) if devices_are_known() else ())

    def __len__(self) -> int:
        return int(devices_are_known())

    def __getitem__(self, platform: str) -> str:
        if platform != PLATFORM or not devices_are_known():
            raise KeyError(platform)
        return platform


_backends: Final = _Backends()


class _Registry:
    """The classes that are nodes of trees."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and node.KINDS.get(node_type) is not None

    def __getitem__(self, node_type: type) -> _Entry:
        kind = node.KINDS.get(node_type)
        if kind is None:
            raise KeyError(node_type)
        return _Entry(kind.flatten, lambda metadata, x: kind.unflatten(metadata, tuple(x)))


_registry: Final = _Registry()


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """Return the value that a prefix has for each leaf of a tree."""
    return tree.flatten_prefix(prefix_tree, tree.structure(full_tree, is_leaf), is_leaf)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Callable[[str], ValueError]]:
    """Find where a tree is no prefix of another.

    Returns:
        Nothing, if it is one; else a function that takes the name of the tree and returns an error,
        which tells the first place.
    """
    whole = tree.structure(full_tree, is_leaf)

    def error(name: str) -> ValueError:
        try:
            tree.flatten_prefix(prefix_tree, whole, is_leaf, name)
        except tree.TreeMismatchError as mismatch:
            return mismatch
        raise errors.ArgumentError(f"{name} is a prefix of the tree.")

    try:
        tree.flatten_prefix(prefix_tree, whole, is_leaf)
    except tree.TreeMismatchError:
        return [error]
    return []


_excluded: Final[set[str]] = set()


def register_exclusion(path: str) -> None:
    """Leave a file's frames out of those that ``include_frame`` takes.

    Tracebacks of errors are whole here even so.
    """
    _excluded.add(path)


def include_frame(frame: FrameType) -> bool:
    """Return whether a frame is that of a user's function, of no file that was left out."""
    file = frame.f_code.co_filename
    return file not in _excluded and not file.startswith(_PACKAGE)


def api_boundary(fun: F) -> F:
    """Return the function, whose frames tracebacks show like any other."""
    return fun


def flatten_axes(
    name: str,
    treedef: tree.PyTreeDef,
    axis_tree: Any,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[Any]:
    """Return the axis that a prefix, in which None is one too, has for each leaf of a structure.

    Args:
        name: the prefix, for errors.
        treedef: the structure.
        axis_tree: the prefix.
        kws: whether the structure is that of arguments by position and by name.
        tupled_args: has no effect: it is for errors of JAX's.
    """
    if kws:
        treedef = treedef.children()[0]
    return tree.flatten_prefix(axis_tree, treedef, lambda x: x is None, name)


def safe_map(f: Callable[..., T], *args: Iterable[Any]) -> list[T]:
    """Call a function on the items of sequences of one length.

    Example:
        >>> from tinyjax._jax.internals import safe_map
        >>> safe_map(max, [1, 5], [4, 2])
        [4, 5]
    """
    return [f(*items) for items in safe_zip(*args)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the items of sequences of one length by turns."""
    return [*zip(*args, strict=True)]


def unzip2(xys: Iterable[tuple[S, T]]) -> tuple[tuple[S, ...], tuple[T, ...]]:
    """Return the first and the second items of pairs."""
    pairs = [*xys]
    return tuple([x for x, _ in pairs]), tuple([y for _, y in pairs])


def wait_for_tokens() -> None:
    """Return at once: a program returns when its callbacks are done."""


def trace_state_clean() -> bool:
    """Return whether no transformation is running.

    Example:
        >>> import tinyjax
        >>> from tinyjax._jax.internals import trace_state_clean
        >>> trace_state_clean(), tinyjax.jit(lambda x: trace_state_clean() + x)(0)
        (True, Array(0, dtype=int32, weak_type=True))
    """
    return next(tr.enclosing_traces(), None) is None
