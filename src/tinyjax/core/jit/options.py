"""What ``jit`` may be told, as types."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

ControlFlow = Literal["python", "source"]
#: Options of XLA's by name, and their values.
CompilerOptions: TypeAlias = dict[str, Any]
