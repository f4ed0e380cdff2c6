"""The precision of products, and other options of programs for XLA beside shapes and types."""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

import attrs
import jax
import numpy as np
import pytest
from jaxlib.mlir import ir
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from specs import all_specs
from tinyjax import config, export, lax
from tinyjax.core.lowering import write_module
from tinyjax.core.values.operands import as_array
from tinyjax.core.xla import modules
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.scipy import linalg

pytestmark = pytest.mark.usefixtures("compiled")

X: Final = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
IMAGES: Final = np.ones((1, 3, 8), np.float32)
KERNEL: Final = np.ones((3, 3, 2), np.float32)
_MATRICES: Final = ((1,), (0,)), ((), ())

#: Products of a matrix by tinyjax or by jax, in a precision.
PRODUCTS: Final[dict[str, Callable[[Any, Any], Callable[..., Any]]]] = {
    "dot": lambda m, p: lambda x: m.numpy.dot(x, x, precision=p),
    "matmul": lambda m, p: lambda x: m.numpy.matmul(x, x, precision=p),
    "matmul of a batch": lambda m, p: lambda x: m.numpy.matmul(x[None], x[None], precision=p),
    "vdot": lambda m, p: lambda x: m.numpy.vdot(x, x, precision=p),
    "vecdot": lambda m, p: lambda x: m.numpy.vecdot(x, x, precision=p),
    "inner": lambda m, p: lambda x: m.numpy.inner(x, x, precision=p),
    "tensordot": lambda m, p: lambda x: m.numpy.tensordot(x, x, 1, precision=p),
    "einsum": lambda m, p: lambda x: m.numpy.einsum("ij,kj->ik", x, x, precision=p),
    "linalg.matmul": lambda m, p: lambda x: m.numpy.linalg.matmul(x, x, precision=p),
    "linalg.tensordot": lambda m, p: lambda x: m.numpy.linalg.tensordot(x, x, precision=p),
    "linalg.vecdot": lambda m, p: lambda x: m.numpy.linalg.vecdot(x, x, precision=p),
    "linalg.multi_dot": lambda m, p: lambda x: m.numpy.linalg.multi_dot([x, x], precision=p),
    "lax.dot": lambda m, p: lambda x: m.lax.dot(x, x, precision=p),
    "lax.batch_matmul": lambda m, p: lambda x: m.lax.batch_matmul(x[None], x[None], p),
    "lax.dot_general": lambda m, p: lambda x: m.lax.dot_general(x, x, _MATRICES, p),
    "lax.ragged_dot": lambda m, p: lambda x: m.lax.ragged_dot(x, x[None], np.array([3]), p),
    "tangent": lambda m, p: (
        lambda x: m.jvp(lambda x: m.numpy.dot(x, 2 * x, precision=p), (x,), (x,))
    ),
    "gradient": lambda m, p: m.grad(lambda x: m.numpy.dot(m.numpy.sin(x), x, precision=p).sum()),
    "vmap": lambda m, p: m.vmap(lambda x: m.numpy.dot(x, x, precision=p)),
}
#: The same of convolutions, which have no algorithms.
CONVOLUTIONS: Final[dict[str, Callable[[Any, Any], Callable[..., Any]]]] = {
    "conv": lambda m, p: lambda x, w: m.lax.conv(x, w, (1,), "VALID", p),
    "conv_transpose": lambda m, p: (
        lambda x, w: m.lax.conv_transpose(
            x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH"), precision=p
        )
    ),
    "conv_with_general_padding": lambda m, p: (
        lambda x, w: m.lax.conv_with_general_padding(x, w, (1,), [(1, 1)], None, None, p)
    ),
    "convolve": lambda m, p: lambda x, w: m.numpy.convolve(x[0, 0], w[0, 0], precision=p),
    "correlate": lambda m, p: lambda x, w: m.numpy.correlate(x[0, 0], w[0, 0], precision=p),
    "gradient": lambda m, p: m.grad(
        lambda x, w: m.numpy.sin(m.lax.conv(x, w, (1,), "VALID", p)).sum(), (0, 1)
    ),
    "vmap": lambda m, p: lambda x, w: m.vmap(lambda w: m.lax.conv(x, w, (1,), "VALID", p))(w[None]),
}
_PRESETS: Final = [p for p in lax.DotAlgorithmPreset if not p.name.startswith("ANY_F8")]


def _ours(fun: Callable[..., Any], *operands: Any, platform: str = "cuda") -> str:
    jaxpr = tinyjax.make_jaxpr(fun)(*map(as_array, operands)).jaxpr
    return write_module(jaxpr, "ours", platform=platform)[0]


def _theirs(fun: Callable[..., Any], *operands: Any, platform: str = "cuda") -> str:
    traced = jax.jit(fun).trace(*operands)
    return str(traced.lower(lowering_platforms=(platform,)).as_text())


@attrs.frozen
class Operation:
    """An operation of a module: its attributes, and the types that it takes and gives."""

    name: str
    attributes: dict[str, str]
    types: tuple[str, ...]


def _operations(text: str) -> list[Operation]:
    """The operations of a module, those in regions too."""
    operations: list[Operation] = []

    def walk(operation: Any) -> None:
        for inner in [op for region in operation.regions for block in region for op in block]:
            op = inner.operation
            names = [getattr(item, "name", item) for item in op.attributes]
            if op.name == "stablehlo.constant":  # bindings do not read some of their values
                names = []
            types = tuple([str(getattr(x.type, "element_type", x.type)) for x in op.operands])
            results = tuple([str(getattr(x.type, "element_type", x.type)) for x in op.results])
            given = {name: str(op.attributes[name]) for name in names}
            operations.append(Operation(op.name, given, types + results))
            walk(op)

    with modules.context() as here:
        import_module("jaxlib.mlir.dialects.sdy").register_dialect(here)
        walk(ir.Module.parse(text).operation)
    return operations


def _exactness(text: str) -> set[tuple[str, str]]:
    """Return the precisions of the products in a module."""
    return {
        (
            op.attributes["precision_config"].replace("chlo", "stablehlo"),
            op.attributes.get("algorithm", ""),
        )
        for op in _operations(text)
        if "precision_config" in op.attributes
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("precision", ["default", ("high", "highest"), "BF16_BF16_F32_X3"])
def test_products_are_as_exact_as_those_of_jax(name: str, precision: Any) -> None:
    build = PRODUCTS[name]
    if name == "lax.ragged_dot" and precision == "BF16_BF16_F32_X3":
        precision = "high"  # jax leaves out the algorithm
    expected = _exactness(_theirs(build(jax, precision), X))
    assert expected
    assert _exactness(_ours(build(tinyjax, precision), X)) == expected
    # and as a setting, and where nothing is said
    if isinstance(precision, str):
        with tinyjax.default_matmul_precision(precision):
            assert _exactness(_ours(build(tinyjax, None), X)) == expected
    expected = _exactness(_theirs(build(jax, "highest"), X))
    assert _exactness(_ours(build(tinyjax, None), X)) == expected


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_as_exact_as_those_of_jax(name: str) -> None:
    build = CONVOLUTIONS[name]
    for precision in ("default", "highest"):
        expected = _exactness(_theirs(build(jax, precision), IMAGES, KERNEL))
        got = _exactness(_ours(build(tinyjax, precision), IMAGES, KERNEL))
        assert got == expected
    with tinyjax.default_matmul_precision("F32_F32_F32"):
        text = _ours(build(tinyjax, None), IMAGES, KERNEL)
    assert "HIGHEST" in text
    assert "DEFAULT" not in text
    with raises(ArgumentError, match="algorithm of products of matrices: a convolution"):
        lax.conv(IMAGES, KERNEL, (1,), "VALID", precision="F32_F32_F32")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("preset", _PRESETS, ids=lambda p: p.name)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_algorithms_are_written_as_by_jax(preset: lax.DotAlgorithmPreset, dtype: str) -> None:
    for wanted in (dtype, "float32"):
        found = []
        for m, lower in ((jax, _theirs), (tinyjax, _ours)):

            def fun(x: Any, m: Any = m, accumulator: str = wanted) -> Any:
                precision = m.lax.DotAlgorithmPreset[preset.name]
                return m.lax.dot(x, x, precision=precision, preferred_element_type=accumulator)

            with jax.enable_x64(True):
                operations = _operations(lower(fun, np.asarray(jnp.ones((2, 2), dtype))))
            written = [op for op in operations if re.search("dot_general|convert$", op.name)]
            types = {(op.name, op.types) for op in written}
            found.append((types, {op.attributes.get("algorithm") for op in written}))
        assert found[1] == found[0]


def test_algorithms_of_ones_own() -> None:
    options = ("bfloat16", "bfloat16", "float32", 1, 1, 3, False)
    texts = [
        lower(partial(dot, precision=kind(*options)), X, X)
        for lower, dot, kind in (
            (_theirs, jax.lax.dot, jax.lax.DotAlgorithm),
            (_ours, lax.dot, lax.DotAlgorithm),
        )
    ]
    assert _exactness(texts[0]) == _exactness(texts[1])
    assert "num_primitive_operations = 3" in texts[1]


def test_algorithms_of_float8() -> None:
    x = jnp.ones((2, 2), jnp.float8_e4m3fn)

    def product(x: Any) -> Any:
        preset = "ANY_F8_ANY_F8_F32_FAST_ACCUM"
        return lax.dot(x, x, precision=preset, preferred_element_type=jnp.float32)

    ((_, algorithm),) = _exactness(_ours(product, x))
    assert "lhs_precision_type = f8E4M3FN" in algorithm
    assert "allow_imprecise_accumulation = true" in algorithm
    with raises(DtypeError, match="is for operands of one float8 dtype"):
        product(X)


@pytest.mark.parametrize(
    ("dtype", "precision_name"), [("complex64", "HIGHEST"), ("int32", "DEFAULT")]
)
def test_numbers_that_have_no_algorithm(dtype: str, precision_name: str) -> None:
    x = X.astype(dtype)
    text = _ours(lambda x: lax.dot(x, x, precision="F16_F16_F16"), x)
    ((precision, algorithm),) = _exactness(text)
    assert precision_name in precision
    assert not algorithm


def test_the_operands_may_be_exchanged() -> None:
    """Under vmap and in einsum a product may be that of the second operand with the first."""
    pair = lax.Precision.DEFAULT, lax.Precision.HIGHEST
    turned = "[#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]"
    for fun in (
        tinyjax.vmap(lambda x, y: lax.dot(x, y, precision=pair), (None, 0)),
        lambda x, y: jnp.einsum("ij,jk->ki", x, y, precision=pair),
    ):
        assert _exactness(_ours(fun, X, X)) == {(turned, "")}
    mixed = lax.DotAlgorithm("float16", "bfloat16", "float32", 1, 2, 3)
    mapped = tinyjax.make_jaxpr(
        tinyjax.vmap(lambda x, y: lax.dot(x, y, precision=mixed), (None, 0))
    )
    (product,) = mapped(X, X).eqns
    assert product.params["precision"] == lax.DotAlgorithm(
        "bfloat16", "float16", "float32", 2, 1, 3
    )


def test_the_processor_computes_in_full_precision() -> None:
    x = np.array([1.0, 1e-4], np.float32)
    for precision in (*lax.Precision, "BF16_BF16_BF16", "TF32_TF32_F32", None):
        product = tinyjax.jit(partial(lax.dot, precision=precision))
        assert product(x, x) == lax.dot(x, x) == np.dot(x, x)
        assert "algorithm" not in product.lower(x, x).as_text()
    plain, asked = [
        tinyjax.make_jaxpr(lambda x, p=p: lax.dot(x, x, precision=p))(x) for p in (None, "high")
    ]
    assert "precision" not in str(plain)
    assert "precision=(Precision.HIGH, Precision.HIGH)" in str(asked)
    assert plain.jaxpr.digest != asked.jaxpr.digest


def test_the_setting() -> None:
    product = tinyjax.jit(lambda x: x @ x)
    plain = product.lower(X).as_text()
    with tinyjax.default_matmul_precision("tensorfloat32"):
        assert config.read("jax_default_matmul_precision") == "tensorfloat32"
        assert product.lower(X).as_text() == plain.replace("DEFAULT", "HIGH")
        np.testing.assert_array_equal(product(X), X @ X)
    assert product.lower(X).as_text() == plain
    with tinyjax.default_matmul_precision(None):
        assert config.settings().default_matmul_precision is None
    for wrong in ("fast", 3):
        with raises(ArgumentError, match="default_matmul_precision takes a name of"):
            config.update("default_matmul_precision", wrong)
        with raises(ArgumentError, match="or None, but got"):
            unchecked(lax.dot)(X, X, precision=wrong)


@pytest.mark.parametrize(
    "fun",
    [
        *(jnp.linalg.pinv, jnp.linalg.det, jnp.linalg.inv, linalg.expm),
        *(jnp.linalg.qr, jnp.linalg.svd, lax.linalg.qdwh),
        lambda x: jnp.linalg.lstsq(x, x)[:2],
        lambda x: tinyjax.image.resize(x, (5, 5), "linear"),
    ],
)
def test_linear_algebra_is_exact_whatever_the_setting(fun: Any) -> None:
    x = X + 3 * np.eye(3, dtype=np.float32)
    for applied in (fun, tinyjax.jacfwd(fun)):
        with tinyjax.default_matmul_precision("fastest"):
            text = _ours(applied, x, platform="cuda")
        assert "precision DEFAULT" not in text


def test_exported_programs_say_how_exact_they_are() -> None:
    with tinyjax.default_matmul_precision("BF16_BF16_F32"):
        exported = export.export(tinyjax.jit(jnp.dot), platforms=["cpu", "cuda", "tpu"])(X, X)
    read = export.deserialize(exported.serialize())
    for platform, count in (("cpu", 0), ("cuda", 1), ("tpu", 1)):
        assert read.mlir_module(platform).count("accumulation_type = f32") == count
    np.testing.assert_array_equal(read.call(X, X), X @ X)


def test_products_on_several_devices() -> None:
    mesh = tinyjax.make_mesh((2,), ("x",))
    rows = tinyjax.NamedSharding(mesh, tinyjax.P("x"))
    x = tinyjax.device_put(np.ones((4, 4), np.float32), rows)

    def divided(x: Any) -> Any:
        return lax.psum(jnp.dot(x.T, x, precision="high"), "x")

    mapped = tinyjax.shard_map(divided, mesh=mesh, in_specs=tinyjax.P("x"), out_specs=tinyjax.P())
    for fun in (mapped, lambda x: jnp.dot(x, x, precision="high")):
        assert "precision HIGH>" in tinyjax.jit(fun).lower(x).as_text()
        np.testing.assert_array_equal(tinyjax.jit(fun)(x), np.full((4, 4), 4.0))
    keeping = tinyjax.jit(tinyjax.grad(lambda x: mapped(x).sum()))
    assert "precision DEFAULT" not in keeping.lower(x).as_text()


#: Attributes that say how an operation is computed, and not of which shapes.
_HOW: Final = frozenset(
    (
        *("precision_config", "algorithm", "indices_are_sorted", "unique_indices", "is_stable"),
        *("feature_group_count", "batch_group_count", "window_reversal", "fft_type", "lower"),
        *("left_side", "unit_diagonal", "transpose_a", "exponent_bits", "mantissa_bits"),
        *("rng_algorithm", "channel_handle", "use_global_device_ids", "replica_groups"),
    )
)
#: Rows that say something else, and why.
_DIFFERENT: Final = {
    "rng_bit_generator": "draws by Philox alone",
    "symmetric_product": "says nothing on the processor, which is full precision",
}


def _attributes(text: str) -> dict[tuple[str, str], set[str]]:
    """Return the options of a module's operations, by operation and attribute."""
    options: dict[tuple[str, str], set[str]] = defaultdict(set)
    for op in _operations(text):
        for key in _HOW & op.attributes.keys():
            options[op.name, key].add(op.attributes[key])
    return options


_ROWS: Final = {row.name: row for row in all_specs() if row.jax and row.name not in _DIFFERENT}


@pytest.mark.sampled(
    6, always=("dot_general", "conv_general_dilated", "gather", "scatter_add", "fft")
)
@pytest.mark.parametrize("name", _ROWS)
def test_operations_say_what_those_of_jax_say(name: str) -> None:
    """Whatever else of a primitive's parameters JAX writes into its operations, ours have too."""
    row = _ROWS[name]
    case, _, operands = row.smooth_samples()[0]
    assert row.jax is not None
    with jax.enable_x64(True):
        try:
            theirs = _theirs(partial(row.jax, **case.params), *operands, platform="cpu")
        except (TypeError, ValueError):
            pytest.skip("the reference computes on data")
    ours = tinyjax.jit(row.applied(case.params)).lower(*operands).as_text()
    of_ours, of_theirs = _attributes(ours), _attributes(theirs)
    both = of_ours.keys() & of_theirs.keys()
    assert {key: of_ours[key] for key in both} == {key: of_theirs[key] for key in both}


@pytest.mark.parametrize(
    ("dtype", "accumulator", "widened"),
    [
        ("int8", "int32", "int32"),
        ("float32", "float64", "float64"),
        ("bfloat16", "float64", "float64"),
        ("bfloat16", "float32", "bfloat16"),
        ("float32", "int32", "float32"),
    ],
)
def test_products_for_gpus_have_operands_as_wide_as_their_sums(
    dtype: str, accumulator: str, widened: str
) -> None:
    """XLA's for GPUs wrap sums of bytes, and give float64 the digits of float32."""
    x = np.ones((2, 2), np.dtype(dtype))
    dims = (((1,), (0,)), ((), ()))
    fun = partial(lax.dot_general, dimension_numbers=dims, preferred_element_type=accumulator)
    for platform, expected in (("cuda", widened), ("cpu", dtype), ("tpu", dtype)):
        (product,) = [
            op for op in _operations(_ours(fun, x, x, platform=platform)) if "dot" in op.name
        ]
        short = {"int8": "i8", "int32": "i32", "float32": "f32", "float64": "f64"}
        assert product.types[0] == short.get(expected, "bf16")
