"""Compiled programs as bytes: loaded without compiling where the seal is right, else compiled."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.experimental.serialize_executable
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import cache, config
from tinyjax.core import xla
from tinyjax.errors import ArgumentError, ExportError, PlatformError
from tinyjax.experimental import machine_code
from tinyjax.experimental.serialize_executable import deserialize_and_load, serialize

VECTOR = np.arange(4, dtype=np.float32)
MATRIX = np.eye(4, dtype=np.float32) + 0.1
KEY = b"a secret that both sides have"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of this user's secret; other users are below."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


#: Functions of the module, ``jax`` or ``tinyjax``, their arguments, and options of ``jit``.
PROGRAMS: Any = {
    "numbers": (lambda m: lambda x: x * 2 + 1, ([VECTOR], {}), {}),
    "trees": (
        lambda m: lambda p, *, scale: {"sum": p["a"] + p["b"][0], "all": (p, [scale])},
        ([{"a": VECTOR, "b": [VECTOR, None]}], {"scale": np.float32(3)}),
        {},
    ),
    "static": (lambda m: lambda x, n: [x] * n, ([VECTOR, 3], {}), {"static_argnums": 1}),
    "donated": (lambda m: lambda x, y: (x + y, y), ([VECTOR, VECTOR], {}), {"donate_argnums": 0}),
    "LAPACK": (lambda m: m.numpy.linalg.solve, ([MATRIX, VECTOR], {}), {}),
    "loops": (
        lambda m: lambda x: m.lax.fori_loop(0, 5, lambda i, c: c * 1.5 + i, x),
        ([VECTOR], {}),
        {},
    ),
    "narrow": (lambda m: lambda x: x.astype("bfloat16"), ([VECTOR], {}), {}),
    "nothing": (lambda m: lambda: None, ([], {}), {}),
    "empty": (lambda m: lambda x: x * 2, ([np.zeros((0, 3), np.float32)], {}), {}),
}


def compiled(m: Any, name: str) -> Any:
    make, (args, kwargs), options = PROGRAMS[name]
    return m.jit(make(m), **options).lower(*args, **kwargs).compile()


def arguments(m: Any, name: str) -> tuple[Any, Any]:
    """Return the arguments of the compiled program, in arrays that it may consume."""
    _, (args, kwargs), _ = PROGRAMS[name]
    args = args[:1] if name == "static" else args
    copied = m.tree.map(m.numpy.array, (list(args), kwargs))
    return copied[0], copied[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_program_does_what_the_compiled_one_does(name: str) -> None:
    results = {}
    for m, module in (
        (tinyjax, sys.modules[serialize.__module__]),
        (jax, jax.experimental.serialize_executable),
    ):
        payload, in_tree, out_tree = module.serialize(compiled(m, name))
        before = cache.info().memory
        first = m.devices()[:1]
        loaded = module.deserialize_and_load(payload, in_tree, out_tree, execution_devices=first)
        assert cache.info().memory == before, "nothing was compiled"
        args, kwargs = arguments(m, name)
        results[m] = m.tree.map(np.asarray, loaded(*args, **kwargs))
        gone = [x.is_deleted() for x in m.tree.leaves(args)]
        assert gone == [name == "donated" and i == 0 for i in range(len(gone))]
        assert loaded.out_tree == out_tree
        assert loaded.in_tree == in_tree
    ours, theirs = (m.tree.flatten(results[m]) for m in (tinyjax, jax))
    assert str(ours[1]) == str(theirs[1])
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=1e-6)


def test_a_class_of_the_users_need_not_be_registered_for_export() -> None:
    @tinyjax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, *parts: Any) -> None:
            self.parts = parts

        def tree_flatten(self) -> Any:
            return self.parts, None

        @classmethod
        def tree_unflatten(cls, _: None, parts: Any) -> Any:
            return cls(*parts)

    swap = tinyjax.jit(lambda pair: Pair(*pair.parts[::-1]))
    payload = serialize(swap.lower(Pair(1.0, VECTOR)).compile())
    first, second = deserialize_and_load(*payload)(Pair(1.0, VECTOR)).parts
    np.testing.assert_array_equal(first, VECTOR)
    assert second == 1


_PROCESS = """
import pickle, sys
import numpy as np
import tinyjax, tinyjax.numpy as jnp
from tinyjax import NamedSharding, P, cache
from tinyjax.experimental.serialize_executable import deserialize_and_load, serialize

tinyjax.config.update("num_cpu_devices", 2)
mesh = tinyjax.make_mesh((2,), ("x",))
rows = tinyjax.device_put(jnp.arange(8.0).reshape(4, 2), NamedSharding(mesh, P("x", None)))
matrix = jnp.array([[2.0, 1.0], [1.0, 3.0]])
functions = {
    "alone": (lambda x: jnp.linalg.solve(matrix, x) * 2, jnp.arange(2.0)),
    "divided": (lambda x: (x.sum(0), jnp.sin(x)), rows),
}
if sys.argv[1] == "write":
    compiled = {n: tinyjax.jit(f).lower(x).compile() for n, (f, x) in functions.items()}
    found = {n: (serialize(c), c(functions[n][1])) for n, c in compiled.items()}
    found = {n: (s, tinyjax.tree.map(np.asarray, out)) for n, (s, out) in found.items()}
    pickle.dump(found, open(sys.argv[2], "wb"))
else:
    for n, (serialized, out) in pickle.load(open(sys.argv[2], "rb")).items():
        loaded = deserialize_and_load(*serialized)
        tinyjax.tree.map(np.testing.assert_array_equal, loaded(functions[n][1]), out)
        print(n, cache.info().memory.misses)
"""


def test_another_process_compiles_nothing(tmp_path: Path) -> None:
    def run(what: str, **environment: str) -> str:
        command = [sys.executable, "-W", "error", "-c", _PROCESS, what, str(tmp_path / "programs")]
        env = {**os.environ, **environment}
        return subprocess.run(command, check=True, text=True, capture_output=True, env=env).stdout

    run("write")
    # what is for several devices is compiled
    assert run("read").split() == ["alone", "0", "divided", "1"]
    assert run("read", XDG_CACHE_HOME=str(tmp_path / "other")).split() == [
        *("alone", "1"),
        *("divided", "2"),
    ]


def test_machine_code_is_loaded_with_the_right_seal_only(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[bytes] = []
    real = machine_code.executable_of

    def note(backend: Any, text: str, code: bytes) -> Any:
        loads.append(code)
        return real(backend, text, code)

    monkeypatch.setattr(machine_code, "executable_of", note)
    payload, in_tree, out_tree = serialize(compiled(tinyjax, "numbers"))

    def is_loaded(payload: bytes, **options: Any) -> bool:
        before = len(loads)
        loaded = deserialize_and_load(payload, in_tree, out_tree, **options)
        np.testing.assert_array_equal(loaded(VECTOR), VECTOR * 2 + 1)
        return len(loads) > before

    assert is_loaded(payload)
    code = loads[0]
    assert payload.endswith(code, 0, -32)
    other = bytes([payload[-40] ^ 1])
    assert not is_loaded(payload[:-40] + other + payload[-39:])  # of the code
    assert not is_loaded(payload[:-1] + bytes([payload[-1] ^ 1]))  # of the seal
    with config.scoped(effort="low"):  # other options of the compiler
        assert not is_loaded(payload)
    (secret,) = (home / "tinyjax").iterdir()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.chmod(0o644)
    assert not is_loaded(payload)
    assert not serialize(compiled(tinyjax, "numbers"))[0].endswith(code, 0, -32)
    secret.chmod(0o600)
    assert is_loaded(payload)
    secret.write_bytes(bytes(32))  # another user's
    assert not is_loaded(payload)
    with raises(ExportError, match="not sealed with this key"):
        is_loaded(payload, key=KEY)
    payload = serialize(compiled(tinyjax, "numbers"), key=KEY)[0]
    assert is_loaded(payload, key=KEY)
    assert not is_loaded(payload)
    with raises(ExportError, match="not sealed with this key"):
        is_loaded(payload[:-40] + other + payload[-39:], key=KEY)


def test_a_loaded_program_can_be_serialized(tmp_path: Path) -> None:
    function = tinyjax.jit(lambda x: jnp.linalg.inv(x) @ jnp.arange(4.0) + jnp.sort(x[0]))
    expected = None
    for _ in range(2):  # the second is loaded from the cache on disk
        with config.scoped(cache_dir=tmp_path / "programs"):
            xla.cache_clear()
            payload = serialize(function.lower(MATRIX).compile())
        for _ in range(2):
            loaded = deserialize_and_load(*payload)
            expected = loaded(MATRIX) if expected is None else expected
            np.testing.assert_array_equal(loaded(MATRIX), expected)
            payload = serialize(loaded)


def test_it_runs_on_the_devices_given() -> None:
    payload = serialize(compiled(tinyjax, "numbers"))
    device = tinyjax.devices()[-1]
    loaded = deserialize_and_load(*payload, "cpu", [device])
    assert loaded(VECTOR).devices() == {device}
    with raises(ArgumentError, match="runs on 1 devices, but got 0"):
        deserialize_and_load(*payload, execution_devices=[])


@pytest.mark.wrong_types
def test_errors() -> None:
    payload, in_tree, out_tree = serialize(compiled(tinyjax, "numbers"))
    with raises(ArgumentError, match=r"lower\(...\).compile\(\)"):
        unchecked(serialize)(tinyjax.jit(jnp.sin))
    printing = tinyjax.jit(lambda x: tinyjax.debug.print("{}", x)).lower(1.0).compile()
    with raises(ExportError, match="Python"):
        serialize(printing)
    for broken in (b"", b"TINYJAXM", payload[:20], b"x" * 100):
        with raises(ExportError, match="no compiled program"):
            deserialize_and_load(broken, in_tree, out_tree)
    for broken in (payload[:200], payload[:300] + b"x" + payload[301:]):
        with pytest.raises(ExportError):
            deserialize_and_load(broken, in_tree, out_tree)
    with raises(ArgumentError, match="takes bytes"):
        unchecked(deserialize_and_load)("text", in_tree, out_tree)
    with raises(ArgumentError, match="in_tree has 2 leaves, but '<lambda>' has 1"):
        deserialize_and_load(payload, tinyjax.tree.structure(((1, 2), {})), out_tree)
    with raises(ArgumentError, match="out_tree has 0 leaves"):
        deserialize_and_load(payload, in_tree, tinyjax.tree.structure(None))
    with raises(PlatformError, match="for 'cpu'"):
        deserialize_and_load(payload, in_tree, out_tree, "tpu")
    loaded = deserialize_and_load(payload, in_tree, out_tree)
    with raises(TypeError, match="was compiled for"):
        loaded(np.ones(3, np.float32))
