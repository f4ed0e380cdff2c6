"""The topics of the reference, and which names belong to each.

A topic names sources: modules, whose public names it takes, or single names. A source that says
where names are defined (``numpy.creation``) works as one that says where they are public
(``numpy.linalg``). Of several sources that fit a name the longest takes it, so a name can be taken
out of its module. Within a topic the headings of the files (``# Trigonometry``) are headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs


class TopicError(Exception):
    """A public name is in no topic, or a source is of none."""


@attrs.frozen
class Topic:
    """A topic of some public names.

    Attributes:
        slug: the name of the page.
        title: the heading.
        about: what one finds there, in a sentence.
        sources: where the names are, without ``tinyjax.``, with blanks between.
        first: the names to begin with, with blanks between.
        guides: the pages that treat them, without ``docs/``, with blanks between.
    """

    slug: str
    title: str
    about: str
    sources: str
    first: str = ""
    guides: str = ""

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages that treat them."""
        return tuple(f"docs/{guide}" for guide in self.guides.split())


#: What the page of a module begins with, before its topics.
FIRST: Final = {"tinyjax": "grad jit vmap"}

#: By heading, in the order of the navigation.
TOPICS: Final[dict[str, tuple[Topic, ...]]] = {
    "Transformations": (
        Topic(
            "derivatives",
            "Derivatives",
            "Gradients, Jacobians, Hessians, products with them, and Taylor series.",
            "core.api ad autodiff _library.laplacians _library.sparsity fwd_and_bwd",
            "grad value_and_grad vjp jvp linearize jacfwd jacrev jacobian hessian",
            guides="tutorials/derivatives toolbox",
        ),
        Topic(
            "vectorization",
            "Vectorization",
            "Functions of one example mapped over many.",
            "vmap numpy.vectorize numpy.ufuncs lax.map",
            "vmap",
            guides="thinking how-it-works toolbox",
        ),
        Topic(
            "compilation",
            "Compilation",
            "Functions compiled by XLA, ahead of time or at their first call, and what is kept.",
            "core.jit stages experimental.serialize_executable cache clear_caches "
            "eval_shape make_jaxpr core.values.avals.ShapeDtypeStruct typeof core.xla "
            "named_call named_scope ensure_compile_time_eval _extensions.parallel.communication "
            "lax.optimization_barrier lax.stage lax.dce_sink lax.platform_dependent lax.composite",
            "jit make_jaxpr eval_shape",
            guides="compilation how-it-works exploring",
        ),
        Topic(
            "custom-rules",
            "Custom rules",
            "Functions with derivatives and batching rules of your own.",
            "custom_derivatives custom_batching _primitives.linear_maps lax.stop_gradient "
            "autodiff.transposition experimental.hijax",
            "custom_jvp custom_vjp",
            guides="new-primitive transformations derivations",
        ),
        Topic(
            "checkpointing",
            "Memory of derivatives",
            "What reverse mode keeps, and what it computes again.",
            "_extensions.checkpointing ad_checkpoint checkpoint_name",
            "checkpoint",
            guides="toolbox",
        ),
        Topic(
            "control-flow",
            "Control flow",
            "Loops and choices that are compiled as such.",
            "core.control_flow lax.scans lax.select lax.select_n",
            "lax.scan lax.fori_loop lax.while_loop lax.cond lax.switch",
            guides="tutorials/loops source",
        ),
        Topic(
            "implicit",
            "Solvers",
            "Roots, minima, fixed points, linear systems and differential equations, with "
            "derivatives of their solutions.",
            "implicit scipy.optimize scipy.sparse.linalg",
            guides="implicit derivations",
        ),
    ),
    "Arrays": (
        Topic(
            "arrays",
            "Arrays and their types",
            "The class of arrays, dtypes, constants, and what annotations say.",
            "Array core.values numpy.scalar_types dtypes typing numpy.printoptions "
            "numpy.set_printoptions numpy.get_printoptions numpy.array_repr numpy.array_str "
            "numpy.__array_namespace_info__ numpy.ComplexWarning numpy.iterable lax.dtype",
            "Array",
            guides="tutorials/first-steps tutorials/traps",
        ),
        Topic(
            "creation",
            "Creation",
            "Arrays from values, ranges, and of a given form.",
            "numpy.creation numpy.fromfunction numpy.windows _library.special.bessel lax.empty "
            "lax.full lax.full_like lax.iota lax.broadcasted_iota",
        ),
        Topic(
            "manipulation",
            "Manipulation",
            "Shapes, axes, joining, splitting and repetition.",
            "numpy.manipulation numpy.editing numpy.broadcast_shapes lax.shapes image",
        ),
        Topic(
            "indexing",
            "Indexing",
            "Elements by index, by condition, and functional updates.",
            "numpy.indexing numpy.index_tricks numpy.taking numpy.selection _primitives.scatter "
            "_primitives.dynamic_slice _primitives.gather_scatter _primitives.modes ops "
            "lax.index_in_dim lax.index_take lax.slice lax.slice_in_dim",
            guides="tutorials/traps",
        ),
        Topic(
            "elementwise",
            "Elementwise functions",
            "Arithmetic, exponentials, trigonometry, comparison, logic and bits.",
            "numpy.elementwise numpy.bits lax.elementwise",
        ),
        Topic(
            "reductions",
            "Reductions and statistics",
            "Sums, means, extremes, quantiles, histograms and running sums.",
            "numpy.reductions numpy.statistics lax.reductions numpy.median numpy.percentile "
            "numpy.quantile numpy.nanmedian numpy.nanpercentile numpy.nanquantile numpy.cumprod "
            "numpy.cumsum numpy.cumulative_prod numpy.cumulative_sum numpy.nancumprod "
            "numpy.nancumsum",
        ),
        Topic(
            "sorting-and-sets",
            "Sorting and sets",
            "Order, search and sets.",
            "numpy.sorting numpy.sets numpy.searchsorted numpy.digitize numpy.top_k lax.sort "
            "lax.sort_key_val lax.top_k lax.approx_max_k lax.approx_min_k",
        ),
        Topic(
            "linear-algebra",
            "Linear algebra",
            "Products, factors, systems of equations and norms.",
            "numpy.linalg numpy.contraction scipy.linalg lax.linalg lax.products numpy.cross "
            "lax.batch_matmul lax.DotAlgorithm lax.DotAlgorithmPreset lax.Precision "
            "lax.PrecisionLike",
            "numpy.matmul numpy.einsum numpy.linalg.solve numpy.linalg.norm",
            guides="derivations",
        ),
        Topic(
            "convolution-and-fourier",
            "Convolutions, Fourier transforms and signals",
            "Convolutions, pooling windows, spectra and filters.",
            "numpy.fft scipy.fft scipy.signal _primitives.convolution numpy.convolve "
            "numpy.correlate lax.fft lax.FftType lax.reduce_window "
            "lax.reduce_window_shape_tuple lax.conv_general_dilated_local "
            "lax.conv_general_dilated_patches lax.conv_general_permutations "
            "lax.conv_general_shape_tuple lax.conv_shape_tuple lax.conv_transpose_shape_tuple "
            "lax.ConvGeneralDilatedDimensionNumbers",
        ),
        Topic(
            "calculus",
            "Calculus, polynomials and interpolation",
            "Differences, integrals, polynomials and values between grid points.",
            "numpy.calculus numpy.polynomials numpy.interp numpy.diff numpy.ediff1d "
            "scipy.integrate scipy.interpolate scipy.ndimage scipy.spatial",
        ),
        Topic(
            "files",
            "Files and other libraries",
            "Arrays in files, and arrays of other libraries.",
            "numpy.exchange dlpack experimental.checkpoints",
            guides="sharding",
        ),
        Topic(
            "sparse",
            "Sparse matrices",
            "Matrices by what is not zero in them.",
            "experimental.sparse",
            guides="toolbox",
        ),
        Topic(
            "trees",
            "Trees",
            "Containers of arrays, and classes of your own as such.",
            "tree tree_util flatten_util",
            "tree.map tree.leaves tree.flatten tree.unflatten",
            guides="tutorials/containers",
        ),
    ),
    "Functions": (
        Topic(
            "random",
            "Random numbers",
            "Keys, and draws from distributions.",
            "random experimental.random lax.rng_bit_generator lax.RandomAlgorithm",
            "random.key random.split random.uniform random.normal",
            guides="tutorials/random-keys",
        ),
        Topic(
            "distributions",
            "Distributions",
            "Densities, distribution functions and quantiles of probability distributions.",
            "scipy.stats",
        ),
        Topic(
            "special-functions",
            "Special functions",
            "Gamma, Bessel, error and other functions of mathematical physics.",
            "scipy.special lax.special",
        ),
        Topic(
            "neural-networks",
            "Neural networks",
            "Activations, attention, normalisation, initial weights, layers and optimizers.",
            "nn example_libraries",
            guides="tutorials/networks",
        ),
        Topic("clusters", "Clusters", "Vectors by their nearest centroids.", "scipy.cluster"),
    ),
    "Devices": (
        Topic(
            "devices",
            "Devices and sharding",
            "Where arrays lie, and programs on several devices.",
            "_extensions.parallel sharding memory devices local_devices device_count "
            "local_device_count default_backend default_device core.devices device_put device_get "
            "copy_to_host_async block_until_ready live_arrays experimental.mesh_utils "
            "experimental.shard_map lax.placement effects_barrier",
            "devices device_put make_mesh shard_map",
            guides="tutorials/devices sharding",
        ),
        Topic(
            "processes",
            "Several processes",
            "Programs in several processes or on several machines.",
            "distributed experimental.multihost_utils process_count process_index "
            "process_indices host_count host_id host_ids",
            guides="sharding",
        ),
        Topic(
            "export",
            "Export",
            "Programs to be stored, sent and run elsewhere, also for all sizes.",
            "export",
            guides="compilation c",
        ),
        Topic(
            "source",
            "Derivatives from source",
            "Gradients by the adjoint of a function's own text.",
            "source",
            guides="source",
        ),
    ),
    "Debugging": (
        Topic(
            "debugging",
            "Debugging",
            "Values printed from compiled programs, drawings, checks and profiles.",
            "accuracy debug _tools.exploring profiler monitoring print_environment_info "
            "experimental.checkify _extensions.callbacks.checks error_if",
            "debug.print debug.breakpoint debug_nans explore",
            guides="exploring accuracy tutorials/traps",
        ),
        Topic(
            "callbacks",
            "Callbacks and foreign functions",
            "Functions of the host, and of C, in compiled programs.",
            "_extensions.callbacks ffi",
            guides="new-primitive",
        ),
        Topic(
            "references", "References", "Mutable arrays within a program.", "_extensions.state ref"
        ),
        Topic(
            "testing",
            "Testing",
            "Derivatives against finite differences, and primitives against their rules.",
            "test_util testing",
            guides="testing",
        ),
        Topic(
            "errors",
            "Errors",
            "The errors that can be met: what raises each, and what mends it.",
            "errors tree.errors test_util.DerivativeMismatchError testing.CheckError",
            guides="tutorials/traps",
        ),
        Topic(
            "settings",
            "Settings",
            "What can be set, for a process or a block.",
            "config version",
            guides="compilation exploring",
        ),
    ),
    "Extending": (
        Topic(
            "extending",
            "New primitives and transformations",
            "Primitives with their rules, jaxprs, traces, and how they are lowered.",
            "extend core core.tracing core.primitives core.stablehlo core.values.avals "
            "core.values.operands",
            "extend.Primitive",
            guides="new-primitive transformations how-it-works",
        ),
    ),
}


def topics() -> Iterable[Topic]:
    """List all topics."""
    return (topic for group in TOPICS.values() for topic in group)


def assigned(names: Mapping[str, Sequence[str]]) -> dict[str, Topic]:
    """Say to which topic each public name belongs.

    Args:
        names: by public path, the paths and modules by which a source may name it, without
            ``tinyjax.``.

    Raises:
        TopicError: a name belongs to no topic, or a source is of no name.
    """
    claims = {source: topic for topic in topics() for source in topic.sources.split()}
    used: set[str] = set()
    topic_of: dict[str, Topic] = {}
    others: list[str] = []
    for path, aliases in names.items():
        parts = [alias.split(".") for alias in aliases]
        prefixes = {".".join(p[: i + 1]) for p in parts for i in range(len(p))}
        fits = [source for source in claims if source in prefixes]
        if not fits:
            others.append(path)
            continue
        used.update(fits)
        # a name of its own before a module, and then the most exact
        own = path.removeprefix("tinyjax.")
        topic_of[path] = claims[max(fits, key=lambda s: (s == own, len(s)))]
    if others:
        raise TopicError(
            f"in no topic: {', '.join(others)}. In TOPICS (website/topics.py) add to the sources "
            f"of a topic the name, without 'tinyjax.', or the module that defines it."
        )
    if idle := claims.keys() - used:
        raise TopicError(f"sources of no public name, in website/topics.py: {sorted(idle)}")
    return topic_of
