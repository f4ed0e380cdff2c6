"""``import stand_in_gpu``, before tinyjax: the process has a GPU, played by the processor.

The machine shows a driver, and a plugin is found, while tinyjax is imported. The platform's devices
are those of a second client of XLA's for the processor. So everything goes the way it goes on a
machine with a GPU: the first is the default device.
"""

import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

from jaxlib.xla_client import make_cpu_client

assert "tinyjax" not in sys.modules, "what is there is decided while it is imported"

_DRIVER = "/dev/nvidiactl"
_exists = os.path.exists


def _load(name: str) -> str:
    """Make two devices known as GPUs, in place of the plugin's."""
    from tinyjax.core.xla.backend import add_platform

    if name in ("gpu", "cuda"):
        client = make_cpu_client(asynchronous=True, num_devices=2)
        add_platform(client, "gpu", "cuda", rules="cpu")
    return ""


with tempfile.TemporaryDirectory() as folder:
    library = Path(folder, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
    library.parent.mkdir(parents=True)
    library.touch()
    with (
        mock.patch.object(os.path, "exists", lambda path: path == _DRIVER or _exists(path)),
        mock.patch.object(sys, "path", [folder, *sys.path]),
    ):
        from tinyjax._extensions.parallel.xla import plugins

plugins.load = _load
