"""Differences between the releases of jaxlib that tinyjax runs on, all in one place.

jaxlib's interface carries no promise of compatibility, so other releases are refused before
anything of them is used. ``docs/jaxlib.md`` has the changes.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from tinyjax.errors import MissingJaxlibError, UnsupportedVersionError

Release: TypeAlias = tuple[int, ...]

#: The oldest release, and the first that is too new; pyproject.toml says the same.
SUPPORTED: Final[tuple[Release, Release]] = ((0, 10, 2), (0, 13))

#: The same for pip.
REQUIREMENT: Final = "jaxlib>={},<{}".format(*[".".join(map(str, each)) for each in SUPPORTED])


def release_of(version: str) -> Release:
    """Return the numbers of a version, without what follows them: (0, 12, 1) of "0.12.1.dev3"."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else ()


def check(version: str) -> Release:
    """Return the numbers of a version of jaxlib that tinyjax runs on.

    Raises:
        UnsupportedVersionError: it is another.
    """
    release = release_of(version)
    oldest, beyond = SUPPORTED
    if not oldest <= release < beyond:
        raise UnsupportedVersionError(
            f"tinyjax runs on {REQUIREMENT}, but jaxlib {version} is installed. Install another by "
            f"pip install '{REQUIREMENT}'."
        )
    return release


try:
    import jaxlib

    _INSTALLED: Final = check(jaxlib.__version__)
    import jaxlib.xla_client
except UnsupportedVersionError:
    raise
except ImportError as error:
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise error.__cause__ from error
    raise MissingJaxlibError(
        f"jaxlib cannot be loaded: {error}. Without it, NumPy evaluates all programs, on one "
        "device, however long it takes. Nothing can be compiled, divided over devices, exported or "
        f"profiled, nor foreign functions called. pip install '{REQUIREMENT}' brings all of it."
    ) from error

#: The release of jaxlib that is installed.
VERSION: Final = jaxlib.__version__

#: The compiler in words: what it compiled may be kept for the same one only.
COMPILER: Final = f"jaxlib {VERSION}"

#: What keeps ``array_result_handler`` from asking Python about each array; later, it never does.
UNCHECKED: Final[dict[str, bool]] = {"_skip_checks": True} if _INSTALLED < (0, 11, 2) else {}

#: Flags with which XLA writes fusions without MLIR, which compiles faster; later, it cannot.
PLAIN_LOOPS: Final[tuple[tuple[str, bool], ...]] = (
    (("xla_cpu_use_fusion_emitters", False),) if _INSTALLED < (0, 11, 2) else ()
)
