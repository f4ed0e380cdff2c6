"""``jax.ffi``: lowerings for primitives that are declared in JAX's way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyjax import errors, ffi
from tinyjax._jax import mlir
from tinyjax.core.stablehlo import types as hlo

__all__ = ["ffi_lowering"]


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = 4,
    **lowering_args: object,
) -> Callable[..., hlo.Values]:
    """Make a lowering rule for a primitive that a foreign function computes.

    Args:
        call_target_name: the name it is registered under.
        operand_layouts: for each operand the order of its axes in memory, the one whose elements
            are neighbours first; None for NumPy's order.
        result_layouts: those of the results.
        backend_config: attributes, to which the primitive's parameters are added; a text for an
            ``api_version`` below 4.
        has_side_effect: whether it must be called even where its results are not used.
        operand_output_aliases: positions of operands, and of the results that share memory with
            them.
        api_version: of the interface.
        lowering_args: must be left out.

    Returns:
        A rule for ``jax.interpreters.mlir.register_lowering``.
    """
    if lowering_args:
        raise errors.ArgumentError(f"ffi_lowering takes no {', '.join(lowering_args)} in tinyjax.")

    def rule(ctx: mlir.LoweringRuleContext, *operands: Any, **params: Any) -> hlo.Values:
        config: dict[str, str] | str
        if isinstance(backend_config, str):
            config = backend_config
        else:
            entries = {**(backend_config or {}), **params}
            config = {name: ffi.attribute(name, x) for name, x in entries.items()}
        return ctx.builder.custom_call(
            call_target_name,
            operands,
            ctx.builder.results,
            config,
            (
                ffi.layouts("operand_layouts", ctx.avals_in, _turned(operand_layouts)),
                ffi.layouts("result_layouts", ctx.avals_out, _turned(result_layouts)),
            ),
            has_side_effect,
            sorted((operand_output_aliases or {}).items()),
            api_version,
        )

    return rule


def _turned(layouts_in: Sequence[Any] | None) -> list[Any] | None:
    """Layouts from the axis along which elements lie farthest apart."""
    if layouts_in is None:
        return None
    return [x if x is None or hasattr(x, "major_to_minor") else [*x][::-1] for x in layouts_in]
