"""The explorer of programs: the compiled form and the cost of each line of yours.

``explore`` traces, lowers, compiles and runs a function, and keeps all of it as one model
(``model.py``): lines, equations, StableHLO, compiled HLO, memory and times, each piece with what it
came from. ``page.py`` writes that as one HTML file, whose script joins the views. Locations
tell StableHLO by equation; and compiled HLO names the lines of the StableHLO text itself, since a
program that says nothing of lines is given those of its text.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "exploration": "Drawing Exploration draw explore",
    },
)
