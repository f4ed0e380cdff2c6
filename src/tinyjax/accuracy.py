"""Lost digits: a function beside itself in higher precision, and the lines that lose them.

- ``report``: how many digits of each result are right, and the lines that lost the others
- ``digits``: the transformation beneath: results, and how many digits of each element are right
- ``estimate``: a bound on the error of a number, by line, from one reverse pass
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax._extensions.accuracy.shadows": "digits",
        "tinyjax._extensions.accuracy.reports": "AccuracyReport report",
        "tinyjax._extensions.accuracy.estimates": "Estimate estimate",
    },
)
