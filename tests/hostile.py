"""Exported programs that were tampered with, their checksums made right again.

``python hostile.py COUNT SEED`` changes as many programs at random, as text, as bytes and in their
headers, and loads and calls each in a process of its own. It prints what became of them as JSON.
"""

import json
import os
import random
import re
import resource
import signal
import struct
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import export, lax
from tinyjax.errors import ArgumentError, ExportError, JaxRuntimeError

#: What is told of a program, in the order in which it may get there.
REFUSED, SAME, OTHER = "refused", "the same result", "another result"
#: A program may have been made to run for ever, or to take all memory, which the docs say.
SECONDS: Final = 60
MEMORY: Final = 8 << 30

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


def sorting(x: Any) -> Any:
    return jnp.sort(x)[::-1].cumsum() + jnp.argmax(x)


def indexing(x: Any) -> Any:
    return jnp.asarray(x).at[np.array([0, 2])].add(1.0)[np.array([1, 1, 3])]


X: Final = np.arange(9, dtype=np.float32).reshape(3, 3) + np.eye(3, dtype=np.float32)
PROGRAMS: Final[Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]] = (
    (network, ({"w": X, "b": X[0]}, X)),
    (loop, (X[0],)),
    (solving, (X,)),
    (spectra, (X,)),
    (sorting, (X.ravel(),)),
    (indexing, (X.ravel(),)),
)


def sealed(header: Any, rest: bytes) -> bytes:
    """An exported program of such a header, with a checksum that fits."""
    told = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = _FRAME.pack(b"TINYJAXE", export.format.VERSION, len(told)) + told + rest
    return body + sha256(body).digest()


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of an exported program, and what follows it."""
    size = _FRAME.unpack_from(data)[2]
    header: dict[str, Any] = json.loads(data[_FRAME.size : _FRAME.size + size])
    return header, data[_FRAME.size + size : -32]


# Changes

_NUMBERS: Final = ("-1", "0", "1", "2", "3", "7", "4294967296", "9223372036854775807")
_TOKENS: Final = (
    r"(?<![\w.])-?\d+(?![\w.])",
    r"\d+(?=x!vhlo)",
    r"%\w+",
    r'"vhlo[\w.]+"',
    r"!vhlo\.[a-z]+\d+_v1",
    r"_v1 [A-Z]+",
    r'"lapack_\w+"',
)


def in_words(draw: random.Random, text: str) -> str:
    """Put one number, operand, type or operation in the place of another."""
    for _ in range(draw.choice([1, 1, 1, 2])):
        kind = draw.choice(_TOKENS)
        found = list(re.finditer(kind, text))
        if found:
            old = draw.choice(found)
            new = draw.choice(found)[0]
            if "\\d" in kind and draw.random() < 0.5:
                new = draw.choice(_NUMBERS)
            text = text[: old.start()] + new + text[old.end() :]
    return text


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
    None,
    True,
    -1,
    0,
    1,
    1 << 62,
    0.5,
    "",
    "float32",
    "*",
    [],
    [[]],
    {},
    "\ud800",
)


def in_header(draw: random.Random, header: Any) -> Any:
    """Put something else in the place of some value, or nest it deep."""
    holder, at = {"": header}, ""
    where: Any = holder
    key: Any = at
    while isinstance(where[key], dict | list) and where[key] and draw.random() < 0.9:
        where = where[key]
        key = draw.choice([*where] if isinstance(where, dict) else range(len(where)))
    where[key] = draw.choice([*_VALUES, where[key], [where[key]], [where[key]] * 3])
    return holder[""]


def changed(draw: random.Random, data: bytes) -> bytes:
    """Change a program in one of the ways."""
    header, rest = parts(data)
    size = header["program"]
    kind = draw.random()
    if kind < 0.6:
        program = in_words(draw, rest[:size].decode()).encode()
        return sealed({**header, "program": len(program)}, program + rest[size:])
    if kind < 0.75:
        program = in_letters(draw, rest[:size])
        return sealed({**header, "program": len(program)}, program + rest[size:])
    if kind < 0.85:
        return sealed(in_letters(draw, json.dumps(header).encode()), rest)
    return sealed(in_header(draw, header), rest)


# Running


def outcome(data: bytes, args: Sequence[Any], expected: np.ndarray[Any, Any]) -> str:
    """Load and call a program in this process, and say what became of it."""
    try:
        program = export.deserialize(data)
        result = program.call(*args)
    except (ExportError, ArgumentError, JaxRuntimeError):  # that may take other arguments
        return REFUSED
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    found = np.asarray(tinyjax.tree.leaves(result)[0])
    same = found.shape == expected.shape and np.allclose(found, expected, 1e-4, 1e-4)
    return SAME if same else OTHER


def isolated(run: Callable[[], str]) -> str:
    """Run something in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        with open(writing, "wb") as telling:
            telling.write(run().encode(errors="replace"))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        text = told.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "no end" if number == signal.SIGALRM else f"ended by signal {number}"
    return text


def honest() -> str:
    """The programs before anything is changed, and their results; XLA begins its work here."""
    exported = [export.export(tinyjax.jit(f))(*args).serialize() for f, args in PROGRAMS]
    results = [np.asarray(f(*args)) for f, args in PROGRAMS]
    assert all(
        outcome(data, args, result) == SAME
        for data, (_, args), result in zip(exported, PROGRAMS, results, strict=True)
    )
    return json.dumps([[data.hex() for data in exported], [x.tolist() for x in results]])


def main(count: int, seed: int) -> None:
    told_exported, told_results = json.loads(isolated(honest))
    exported = [bytes.fromhex(data) for data in told_exported]
    expected = [np.asarray(x, np.float32) for x in told_results]
    draw = random.Random(seed)
    told: Counter[str] = Counter()
    first: dict[str, str] = {}
    for _ in range(count):
        i = draw.randrange(len(PROGRAMS))
        data = changed(draw, exported[i])
        found = isolated(lambda: outcome(data, PROGRAMS[i][1], expected[i]))  # noqa: B023 (at once)
        told[found] += 1
        if found not in (REFUSED, SAME, OTHER):
            first.setdefault(found, data.hex())
    print(json.dumps({"told": told, "first": first}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
