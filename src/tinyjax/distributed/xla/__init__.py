"""What brings several processes together by XLA's means."""

from tinyjax.core.xla import versions as versions  # it checks that it knows this jaxlib
