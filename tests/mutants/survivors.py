"""Mutants that survive, and why; those that survived once, and what notices them now.

``survivors.json`` has them by their names.
"""

import json
from pathlib import Path
from typing import Final

_KNOWN: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

#: By its name, why no test can notice a mutant, or why none shall.
REASONS: Final[dict[str, str]] = _KNOWN["reasons"]

#: By its name, which test notices a mutant that had survived.
NOTICED: Final[dict[str, str]] = _KNOWN["noticed"]
