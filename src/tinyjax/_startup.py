"""Side effects of ``import tinyjax``: extensions attach to the core, settings apply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

import numpy as np  # noqa: F401 - here, since deeper in a nest of imports it takes longer

from tinyjax import config, numpy
from tinyjax._base import lazy
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values.array import install_namespace

install_namespace(numpy)
lazy.HOOKS.update(
    # how programs are run: evaluated at first, called in short, and calling Python
    tiers="tinyjax._extensions.host.tiers",
    fast_calls="tinyjax._extensions.host.xla.fast_calls",
    calling_programs="tinyjax._extensions.callbacks.xla.programs",
    # how derivatives of data are taken
    eager_derivatives="tinyjax._extensions.host.steps",
    # options of vmap, and what explain says of earlier calls
    chunking="tinyjax._extensions.chunking",
    explaining="tinyjax._extensions.explaining",
    # what computes NumPy's own functions of traced arrays
    numpy_protocols="tinyjax.numpy.protocols",
    # what to write where data of traced arrays is requested
    advice="tinyjax.numpy.advice",
    # what makes arrays of lists, which SciPy's functions take
    lists="tinyjax.numpy.creation",
    # what applies primitives, for their own method
    bind="tinyjax.core.tracing.trace",
    # how a notebook shows arrays and programs
    display="tinyjax._base.display",
    # keys of rules
    reversal="tinyjax._extensions.checkpointing.loops",
    large="tinyjax._extensions.host.large",
    # how often loops run at most
    trip_counts="tinyjax._extensions.checkpointing.trip_counts",
    # which indices are within bounds
    index_bounds="tinyjax._extensions.checkpointing.index_bounds",
    # where arrays lie elsewhere, and what makes platforms known
    device_ops="tinyjax._extensions.parallel.device_ops",
    platforms="tinyjax._extensions.parallel.xla",
    # what evaluates by the settings: looks for NaNs, and at transfers
    debugging="tinyjax._extensions.nans",
    guarding="tinyjax._library.transfers",
    # what looks at indices
    bounds="tinyjax._extensions.callbacks.bounds",
    # masks of cotangents
    selections="tinyjax._extensions.selections.backward",
    # what rules log in a backward pass, and what they keep in references
    logs="tinyjax.custom_derivatives.logs",
    rule_state="tinyjax._extensions.state.rules",
    # a parameter of grad, vjp and checkpoint
    memory_budget="tinyjax._extensions.rematerialization.transformation",
    # what maps over examples, and compiles programs, that decide by data
    divergence="tinyjax.source.capturing.groups",
    guards="tinyjax.source.capturing.guards",
    # a value of jit's control_flow, and another of its options
    source="tinyjax.source",
    pad_to="tinyjax._library.padding.function",
)
lazy.HOOKS["with jit"] = (
    "tinyjax.core.api.gradients tinyjax.numpy.contraction tinyjax.numpy.indexing "
    "tinyjax.numpy.lookups tinyjax.numpy.reductions tinyjax.numpy.selection "
    "tinyjax.core.api.mapping tinyjax.core.control_flow.scan tinyjax.core.control_flow.loops "
    "tinyjax._extensions.host.tiers"
)


def _evaluate_as_set(current: config.Settings) -> Callable[[], None]:
    """Load the extensions that the settings need, and choose the trace that evaluates."""
    if current.progress:
        import_module("tinyjax._extensions.progress")
    if not current.guarding and lazy.HOOKS["guarding"] not in sys.modules:  # nor was it before
        return tr.choose_base(current)
    release, choose_again = lazy.hook("guarding").hold(current), tr.choose_base(current)

    def restore() -> None:
        choose_again()
        release()

    return restore


config.follow(_evaluate_as_set)
