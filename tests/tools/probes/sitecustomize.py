"""Counts what a process reaches that a test starts; Python imports it first, by its name.

``python -m tools.reaching`` puts this folder on the path, and names another in TINYJAX_REACHED.
"""

import atexit
import json
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

if (folder := os.environ.get("TINYJAX_REACHED")) and "slipcover" not in sys.orig_argv:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slipcover: Any = import_module("slipcover")

    _folder = Path(folder)

    def _write() -> None:
        part = _folder / f"{os.getpid()}.{os.urandom(4).hex()}.part"
        with suppress(OSError):  # the folder may be gone
            part.write_text(json.dumps(_counter.get_coverage()), encoding="utf-8")
            part.rename(part.with_suffix(".json"))

    _package = str(Path(__file__).parents[3] / "src")
    _counter = slipcover.Slipcover(branch=True, source=[])
    _matcher = slipcover.FileMatcher(sources=[_package])
    slipcover.ImportManager(_counter, _matcher).__enter__()
    atexit.register(_write)

    _exit = os._exit

    def _leave(status: int) -> None:
        _write()
        _exit(status)

    vars(os)["_exit"] = _leave  # which is how a forked process ends, and one that gives up
