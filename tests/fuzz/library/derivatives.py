"""Derivatives of calls, held against those of the reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.testing.libraries.check import (
    SCALED,
    CallOutcome,
    Mismatch,
    described,
    differences,
    movement,
    run,
)
from tinyjax.testing.libraries.drawn_calls import DrawnCall, Library
from tinyjax.testing.rules import inexact


def direction(x: dtypes.HostArray, seed: int) -> dtypes.HostArray:
    rng = np.random.default_rng(seed)
    values: dtypes.HostArray = np.asarray(rng.uniform(-1, 1, x.shape))
    if x.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, x.shape)
    return values.astype(x.dtype)


def check_derivatives(call: DrawnCall, library: Library, reference: Library) -> list[Mismatch]:
    """Compare the derivatives in a random direction, and of a random cotangent."""
    with library.precise(call.wide):
        eager = run(library, call.program(library), call.arrays(library))
    hosts = [x.host for x in call.operands()]
    chosen = inexact(hosts)
    out = [
        i
        for i, leaf in enumerate(eager.leaves)
        if leaf.weak is not None and dtypes.is_inexact(leaf.value.dtype)
    ]
    if not chosen or not out:
        return []
    tangents = [direction(hosts[i], i) for i in chosen]
    cotangents = [direction(np.asarray(eager.leaves[i].value), 100 + i) for i in out]

    def flat_derivative(lib: Library, mode: str) -> Any:
        program = call.program(lib)

        def flat(*xs: Any) -> list[Any]:
            arrays = [lib.array(x) for x in hosts]
            for i, x in zip(chosen, xs, strict=True):
                arrays[i] = x
            result = program(arrays)
            leaves: list[Any] = []
            collect(lib, result, leaves)
            return [leaves[i] for i in out]

        n = len(chosen)

        def derivative(operands: Sequence[Any]) -> Any:
            xs, vs = operands[:n], operands[n:]
            if mode == "jvp":
                return list(lib.transforms.jvp(flat, tuple(xs), tuple(vs))[1])
            return list(lib.transforms.vjp(flat, *xs)[1](list(vs)))

        return derivative

    mismatches: list[Mismatch] = []
    for mode, vectors in (("jvp", tangents), ("vjp", cotangents)):
        operands = [hosts[i] for i in chosen] + vectors
        with library.precise(call.wide):
            ours = run(
                library, flat_derivative(library, mode), [library.array(x) for x in operands]
            )
        with reference.precise(call.wide):
            fun = reference.transforms.jit(flat_derivative(reference, mode))
            theirs = run(reference, fun, [reference.array(x) for x in operands])
            if theirs.error is not None:  # it may need the data
                fun = flat_derivative(reference, mode)
                theirs = run(reference, fun, [reference.array(x) for x in operands])
        if ours.error is not None and not isinstance(ours.error, errors.TinyjaxError):
            mismatches.append(Mismatch(call, "error class", f"{mode} {described(ours)}"))
        if (ours.error is None) != (theirs.error is None):
            text = f"{described(ours)}, the reference {described(theirs)}"
            mismatches.append(Mismatch(call, mode, text))
        elif ours.error is None:

            def moved(
                mode: str = mode,
                operands: list[dtypes.HostArray] = operands,
                ours: CallOutcome = ours,
            ) -> Any:
                with library.precise(call.wide):
                    return movement(library, flat_derivative(library, mode), operands, ours)

            scaled = call.name in SCALED
            text = differences(ours, theirs, moved, zeros=False, scaled=scaled, loose=True)
            if text:
                mismatches.append(Mismatch(call, mode, text))
    return mismatches


def collect(library: Library, tree: Any, leaves: list[Any]) -> None:
    if isinstance(tree, (tuple, list)):
        for x in tree:
            collect(library, x, leaves)
    else:
        leaves.append(tree)
