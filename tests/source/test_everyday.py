"""Programs as people write them, in every entry: right, or refused."""

import textwrap
from pathlib import Path

import entries
import everyday
import numpy as np
import pytest

PROGRAMS = everyday.programs()


def check_program(program: str, folder: Path) -> None:
    text = everyday.HEAD + textwrap.indent(program, "    ") + everyday.TAIL
    subject = entries.Subject(text, folder)
    subject.plain()(np.array(entries.POINTS[0]))  # which raises nothing
    entries.check(text, folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(4))
def test_some_everyday_programs(share: int, tmp_path: Path) -> None:
    for i in np.random.default_rng(share).choice(len(PROGRAMS), 8, replace=False):
        check_program(PROGRAMS[i], tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_all_everyday_programs(program: str, tmp_path: Path) -> None:
    check_program(program, tmp_path)
