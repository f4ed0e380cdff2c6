"""GPUs by Nvidia: XLA's plugin for them, loaded on first use.

A plugin consists of the client, and of functions that compiled programs call by name: those of
linear algebra, and those that call Python. XLA knows the names as soon as the client exists. The
system loads each library when a program first calls it.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Final

from jaxlib import xla_client

from tinyjax.core import devices, discovery
from tinyjax.core.xla import backend, versions

#: The name by which XLA knows the plugin, and which lowering rules are for.
CUDA: Final = "cuda"
_NAMES: Final = (devices.ACCELERATOR, CUDA)

#: Nvidia's libraries that XLA and the extensions load, by the packages that have them, for each
#: version of CUDA. They are found under their names once they are loaded.
_LIBRARIES: Final[dict[int, dict[str, str]]] = {
    12: {
        "cuda_runtime": "libcudart.so.12",
        "cuda_nvrtc": "libnvrtc.so.12",
        "cublas": "libcublas.so.12 libcublasLt.so.12",
        "nccl": "libnccl.so.2",
        "cuda_cupti": "libcupti.so.12",
        "cusparse": "libcusparse.so.12",
        "cusolver": "libcusolver.so.11",
        "cufft": "libcufft.so.11",
        "nvshmem": "libnvshmem_host.so.3",
        "cudnn": "libcudnn.so.9",
    },
    13: {
        "cu13": (
            "libcudart.so.13 libnvrtc.so.13 libcublas.so.13 libcublasLt.so.13 libcupti.so.13 "
            "libcusparse.so.12 libcusolver.so.12 libcufft.so.12"
        ),
        "nccl": "libnccl.so.2",
        "nvshmem": "libnvshmem_host.so.3",
        "cudnn": "libcudnn.so.9",
    },
}
#: jaxlib's modules that list functions of the plugin's for programs.
_LISTS: Final = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")
#: CUDA's assembler, in its folder.
_ASSEMBLER: Final = Path("bin", "ptxas")


@cache
def toolkit() -> Path | None:
    """Return the folder of CUDA's assembler and library of functions, where it has one of its own.

    It is ``CUDA_ROOT`` in the environment, or else the folder of a package of Nvidia's that has the
    assembler; other packages have parts of the same folder. Without one, XLA looks for it itself.
    """
    said = os.environ.get("CUDA_ROOT")
    if said:
        return Path(said)
    packages = map(discovery.folder_of, ("nvidia.cu13", "nvidia.cuda_nvcc"))
    return next((folder for folder in packages if folder and (folder / _ASSEMBLER).exists()), None)


def load(name: str) -> str:
    """Make GPUs known as a platform, if their plugin is there and finds some.

    Args:
        name: the requested platform.

    Returns:
        The reason why there are none, for a message; an empty text if there are.
    """
    if name not in _NAMES:
        return ""
    plugin = discovery.installed()
    if plugin is None:
        return (
            "GPUs by Nvidia are used by XLA's plugin: "
            f"pip install 'jax-cuda12-plugin[with-cuda]=={versions.VERSION}' (or cuda13), "
            "or, from a clone of tinyjax, pip install 'path-of-clone[cuda12]'."
        )
    if devices.group().size > 1:
        return "GPUs are used by one process alone: leave out tinyjax.distributed.initialize."
    return _wrong_version(plugin) or _loaded(plugin)


@cache  # XLA takes a plugin once
def _loaded(plugin: discovery.Plugin) -> str:
    """Load a plugin, and make its devices known; return why there are none."""
    load_libraries(plugin)
    try:
        if not xla_client.pjrt_plugin_loaded(CUDA):  # by jax, in this process
            register_calls(plugin, load_api(plugin))
        elif not xla_client.pjrt_plugin_initialized(
            CUDA
        ):  # jax itself was told to leave GPUs alone
            xla_client.initialize_pjrt_plugin(CUDA)
        options = xla_client.generate_pjrt_gpu_plugin_options()
        client = xla_client.make_c_api_client(CUDA, options, None)
    except (ImportError, RuntimeError) as error:
        return f"The plugin for CUDA {plugin.cuda} finds none: {error}"
    backend.add_platform(client, devices.ACCELERATOR, CUDA, CUDA)
    return ""


def _wrong_version(plugin: discovery.Plugin) -> str:
    """Return the error in the versions of the installed packages; nothing where they agree."""
    version, name = versions.VERSION, plugin.extensions.replace("_", "-")
    try:
        has = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed: pip install {name}=={version}."
    if versions.release_of(has) == versions.release_of(version):
        return ""
    return f"{name} {has} is for another jaxlib than {version}: pip install {name}=={version}."


def load_libraries(plugin: discovery.Plugin) -> None:
    """Load Nvidia's libraries from their packages; the system looks for those not there."""
    for package, names in _LIBRARIES[plugin.cuda].items():
        folder = discovery.folder_of(f"nvidia.{package}")
        for name in names.split() if folder is not None else ():
            with suppress(OSError):
                ctypes.CDLL(os.path.join(str(folder), "lib", name), mode=ctypes.RTLD_GLOBAL)


def load_api(plugin: discovery.Plugin) -> Any:
    """Load the plugin's library, and return its interface."""
    api = xla_client.load_pjrt_plugin_dynamically(CUDA, str(plugin.library))
    if not xla_client.pjrt_plugin_initialized(CUDA):
        xla_client.initialize_pjrt_plugin(CUDA)
    return api


def register_calls(plugin: discovery.Plugin, api: Any) -> None:
    """Make known to XLA which functions of the plugin's programs may call, and by which names."""
    extension: Any = import_module(f"{plugin.extensions}.cuda_plugin_extension")
    xla_client.register_custom_type_handler("CUDA", partial(extension.register_custom_type, api))
    xla_client.register_custom_call_handler(
        "CUDA", partial(extension.register_custom_call_target, api)
    )
    for name, kind in extension.ffi_types().items():
        xla_client.register_custom_type(name, kind, platform="CUDA")
    for name, function in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, function, platform="CUDA", api_version=1)
    for module in _LISTS:
        listed: Any = import_module(f"jaxlib.{module}")
        for name, function, version in listed.registrations()["CUDA"]:
            xla_client.register_custom_call_target(name, function, "CUDA", version)
