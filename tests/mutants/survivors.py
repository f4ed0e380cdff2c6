"""Mutants that survive, and why; those that survived once, and what notices them now."""

from typing import Final

#: By its name, why no test can notice a mutant, or why none shall.
REASONS: Final[dict[str, str]] = {}

#: By its name, which test notices a mutant that had survived.
NOTICED: Final[dict[str, str]] = {}
