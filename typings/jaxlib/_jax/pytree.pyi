from collections.abc import Callable, Iterable, Sequence
from typing import Any

class PyTreeDef:
    def unflatten(self, leaves: Iterable[Any], /) -> Any: ...
    def __hash__(self) -> int: ...

class PyTreeRegistry:
    def __init__(
        self,
        enable_none: bool = ...,
        enable_tuple: bool = ...,
        enable_namedtuple: bool = ...,
        enable_list: bool = ...,
        enable_dict: bool = ...,
    ) -> None: ...
    def flatten(
        self, tree: object | None, leaf_predicate: Callable[[Any], bool] | None = ...
    ) -> tuple[list[Any], PyTreeDef]: ...
    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Sequence[Any], Any]],
        from_iterable: Callable[[Any, tuple[Any, ...]], Any],
        to_iterable_with_keys: Callable[[Any], Any] | None = ...,
    ) -> None: ...
