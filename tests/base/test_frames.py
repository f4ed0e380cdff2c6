"""Frames of callers: what becomes of the result of a call."""

import sys
import textwrap

import pytest

from tinyjax._base import frames


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("y.look()", [True]),
        ("y.look(\n    y,\n    *(),\n)", [True]),
        ("y.look(**{}); x.y.look()", [True, True]),
        ("[y][0].look(y if y else 3)", [True]),
        ("for i in range(2): y.look()", [True, True]),
        ("y.look().look()", [False, True]),
        ("z = y.look()", [False]),
        ("y.look().y", [False]),
        ("if y.look(): pass", [False]),
        ("with y.look(): pass", [False]),
        ("y += y.look()", [False]),
        ("f(y.look())", [False]),
        ("[y.look() for i in range(2)]", [False, False]),
        ("[].extend(map(Y.look, [y]))", [False]),
        ("list(map(Y.look, [y]))", [False]),
        ("return y.look()", [False]),
    ],
)
def test_whether_a_caller_discards_the_result(statement: str, expected: list[bool]) -> None:
    seen: list[bool] = []

    class Y(list[object]):
        y = property(lambda self: self)

        def look(self, *args: object) -> "Y":
            seen.append(frames.discards_result(sys._getframe(1), "look"))
            return self

        def __enter__(self) -> None: ...

        def __exit__(self, *args: object) -> None: ...

    y = Y([3])
    scope: dict[str, object] = {"y0": y, "Y": Y, "f": lambda x: x}
    body = textwrap.indent(statement, "    ")
    exec(f"def run(x=y0):\n    y = y0\n{body}\nrun()", scope)
    assert seen == expected
