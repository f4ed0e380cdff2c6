"""``export``: makes of a jitted function a program that needs nothing of its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

import numpy as np

from tinyjax import config, dtypes, errors, frames
from tinyjax.core import api, devices as dev
from tinyjax.core.jit import JitFunction, jit, stages
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import PlacedArray
from tinyjax.export import exported, families, format, symbolic_programs
from tinyjax.export.divided import divided_of
from tinyjax.export.platforms import (
    PLATFORMS,
    default_export_platform,
    listed,
    main_first,
    portable_form,
)
from tinyjax.parallel import sharding as sd

P = ParamSpec("P")


def export(
    fun: Callable[P, Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[format.DisabledSafetyCheck] = (),
) -> Callable[P, exported.Exported]:
    """Return a function that exports ``fun`` for its arguments, without running it.

    Shapes are fixed, and so are the values of static arguments and of what the function closes
    over; arrays among these are kept with the program.

    Args:
        fun: what ``jit`` returned, or a function of this library.
        platforms: where the program is to run: some of "cpu", "cuda", "rocm" and "tpu"; None for
            the CPU. Each has a program of its own. Here only that for the CPU can be called.
        disabled_checks: what is not checked: with ``DisabledSafetyCheck.platform()`` a program for
            other platforms is called on the CPU.

    Returns:
        A function of the same arguments (a ``ShapeDtypeStruct`` may stand for an array) that
        returns an ``Exported``.

    Raises:
        ArgumentError: ``fun`` is not what ``jit`` returned, or there is no such platform.
        ExportError: when called, if the program calls Python functions (``pure_callback``,
            ``debug.print`` and kin), or closes over a traced value; or, for other platforms than
            the CPU, if it calls LAPACK.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> @tinyjax.jit
        ... def norm(x):
        ...     return jnp.sqrt(jnp.sum(x**2))
        >>> data = export.export(norm)(jnp.zeros(2)).serialize(vjp_order=1)

        Another process, that has ``data`` only:

        >>> loaded = export.deserialize(data)
        >>> loaded
        <exported norm: (float32[2]) -> (float32[])>
        >>> loaded.call(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
        >>> tinyjax.grad(loaded.call)(jnp.array([3.0, 4.0]))
        Array([0.6, 0.8], dtype=float32)
    """
    jitted: object = fun
    if not isinstance(jitted, JitFunction):
        if str(getattr(fun, "__module__", "")).startswith("tinyjax."):
            return export(jit(fun), platforms=platforms, disabled_checks=disabled_checks)
        raise errors.ArgumentError(
            f"export takes a jitted function, but got {frames.describe_function(fun)}. Write "
            "export(jit(f))(*args)."
        )

    program: JitFunction[P, Any] = jitted
    targets = (default_export_platform(),) if platforms is None else tuple(platforms)
    unknown = [p for p in targets if p not in PLATFORMS]
    if unknown or not targets or len({*targets}) < len(targets):
        raise errors.ArgumentError(
            f"export takes platforms out of {listed(PLATFORMS)}, each once, but got "
            f"{[*targets]!r:.100}."
        )

    @frames.wraps(fun)
    def exporter(*args: P.args, **kwargs: P.kwargs) -> exported.Exported:
        def lower() -> stages.Lowered:
            return program.lower(*args, **kwargs)

        with config.scoped(progress=False):  # bars are this process's
            return exported_of(lower, targets, tuple(disabled_checks))

    return exporter


def exported_of(
    lower: Callable[[], stages.Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[format.DisabledSafetyCheck, ...],
) -> exported.Exported:
    """Export a lowered function.

    Args:
        lower: lowers it for the platform in view.
        platforms: where the program is to run.
        disabled_checks: what is not checked.

    Raises:
        ExportError: as of ``export``.
    """
    by_platform: dict[str, stages.Lowered] = {}
    for platform in main_first(platforms):
        with config.scoped(default_device=dev.PLATFORM):  # which is another in other processes
            if platform == dev.PLATFORM:
                by_platform[platform] = lower()
            else:
                with dev.platform_in_view(platform):  # functions for platforms are chosen by it
                    by_platform[platform] = lower()
    lowered = next(iter(by_platform.values()))
    if any(isinstance(const, tr.Tracer) for const in lowered.consts):
        raise errors.ExportError(
            f"'{lowered.name}' closes over a value that is being traced, so it is no program of "
            "its own. Make that value an argument, or export outside of the transformation."
        )
    if not all(note.lasting for note in lowered.staged.notes):
        raise errors.ExportError(
            f"'{lowered.name}' uses a Ref that was made outside of it, which is no part of a "
            "program. Pass in ref[...], and return the new value."
        )
    placement = lowered.compilation.placement
    if placement is not None and platforms != (dev.PLATFORM,):
        raise errors.ExportError(
            f"'{lowered.name}' is a program for several devices, which is exported for "
            f"'{dev.PLATFORM}' alone, but platforms are {listed(platforms)}."
        )
    for platform, other in by_platform.items():
        _check_alike(platform, other, lowered)
    jaxpr, num_consts = lowered.jaxpr, len(lowered.consts)
    family, divided, portables = None, None, [""]
    if placement is not None:
        if symbolic_programs.is_symbolic(jaxpr):
            raise errors.ExportError(
                f"'{lowered.name}' is a program for several devices, and is exported for symbolic "
                "sizes: export it for sizes that are numbers."
            )
        divided = divided_of(lowered.name, jaxpr, placement)
        jaxpr = divided.jaxpr
    elif symbolic_programs.is_symbolic(jaxpr):
        jaxpr = symbolic_programs.closed(jaxpr)
        if any(symbolic_programs.closed(other.jaxpr) != jaxpr for other in by_platform.values()):
            raise errors.ExportError(
                f"'{lowered.name}' does different things on different platforms, and is exported "
                "for symbolic sizes: export it for each platform by itself."
            )
        family = families.family_of(lowered.name, jaxpr, lowered.in_tree, num_consts)
    else:
        portables = [
            portable_form(x.jaxpr, x.name, platform) for platform, x in by_platform.items()
        ]
    return exported.Exported(
        lowered.name,
        lowered.in_tree,
        lowered.out_tree,
        jaxpr.in_avals[num_consts:],
        jaxpr.out_avals,
        tuple([i - num_consts for i in lowered.donated]),
        tuple([x.gathered if isinstance(x, PlacedArray) else x for x in lowered.consts]),
        portables[0],
        platforms,
        tuple(portables[1:]),
        disabled_checks,
        lambda: _export_vjp(by_platform, platforms, disabled_checks),
        family,
        divided,
    )


def _check_alike(platform: str, other: stages.Lowered, lowered: stages.Lowered) -> None:
    """Check that a program for another platform is called like the first."""
    types = [(x.out_tree, x.jaxpr.type, len(x.consts)) for x in (other, lowered)]
    if types[0] != types[1] or not all(
        x is y or np.array_equal(np.asarray(x), np.asarray(y), equal_nan=dtypes.is_inexact(x.dtype))
        for x, y in zip(other.consts, lowered.consts, strict=True)
    ):
        raise errors.ExportError(
            f"'{lowered.name}' closes over other arrays or returns other types on '{platform}' "
            "than on other platforms. Export it for each platform by itself."
        )


def _export_vjp(
    by_platform: Mapping[str, stages.Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[format.DisabledSafetyCheck, ...],
) -> exported.Exported:
    lowered = next(iter(by_platform.values()))
    in_avals, out_avals = lowered.arguments, lowered.jaxpr.out_avals
    varies = [dtypes.is_inexact(aval.dtype) for aval in in_avals]

    def pull_back(*primals_and_cotangents: Array) -> tuple[Array, ...]:
        primals = primals_and_cotangents[: len(in_avals)]
        cotangents = primals_and_cotangents[len(in_avals) :]
        jaxpr = by_platform[dev.platform_in_view.value].jaxpr

        def differentiable(*operands: Array) -> list[Array]:
            rest = iter(operands)
            args = [next(rest) if v else x for x, v in zip(primals, varies, strict=True)]
            outs = jx.eval_jaxpr(jaxpr, (*lowered.consts, *args))
            return [out for out in outs if dtypes.is_inexact(out.dtype)]

        _, pull = api.vjp(differentiable, *[x for x, v in zip(primals, varies, strict=True) if v])
        return tuple(pull(list(cotangents)))

    pull_back.__name__ = f"vjp_{lowered.name}"
    avals = (*in_avals, *(aval for aval in out_avals if dtypes.is_inexact(aval.dtype)))
    # lower takes these in place of arrays, which is beyond what the signature of a function says
    structs: list[Any] = [av.ShapeDtypeStruct(a.shape, a.dtype, a.weak_type) for a in avals]
    placement = lowered.compilation.placement
    if placement is not None:  # cotangents lie as results do
        outs = zip(placement.outs, out_avals, strict=True)
        lie = [
            *placement.ins[len(lowered.consts) :],
            *[sharding for sharding, aval in outs if dtypes.is_inexact(aval.dtype)],
        ]
        structs = [
            struct.update(
                sharding=_of_cotangent(aval, sharding) if i >= len(in_avals) else sharding
            )
            for i, (struct, aval, sharding) in enumerate(zip(structs, avals, lie, strict=True))
        ]
    return exported_of(lambda: jit(pull_back).lower(*structs), platforms, disabled_checks)


def _of_cotangent(aval: av.ShapedArray, sharding: sd.Sharding | None) -> sd.Sharding | None:
    """How the cotangent of a result lies."""
    return aval.cotangent().sharding if aval.told is not None else sharding
