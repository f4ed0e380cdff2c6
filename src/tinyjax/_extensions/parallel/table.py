"""The rules of tinyjax's own primitives for several devices, a row for each or for a family.

The key is the module and the name of the primitive, so that modules which a program does not need
are not loaded. Primitives without a row have defaults that follow from their other rules
(``mesh_rule``), and others register a rule by ``MESH``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tinyjax import _primitives as primitives, dtypes
from tinyjax._extensions.parallel import fitting, mesh_rule, sharding, types
from tinyjax.core.tracing import Primitive, jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import ShapedArray

P = TypeVar("P")

# Operands in another form


def _broadcast(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    entries = [*mesh_rule.undivided(len(params.shape))]
    for axis, names in zip(params.dims, types.entries(avals[0]), strict=True):
        entries[axis] = names
    return [tuple(entries)]


def _reshape(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [mesh_rule.reshaped(avals[0], params.shape)]


def _transpose(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    entries = types.entries(avals[0])
    return [tuple([entries[i] for i in params.perm])]


def _bitcast(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    entries, n = types.entries(avals[0]), outs[0].ndim
    mesh_rule.whole(entries, range(n, len(entries)), "whose elements become one")
    return [(*entries[:n], *mesh_rule.undivided(n - len(entries)))]


def _convert_sums(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[mesh_rule.Sums]:
    of, to = avals[0].dtype, params.dtype
    # of integers sums may have wrapped around, which wider ones do not
    is_narrower = dtypes.is_integer(of) and dtypes.is_integer(to) and to.itemsize <= of.itemsize
    is_linear = is_narrower or (dtypes.is_inexact(of) and dtypes.is_inexact(to))
    return (mesh_rule.together() if is_linear else mesh_rule.whole_sums)(params, avals, outs)


# Reductions and products


def _reduce(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [mesh_rule.entries_except(avals[0], params.axes)]


def _reduce_sums(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[mesh_rule.Sums]:
    ((names, reduced),) = mesh_rule.together()(params, avals, outs)
    more = _left_to_devices(params)
    return [(names.union(more), reduced.difference(more))]


def _left_to_devices(params: Any) -> frozenset[str]:
    """Return the axes of the mesh over which devices do not add."""
    return frozenset(getattr(params, "unreduced", mesh_rule.NO_NAMES))


def _arg_reduce(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [mesh_rule.entries_except(avals[0], (params.axis,))]


def _dot(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    x, y = [types.entries(aval) for aval in avals]
    left = _left_to_devices(params)
    divided: set[str] = set()
    for i, j in zip(params.lhs_contract, params.rhs_contract, strict=True):
        if left and x[i] == y[j]:
            divided.update(x[i])
        elif x[i] and y[j]:
            raise mesh_rule.AmbiguousError(
                f"axis {i} of one and axis {j} of the other, which are multiplied and summed, are "
                "both divided, and so would be their products"
            )
    if left != divided:
        raise mesh_rule.AmbiguousError(
            f"it is to be unreduced over {sorted(left)}, but what is multiplied and summed is "
            f"divided over {sorted(divided)} in both operands"
        )
    pairs = zip(params.lhs_batch, params.rhs_batch, strict=True)
    free = [names for i, names in enumerate(x) if i not in params.lhs_batch + params.lhs_contract]
    free += [names for i, names in enumerate(y) if i not in params.rhs_batch + params.rhs_contract]
    return [(*[mesh_rule.agreed((x[i], y[j])) for i, j in pairs], *free)]


def _dot_sums(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[mesh_rule.Sums]:
    if any(map(mesh_rule.summed_over, avals)):
        raise mesh_rule.AmbiguousError(
            "a product of a sum of which each device has a part is not contracted. Let devices add "
            "first, by tinyjax.reshard(x, P(...)) without unreduced"
        )
    return [(_left_to_devices(params), mesh_rule.NO_NAMES)]


def _convolution(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    x, w = [types.entries(aval) for aval in avals]
    (batch, inside, *space), (features, *window) = params.numbers.lhs_spec, params.numbers.rhs_spec
    mesh_rule.whole(x, (inside,), "of features")
    mesh_rule.whole(w, window, "of features, or of the window")
    if (x[batch] and params.batch_groups > 1) or (w[features] and params.feature_groups > 1):
        raise mesh_rule.AmbiguousError("groups are divided")
    entries = [*mesh_rule.undivided(len(x))]
    entries[params.numbers.out_spec[0]] = x[batch]
    entries[params.numbers.out_spec[1]] = w[features]
    for axis, moved in zip(params.numbers.out_spec[2:], space, strict=True):
        entries[axis] = x[moved]
    return [tuple(entries)]


# Gathers and scatters


def _gather(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    x, indices = avals
    windows = primitives.gather_windows(x.shape, params)
    inside = _whole_windows(x, windows)
    places = iter(_places(x, indices, windows))
    of_windows = dict(zip(params.dimension_numbers.offset_dims, inside, strict=True))
    ndim = outs[0].ndim
    return [tuple([of_windows[i] if i in of_windows else next(places) for i in range(ndim)])]


def _scatter(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    x, indices, updates = avals
    windows = primitives.scatter_windows(x.shape, updates.shape, params)
    entries, update_entries = [*types.entries(x)], types.entries(updates)
    inside = params.dimension_numbers.update_window_dims
    _whole_windows(x, windows)
    for i, j in zip(windows.window_axes, inside, strict=True):
        entries[i] = mesh_rule.agreed((entries[i], update_entries[j]))
    places = _places(x, indices, windows)
    own = [names for j, names in enumerate(update_entries) if j not in inside]
    for j, names in enumerate(own):
        mesh_rule.agreed((names, places[j]))
        if (names or places[j]) and j not in windows.indices_batching:
            raise mesh_rule.AmbiguousError("updates of the same place may be on several devices")
    for i, j in zip(windows.batching, windows.indices_batching, strict=True):
        entries[i] = mesh_rule.agreed((places[j], own[j]))
    return [tuple(entries)]


def _whole_windows(x: ShapedArray, windows: Any) -> list[mesh_rule.Names]:
    """Return the entries of windows, which must be whole along the divided axes of the array."""
    entries, read = types.entries(x), [i for i, n in enumerate(windows.sizes) if n != x.shape[i]]
    mesh_rule.whole(
        entries, [i for i in read if i not in windows.batching], "of which parts are taken"
    )
    return [entries[i] for i in windows.window_axes]


def _places(x: ShapedArray, indices: ShapedArray, windows: Any) -> sharding.Entries:
    """Return the entries of the index vectors, along their own axes."""
    mesh_rule.whole(types.entries(indices), (indices.ndim - 1,), "that of the index vectors")
    entries = [*types.entries(indices)[:-1]]
    for i, j in zip(windows.batching, windows.indices_batching, strict=True):
        entries[j] = mesh_rule.agreed((types.entries(x)[i], entries[j]))
    return tuple(entries)


# Keys, and matrices


def _wrap(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [_keys_of(avals[0])]


def _unwrap(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [(*types.entries(avals[0]), *mesh_rule.undivided(1))]


def _random_bits(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    return [(*_keys_of(avals[0]), *mesh_rule.undivided(len(params.shape)))]


def _keys_of(words: ShapedArray) -> sharding.Entries:
    """Return the entries of keys, from those of their words."""
    return mesh_rule.whole(types.entries(words), (words.ndim - 1,), "of the words of keys")[:-1]


def _tridiagonal_solve(params: Any, avals: prim.Avals, outs: prim.Avals) -> list[sharding.Entries]:
    *diagonals, b = avals
    return mesh_rule.of_stacks(params, [b, *diagonals], outs)


# Programs


def _rows(rule: mesh_rule.MeshRule, names: str) -> dict[str, mesh_rule.MeshRule]:
    return dict.fromkeys(names.split(), rule)


def _along(axes: Callable[[Any, ShapedArray], Sequence[int]], why: str) -> mesh_rule.MeshRule:
    return mesh_rule.MeshRule(mesh_rule.same_but(axes, why))


_SAME: Final = mesh_rule.MeshRule(mesh_rule.same)
_MATRICES: Final = mesh_rule.MeshRule(mesh_rule.of_stacks)
_REDUCTION: Final = mesh_rule.MeshRule(_reduce)
_GONE_ALONG: Final = _along(lambda params, x: (params.axis,), "which is gone along")

#: By the name of the module, and of the primitive in it.
TABLE: Final[Mapping[str, Mapping[str, mesh_rule.MeshRule]]] = {
    "tinyjax._primitives.bitcast": {"bitcast_convert_type_p": mesh_rule.MeshRule(_bitcast)},
    "tinyjax.core.primitives.broadcast": {
        "broadcast_in_dim_p": mesh_rule.MeshRule(_broadcast),
        "reduce_sum_p": mesh_rule.MeshRule(_reduce, _reduce_sums),
    },
    "tinyjax._primitives.convolution": {"conv_general_dilated_p": mesh_rule.MeshRule(_convolution)},
    "tinyjax._primitives.cumulative": _rows(
        _GONE_ALONG, "linear_recurrence_p cumsum_p cumprod_p cummax_p cummin_p cumlogsumexp_p"
    ),
    "tinyjax._primitives.determinant": _rows(_MATRICES, "det_p slogdet_p adjugate_p"),
    "tinyjax._primitives.dot": {"dot_general_p": mesh_rule.MeshRule(_dot, _dot_sums)},
    "tinyjax._primitives.dynamic_slice": {
        "dynamic_slice_p": _SAME,
        "dynamic_update_slice_p": mesh_rule.MeshRule(mesh_rule.alike),
    },
    "tinyjax.core.primitives.elementwise": {
        "add": mesh_rule.MeshRule(mesh_rule.same, mesh_rule.together()),
        "sub": mesh_rule.MeshRule(mesh_rule.same, mesh_rule.together()),
        "mul": mesh_rule.MeshRule(mesh_rule.same, mesh_rule.factors(0, 1)),
        "div": mesh_rule.MeshRule(mesh_rule.same, mesh_rule.factors(0)),
        "convert_element_type_p": mesh_rule.MeshRule(mesh_rule.same, _convert_sums),
    },
    "tinyjax._primitives.fft": {"fft_p": _SAME},
    "tinyjax._primitives.gather_scatter": {
        "gather_p": mesh_rule.MeshRule(_gather),
        **_rows(
            mesh_rule.MeshRule(_scatter),
            "scatter_p scatter_add_p scatter_sub_p scatter_min_p scatter_max_p",
        ),
    },
    "tinyjax._primitives.scatter_mul": {"scatter_mul_p": mesh_rule.MeshRule(_scatter)},
    "tinyjax._primitives.householder": {
        **_rows(_MATRICES, "householder_product_p ormqr_p hessenberg_p tridiagonal_p"),
        **_rows(_MATRICES, "symmetric_product_p cholesky_update_p"),
        "tridiagonal_solve_p": mesh_rule.MeshRule(_tridiagonal_solve),
    },
    "tinyjax._primitives.random_bits": {
        "random_bits_p": mesh_rule.MeshRule(_random_bits),
        "random_wrap_p": mesh_rule.MeshRule(_wrap),
        "random_unwrap_p": mesh_rule.MeshRule(_unwrap),
    },
    "tinyjax._primitives.lu": _rows(_MATRICES, "lu_p solve_p"),
    "tinyjax._primitives.qr": _rows(_MATRICES, "qr_p geqrf_p"),
    "tinyjax.core.primitives.reduce": _rows(
        _REDUCTION,
        "reduce_prod_p reduce_max_p reduce_min_p reduce_and_p reduce_or_p reduce_xor_p",
    ),
    "tinyjax._primitives.arg_extrema": _rows(mesh_rule.MeshRule(_arg_reduce), "argmax_p argmin_p"),
    "tinyjax._primitives.reduce_window": _rows(
        _SAME, "reduce_window_sum_p reduce_window_max_p reduce_window_min_p"
    ),
    "tinyjax.core.primitives.shape": {
        "reshape_p": mesh_rule.MeshRule(_reshape),
        "transpose_p": mesh_rule.MeshRule(_transpose),
        "rev_p": _SAME,
    },
    "tinyjax.core.primitives.slicing": {
        **_rows(_SAME, "slice_p pad_p split_p"),
        "concatenate_p": mesh_rule.MeshRule(mesh_rule.alike),
    },
    "tinyjax._primitives.sort": {
        "sort_p": _along(lambda params, x: (params.axis,), "which is sorted"),
        "top_k_p": _along(lambda params, x: (x.ndim - 1,), "which is searched"),
    },
    "tinyjax._primitives.spectral": _rows(_MATRICES, "eigh_p svd_p eig_p schur_p"),
    "tinyjax.core.primitives.identities": {
        "optimization_barrier_p": mesh_rule.MeshRule(mesh_rule.each, mesh_rule.each_sum),
        "stop_gradient_p": mesh_rule.MeshRule(mesh_rule.same, mesh_rule.together()),
    },
    "tinyjax._primitives.schur_forms": _rows(_MATRICES, "sylvester_p sqrtm_p"),
    "tinyjax._primitives.triangular": _rows(_MATRICES, "triangular_solve_p cholesky_p"),
    "tinyjax._extensions.checkpointing.loops": {
        "loop_tangent_p": mesh_rule.MeshRule(fits=fitting.fit_linear_map)
    },
    "tinyjax.core.control_flow.primitives": {
        "cond_p": mesh_rule.MeshRule(fits=fitting.fit_cond),
        "scan_p": mesh_rule.MeshRule(fits=fitting.fit_scan),
        "while_p": mesh_rule.MeshRule(fits=fitting.fit_while),
    },
    "tinyjax.custom_derivatives.custom_calls": {
        "custom_vjp_tangent_p": mesh_rule.MeshRule(fits=lambda params, across: (across, params)),
        "custom_call_p": mesh_rule.MeshRule(fits=fitting.fit_call),
    },
    "tinyjax._primitives.linear_maps": {
        "linear_call_p": mesh_rule.MeshRule(fits=fitting.fit_linear_map)
    },
}


def row_of(primitive: Primitive[Any]) -> mesh_rule.MeshRule:
    """Return the rule in the primitive's row, or an empty one."""
    for module, rows in TABLE.items():
        loaded = sys.modules.get(module)
        for name, rule in rows.items() if loaded is not None else ():
            if getattr(loaded, name, None) is primitive:
                return rule
    return mesh_rule.MeshRule()


def rule_of(primitive: Primitive[P]) -> mesh_rule.MeshRule:
    """Return the rule of a primitive for several devices, with its defaults."""
    extensions = primitive.rules.extensions
    rule: mesh_rule.MeshRule | None = extensions.get(mesh_rule.MESH)
    if rule is None or not rule.is_whole:  # looked up for the first time
        rule = extensions[mesh_rule.MESH] = _whole(rule or row_of(primitive), primitive)
    return rule


def result_types(primitive: Primitive[P], avals: prim.Avals, params: P) -> Sequence[ShapedArray]:
    """Return the types of a primitive's results, as ``DeviceOps`` says."""
    return rule_of(primitive)(primitive, avals, params)


def _whole(rule: mesh_rule.MeshRule, primitive: Primitive[P]) -> mesh_rule.MeshRule:
    """Fill in the defaults of a rule."""
    extensions = primitive.rules.extensions
    division, sums, fits = rule.division, rule.sums, rule.fits
    if prim.ELEMENTWISE in extensions:
        division = division or mesh_rule.same
    if prim.LINEAR in extensions:
        sums = sums or mesh_rule.together(*primitive.rule(prim.LINEAR)())
    if program_rules.CALLED in extensions:
        fits = fits or fitting.fit_call
    return mesh_rule.MeshRule(
        division, sums or mesh_rule.whole_sums, rule.varies, fits, is_whole=True
    )


def is_alike(rule: mesh_rule.MeshRule, primitive: Primitive[P]) -> bool:
    """Return whether operands and results vary alike: the primitive has no programs."""
    return rule.fits is None and rule.varies is None and primitive.rules.evaluate is None


def known_result_types(
    rule: mesh_rule.MeshRule, primitive: Primitive[P], avals: prim.Avals, params: P
) -> Sequence[ShapedArray]:
    """Return the types of results of a primitive whose operands vary alike, and remember them."""
    if primitive.rules.collective is not None:
        return rule(primitive, avals, params)
    try:  # as at every other equation; nothing but the types counts here either
        return primitive.rules.types[params, *avals][0]
    except (KeyError, TypeError):  # of parameters that have no hash
        types = primitive.check_types(avals, params)
    assert types is not None, "it has no programs"
    return types


def fit(
    primitive: Primitive[P], across: Sequence[types.Axes], params: P
) -> tuple[Sequence[types.Axes], P]:
    """Return the axes along which operands must vary, and the parameters for such operands."""
    rule = rule_of(primitive)
    if rule.fits is not None:
        return rule.fits(params, across)
    together = mesh_rule.union(across)
    if rule.varies is not None:
        together, _ = rule.varies(params, together)
    elif jx.subjaxprs(params):
        together |= mesh_rule.union(
            [mesh_rule.union(mesh_rule.axes_of(jaxpr.in_avals)) for jaxpr in jx.subjaxprs(params)]
        )
        params = jx.with_subjaxprs(
            params, lambda j: fitting.refit(j, [together] * len(j.in_binders))
        )
    return [together] * len(across), params
