# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._tools.exploring.exploration import Drawing as Drawing
from tinyjax._tools.exploring.exploration import Exploration as Exploration
from tinyjax._tools.exploring.exploration import draw as draw
from tinyjax._tools.exploring.exploration import explore as explore

__all__ = [
    'Drawing',
    'Exploration',
    'draw',
    'explore',
]
