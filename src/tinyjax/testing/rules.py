"""The rules of a primitive, each held against the others.

``impl`` (NumPy) and ``lowering`` (XLA) are independent, so each is the other's oracle. Types are
held against values, derivatives against finite differences, a transpose against the pairing ``<ct,
f(t)> = <f^T(ct), t>``, and a batch rule against a loop. Each check takes a spec, and raises
``CheckError``, which names the rule and the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np

from tinyjax import dtypes, errors, test_util, tree
from tinyjax.core import jit
from tinyjax.core.api.derivatives import jvp, vjp
from tinyjax.core.api.mapping import over_basis, vmap
from tinyjax.core.api.staging import eval_shape, make_jaxpr
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values import Array, ShapedArray
from tinyjax.core.values.operands import as_array, splat
from tinyjax.testing import specs

Arrays: TypeAlias = tuple[dtypes.HostArray, ...]
Function: TypeAlias = Callable[..., Any]

#: In how many of a spec's dtypes its third and further cases are compiled, in turn.
DTYPES_COMPILED: Final = 2


# Evaluation


def check_host(spec: specs.Spec) -> None:
    """Hold the ``host`` rule to the bits of ``impl``, however operands lie in memory."""
    for case, _, operands in spec.samples():
        on = specs.describe(case.params, operands)
        jaxpr = make_jaxpr(spec.applied(case.params))(*map(as_array, operands)).jaxpr
        binders = jaxpr.in_binders[len(jaxpr.in_binders) - len(operands) :]  # after constants
        known = dict(zip(binders, operands, strict=True))
        for eqn in jaxpr.eqns:
            host = eqn.primitive.host_call([x.aval for x in eqn.inputs], eqn.params)
            values = [x.value.host if isinstance(x, jx.Lit) else known.get(x) for x in eqn.inputs]
            known_values = [x for x in values if x is not None]
            if host is None or len(known_values) < len(values):
                continue
            columns = [np.array(x, order="F") for x in known_values]
            backwards = [np.flip(np.flip(x).copy()) if x.ndim else x for x in known_values]
            for laid_out in (known_values, columns, backwards):
                with specs.blaming(eqn.primitive.name, "host", on), np.errstate(all="ignore"):
                    expected = [*map(np.asarray, eqn.primitive.rules.impl(laid_out, eqn.params))]
                    out = host.call(*laid_out)
                    outs = [*map(np.asarray, out)] if len(expected) > 1 else [np.asarray(out)]
                    for got, x in zip(outs, expected, strict=True):
                        specs.assert_close(got, x, 0.0, "its result against that of impl")
                        if got.tobytes() != x.tobytes():
                            raise AssertionError("zeros or NaNs differ from those of impl")


def check_values(spec: specs.Spec) -> None:
    """Compare eager evaluation with the reference, and with the types by ``abstract_eval``."""
    for case, _, operands in spec.samples():
        on = specs.describe(case.params, operands)
        arrays = [as_array(x) for x in operands]
        fun = spec.applied(case.params)
        with specs.blaming(spec.name, "impl", on):
            out = fun(*arrays)
        with specs.blaming(spec.name, "abstract_eval", on):
            structs = eval_shape(fun, *operands)
        with specs.blaming(spec.name, "impl or abstract_eval", on):
            specs.assert_types(out, structs, "what impl gives, and abstract_eval expects")
            for aval, x in zip(
                map(type_of_data, tree.leaves(out)), tree.leaves(structs), strict=True
            ):
                if aval != (x.shape, x.dtype):
                    raise AssertionError(f"impl gives {aval}, but abstract_eval says {x}")
        with specs.blaming(spec.name, "impl", on):
            for i, (x, array) in enumerate(zip(operands, arrays, strict=True)):
                np.testing.assert_array_equal(
                    specs.wide(np.asarray(array)),
                    specs.wide(x),
                    err_msg=f"operand {i} was written to",
                )
            if spec.numpy is not None:
                with np.errstate(all="ignore"):
                    expected = spec.numpy(*operands, **case.params)
                specs.compare(out, expected, spec.tol, "evaluated, against the reference")


def type_of_data(x: Array) -> tuple[tuple[int, ...], dtypes.DType]:
    """Return the type of an array's data, regardless of its own type."""
    if dtypes.is_key(x.dtype):
        return x.shape, x.dtype
    host = np.asarray(x)
    return host.shape, host.dtype


#: ``jit``, whose functions are compiled at their first call, whatever the setting ``tier`` is.
jit_compiled: Final = partial(jit.jit, tier="compiled")


def check_compiled(
    spec: specs.Spec, cases: Sequence[tuple[Mapping[str, Any], Arrays, Any]]
) -> None:
    """Check cases against expectations, in one program: one compilation in place of many.

    Args:
        spec: what is checked.
        cases: parameters, operands, and the results that are expected.

    Raises:
        CheckError: it is not compiled, or gives something else.
    """

    def run(all_operands: list[Any]) -> list[Any]:
        pairs = zip(cases, all_operands, strict=True)
        return [spec.fun(*operands, **params) for (params, _, _), operands in pairs]

    if not cases:
        return
    types = dict.fromkeys(specs.describe({}, operands) for _, operands, _ in cases)
    with specs.blaming(spec.name, "lowering", "; ".join(types)):
        compiled = jit_compiled(run)([operands for _, operands, _ in cases])
    evaluated = jit.jit(run, tier="first")([operands for _, operands, _ in cases])
    for (params, operands, expected), *results in zip(cases, compiled, evaluated, strict=True):
        with specs.blaming(spec.name, "lowering or impl", specs.describe(params, operands)):
            for got, how in zip(results, ("compiled", "a program of NumPy's"), strict=True):
                specs.compare(got, expected, spec.tol, f"{how}, against eager evaluation")


def check_lowering(spec: specs.Spec) -> None:
    """Compare compiled results with eager evaluation."""
    samples = spec.samples(DTYPES_COMPILED)
    cases = [(case.params, xs, spec.applied(case.params)(*xs)) for case, _, xs in samples]
    check_compiled(spec, cases)


def check_weak_types(spec: specs.Spec) -> None:
    """Compare weak types with ``abstract_eval``'s: eagerly, staged and compiled."""
    for case, _, operands in spec.smooth_samples():
        if not operands or any(dtypes.is_key(x.dtype) for x in operands):
            continue
        fun = spec.applied(case.params)
        for chosen in subsets(len(operands)):
            args = [weakened(x) if i in chosen else as_array(x) for i, x in enumerate(operands)]
            on = (
                f"{specs.describe(case.params, operands)}, of which {list(chosen)} are weakly typed"
            )
            said = refusal(partial(eval_shape, fun), *args)
            if said:
                continue
            with specs.blaming(spec.name, "abstract_eval or impl", on):
                specs.assert_types(fun(*args), eval_shape(fun, *args), "impl against types")
        with specs.blaming(spec.name, "abstract_eval", specs.describe(case.params, operands)):
            for i, out in enumerate(tree.leaves(eval_shape(fun, *operands))):
                if out.weak_type:
                    raise AssertionError(f"result {i} is weakly typed, though no operand is")


def weakened(x: dtypes.HostArray) -> Array:
    """Return an array of the same type, weakly typed, of one value."""
    value = specs.wide(x).reshape(-1)[0].item() if x.size else 0
    return splat(value, ShapedArray(x.shape, x.dtype, True))


# Which types are taken


def refusal(fun: Function, *operands: Any) -> str:
    """Return the error that a call ends in; nothing where it does not."""
    try:
        fun(*operands)
    except errors.TinyjaxError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def resized(spec: specs.Spec) -> list[tuple[specs.Case, Arrays]]:
    """Operands without elements, and without axes, of the types that ``abstract_eval`` takes.

    Every size that an axis of the operands has is made zero, wherever it occurs.
    """
    rng = spec.rng("sizes")
    result: list[tuple[specs.Case, Arrays]] = []
    for case in spec.cases[:3]:
        operands = case.sample(rng, spec.dtypes[-1] if case.generic else None, special=False)
        shapes = [x.shape for x in operands]
        new_shapes = [
            [tuple(0 if n == size else n for n in shape) for shape in shapes]
            for size in sorted({n for shape in shapes for n in shape if n})
        ]
        new_shapes.append([()] * len(shapes))
        for others in new_shapes:
            args = tuple(
                np.resize(x, shape).astype(x.dtype) if x.size else np.zeros(shape, x.dtype)
                for x, shape in zip(operands, others, strict=True)
            )
            fun = spec.applied(case.params)
            try:
                eval_shape(fun, *args)
            except (errors.TinyjaxError, ValueError, IndexError):
                continue  # parameters that do not fit
            result.append((case, args))
    return result


def check_sizes(spec: specs.Spec) -> None:
    """Hold that arrays without elements, and without axes, are evaluated if their types are taken.

    They are evaluated, compiled and mapped.
    """
    rng = spec.rng("empty")
    compiled = []
    for case, operands in resized(spec):
        on = specs.describe(case.params, operands)
        fun = spec.applied(case.params)
        with specs.blaming(spec.name, "impl", on), np.errstate(all="ignore"):
            out = fun(*operands)
            specs.assert_types(out, eval_shape(fun, *operands), "impl against abstract_eval")
        compiled.append((case.params, operands, out))
        if operands and "vmap" not in spec.skip:
            many = [specs.stacked(rng, x, 0, 2) for x in operands]
            with specs.blaming(spec.name, "batch", f"{on}, each mapped along its first axis"):
                got = vmap(fun)(*many)
                specs.compare(got, specs.loop(fun, [0] * len(many), 2, many), spec.tol, "vmap")

    if "compiled" not in spec.skip:
        check_compiled(spec, compiled)


# Derivatives


def subsets(n: int) -> list[tuple[int, ...]]:
    """Return sets of operands to test: each alone, all, and of few operands every subset."""
    if n <= 3:
        return [c for k in range(1, n + 1) for c in combinations(range(n), k)]
    return [tuple(range(n)), *((i,) for i in range(n))]


def inexact(operands: Sequence[dtypes.HostArray]) -> list[int]:
    """Return the places of the operands that have derivatives."""
    return [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]


def of_some(fun: Function, operands: Sequence[Any], chosen: Sequence[int]) -> Function:
    """Return a function of some operands, the others fixed, to the results with tangents."""

    def of_chosen(*xs: Any) -> Any:
        args: list[Any] = list(operands)
        for i, x in zip(chosen, xs, strict=True):
            args[i] = x
        return tuple([y for y in tree.leaves(fun(*args)) if dtypes.is_inexact(y.dtype)])

    return of_chosen


def check_derivatives(spec: specs.Spec) -> None:
    """Hold derivatives to finite differences, to the spec's order, in both modes."""
    for case, _, operands in spec.smooth_samples(spec.grad_cases):
        on = specs.describe(case.params, operands)
        try:
            test_util.check_grads(spec.applied(case.params), operands, spec.grad)
        except errors.MissingRuleError:
            raise
        except test_util.DerivativeMismatchError as error:
            # if it were the jvp rule, forward mode would have failed first
            rule = "transpose, or what jvp applies to tangents," if error.mode == "rev" else "jvp"
            raise specs.CheckError(spec.name, rule, on, error.message) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise specs.CheckError(spec.name, "a rule for derivatives", on, detail) from error


def check_derivative_types(spec: specs.Spec, rule: str) -> None:
    """Hold tangents, or cotangents, to the types of results and operands, in every dtype.

    Args:
        spec: the primitive.
        rule: ``"jvp"`` for tangents, ``"transpose"`` for cotangents.
    """
    for case, _, operands in spec.samples()[: len(spec.dtypes)]:  # the first case
        places = inexact(operands)
        xs = [operands[i] for i in places]
        fun = of_some(spec.applied(case.params), operands, places)
        if not places:
            continue
        on = specs.describe(case.params, operands)
        with specs.blaming(spec.name, rule, on), np.errstate(all="ignore"):
            outs = fun(*xs)
            if rule == "jvp":
                specs.assert_types(jvp(fun, xs, xs)[1], outs, "tangents against results")
            else:
                specs.assert_types(vjp(fun, *xs)[1](outs), xs, "cotangents against operands")


def check_tangents(spec: specs.Spec) -> None:
    """Hold the derivative to finite differences whichever operands have tangents.

    Tangents that are known to be zero are symbols, which a rule must neither drop nor compute with.
    """
    for of_chosen, xs, on in _of_subsets(spec):
        with specs.blaming(spec.name, "jvp", on):
            test_util.check_grads(of_chosen, xs, 1, "fwd")


def check_cotangents(spec: specs.Spec) -> None:
    """Hold pull-backs to finite differences whichever operands and results have derivatives."""
    for of_chosen, xs, on in _of_subsets(spec):
        with specs.blaming(spec.name, "transpose, or what jvp applies to tangents,", on):
            test_util.check_grads(of_chosen, xs, 1, "rev")
        results = len(tree.leaves(eval_shape(of_chosen, *xs)))
        for i in range(results) if results > 1 else ():
            with specs.blaming(
                spec.name, "transpose", f"{on}, with a cotangent of result {i} alone"
            ):
                test_util.check_grads(lambda *xs, i=i, f=of_chosen: f(*xs)[i], xs, 1, "rev")


def _of_subsets(spec: specs.Spec) -> Iterator[tuple[Function, list[dtypes.HostArray], str]]:
    """Return functions of some operands each, with these, and their names."""
    for case, _, operands in spec.smooth_samples(spec.grad_cases):
        for chosen in subsets(len(operands)):
            if all(dtypes.is_inexact(operands[i].dtype) for i in chosen):
                more = "" if len(chosen) == len(operands) else "; other tangents are known zeros"
                tangents = f"tangents of {list(chosen)}{more}"
                on = f"{specs.describe(case.params, operands)}, with {tangents}"
                of_chosen = of_some(spec.applied(case.params), operands, chosen)
                yield of_chosen, [operands[i] for i in chosen], on


#: The step of a derivative by complex numbers: no difference is taken, so that nothing cancels.
_STEP: Final = 1e-30


def check_complex_step(spec: specs.Spec) -> str:
    """Hold the derivative to ``Im f(x + ih) / h``, where ``f`` is holomorphic and real on reals.

    (W. Squire and G. Trapp, SIAM Review 40(1), 1998.) It is exact to the last places.

    Returns:
        Why it does not apply; nothing where it does.
    """
    if spec.primitive.rules.evaluate is not None:
        return "it is a program, and XLA's complex functions lose imaginary parts as small"
    why = "no real operand of a derivative"
    for case, _, operands in spec.smooth_samples(spec.grad_cases):
        chosen = inexact(operands)
        if not chosen or any(operands[i].dtype != dtypes.float64 for i in chosen):
            continue
        rng = spec.rng("complex step")
        fun = of_some(spec.applied(case.params), operands, chosen)
        xs = [operands[i] for i in chosen]
        tangents = [specs.tangent_like(rng, x) for x in xs]

        def moved(
            step: complex, fun: Function = fun, xs: Any = xs, tangents: Any = tangents
        ) -> list[dtypes.HostArray]:
            with np.errstate(all="ignore"):
                return specs.hosts(fun(*(x + step * t for x, t in zip(xs, tangents, strict=True))))

        if why := no_complex_step(moved):
            continue
        slopes = [y.imag / _STEP for y in moved(1j * _STEP)]
        on = f"{specs.describe(case.params, operands)}, with tangents of {chosen}"
        with specs.blaming(spec.name, "jvp", on):
            scale = max([1.0, *[float(np.max(np.abs(y), initial=0.0)) for y in slopes]])
            for got, slope in zip(specs.hosts(jvp(fun, xs, tangents)[1]), slopes, strict=True):
                rtol = 1e-13 * spec.tol
                np.testing.assert_allclose(
                    got, slope, rtol, rtol * scale, err_msg="jvp against the complex step"
                )
    return why


def no_complex_step(moved: Callable[[complex], list[dtypes.HostArray]]) -> str:
    """Return why a derivative along the imaginary axis is none along the real one, if so."""
    eps = 1e-5
    try:
        here, there = moved(0.0), moved(0j)
        ahead, behind, above, below = (moved(eps * by) for by in (1.0, -1.0, 1j, -1j))
    except (errors.TinyjaxError, TypeError):
        return "complex numbers are not taken"
    if any(dtypes.is_complex(y.dtype) for y in here):
        return "results of real numbers are complex"
    if any(not dtypes.is_complex(y.dtype) for y in there):
        return "it is not holomorphic: results are real"
    for x, y, a, b, c, d in zip(here, there, ahead, behind, above, below, strict=True):
        slope, across = (a - b) / (2 * eps), (c - d) / (2j * eps)
        if not np.allclose(x, y, 1e-8, 1e-8) or not np.allclose(slope, across, 1e-5, 1e-7):
            return "it is not holomorphic"
    return ""


# Linearity


def linear_sets(spec: specs.Spec, case: specs.Case, operands: Arrays) -> list[tuple[int, ...]]:
    """Return the sets of operands in which a function is jointly linear, by spec or trial."""
    if spec.linear or not spec.primitive.has_rule("transpose"):
        chosen = tuple([i for i in spec.linear if i < len(operands)])
        return [chosen] if chosen else []
    rng = spec.rng("linear?")
    sets: list[tuple[int, ...]] = []
    for some in sorted(subsets(len(operands)), key=len, reverse=True):
        if all(dtypes.is_inexact(operands[i].dtype) for i in some) and not any(
            set(some) <= set(larger) for larger in sets
        ):
            fun = of_some(spec.applied(case.params), operands, some)
            xs, ys = ([specs.tangent_like(rng, operands[i]) for i in some] for _ in range(2))
            sums = [1.25 * x - 0.75 * y for x, y in zip(xs, ys, strict=True)]
            together, apart = (
                specs.hosts(fun(*sums)),
                zip(specs.hosts(fun(*xs)), specs.hosts(fun(*ys)), strict=True),
            )
            if together and all(
                np.allclose(specs.wide(z), specs.wide(1.25 * x - 0.75 * y), 1e-2, 1e-2)
                for z, (x, y) in zip(together, apart, strict=True)
            ):
                sets.append(some)
    return sets


def check_linear(spec: specs.Spec) -> None:
    """Hold a function linear, and its transpose to the pairing of results and operands."""
    for case, _, operands in spec.smooth_samples():
        for linear in linear_sets(spec, case, operands):
            _check_linear(spec, case, operands, linear)


def _check_linear(
    spec: specs.Spec, case: specs.Case, operands: Arrays, linear: tuple[int, ...]
) -> None:
    rng = spec.rng("linear")
    on = f"{specs.describe(case.params, operands)}, linear in {list(linear)}"
    fun = spec.applied(case.params)

    def of_linear(*xs: Any) -> Any:
        args: list[Any] = list(operands)
        for i, x in zip(linear, xs, strict=True):
            args[i] = x
        return fun(*args)

    xs = [specs.tangent_like(rng, operands[i]) for i in linear]
    ys = [specs.tangent_like(rng, operands[i]) for i in linear]
    a, b = 1.25, -0.75
    with specs.blaming(spec.name, "impl", on):
        combined = specs.hosts(of_linear(*(a * x + b * y for x, y in zip(xs, ys, strict=True))))
        apart = zip(specs.hosts(of_linear(*xs)), specs.hosts(of_linear(*ys)), strict=True)
        specs.compare(combined, [a * fx + b * fy for fx, fy in apart], 4 * spec.tol, "linearity")
    with specs.blaming(spec.name, "jvp", on):
        out, tangent = jvp(of_linear, xs, ys)
        specs.compare(tangent, of_linear(*ys), spec.tol, "the derivative is the function itself")
    cts = [specs.tangent_like(rng, x) for x in specs.hosts(out)]
    ct = tree.unflatten(tree.structure(out), cts)
    with specs.blaming(spec.name, "transpose", on):
        pull_back = vjp(of_linear, *xs)[1]
        pulled = specs.hosts(pull_back(ct))
        for i, x, y in zip(linear, pulled, xs, strict=True):
            if (x.shape, x.dtype) != (y.shape, y.dtype):
                raise AssertionError(
                    f"the cotangent of operand {i} is {x.dtype}{list(x.shape)}, and the operand "
                    f"{y.dtype}{list(y.shape)}"
                )
        for k, i in enumerate(linear):
            alone = [y if j == k else np.zeros_like(y) for j, y in enumerate(ys)]
            left, right = (
                specs.pairing(cts, specs.hosts(of_linear(*alone))),
                specs.pairing(pulled, alone),
            )
            np.testing.assert_allclose(
                right, left, *_of_pairing(xs), err_msg=f"<f^T(ct), t> = <ct, f(t)>, operand {i}"
            )
        # transposing twice is doing nothing
        twice = vjp(pull_back, ct)[1](tuple(ys))
        specs.compare(twice, (tangent,), 4 * spec.tol, "transposed twice")


def _of_pairing(xs: Sequence[dtypes.HostArray]) -> tuple[float, float]:
    """Relative and absolute tolerance of a sum of products."""
    precise = all(dtypes.real_part(x.dtype) == dtypes.float64 for x in xs)
    return (1e-10, 1e-10) if precise else (2e-2, 2e-2)


# Batching


def check_batch(spec: specs.Spec, most: int = 12) -> None:
    """Hold ``vmap`` to a loop, over operands and axes in every combination.

    Args:
        spec: what is checked.
        most: of more combinations than these, so many are drawn.
    """
    rng = spec.rng("vmap")
    size = 2
    for case, _, operands in spec.smooth_samples():
        fun = spec.applied(case.params)
        on = specs.describe(case.params, operands)
        if not operands:
            with specs.blaming(spec.name, "batch", "no operands"):
                specs.compare(
                    vmap(fun, axis_size=size)(), specs.loop(fun, (), size, ()), spec.tol, "vmap"
                )
        for axes in specs.axes_to_map([x.ndim for x in operands], most, rng) if operands else ():
            mapped = [specs.stacked(rng, x, a, size) for x, a in zip(operands, axes, strict=True)]
            expected = specs.loop(fun, axes, size, mapped)
            with specs.blaming(spec.name, "batch", f"{on} mapped over {list(axes)}"):
                got = vmap(fun, in_axes=axes)(*mapped)
                specs.compare(got, expected, spec.tol, "vmap against a loop")
                if all(axis in {None, x.ndim} for x, axis in zip(operands, axes, strict=True)):
                    got = _over_columns(fun, axes)(*mapped)
                    specs.compare(got, expected, spec.tol, "vmap with the axis last against a loop")
    for case, _, operands in spec.samples()[: len(spec.dtypes)]:  # the types, in every dtype
        fun, many = spec.applied(case.params), [specs.stacked(rng, x, 0, size) for x in operands]
        on = f"{specs.describe(case.params, operands)} mapped over {[0] * len(operands)}"
        if operands:
            with specs.blaming(spec.name, "batch", on), np.errstate(all="ignore"):
                mapped, single = vmap(fun)(*many), eval_shape(fun, *operands)
                for x, aval in zip(tree.leaves(mapped), tree.leaves(single), strict=True):
                    if (x.dtype, x.shape) != (aval.dtype, (size, *aval.shape)):
                        raise AssertionError(f"vmap gives {x.aval} where one example is {aval}")


def _over_columns(fun: Callable[..., Any], axes: Sequence[int | None]) -> Callable[..., Any]:
    """Map over the last axis, as ``jacfwd`` does."""

    def mapped(*operands: Any) -> Any:
        def of_columns(columns: Sequence[Any]) -> Any:
            rest = iter(columns)
            return fun(
                *[x if a is None else next(rest) for x, a in zip(operands, axes, strict=True)]
            )

        columns = [x for x, axis in zip(operands, axes, strict=True) if axis is not None]
        return over_basis(of_columns, last=True)(columns)

    return mapped


def check_batch_of_batch(spec: specs.Spec) -> None:
    """Hold ``vmap`` of ``vmap`` to two loops."""
    rng = spec.rng("vmap of vmap")
    for case, _, operands in spec.smooth_samples():
        fun = spec.applied(case.params)
        if not operands:
            continue
        # the operands in turn mapped by the outer, by the inner, and by both
        inner = [0 if i % 3 != 1 else None for i in range(len(operands))]
        outer = [1 if i % 3 != 2 and axis == 0 else 0 for i, axis in enumerate(inner)]
        mapped = [specs.stacked(rng, x, a, 3) for x, a in zip(operands, inner, strict=True)]
        mapped = [specs.stacked(rng, x, b, 2) for x, b in zip(mapped, outer, strict=True)]
        on = f"{specs.describe(case.params, operands)} mapped over {inner}, and that over {outer}"
        once = partial(specs.loop, fun, inner, 3)
        expected = specs.loop(lambda *xs, once=once: once(xs), outer, 2, mapped)
        with specs.blaming(spec.name, "batch", on):
            got = vmap(vmap(fun, in_axes=tuple(inner)), in_axes=tuple(outer))(*mapped)
            specs.compare(got, expected, spec.tol, "vmap of vmap against loops")


# Compilation of transformations


def check_jit(spec: specs.Spec) -> None:
    """Hold ``jit`` under and over ``jvp``, ``vjp`` and ``vmap``, all in one compiled function."""
    rng = spec.rng("jit")
    case, _, operands = spec.smooth_samples()[0]
    fun = spec.applied(case.params)
    chosen = inexact(operands) if spec.grad else []
    many = tuple(specs.stacked(rng, x, 0, 2) for x in operands)

    def everything(f: Function, operands: Any, many: Any) -> list[Any]:
        results = [f(*operands), vmap(f)(*many)] if operands else [f()]
        if chosen:
            some = of_some(f, operands, chosen)
            xs = [as_array(operands[i]) for i in chosen]
            results.append(jvp(some, xs, [sh.full(x.shape, 1, x.dtype) for x in xs]))
            out, pull_back = vjp(some, *xs)
            results.append(pull_back(tuple(sh.full(y.shape, 1, y.dtype) for y in out)))
        return results

    expected = everything(fun, operands, many)
    with specs.blaming(spec.name, "a rule under jit", specs.describe(case.params, operands)):
        under = jit_compiled(partial(everything, jit.jit(fun)))(operands, many)
        specs.compare(under, expected, 8 * spec.tol, "jit under and over transformations")


# Jaxprs


def assert_linear(jaxpr: jx.Jaxpr, residuals: Sequence[Array], rng: np.random.Generator) -> None:
    """A tangent map as linearize records it: well-typed, and linear in the tangents."""
    jx.typecheck_jaxpr(jaxpr)
    rest = jaxpr.in_avals[len(residuals) :]
    xs = [specs.tangent_like(rng, np.zeros(a.shape, a.dtype)) for a in rest]
    ys = [specs.tangent_like(rng, np.zeros(a.shape, a.dtype)) for a in rest]

    def apply(tangents: Sequence[Any]) -> list[dtypes.HostArray]:
        return specs.hosts(jx.eval_jaxpr(jaxpr, [*residuals, *(as_array(t) for t in tangents)]))

    combined = apply([2.0 * x - 0.5 * y for x, y in zip(xs, ys, strict=True)])
    apart = [2.0 * fx - 0.5 * fy for fx, fy in zip(apply(xs), apply(ys), strict=True)]
    for got, expected in zip(combined, apart, strict=True):
        specs.assert_close(got, expected, 1e-10, "a tangent map is linear")


def check_jaxpr(spec: specs.Spec) -> None:
    """Hold programs of the primitive: types, evaluation, digest, print, and recorded tangents."""
    rng = spec.rng("jaxpr")
    for case, _, operands in spec.smooth_samples():
        fun = spec.applied(case.params)
        with specs.blaming(
            spec.name, "a rule when it is staged", specs.describe(case.params, operands)
        ):
            closed = make_jaxpr(fun)(*operands)
            jx.typecheck_jaxpr(closed.jaxpr)
            if not any(e.primitive is spec.primitive for j in nested(closed.jaxpr) for e in j.eqns):
                raise AssertionError(f"the function does not use {spec.primitive}:\n{closed}")
            outs = closed(*(as_array(x) for x in operands))
            specs.compare(list(outs), fun(*operands), spec.tol, "the jaxpr evaluated")
            again = make_jaxpr(fun)(*operands).jaxpr
            if again != closed.jaxpr or again.digest != closed.jaxpr.digest:
                raise AssertionError("staged twice, two different programs")
            if spec.primitive.name not in repr(closed):
                raise AssertionError(f"the text does not name it: {closed}")
        if spec.grad and inexact(operands):
            with specs.blaming(
                spec.name, "linearize or jvp", specs.describe(case.params, operands)
            ):
                flat = linearize_flat(
                    lambda *xs, fun=fun: tree.leaves(fun(*xs)), [as_array(x) for x in operands]
                )
                assert_linear(flat.jaxpr, flat.residuals, rng)


def nested(jaxpr: jx.Jaxpr) -> list[jx.Jaxpr]:
    """Return a jaxpr and those inside it."""
    inside = [j for eqn in jaxpr.eqns for sub in jx.subjaxprs(eqn.params) for j in nested(sub)]
    return [jaxpr, *inside]
