"""Holding a library against its reference.

Each call is made eagerly and compiled, and by the reference; all three must give the same types and
values, or each an error. Of float operands the derivatives are compared too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.testing.libraries.drawn_calls import Call, Library
from tinyjax.testing.libraries.results import Outcome, differences, in_phase, movement, run

__all__ = ["Mismatch", "check_call"]

#: Functions each of whose results depends on many elements, which may cancel.
SCALED: Final = re.compile(
    r"linalg|dot|einsum|conv|matmul|mat|vec|inner|correlate|trace|kron|cross|interp|sum|mean|var|std"
    r"|kl_div|rel_entr|sf|cdf|ndtr|space|beta"
)


#: Functions that XLA approximates less closely than in the last places.
LOOSE: Final = re.compile(
    r"gamma|zeta|beta|factorial|erf|ndtr|norm\.|betaln|expm|logistic|sinc|cbrt|normal|random"
    r"|a(rc)?tanh|log1p|gelu|dawsn|expi|exp1|expn|owens|poch|spence|fresnel|sici|i[01]e?$|bessel"
    r"|comb|sph_harm|stats|wofz|erfcx|hyp"
)

#: Functions that may round a float to an integer.
ROUNDED: Final = re.compile(r"space|arange|quantile|percentile|interp")


#: Functions that return eigenvectors, of any phases.
PHASELESS: Final = re.compile(r"linalg\.eig$")


@attrs.frozen
class Mismatch:
    """A call of which two evaluations do not agree.

    Attributes:
        call: what was called.
        between: "eager and compiled", "reference", "jvp", "vjp" or "error class".
        text: how they differ.
    """

    call: Call
    between: str
    text: str

    def __str__(self) -> str:
        return f"{self.call}\n    {self.between}: {self.text}"


def check_call(call: Call, library: Library, reference: Library) -> list[Mismatch]:
    """Make a call in every way, and say where the ways differ."""
    with library.precise(call.wide):
        eager = run(library, call.program(library), call.arrays(library))
        compiled = run(library, library.transforms.jit(call.program(library)), call.arrays(library))
    with reference.precise(call.wide):
        expected = run(reference, call.program(reference), call.arrays(reference))
    hosts = [x.host for x in call.operands()]

    def moved() -> list[dtypes.HostArray]:
        with library.precise(call.wide):
            slack = movement(library, call.program(library), hosts, eager)
        if not ROUNDED.search(call.path):
            for i, leaf in enumerate(eager.leaves):
                slack[i] *= leaf.weak is not None and dtypes.is_inexact(leaf.value.dtype)
        else:
            for i, leaf in enumerate(eager.leaves):
                if leaf.weak is not None and dtypes.is_integer(leaf.value.dtype):
                    slack[i] += 0.5 + 1e-6 * np.abs(leaf.value.astype(np.float64))
        return slack

    def anywhere() -> list[dtypes.HostArray]:
        """The reference rounds integers to 32 bits, after which floats may be anything."""
        return [np.full(np.shape(leaf.value), np.inf) for leaf in eager.leaves]

    mismatches: list[Mismatch] = []
    # rounding within is not seen where there is nothing that could be rounded outside
    whole = not inexact(hosts)
    scaled, loose = bool(SCALED.search(call.path)) or whole, bool(LOOSE.search(call.path)) or whole

    def note(between: str, text: str) -> None:
        if text:
            mismatches.append(Mismatch(call, between, text))

    if eager.error is not None and not isinstance(eager.error, errors.TinyjaxError):
        note("error class", described(eager))
    needs_data = isinstance(compiled.error, errors.ConcretizationError)
    if needs_data and (eager.error is not None or reference.transforms is None):
        pass
    elif needs_data:
        with reference.precise(call.wide):
            theirs = run(
                reference, reference.transforms.jit(call.program(reference)), call.arrays(reference)
            )
        if theirs.error is None:
            note("eager and compiled", f"{described(compiled)}; the reference compiles")
    elif any(leaf.weak is None for leaf in eager.leaves):
        pass  # what is no array does not come out of a compiled function
    elif (eager.error is None) != (compiled.error is None):
        note("eager and compiled", f"{described(eager)}, compiled {described(compiled)}")
    elif eager.error is None:
        in_one_phase = in_phase(compiled, eager) if PHASELESS.search(call.path) else compiled
        note(
            "eager and compiled",
            differences(in_one_phase, eager, moved, zeros=False, scaled=scaled, loose=loose),
        )
    if (eager.error is None) != (expected.error is None):
        note("reference", f"{described(eager)}, the reference {described(expected)}")
    elif eager.error is None:
        # with 64-bit defaults integers give floats of 64 bits here, and keep all their digits
        narrowed = (
            any(x.dtype.kind in "biu" and x.dtype.itemsize < 8 for x in hosts)
            or "True" in repr(call)
            or "False" in repr(call)
        )
        large = any(x.dtype.kind in "iu" and (np.abs(x.astype(float)) > 2**24).any() for x in hosts)
        slack = anywhere if narrowed and large else moved
        in_one_phase = in_phase(eager, expected) if PHASELESS.search(call.path) else eager
        text = differences(
            in_one_phase, expected, slack, narrowed=narrowed, scaled=scaled, loose=loose
        )
        note("reference", text)
    if not mismatches and eager.error is None and call.smooth and reference.transforms is not None:
        mismatches += check_derivatives(call, library, reference, eager)
    return mismatches


def described(outcome: Outcome) -> str:
    if outcome.error is None:
        types = [
            f"{x.value.dtype}{list(x.value.shape)}" if x.weak is not None else repr(x.value)
            for x in outcome.leaves
        ]
        return f"gives {', '.join(types)}"
    text = str(outcome.error).splitlines()
    return f"raises {type(outcome.error).__name__}: {text[0][:150] if text else ''}"


# Derivatives


def inexact(hosts: Sequence[dtypes.HostArray]) -> list[int]:
    return [i for i, x in enumerate(hosts) if dtypes.is_inexact(x.dtype)]


def direction(x: dtypes.HostArray, seed: int) -> dtypes.HostArray:
    rng = np.random.default_rng(seed)
    values: dtypes.HostArray = np.asarray(rng.uniform(-1, 1, x.shape))
    if x.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, x.shape)
    return values.astype(x.dtype)


def check_derivatives(
    call: Call, library: Library, reference: Library, eager: Outcome
) -> list[Mismatch]:
    """Compare the derivatives in a random direction, and of a random cotangent."""
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

    def of(lib: Library, mode: str) -> Any:
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
            ours = run(library, of(library, mode), [library.array(x) for x in operands])
        with reference.precise(call.wide):
            fun = reference.transforms.jit(of(reference, mode))
            theirs = run(reference, fun, [reference.array(x) for x in operands])
            if theirs.error is not None:  # it may need the data
                fun = of(reference, mode)
                theirs = run(reference, fun, [reference.array(x) for x in operands])
        if ours.error is not None and not isinstance(ours.error, errors.TinyjaxError):
            mismatches.append(Mismatch(call, "error class", f"{mode} {described(ours)}"))
        if (ours.error is None) != (theirs.error is None):
            text = f"{described(ours)}, the reference {described(theirs)}"
            mismatches.append(Mismatch(call, mode, text))
        elif ours.error is None:

            def moved(
                mode: str = mode, operands: list[dtypes.HostArray] = operands, ours: Outcome = ours
            ) -> Any:
                with library.precise(call.wide):
                    return movement(library, of(library, mode), operands, ours)

            scaled = bool(SCALED.search(call.path))
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
