"""Contexts for ``with_context``: counting and tracing."""

from tinyjax.source.contexts.call_tree import CallTracer, TracedCall
from tinyjax.source.contexts.counting import OperationCounter

__all__ = ["CallTracer", "OperationCounter", "TracedCall"]
