"""Python code as trees: what is printed means what the tree says, however it is laid out."""

import ast
import random

import pytest

from tinyjax._base import pycode
from tinyjax._base.pycode import Expression, Literal, Name

_BINARY = ("<", "==", "is not", "in", "|", "^", "&", "<<", "+", "-", "*", "/", "%", "@", "**")


def drawn(rng: random.Random, depth: int) -> tuple[Expression, str]:
    """An expression, and its text with all parentheses."""
    if depth == 0:
        text = rng.choice(["a", "b", "c", "1", "-2.5", "'t'"])
        return (Name(text) if text.isidentifier() else Literal(text)), f"({text})"
    parts, texts = zip(*[drawn(rng, depth - 1) for _ in range(3)], strict=True)
    x, y, z = parts
    a, b, c = texts
    operator = rng.choice(_BINARY)
    prefix = rng.choice(["-", "~", "not "])
    word = rng.choice(["or", "and"])
    return rng.choice(
        [
            (x.binary(operator, y), f"({a} {operator} {b})"),
            (pycode.OperatorExpression(word, parts), f"({a} {word} {b} {word} {c})"),
            (pycode.OperatorExpression(prefix, (x,)), f"({prefix}{a})"),
            (pycode.negated(pycode.OperatorExpression("not ", (x,))), a),
            (pycode.Conditional(x, y, z), f"({a} if {b} else {c})"),
            (pycode.Template("{0} + {1}[{2}]", parts), f"({a} + {b}[{c}])"),
            (x.attr("u.v"), f"{a}.u.v"),
            (x.call(y, z), f"{a}({b}, {c})"),
            (pycode.CallExpression(x, (y,), (("key", z),)), f"{a}({b}, key={c})"),
            (pycode.Subscript(x, pycode.tuple_of([y, z])), f"{a}[{b}, {c}]"),
            (pycode.Subscript(x, pycode.Slice((y, pycode.NONE, z))), f"{a}[{b}::{c}]"),
            (pycode.tuple_of([x]), f"({a},)"),
            (pycode.list_of(parts), f"[{a}, {b}, {c}]"),
            (pycode.CollectionDisplay("{}", (pycode.Pair(x, y),)), f"{{{a}: {b}}}"),
        ]
    )


def meaning(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_printed_means_what_the_tree_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        tree, text = drawn(rng, rng.randrange(4))
        expected = meaning(f"x = {text}")
        for width in (10, 40, 100):
            lines = pycode.printed([pycode.Assign(Name("x"), tree)], width)
            assert meaning(str(lines)) == expected


def test_names_are_those_that_python_finds() -> None:
    rng = random.Random(0)
    for _ in range(100):
        tree, text = drawn(rng, 3)
        found = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
        assert sorted(tree.names()) == sorted(found)


def test_single_uses_are_written_in_place_and_large_values_deleted() -> None:
    a, v0, v1, v2 = map(Name, ("a", "v0", "v1", "v2"))
    code = [
        pycode.Assign(v0, pycode.call("f", a)),
        pycode.Assign(v1, pycode.Template("{0} + {0}", (v0,))),
        pycode.Assign(v2, pycode.call("g", v1, pycode.call("h", v0))),
    ]
    after = [pycode.returned(v2)]
    nested = pycode.inlined(code, after)
    assert str(pycode.printed(nested)) == "v0 = f(a)\nv2 = g((v0 + v0), h(v0))\n"
    freed = pycode.freeing(nested, after, {"v0", "v2"})
    assert str(pycode.printed(freed)).endswith("h(v0))\ndel v0\n")


def test_what_changes_values_in_place_stays_where_it_is() -> None:
    a, v0, v1 = map(Name, ("a", "v0", "v1"))
    code = [
        pycode.Assign(v0, pycode.call("f", a)),
        pycode.evaluated(pycode.call("add", a, a, a)),
        pycode.Assign(v1, pycode.call("g", v0)),
    ]
    shown = str(pycode.printed(pycode.inlined(code, [pycode.returned(v1)])))
    assert shown == "v0 = f(a)\nadd(a, a, a)\nv1 = g(v0)\n"


def test_statements_and_where_they_came_from() -> None:
    x = Name("x")
    body: list[pycode.StatementNode] = [
        pycode.Assign(x, None, "float"),
        pycode.If(x, [pycode.PASS], [pycode.If(x, [pycode.evaluated(x, 7)], [pycode.BREAK])]),
        pycode.While(x.binary("<", Literal("3")), [pycode.CONTINUE]),
        pycode.Try([pycode.PASS], (("KeyError", [pycode.Simple("raise", x)]),), [pycode.PASS]),
    ]
    lines = pycode.printed([pycode.FunctionDefinition("f", ("x: float",), body, "None", (x,))])
    assert str(lines) == (
        "@x\ndef f(x: float) -> None:\n    x: float\n    if x:\n        pass\n    elif x:\n"
        "        x\n    else:\n        break\n    while x < 3:\n        continue\n    try:\n"
        "        pass\n    except KeyError:\n        raise x\n    finally:\n        pass\n"
    )
    assert lines.origins == {7: 7}
