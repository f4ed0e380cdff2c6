"""Programs that call Python and other languages; its parts are loaded with the first of them."""

from tinyjax.core.xla import versions as versions  # it checks that it knows this jaxlib
