"""docs/scipy_api.md tells which arguments of SciPy's functions are taken, and how."""

import re
from typing import Final

import scipy

from tools.scipy_api import DOCUMENT, misplaced, text

#: Functions with another order than SciPy's: that of JAX, which has them too.
OF_JAX: Final = [
    *("linalg.solve", "linalg.solve_sylvester", "linalg.solve_triangular", "linalg.sqrtm"),
    *("ndimage.map_coordinates", "optimize.RootResults", "spatial.transform.Slerp"),
]


def test_the_document_is_up_to_date() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    (release,) = re.findall(r"SciPy (\S+)\.\n", written)
    is_its_release = scipy.__version__ == release
    assert not is_its_release or written == text(), "run `python -m tools.scipy_api` in tests/"


def test_positions_mean_what_they_mean_in_scipy() -> None:
    assert sorted(misplaced()) == OF_JAX
