"""Random programs as text: control flow in control flow, nested functions, containers.

Loops are bounded, divisors stay away from zero, and products go through a sine, so that every
program ends with a moderate number. Some name a variable that a path has not given a value; then
the program raises what Python raises.

Programs to be staged draw more: arithmetic of truth values, long loops over known ranges, and calls
with effects. Operators of tracers do not mean the same there, and effects have no derivative.
"""

import ast
import hashlib
import linecache
from types import FunctionType
from typing import Any

import hypothesis.strategies as st

NAMES = ("x", "y", "a", "b", "c")
COMPARISONS = ("<", ">", "<=", ">=", "!=")


def compiled(text: str, **namespace: Any) -> FunctionType:
    """The function ``program`` of a text, which can be read again."""
    filename = f"<random program {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), namespace)
    found = namespace["program"]
    assert isinstance(found, FunctionType)
    return found


@st.composite
def counts(draw: st.DrawFn, names: tuple[str, ...]) -> str:
    """A number made of truth values and integers, or a power that is one divided by another."""
    p, q = (f"({draw(conditions(names, 0, True))})" for _ in range(2))
    a = draw(numbers(names, 0))
    ways = [
        f"({p} + {q})",
        f"({p} - {q}) * {a}",
        f"sum([{p}, {q}, 1])",
        f"(-{p} + {a})",
        f"({p} * {q} + {p})",
        f"(1.5 + {a} * {a}) ** -{draw(st.integers(1, 3))}",
        "(2 + k * k) ** -1",
        f"2.0 ** (k % 3 - {p})",
        f"(k // 2 - k % 3) * {a}",
        f"divmod(7 - k, 2 + {p})[1]",
        f"({a}, 0.25, 0.5)[{p} + {q}]",
        f"sum([{a}, k, 2][{draw(st.integers(-3, 2))}:])",
        f"int(2.5 * math.tanh({a})) / 4",
        f"({p} and {a}) + ({q} or 0.25)",
        f"max({p}, {a}) * min(k, 0.75)",
        f"({p} if {q} else {a})",
    ]
    return draw(st.sampled_from(ways))


@st.composite
def numbers(draw: st.DrawFn, names: tuple[str, ...], depth: int = 2, more: bool = False) -> str:
    """An expression whose value is a number."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([*names, *names, "0.5", "1.25", "2", "-1", "k"]))
    e = numbers(names, depth - 1, more)
    if more and draw(st.integers(0, 5)) == 0:
        return draw(counts(names))
    a, b = draw(e), draw(e)
    match draw(st.integers(0, 17)):
        case 0 | 1:
            return f"({a} + {b})"
        case 2:
            return f"({a} - {b})"
        case 3 | 4:
            return f"math.sin({a} * {b})"
        case 5:
            return f"{a} / (2 + math.cos({b}))"
        case 6:
            return f"({a} if {draw(conditions(names, depth - 1, more))} else {b})"
        case 7:
            return f"({a} {draw(st.sampled_from(['and', 'or']))} {b})"
        case 8:
            return f"max({a}, {b})" if draw(st.booleans()) else f"min({a}, {b}, 0.75)"
        case 9:
            return f"abs({a} - {b})"
        case 10:
            return f"math.tanh({a}) ** {draw(st.integers(1, 3))}"
        case 11:
            return f"[{a}, {b}, {draw(e)}][{draw(st.integers(-3, 2))}]"
        case 12:
            index = draw(st.sampled_from(["j", "m"]))
            inner = draw(numbers((*names, index), depth - 1, more))
            test = draw(st.sampled_from(["", f" if {index} != 1", f" if {a} < {index}"]))
            return f"math.sin(sum([{inner} for {index} in range(3){test}]))"
        case 13:
            return f"sorted([{a}, {b}, 0.3])[{draw(st.integers(0, 2))}]"
        case 14:
            return f'{{"p": {a}, "q": {b}}}["{draw(st.sampled_from("pq"))}"]'
        case 15:
            name = draw(st.sampled_from(NAMES[2:]))
            return f"math.cos({name} := {a})" if name in names else f"-{a}"
        case 16:
            return f"(lambda s, t={a}: s * 0.5 + t)({b})"
        case _:
            return f"(-{a})"


@st.composite
def conditions(draw: st.DrawFn, names: tuple[str, ...], depth: int = 1, more: bool = False) -> str:
    """An expression that is a condition."""
    a, b = draw(numbers(names, 1)), draw(numbers(names, 1))
    if more and depth > 0 and draw(st.integers(0, 5)) == 0:
        p, q = (f"({draw(conditions(names, 0))})" for _ in range(2))
        ways = [f"{p} + {q} == 1", f"k in (1, 2) or {p}", f"{a} in [{b}, {a}]", f"{p} != {q}"]
        return draw(
            st.sampled_from([*ways, f"({a}, k) < ({b}, 1)", f"isinstance(1.0 * {a}, float)"])
        )
    match draw(st.integers(0, 5)) if depth > 0 else 0:
        case 0 | 1:
            return f"{a} {draw(st.sampled_from(COMPARISONS))} {b}"
        case 2:
            return f"-0.4 < {a} <= {b}"
        case 3:
            return f"not {draw(conditions(names, depth - 1, more))}"
        case 4:
            word = draw(st.sampled_from(["and", "or"]))
            first, second = (draw(conditions(names, depth - 1, more)) for _ in range(2))
            return f"({first} {word} {second})"
        case _:
            return f"k % 2 == {draw(st.integers(0, 1))}"


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def simple(draw: st.DrawFn, names: tuple[str, ...], more: bool = False) -> list[str]:
    """A statement without a body."""
    target = draw(st.sampled_from(NAMES))
    e = draw(numbers(names, 2, more))
    if draw(st.integers(0, 5)) == 0:
        ways = [f"{target} = hit({e})", f"hit({e}, {target})", f"{target} = last - calls * 0.25"]
        return [draw(st.sampled_from(ways))]
    if more and draw(st.integers(0, 7)) == 0:
        ys = [
            f"ys = xs[{draw(st.integers(-1, 2))}:]",
            f"xs = [*ys, {e}]",
            f"{target} = sum(xs[:2])",
        ]
        effect = draw(st.sampled_from(["note({})", "counter.passed({})"])).format(e)
        used = f"{target} = math.sin(counter.count + len(log))"
        way = draw(st.integers(0, 5))
        return ys if way > 1 else [f"{target} = {effect}"] if way else [used]
    match draw(st.integers(0, 8)):
        case 0 | 1 | 2:
            return [f"{target} = {e}"]
        case 3:
            return [f"{target} {draw(st.sampled_from(['+=', '-=']))} {e}"]
        case 4:
            first, second = draw(st.sampled_from([("x", "a"), ("a", "b"), ("b", "y")]))
            return [f"{first}, {second} = {second}, math.sin({first}) + {e}"]
        case 5:
            return [f"a = b = {e}"]
        case 6:
            return [f"xs = [*xs, {e}][-3:]", f"{target} = math.sin(sum(xs))"]
        case 7:
            return [f"pair = ({e}, ({target}, 0.5))", f"{target}, (a, _) = pair"]
        case _:
            return [f"u = {e}"] if draw(st.booleans()) else [f"{target} = u * 0.5"]


@st.composite
def compound(
    draw: st.DrawFn, names: tuple[str, ...], depth: int, looped: bool, more: bool = False
) -> list[str]:
    """A statement with a body, or several."""

    def body(in_loop: bool = looped) -> list[str]:
        return indented(draw(statements(names, depth - 1, in_loop, more)))

    test = draw(conditions(names, 1, more))
    otherwise = draw(st.booleans())
    if more and draw(st.integers(0, 5)) == 0:
        return draw(long_loop(names))
    match draw(st.integers(0, 11)):
        case 0:
            return [f"if {test}:", *body(), *(["else:", *body()] if otherwise else [])]
        case 1:
            second = draw(conditions(names))
            lines = [f"if {test}:", *body(), f"elif {second}:", *body()]
            return [*lines, "else:", *body()] if otherwise else lines
        case 2:
            leaving = draw(numbers(names))
            return [f"if {test}:", *body(), f"    return math.cos({leaving})"]
        case 3:
            lines = ["for k in range(3):", *body(True)]
            return [*lines, "else:", *body()] if otherwise else lines
        case 4:
            counter = f"n{depth}"
            lines = [f"{counter} = 0", f"while {counter} < 3 and ({test}):", f"    {counter} += 1"]
            lines += body(True)
            return [*lines, "else:", *body()] if otherwise else lines
        case 5:
            counter = f"n{depth}"
            lines = [f"{counter} = 0", "while True:", f"    {counter} = {counter} + 1"]
            return [*lines, f"    if {counter} > 2 or ({test}):", "        break", *body(True)]
        case 6:
            first, second = draw(numbers(names)), draw(numbers(names))
            over = draw(
                st.sampled_from(
                    [
                        f"for k, c in enumerate(({first}, {second}, 0.5)):",
                        f"for b, c in zip([{first}, 0.25], ({second}, x, y)):",
                        f"for a in reversed([{first}, {second}]):",
                        f"for c in [{first}, {second}]:",
                    ]
                )
            )
            return [over, *body(True)]
        case 7:
            name = f"f{depth}"
            inner = draw(numbers((*names, "s")))
            given = draw(numbers(names))
            lines = [f"def {name}(s, t={draw(numbers(names))}):", f"    if {test}:"]
            lines += [f"        return s * 0.5 - t * {inner}", f"    return {inner} + t"]
            fresh = {"x", "y", "a", "b", "c"}
            frozen = [f"    {n} = {n}_" for n in sorted(fresh)]
            defaults = ", ".join(f"{n}_={n}" for n in sorted(fresh))
            lines[0] = f"def {name}(s, t={draw(numbers(names))}, k=k, {defaults}):"
            lines = [lines[0], *frozen, *lines[1:]]
            return [*lines, f"a = math.sin({name}({given}) + {name}(0.5, t={given}))"]
        case 8:  # what the first block of a loop computes is used after it
            counter, first = f"n{depth}", draw(numbers(names, 2, more))
            lines = [f"{counter} = 0", "while True:", f"    {counter} += 1", f"    w = {first}"]
            lines += [f"    if {counter} > 2 or ({test}):", "        break", *body(True)]
            return [*lines, f"{draw(st.sampled_from(NAMES))} = math.sin(w) + {counter}"]
        case 9:
            counter, first = f"n{depth}", draw(numbers(names, 2, more))
            lines = [f"{counter} = 0", f"while (w := {first}) < 2.0 and {counter} < 3:"]
            lines += [f"    {counter} += 1", *body(True)]
            return [*lines, f"{draw(st.sampled_from(NAMES))} = math.sin(w) - {counter}"]
        case 10:
            return ["try:", *body(), "finally:", *indented(draw(simple(names)))]
        case _:
            return ["with np.errstate(all='ignore'):", *body()]


@st.composite
def long_loop(draw: st.DrawFn, names: tuple[str, ...]) -> list[str]:
    """A loop of many turns over what is known; its state stays small."""
    turns, e, test = (
        draw(st.integers(18, 45)),
        draw(counts(names)),
        draw(conditions(names, 1, True)),
    )
    over = draw(
        st.sampled_from(
            [
                f"for k in range({turns}):",
                f"for k in range({turns}, 0, -1):",
                f"for k, c in enumerate([0.5, 0.25, 0.75] * {turns // 3}):",
                f"for c in np.linspace(-1.0, 1.0, {turns}).tolist():",
            ]
        )
    )
    ways = [
        [f"    x = math.sin({e})"],
        [f"    y = math.tanh({e}) + 0.01 * k", "    turn = -turn"],
        [f"    a, b = b, math.cos({e})", "    power *= 3"],
        [f"    y = hit(math.sin({e})) * 0.5"],
        ["    t += 0.1", "    x = math.sin(x * t)"],
    ]
    first, second, third = (draw(st.sampled_from(ways)) for _ in range(3))
    lines = ["t, turn, power = 0.0, 1, 1", over, *first, f"    if {test}:", *indented(second)]
    lines += ["    else:", *indented(third)] if draw(st.booleans()) else ["    turn += k"]
    if draw(st.integers(0, 3)) == 0:
        lines += [f"    if {draw(conditions(names))}:", "        break"]
    return [*lines, "c = math.sin(t + turn + power % 7 + c)"]


@st.composite
def statements(
    draw: st.DrawFn, names: tuple[str, ...], depth: int, looped: bool, more: bool = False
) -> list[str]:
    """Some statements; in a loop they may end with a way out of it."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth > 0 and draw(st.booleans()):
            lines += draw(compound(names, depth, looped, more))
        else:
            lines += draw(simple(names, more))
    if looped:
        way = draw(st.sampled_from(["", "", "break", "continue", "return b + c"]))
        if way:
            lines += [f"if {draw(conditions(names, 1, more))}:", f"    {way}"]
            lines += draw(simple(names, more))
    return lines


START = """a, b, c, k = x * 0.5, 0.25, y - x, 1
xs = ys = [x, y]
calls, last = 0, 0.5
def hit(v, w=0.5):
    nonlocal calls, last
    calls += 1
    last = math.sin(v) * w
    return last + calls * 0.125""".splitlines()
START_OF_STAGED = """log, counter = [], Counter()
def note(v):
    log.append(v)
    return v * 0.5""".splitlines()


class Counter:
    """An object that counts how often it passed something on."""

    def __init__(self) -> None:
        self.count = 0

    def passed(self, v: Any) -> Any:
        self.count += 1
        return v


class Store:
    """An object for variables of a program."""

    def __init__(self, x: float) -> None:
        self.a = self.b = x * 0.5
        self.c = 0.0

    def put_a(self, a: float) -> None:
        self.a = a

    def put_b(self, b: float) -> None:
        self.b = b

    def put_c(self, c: float) -> None:
        self.c = c


class _ToAttributes(ast.NodeTransformer):
    """Lets attributes of an object take the place of variables."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name("store", ast.Load()), node.id, node.ctx)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node.targets:
            case [ast.Attribute(value=ast.Name(id="store"), attr=name)]:
                method = ast.Attribute(ast.Name("store", ast.Load()), f"put_{name}", ast.Load())
                return ast.Expr(ast.Call(method, [node.value], []))
            case _:
                return node


class _WithoutWalrus(ast.NodeTransformer):
    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        return self.visit(node.value)


def with_store(text: str) -> tuple[str, str]:
    """Return a program without assignments in expressions, and the same with an object."""
    tree = _WithoutWalrus().visit(ast.parse(text))
    plain = ast.unparse(tree)
    inner = [x for x in ast.walk(tree.body[0]) if isinstance(x, (ast.Lambda, ast.FunctionDef))][1:]
    captured = {x.id for fun in inner for x in ast.walk(fun) if isinstance(x, ast.Name)}
    changed = _ToAttributes({"a", "b", "c"} - captured).visit(tree)
    changed.body[0].body.insert(0, ast.parse("store = Store(x)").body[0])
    return plain, ast.unparse(ast.fix_missing_locations(changed))


@st.composite
def programs(draw: st.DrawFn, more: bool = False) -> str:
    """The text of a function of two floats.

    Args:
        draw: draws.
        more: whether it is to be staged.
    """
    lines = draw(statements(NAMES, 3, False, more))
    result = draw(numbers(NAMES, 2, more))
    start = [*START, *START_OF_STAGED] if more else START
    whole = [*start, *lines, f"return 1.0 * ({result}) + a * x - b * c * y"]
    return "\n".join(["def program(x, y):", *indented(whole), ""])
