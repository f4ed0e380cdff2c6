"""The version that ``jax`` shows: JAX's whose interface is followed, and tinyjax's own."""

from __future__ import annotations

from typing import Final

import tinyjax

__all__ = ["__version__", "__version_info__"]

__version_info__: Final = (0, 10, 2)
__version__: Final = f"{'.'.join(map(str, __version_info__))}+tinyjax.{tinyjax.__version__}"
