"""Names of ``jax`` itself beyond tinyjax: its version, and names that libraries wrap on import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, SupportsIndex

import tinyjax
from tinyjax._base.frames import wraps
from tinyjax._jax.layout import shardings
from tinyjax.custom_derivatives.closures import arrays_in, kept_as_parameters

__all__ = ["__version__", "__version_info__", "device_put", "jacobian", "make_jaxpr"]

__version_info__: Final = (0, 10, 2)


class Version(str):
    """The version of JAX's interface, with tinyjax's as its local part: ``0.10.2+tinyjax.0.1.0``.

    Many programs split it at the dots, and make numbers of the parts: these are the interface's.

    Example:
        >>> from tinyjax._jax.toplevel import Version
        >>> [int(part) for part in Version("0.10.2+tinyjax.0.1.0").split(".")]
        [0, 10, 2]
    """

    __slots__ = ()

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Split the version of the interface, without the local part."""
        return self.partition("+")[0].split(sep, maxsplit)


__version__: Final = Version(
    f"{'.'.join(map(str, __version_info__))}+tinyjax.{tinyjax.__version__}"
)

#: The version of JAX's interface alone.
_version: Final = __version__.partition("+")[0]

#: As in JAX; ``tinyjax.jacobian`` looks for the cheapest order first, which costs more than it
#: saves where it is not compiled.
jacobian: Final = tinyjax.jacrev


def device_put(x: Any, device: Any = None, **options: bool) -> Any:
    """Do as ``tinyjax.device_put``, and take layouts with shardings (``jax.experimental.layout``).

    Args:
        x: as there.
        device: likewise.
        options: likewise.
    """
    return tinyjax.device_put(x, shardings(device), **options)


def make_jaxpr(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Do as ``tinyjax.make_jaxpr``, and let every array that is closed over be a constant.

    So the constants depend on the function alone, and not on what its arrays hold: libraries
    compare the programs of two functions by structure, or put other arrays in their place.

    Args:
        fun: the function. Its arrays are looked for in closures, containers and other trees.
        args: as in ``tinyjax.make_jaxpr``.
        kwargs: likewise.

    Example:
        >>> from functools import partial
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._jax.toplevel import make_jaxpr
        >>> zeros = jnp.zeros(2)
        >>> add_zeros = partial(jnp.add, zeros)
        >>> len(make_jaxpr(add_zeros)(zeros).consts)
        1
        >>> len(tinyjax.make_jaxpr(add_zeros)(zeros).consts)
        0
    """
    make: Callable[..., Any] = tinyjax.make_jaxpr(fun, *args, **kwargs)

    @wraps(fun)
    def with_constants(*args: Any, **kwargs: Any) -> Any:
        with kept_as_parameters(arrays_in(fun)):
            return make(*args, **kwargs)

    return with_constants
