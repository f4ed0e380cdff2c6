"""Exported programs that were tampered with, their checksums made right again."""

import json
import random
import re
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from hostile.isolation import Subject, explanation, isolated
from tinyjax import export, lax
from tinyjax.errors import ArgumentError, ExportError, JaxRuntimeError
from tinyjax.export.format import VERSION

#: What may become of a program.
REFUSED, COMPILER, SAME, OTHER = (
    "refused",
    "refused by the compiler",
    "the same result",
    "another result",
)
LARGE: Final = "takes or returns arrays that are larger than the machine"
#: A program may have been made to run for long, which the docs say.
LONG: Final = "no end, run"

_FRAME: Final = struct.Struct("<8sIQ")


def network(p: Any, x: Any) -> Any:
    return jnp.tanh(x @ p["w"] + p["b"]).sum(0)


def loop(x: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1]


def solving(x: Any) -> Any:
    a = x @ x.T + np.eye(3, dtype=np.float32)
    return jnp.linalg.solve(a, x) + jnp.linalg.cholesky(a) + jnp.linalg.qr(x)[0]


def spectra(x: Any) -> Any:
    u, s, _ = jnp.linalg.svd(x, full_matrices=False)
    return jnp.abs(u) * s + jnp.abs(jnp.linalg.eigh(x + x.T)[1])


def general_spectra(x: Any) -> Any:
    w, v = jnp.linalg.eig(x + 1j)
    return jnp.abs(w) + jnp.abs(v), tinyjax.scipy.linalg.schur(x)[0], jnp.linalg.det(x)


def sorting(x: Any) -> Any:
    return jnp.sort(x)[::-1].cumsum() + jnp.argmax(x), lax.top_k(x, 2)


def indexing(x: Any) -> Any:
    return jnp.asarray(x).at[np.array([0, 2])].add(1.0)[np.array([1, 1, 3])]


def slicing(x: Any, i: Any) -> Any:
    part = lax.dynamic_slice(x, (i,), (3,))
    return lax.dynamic_update_slice(x, part * 2, (i + 1,)), jnp.pad(part, (1, 2))[::2]


def waves(x: Any) -> Any:
    z = jnp.fft.fft(x + 1j * x)
    return jnp.exp(z).real, z * z.conj(), jnp.fft.irfft(z)


def draws(key: Any, x: Any) -> Any:
    one, two = tinyjax.random.split(key)
    return tinyjax.random.normal(one, (3,)) + x, tinyjax.random.randint(two, (2,), 0, 9)


def windows(x: Any, w: Any) -> Any:
    y = lax.conv_general_dilated(x, w, (1,), "SAME")
    return lax.reduce_window(y, -np.inf, lax.max, (1, 1, 2), (1, 1, 1), "VALID")


def small(x: Any, y: Any) -> Any:
    return x // y, x % y, x << (y & 3), (x ^ y) >> 1, lax.population_count(x), jnp.power(x, 3)


def empty(x: Any) -> Any:
    nothing = x[:0]
    return jnp.concatenate([nothing, x]), nothing.sum(), nothing @ x.T, jnp.sort(nothing)


def branching(n: Any, x: Any) -> Any:
    def step(carry: Any, i: Any) -> Any:
        branches = [jnp.sin, jnp.cos, lambda v: lax.cond(i > 1, jnp.exp, jnp.negative, v)]
        return lax.switch(i % 3, branches, carry), carry.sum()

    return lax.scan(step, x, jnp.arange(4) + n)


def trees(d: Any, *, extra: Any) -> Any:
    return OrderedDict(b=d[("k", 1)]["x"] + extra[0], a=(d[("k", 2)], None, [extra[1] + CONST]))


def types(a: Any, b: Any, c: Any) -> Any:
    return (
        a.astype("bfloat16") + a.astype("float16").astype("bfloat16"),
        b.astype("float8_e4m3fn").astype("float32"),
        (c > 2) & (c < 7),
        c.astype("uint64") * 3,
        lax.bitcast_convert_type(a, jnp.int32),
    )


def of_any_size(p: Any, x: Any) -> Any:
    b = x.shape[0]
    total, parts = lax.scan(lambda c, v: (jnp.tanh(c + v @ p), c[: b % 2 + 1]), p[0], x)
    return x.reshape(-1) * b, total, parts, jnp.arange(b)[::-2], x[b // 2 :]


def sized_indexing(x: Any, i: Any) -> Any:
    y = x.at[0].set(i.shape[0])[i] + lax.cond(x[0] > 1, jnp.sort, jnp.negative, x).mean()
    return y, lax.conv(x[None, None], jnp.ones((1, 1, 2), x.dtype), (2,), "SAME")


CONST: Final = np.linspace(0, 1, 5, dtype=np.float32)
X: Final = np.arange(9, dtype=np.float32).reshape(3, 3) + np.eye(3, dtype=np.float32)
INTS: Final = np.array([5, -7, 127], np.int8)


def symbolic(text: str, constraints: Sequence[str] = ()) -> tuple[Any, ...]:
    """Types of arguments with sizes known by name."""
    scope = export.SymbolicScope(constraints)
    return tuple(
        tinyjax.ShapeDtypeStruct(export.symbolic_shape(part, scope=scope), np.float32)
        for part in text.split(";")
    )


#: What is exported: the function, its arguments by position and by name, and how often it can be
#: differentiated.
PROGRAMS: Final[Sequence[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], int]]] = (
    (network, ({"w": X, "b": X[0]}, X), {}, 1),
    (loop, (X[0],), {}, 0),
    (solving, (X,), {}, 1),
    (spectra, (X,), {}, 0),
    (general_spectra, (X,), {}, 0),
    (sorting, (X.ravel(),), {}, 0),
    (indexing, (X.ravel(),), {}, 1),
    (slicing, (X.ravel(), np.int32(2)), {}, 0),
    (waves, (X[0],), {}, 0),
    (draws, (np.array([1, 2], np.uint32), X[0]), {}, 0),
    (windows, (X.reshape(1, 1, 9), X[:2].reshape(2, 1, 3)), {}, 0),
    (small, (INTS, INTS[::-1].copy()), {}, 0),
    (empty, (X,), {}, 0),
    (branching, (np.int32(1), X[0]), {}, 2),
    (trees, ({("k", 1): {"x": X}, ("k", 2): X[0]},), {"extra": (X, CONST)}, 0),
    (types, (X, X[0], np.arange(9, dtype=np.int16)), {}, 0),
    (of_any_size, symbolic("n, n; b, n", ["b >= 2"]), {}, 1),
    (sized_indexing, (symbolic("b + 1")[0], np.array([0, 2])), {}, 0),
)


def arguments(aval: Any, draw: random.Random) -> np.ndarray[Any, Any]:
    """Data of a type, the same for the same draw."""
    rng = np.random.default_rng(draw.randrange(1 << 30))
    values: Any = rng.integers(1, 8, aval.shape) + 0.25 * rng.integers(0, 4, aval.shape)
    return np.asarray(values).astype(aval.dtype)


def sealed(header: Any, rest: bytes) -> bytes:
    """An exported program of such a header, with a checksum that fits."""
    told = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = _FRAME.pack(b"TINYJAXE", VERSION, len(told)) + told + rest
    return body + sha256(body).digest()


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of an exported program, and what follows it."""
    size = _FRAME.unpack_from(data)[2]
    header: dict[str, Any] = json.loads(data[_FRAME.size : _FRAME.size + size])
    return header, data[_FRAME.size + size : -32]


# Changes

_NUMBERS: Final = (
    *("-1", "0", "1", "2", "3", "7", "63", "127", "-128", "65536", "2147483647", "-2147483648"),
    *("4294967296", "1099511627776", "9223372036854775807", "-9223372036854775808"),
    "18446744073709551616",
)
_TYPES: Final = (
    *("f32", "f64", "f16", "bf16", "i1", "i4", "i8", "i32", "i64", "ui4", "ui8", "ui32", "ui64"),
    *("i2", "ui2", "f4E2M1FN", "f6E2M3FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E4M3", "f8E3M4"),
    *("tf31", "bool", "index", "token"),
)
_COMPLEX: Final = ("!vhlo.complex_v1<!vhlo.f32_v1>", "!vhlo.complex_v1<!vhlo.f64_v1>")
_OPERATIONS: Final = (
    *("add", "subtract", "multiply", "divide", "remainder", "power", "maximum", "minimum"),
    *("shift_left", "shift_right_logical", "shift_right_arithmetic", "and", "or", "xor", "atan2"),
    *("abs", "negate", "not", "exponential", "log", "sqrt", "cbrt", "sign", "tan", "popcnt"),
    *("count_leading_zeros", "real", "imag", "is_finite", "ceil", "round_nearest_afz", "convert"),
    *("complex", "optimization_barrier", "after_all", "tuple", "cholesky", "reshape", "transpose"),
)
_TOKENS: Final = (
    r"(?<![\w.])-?\d+(?![\w.])",
    r"\d+(?=x!vhlo)",
    r"\d+(?=x!vhlo)",
    r"%\w+",
    r'"vhlo[\w.]+"',
    r"!vhlo\.[a-z]+\d+_v1",
    r"_v1 [A-Z]+",
    r'"lapack_\w+"',
    r"true|false",
    r"dense<[^<>]*>",
)


def in_words(draw: random.Random, text: str) -> str:
    """Put one number, operand, type or operation in the place of another, here or everywhere."""
    for _ in range(draw.choice([1, 1, 1, 2])):
        kind = draw.choice(_TOKENS)
        found = list(re.finditer(kind, text))
        if found:
            old = draw.choice(found)
            new = draw.choice(found)[0]
            if "\\d" in kind and "vhlo\\." not in kind and draw.random() < 0.6:
                new = draw.choice(_NUMBERS)
            if "_v1" in kind and "!" in kind and draw.random() < 0.6:
                new = draw.choice([*(f"!vhlo.{name}_v1" for name in _TYPES), *_COMPLEX])
            if kind.startswith('"vhlo') and draw.random() < 0.6:
                new = f'"vhlo.{draw.choice(_OPERATIONS)}_v1"'
            if draw.random() < 0.25:
                everywhere = rf"(?<![\w.]){re.escape(old[0])}(?![\w.])"
                text = re.sub(everywhere, new.replace("\\", r"\\"), text)
            else:
                text = text[: old.start()] + new + text[old.end() :]
    return text


_BINARY: Final = (
    *("add", "subtract", "multiply", "divide", "remainder", "power", "maximum", "minimum"),
    *("shift_left", "shift_right_logical", "shift_right_arithmetic", "and", "or", "xor", "atan2"),
)
_UNARY: Final = ("abs", "negate", "not", "sign", "popcnt", "count_leading_zeros", "floor", "ceil")
_VALUED: Final = re.compile(r"^ *(%\w+) = .* -> (\S+)$", re.MULTILINE)


def in_meaning(draw: random.Random, text: str) -> str:
    """Change what a program computes so that its types still fit, most often."""
    for _ in range(draw.choice([1, 2, 3])):
        match draw.randrange(3):
            case 0:  # an operation of as many operands
                pools = [_BINARY, _UNARY]
                found = [
                    (m, pool)
                    for pool in pools
                    for m in re.finditer(rf'(?<="vhlo\.)({"|".join(pool)})(?=_v1")', text)
                ]
                if found:
                    old, pool = draw.choice(found)
                    text = text[: old.start()] + draw.choice(pool) + text[old.end() :]
            case 1:  # a constant
                numbers = list(re.finditer(r"(?<=dense<)[^<>(\[\"]*(?=>)", text))
                if numbers:
                    old = draw.choice(numbers)
                    new = draw.choice(_NUMBERS if "." not in old[0] else ("0.0", "1e30", "-2.5"))
                    text = text[: old.start()] + new + text[old.end() :]
            case _:  # an operand of the same type
                types: dict[str, list[str]] = {}
                for name, kind in _VALUED.findall(text):
                    types.setdefault(kind, []).append(name)
                names = [same for same in types.values() if len(same) > 1]
                if names:
                    same = draw.choice(names)
                    uses = [m for m in re.finditer(r"(?<=[(, ])%\w+(?=[),])", text) if m[0] in same]
                    if uses:
                        old = draw.choice(uses)
                        text = text[: old.start()] + draw.choice(same) + text[old.end() :]
    return text


def in_depth(draw: random.Random, text: str) -> str:
    """Nest something deep."""
    depth = draw.choice([3, 100, 400, 3000, 30000])
    left, right = draw.choice(
        [
            ("[", "]"),
            ("{", "}"),
            ("(", ")"),
            ("<", ">"),
            ("tuple<", ">"),
            ("!vhlo.tuple_v1<", ">"),
            ("!vhlo.complex_v1<", ">"),
            ("dense<", ">"),
            ("({^bb0:", "})"),
            ('"builtin.module"() ({', "}) : () -> ()"),
            ("loc(", ")"),
            ("-", ""),
            ('"', '"'),
            ("/*", "*/"),
            ("#vhlo.array_v1<[", "]>"),
            ("\\", ""),
            ("^", ""),
            ("affine_map<(d0) -> (", ")>"),
        ]
    )
    found = list(re.finditer(r"!vhlo\.\w+|%\w+|\d+|[\[({<]|\w+", text))
    at = draw.choice(found)
    return text[: at.start()] + left * depth + at[0] + right * depth + text[at.end() :]


def in_lines(draw: random.Random, text: str) -> str:
    """Drop, repeat or move a line: an operation most often."""
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case _:
            lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def in_letters(draw: random.Random, data: bytes) -> bytes:
    """Change, insert, drop or copy some bytes."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 4])):
        i, j = (draw.randrange(max(len(changed), 1)) for _ in range(2))
        match draw.randrange(5):
            case 0:
                changed[i : i + 1] = bytes([changed[i] ^ 1 << draw.randrange(8)])
            case 1:
                changed[i : i + 1] = draw.randbytes(1)
            case 2:
                del changed[i : i + draw.randrange(1, 9)]
            case 3:
                changed[i:i] = draw.randbytes(draw.randrange(1, 5))
            case _:
                changed[i:i] = changed[j : j + draw.randrange(1, 30)] * draw.choice([1, 1, 5000])
    return bytes(changed)


_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, -1, 0, 1, 3, 1 << 62, 1 << 70, 0.5, "", "float32", "int4", "key<fry>"),
    *("*", "tuple", "dict", [], [[]], {}, "\ud800", "x" * 100_000, [["*", 0, None]] * 2000),
)


def in_header(draw: random.Random, header: Any) -> Any:
    """Put something else in the place of some value, or nest it deep."""
    holder = {"": header}
    where: Any = holder
    key: Any = ""
    while isinstance(where[key], dict | list) and where[key] and draw.random() < 0.9:
        where = where[key]
        key = draw.choice([*where] if isinstance(where, dict) else range(len(where)))
    where[key] = draw.choice([*_VALUES, where[key], [where[key]], [where[key]] * 3])
    return holder[""]


def deep_header(draw: random.Random, header: Any) -> bytes:
    """A header one of whose values is nested deep."""
    depth = draw.choice([100, 900, 5000, 200_000])
    left, right = draw.choice([("[", "]"), ('{"tuple":[', "]}"), ('{"a":', "}")])
    mark = draw.choice(["name", "in_tree", "out_tree", "in_avals", "donated", "consts"])
    if mark == "in_tree" and draw.random() < 0.5:  # a tree that is nested itself
        nodes = [["*", 0, None], *[["tuple", 1, None]] * depth]
        return json.dumps({**header, mark: nodes}).encode()
    text = json.dumps({**header, mark: "MARK"})
    return text.replace('"MARK"', left * depth + "1" + right * depth).encode()


def retyped(draw: random.Random, header: Any, program: str) -> tuple[Any, str]:
    """Put another dtype, or another size, in the place of one everywhere."""
    told = json.dumps(header)
    if draw.random() < 0.5:
        old, new = draw.sample(
            [
                *(("float32", "f32"), ("float64", "f64"), ("int32", "i32"), ("int8", "i8")),
                *(("uint32", "ui32"), ("bfloat16", "bf16"), ("float8_e4m3fn", "f8E4M3FN")),
                *(("int4", "i4"), ("uint64", "ui64"), ("float16", "f16"), ("uint8", "ui8")),
            ],
            2,
        )
        told = told.replace(f'"{old[0]}"', f'"{new[0]}"')
        return json.loads(told), program.replace(f"!vhlo.{old[1]}_v1", f"!vhlo.{new[1]}_v1")
    size = draw.choice(["0", "1", "2", "4", "100", "65536", "4294967296", "3037000500"])
    old_size = draw.choice(["3", "9", "2", "5"])
    avals = {
        k: json.loads(re.sub(rf"(?<=[\[ ]){old_size}(?=[\],])", size, json.dumps(header[k])))
        for k in ("in_avals", "out_avals")
    }
    return {**header, **avals}, re.sub(rf"\b{old_size}x", f"{size}x", program)


_SIZES: Final = (
    *(
        "b",
        "n",
        "c",
        "0",
        "-b",
        "b*b",
        "b^30",
        "floordiv(b, n)",
        "mod(b, 0)",
        "max(b, -n)",
        "b + n",
    ),
    *("min(" * 39 + "b" + ", n)" * 39, "9" * 30, "b*" * 4000 + "b", "floordiv(2*b + n, mod(n, 2))"),
)


_LEAVES: Final = ("n", "b + n", "2*n - b", "n + {}", "{} + b", "c{} + n", "c0*n - {}", "b*n + {}")
_TOLD: Final = (
    *("{a} + {b} >= {c} + {i}", "{a}*{b} >= {c}", "max({a}, {b}) >= {c} - {i}", "{a} <= {i}*{b}"),
    *(
        "mod({a}, {b} + {i}) <= {c}",
        "floordiv({a} + {b}, 3) >= {c} - {i}",
        "{a} + {b} <= {c} + {d}",
    ),
    *("v{i} == max(v{j}, mod(v{j}, 3))", "v{i} == v{j} + {a}", "mod({a}, {i}) == 0"),
)


def to_compare(draw: random.Random, header: Any) -> Any:
    """Put sizes into a header whose comparisons take long: nested, or under many constraints."""
    size = "b"
    operations = draw.sample(["max", "mod", "min", "floordiv"], 2)
    for i in range(draw.choice([0, 3, 38])):
        leaf = draw.choice(_LEAVES).format(i % 7 + 1)
        size = f"{operations[i % 2]}({size}{draw.choice(['', ' - 1', ' + n'])}, {leaf})"
    names = ["b", "n", *(f"c{i}" for i in range(draw.choice([2, 8, 60])))]
    constraints = []
    for i in range(draw.choice([0, 3, 20, 120])):
        named = {name: draw.choice(names) for name in "abcd"}
        constraints.append(draw.choice(_TOLD).format(i=i + 1, j=i, **named))
    told = json.dumps(header["in_avals"]).replace('"b"', json.dumps(size))
    return {**header, "in_avals": json.loads(told), "constraints": constraints}


def in_sizes(draw: random.Random, program: str) -> str:
    """Change a program that is JSON: a value anywhere, a size, a primitive, or many letters."""
    for _ in range(draw.choice([1, 1, 2])):
        kind = draw.random()
        if kind < 0.4:
            program = json.dumps(in_header(draw, json.loads(program)))
            continue
        pattern, pool = draw.choice(
            [
                (r'(?<=")[^"]*\b[bn]\b[^"]*(?=")', _SIZES),
                (r"(?<![\w.\"])-?\d+(?![\w.\"])", _NUMBERS),
                (r'\["\w+(?:\.\w+)+","\w+"\]', ()),
                (r'\["\w+",\[[^\]]*\],(?:true|false)\]', ()),
                (r'(?<=")(?:float|u?int)\d+(?=")', ("float16", "int8", "bool", "complex64", "key")),
                ("true|false", ("true", "false", "null")),
            ]
        )
        found = list(re.finditer(pattern, program))
        if found:
            old = draw.choice(found)
            new = draw.choice([*pool, draw.choice(found)[0]])
            program = program[: old.start()] + new + program[old.end() :]
    return program


def changed(draw: random.Random, data: bytes) -> bytes:
    """Change a program in one of the ways."""
    header, rest = parts(data)
    size = header["program"]
    program = rest[:size].decode()
    kind = draw.random()

    def with_program(new: str, fields: Any = header) -> bytes:
        encoded = new.encode(errors="surrogateescape")
        return sealed({**fields, "program": len(encoded)}, encoded + rest[size:])

    if header["constraints"] is not None and kind < 0.2:
        return sealed(to_compare(draw, header), rest)
    if header["constraints"] is not None and kind < 0.77:
        return with_program(in_sizes(draw, program))
    if kind < 0.2:
        return with_program(in_words(draw, program))
    if kind < 0.45:
        return with_program(in_meaning(draw, program))
    if kind < 0.55:
        told, program = retyped(draw, header, program)
        return with_program(program, told)
    if kind < 0.61:
        return with_program(in_depth(draw, program))
    if kind < 0.67:
        return with_program(in_lines(draw, program))
    if kind < 0.77:
        new = in_letters(draw, rest[:size])
        return sealed({**header, "program": len(new)}, new + rest[size:])
    if kind < 0.84:
        return sealed(in_letters(draw, json.dumps(header).encode()), rest)
    if kind < 0.87:
        return sealed(deep_header(draw, header), rest)
    if kind < 0.90:
        return in_letters(draw, data)
    if kind < 0.93 and header["vjp"]:  # of the derivative, which is read when it is first used
        at = len(rest) - header["vjp"]
        inner = changed(draw, rest[at:])
        return sealed({**header, "vjp": len(inner)}, rest[:at] + inner)
    return sealed(in_header(draw, header), rest)


# Running


def sized(program: export.Exported) -> export.Exported:
    """The program for some sizes, of one for many."""
    return program.with_sizes(dict.fromkeys(program.variables, 3)) if program.variables else program


def called(program: export.Exported) -> list[Any]:
    """Call a program with data of the types that it takes."""
    program = sized(program)
    draw = random.Random(0)
    args = [arguments(aval, draw) for aval in program.in_avals]
    args, kwargs = tinyjax.tree.unflatten(program.in_tree, args)
    return tinyjax.tree.leaves(program.call(*args, **kwargs))


#: So many functions are called to load a program, at most: what it was made to hold, it is refused
#: for before long. Of ours some 10 are called for each byte.
_CALLS: Final = 100_000
_CALLS_OF_A_BYTE: Final = 500


class TooManyCallsError(BaseException):
    """More functions are called than were to be."""


@contextmanager
def bounded_calls(most: int) -> Iterator[None]:
    """Refuse to call more functions in a block than so many, of Python or of C."""
    left = most

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        left -= "call" in event
        if left < 0:
            raise TooManyCallsError(f"more than {most} functions were called")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def outcome(data: bytes, honest: Sequence[Any], stage: Callable[[str], None]) -> str:
    """Load and call a program in this process, and say what became of it."""
    stage("load")
    try:
        with bounded_calls(_CALLS + _CALLS_OF_A_BYTE * len(data)):
            program = export.deserialize(data)
    except ExportError:
        return REFUSED
    except BaseException as error:
        return explanation(error)
    try:
        stage("put sizes in")
        program = sized(program)
        if any(a.nbytes > 1 << 26 for a in (*program.in_avals, *program.out_avals)):
            return LARGE
        stage("compile")
        jitted = tinyjax.jit(program.call)
        draw = random.Random(0)
        given = [arguments(aval, draw) for aval in program.in_avals]
        args, kwargs = tinyjax.tree.unflatten(program.in_tree, given)
        jitted.lower(*args, **kwargs).compile()
        stage("run")
        found = [np.asarray(x) for x in called(program)]
        if program.has_vjp():
            stage("load the derivative")
            derivative = program.vjp()
            stage("compile the derivative")
            tinyjax.jit(derivative.call).lower(*derivative.in_avals).compile()
            stage("run")
            called(derivative)
    except ExportError:
        return REFUSED
    except (JaxRuntimeError, ArgumentError):
        return COMPILER
    except BaseException as error:
        return explanation(error)
    same = len(found) == len(honest) and all(
        x.shape == y.shape and np.allclose(x, y, 1e-3, 1e-3, equal_nan=True)
        for x, y in zip(found, honest, strict=True)
        if x.dtype == y.dtype
    )
    return SAME if same else OTHER


class Exports(Subject):
    """Exported programs that were changed."""

    @property
    def expected(self) -> Sequence[str]:
        return (REFUSED, COMPILER, SAME, OTHER, LARGE, LONG)

    def __init__(self) -> None:
        def one(f: Callable[..., Any], args: Any, kwargs: Any, order: int) -> str:
            exported = export.export(tinyjax.jit(f))(*args, **kwargs)
            return exported.serialize(order).hex()

        # XLA begins its work in another process, so that others can be forked from this one
        told = isolated(lambda: json.dumps([one(*program) for program in PROGRAMS]))
        self.honest = [bytes.fromhex(data) for data in json.loads(told)]
        self.results: dict[int, list[Any]] = {}

    def case(self, seed: str) -> tuple[int, bytes]:
        """Return a program that is changed, and its changed form."""
        draw = random.Random(seed)
        i = draw.randrange(len(self.honest))
        found = self.honest[i]
        while found == self.honest[i]:
            found = changed(draw, self.honest[i])
        return i, found

    def run(self, case: str, stage: Callable[[str], None]) -> str:
        i, data = self.case(case)
        if i not in self.results:  # in this process
            self.results[i] = [np.asarray(x) for x in called(export.deserialize(self.honest[i]))]
        return outcome(data, self.results[i], stage)

    def describe(self, case: str) -> str:
        return f"{PROGRAMS[self.case(case)[0]][0].__name__}, {case}"
