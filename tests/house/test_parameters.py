"""No public function takes an argument and ignores it: not one by keyword, not one with a name."""

import dis
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy.special
from raising import raises
from tinyjax import lax
from tinyjax.errors import ArgumentError, ShardingError
from tinyjax.experimental import sparse
from website import reference

#: The public functions that take any keyword, by what becomes of these.
OPEN: Final[dict[str, str]] = {
    "are arguments of the user's function": (
        "autodiff.hessian_sparsity autodiff.jacobian_sparsity debug.callback eval_shape "
        "io_callback lax.platform_dependent numpy.apply_along_axis numpy.fromfunction "
        "numpy.piecewise print_saved_residuals pure_callback saved_residuals source.Context.call "
        "source.Context.proceed source.adjoint_source source.contexts.CallTracer.call "
        "source.contexts.OperationCounter.call source.evaluate source.explain source.forward "
        "source.staging.StagedFunction.__call__ stages.Wrapped.__call__ stages.Wrapped.lower "
        "stages.Wrapped.trace export.Exported.call example_libraries.stax.elementwise "
        "experimental.sparse.random_bcoo"
    ),
    "are fields of a text": (
        "debug.log debug.print experimental.checkify.check experimental.checkify.debug_check"
    ),
    "are data that listeners and profiles show": (
        "monitoring.record_event monitoring.record_event_duration_secs "
        "monitoring.record_event_time_span monitoring.record_scalar profiler.annotate_function "
        "profiler.StepTraceAnnotation.__init__ profiler.TraceAnnotation.__init__"
    ),
    "are parameters of a primitive": (
        "checkpoint_policies.SaveAndOffloadOnlyTheseNames.__call__ "
        "checkpoint_policies.SaveAnyNamesButThese.__call__ "
        "checkpoint_policies.SaveOnlyTheseNames.__call__ core.Primitive.bind "
        "extend.core.CallPrimitive.bind extend.core.call_impl testing.Case.__init__"
    ),
    "are names of arrays": "numpy.savez",
    "are fields, and others are refused": (
        "P.update ShapeDtypeStruct.update config.scoped sharding.ManualAxisType.update tree.static"
    ),
    "are handed to jaxlib": "ffi.register_ffi_target",
    "are options of another function, which refuses others": (
        "debug.visualize_array_sharding numpy.pad"
    ),
}

#: Parameters that a function does not read, by the reason. A name with a dot is one function's.
UNREAD: Final[dict[str, str]] = {
    "a hint of speed or memory, which no value depends on": (
        "check_finite overwrite_a overwrite_b overwrite_c lwork turbo debug "
        "lapack_driver linalg.svd.algorithm linalg.eigh.implementation use_magma "
        "optimize_remat polyval.unroll approx_max_k.recall_target sparse.sparsify.use_tracer "
        "approx_max_k.reduction_input_size_override approx_max_k.aggregate_to_topk "
        "gmres.solve_method expm.upper_triangular expm_frechet.method eigh_tridiagonal.key "
        "eigh_tridiagonal.tol polar.eps polar.max_iterations qdwh.is_hermitian "
        "scaled_dot_general.implementation bcoo_dot_general.precision assume_unique "
        "create_device_mesh.contiguous_submeshes allow_split_physical_axes "
        "create_hybrid_device_mesh.process_is_granule unmapped_aval.explicit_mesh_axis "
        "debug.print.partitioned debug.log.partitioned debug.callback.partitioned to_device.stream"
    ),
    "what is asked for is so in any case": (
        "accuracy eigh.sort_eigenvalues eig.enable_eigvec_derivs top_k.sorted unique.sorted "
        "reshape.copy meshgrid.copy canonicalize_dtype.allow_extended_dtype "
        "histogram_bin_edges.weights"
    ),
    "read by a decorator: see the test of it": (
        "out_sharding arange.device eye.device fftfreq.device rfftfreq.device"
    ),
    "what it would allow is refused in any case": "numpy.load.allow_pickle",
    "a name that people read": "composite.name composite.version new_ref.kind",
    "part of a protocol, whose other implementations read it": (
        "Ref.contents_in.objects avals Adapter.parameter_type.recorder "
        "Adapter.constant_type.recorder Adapter.source.recorder Adapter.jvp.primitive "
        "Adapter.tangents.trace Adapter.tangents.primals "
        "Adapter.cotangents.outs Adapter.transposing.eqns "
        "ones.key zeros.key gaussian_kde.tree_unflatten._ "
        "is_equivalent_to.ndim SingleDeviceSharding.update.spec "
        "find_top_trace._ create_token._ get_opaque_trace_state.convention "
        "mapped_aval.size Sharding.hidden.names Sharding.part_sharding.names Sharding.batched.axis "
        "Sharding.batched.names Sharding.beside.entries Sharding.decided.now "
        "new_jaxpr_eqn.effects new_jaxpr_eqn.ctx set_current_trace.check_leaks "
        "call_impl.params "
        ""
        "distributed.initialize.local_device_ids"
    ),
    "of a picture, which is drawn otherwise": (
        "visualize_sharding.use_color visualize_sharding.scale visualize_sharding.color_map"
    ),
}


@cache
def functions() -> list[tuple[str, Callable[..., Any], FunctionType]]:
    """List the public functions and methods: paths, objects, and the functions of Python's."""
    rows: dict[CodeType, tuple[str, Callable[..., Any], FunctionType]] = {}
    for entries in reference.entries().values():
        for entry in entries:
            for name, value in members(entry.value):
                path = ".".join(filter(None, (entry.path.removeprefix("tinyjax."), name)))
                inner = inspect.unwrap(value) if callable(value) else value
                if isinstance(inner, FunctionType) and inner.__module__.startswith("tinyjax"):
                    rows.setdefault(inner.__code__, (path, value, inner))
    return [*rows.values()]


def members(value: Any) -> Iterator[tuple[str, Any]]:
    yield "", value
    if inspect.isclass(value) and value.__module__.startswith("tinyjax"):
        for name, member in vars(value).items():
            if not name.startswith("_") or name in ("__init__", "__call__"):
                yield name, getattr(member, "__func__", member)


def loaded(code: CodeType) -> set[str]:
    """Return the variables that code reads, and functions in it."""
    names = {
        part
        for instruction in dis.get_instructions(code)
        if instruction.opname.startswith("LOAD_")
        for part in (
            instruction.argval if isinstance(instruction.argval, tuple) else [instruction.argval]
        )
        if isinstance(part, str)
    }
    return names.union(*[loaded(c) for c in code.co_consts if isinstance(c, CodeType)])


def is_abstract(function: FunctionType) -> bool:
    """Return whether a function has no code but a documentation, a constant or an error."""
    names = {i.opname for i in dis.get_instructions(function)}
    return ("RAISE_VARARGS" in names and "RETURN_VALUE" not in names) or not names & {
        *("CALL", "LOAD_ATTR", "LOAD_METHOD", "BINARY_OP", "STORE_FAST", "LOAD_FAST"),
    }


#: Methods need an object.
SPARSE: Final = {name: getattr(sparse, name).fromdense(jnp.eye(2)) for name in ("BCOO", "BCSR")}


def needed(function: Callable[..., Any]) -> int:
    """Return how many arguments a function has to be given."""
    empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(function).parameters.values()
    return sum(p.default is empty and p.kind <= kind for p in parameters)


def refusal(function: Callable[..., Any], arguments: list[Any]) -> str:
    """Return the message for a call with a keyword that is none."""
    try:
        function(*arguments, no_such_keyword=1)
    except Exception as error:
        return str(error)
    return "taken"


@pytest.mark.wrong_types
def test_keywords_that_are_not_known() -> None:
    """A call with a keyword that no function has is refused, and the message names it."""
    left = {name for names in OPEN.values() for name in names.split()}
    taken = []
    for path, function, _ in functions():
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
            if path in left:
                left.discard(path)
                continue
            taken.append(path)
            continue
        first = [SPARSE[path.split(".")[2]]] if path.startswith("experimental.sparse.BC") else []
        errors = [refusal(function, x) for x in ([], first, [None] * needed(function))]
        if not any("no_such_keyword" in error for error in errors):
            taken.append(f"{path}: {errors}")
    assert not taken
    assert not left


@pytest.mark.counts
def test_parameters_that_are_not_read() -> None:
    reasons = {name for names in UNREAD.values() for name in names.split()}
    used, unread = set(), []
    for path, _, function in functions():
        if is_abstract(function):
            continue
        names = inspect.signature(function).parameters.keys() - {"self", "cls"}
        for name in sorted(names - loaded(function.__code__)):
            full = f"{path}.{name}"
            fitting = {r for r in reasons if f".{full}".endswith(f".{r}")}
            used |= fitting
            if not fitting:
                unread.append(full)
    assert not unread
    assert not reasons - used


#: Type checkers refuse these calls, too.
NUMPY: Any = jnp
SPECIAL: Any = tinyjax.scipy.special
PLACED: Final[dict[str, Callable[[Any], Any]]] = {
    "arange": lambda x: jnp.arange(3, device=x),
    "eye": lambda x: jnp.eye(3, device=x),
    "fftfreq": lambda x: jnp.fft.fftfreq(3, device=x),
    "rfftfreq": lambda x: jnp.fft.rfftfreq(3, device=x),
    "arange ": lambda x: jnp.arange(3, out_sharding=x),
    "dot_general": lambda x: lax.dot_general(
        jnp.ones(2), jnp.ones(2), (((0,), (0,)), ((), ())), out_sharding=x
    ),
    "normal": lambda x: tinyjax.random.normal(tinyjax.random.key(0), out_sharding=x),
    "segment_sum": lambda x: tinyjax.ops.segment_sum(jnp.ones(2), jnp.arange(2), out_sharding=x),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", [*PLACED])
def test_placements_that_a_decorator_reads(name: str) -> None:
    with raises(ShardingError, match=f"{name.strip()} takes a device"):
        PLACED[name]("nowhere")


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("out", lambda: NUMPY.stack([jnp.ones(2)], out=np.ones((1, 2)))),
        ("order of array", lambda: NUMPY.array(1.0, order="columns")),
        ("order of array", lambda: NUMPY.asarray(1.0, order="columns")),
        ("order of array", lambda: NUMPY.copy(1.0, order="columns")),
        ("select_callable", lambda: lax.linalg.schur(jnp.eye(2), select_callable=bool)),
        ("exact of factorial", lambda: SPECIAL.factorial(3, exact=True)),
    ],
)
@pytest.mark.wrong_types
def test_arguments_without_effect_are_refused(words: str, call: Callable[[], Any]) -> None:
    with raises(ArgumentError, match=words):
        call()


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    "call",
    [
        lambda **x: tinyjax.P("i").update(**x),
        lambda **x: tinyjax.ShapeDtypeStruct((), float).update(**x),
        lambda **x: tinyjax.config.scoped(**x).__enter__(),
        tinyjax.tree.static,
        lambda **x: tinyjax.debug.visualize_array_sharding(jnp.ones(2), **x),
        lambda **x: jnp.pad(jnp.ones(2), 1, **x),
        lambda **x: jnp.pad(jnp.ones(2), 1, "edge", **x),
    ],
)
def test_functions_that_hand_keywords_on_refuse_others(call: Callable[..., Any]) -> None:
    with raises(TypeError, match="no_such_keyword"):
        call(no_such_keyword=1)
