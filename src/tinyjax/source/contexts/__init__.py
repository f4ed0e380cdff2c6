"""Contexts for ``with_context``: counting, tracing, sparsity, intervals."""

from tinyjax.source.contexts.calls import CallTracer, TracedCall
from tinyjax.source.contexts.counting import OperationCounter
from tinyjax.source.contexts.interval import Interval, IntervalArithmetic
from tinyjax.source.contexts.sparsity import SparsityDetector, Tagged

__all__ = [
    "CallTracer",
    "Interval",
    "IntervalArithmetic",
    "OperationCounter",
    "SparsityDetector",
    "Tagged",
    "TracedCall",
]
