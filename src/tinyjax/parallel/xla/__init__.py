"""What works with several devices of XLA's: programs for them, and arrays that lie there."""

from tinyjax.core.xla import versions as versions  # it checks that it knows this jaxlib
