"""What ``jax`` itself has beyond tinyjax: its version, and what libraries wrap when imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import tinyjax
from tinyjax.absent import DEVICES
from tinyjax.frames import wraps

__all__ = ["__version__", "__version_info__", "pmap"]

__version_info__: Final = (0, 10, 2)
__version__: Final = f"{'.'.join(map(str, __version_info__))}+tinyjax.{tinyjax.__version__}"


def pmap(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Take a function to be run on several devices; to call what this returns is an error."""

    @wraps(fun)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"jax.pmap is not in tinyjax: {DEVICES}. jax.vmap maps a function on the one there is."
        )

    return refuse
