"""Build the site: ``python -m website [folder]``; any broken link or reference is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Pages show programs on several devices; read when tinyjax is first imported.
os.environ.setdefault("TINYJAX_NUM_CPU_DEVICES", "4")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from website import links
from website.staging import ROOT, Staging


def main(folder: Path) -> int:
    """Build the site in a folder; return an exit code, which is not 0 if a link is broken."""
    pages = ROOT / "build" / "pages"
    Staging(pages).write()
    settings = ("-c", str(ROOT / "website"), "-d", str(ROOT / "build" / "doctrees"))
    # --fresh-env: what is described is code, which changes while the pages stay as they are
    strict = ("--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "--jobs", "auto")
    command = [sys.executable, "-m", "sphinx", *strict, *settings, str(pages), str(folder)]
    code = subprocess.run(command, check=False).returncode
    faults = [*links.broken(folder)]
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return code or min(len(faults), 1)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    sys.exit(main(target))
