"""Checkpoints: what is saved is restored, on any mesh, and after any accident."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, NamedSharding, P, ShapeDtypeStruct, random, tree
from tinyjax.errors import CheckpointError, ShardingError
from tinyjax.experimental import checkpoints
from tinyjax.experimental.checkpoints import files

MESH = tinyjax.make_mesh((2, 2), ("x", "y"))
ROW = tinyjax.make_mesh((4,), ("i",))
PLACES = [
    None,
    tinyjax.devices()[3],
    NamedSharding(MESH, P()),
    NamedSharding(MESH, P("x", "y")),
    NamedSharding(MESH, P(None, ("y", "x"))),
    NamedSharding(ROW, P("i")),
    NamedSharding(tinyjax.make_mesh((2,), ("j",), devices=tinyjax.devices()[2:]), P(None, "j")),
]
DATA = np.arange(64, dtype=np.float32).reshape(8, 8)
DTYPES = "bool int8 uint16 int64 bfloat16 float16 float64 complex64 complex128 float8_e4m3fn"


def place(x: Any, where: Any) -> Array:
    return jnp.asarray(x) if where is None else tinyjax.device_put(x, where)


def check_same(x: Any, y: Any) -> None:
    assert x.dtype == y.dtype
    if tinyjax.dtypes.is_key(x.dtype):
        x, y = random.key_data(x), random.key_data(y)
    a, b = np.asarray(x), np.asarray(y)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("second", PLACES, ids=repr)
@pytest.mark.parametrize("first", PLACES, ids=repr)
@pytest.mark.sampled(5)
def test_saved_here_restored_there(first: Any, second: Any, tmp_path: Path) -> None:
    x, like = place(DATA, first), place(np.zeros_like(DATA), second)
    checkpoints.save(tmp_path, {"w": x})
    ways: list[Any] = [like, ShapeDtypeStruct(like.shape, like.dtype, sharding=like.sharding)]
    for wanted in ways if second is None else [*ways, second]:
        found = checkpoints.restore(tmp_path, {"w": wanted})["w"]
        assert found.sharding == like.sharding
        check_same(found, DATA)
    sizes = [x.nbytes for x in load_file(next(tmp_path.glob("data-*/0.safetensors"))).values()]
    assert sum(sizes) == DATA.nbytes  # each shard once


def test_all_kinds_of_arrays(tmp_path: Path) -> None:
    by_x = NamedSharding(MESH, P("x"))
    saved: dict[str, Any] = {
        "dtypes": {name: jnp.arange(2).astype(name) for name in DTYPES.split()},
        "divided": {name: tinyjax.device_put(jnp.ones(4, name), by_x) for name in DTYPES.split()},
        "shapes": [jnp.zeros(()), jnp.zeros((0, 3)), jnp.zeros((3, 4)), np.arange(6)[::2]],
        "numbers": (1, 2.5, True, 1j),
        "keys": [random.key(1), random.split(random.key(2, impl="rbg"), 2)],
        "divided keys": tinyjax.device_put(random.split(random.key(3), 4), by_x),
        "nothing": None,
    }
    checkpoints.save(tmp_path, saved)
    found = checkpoints.restore(tmp_path, saved)
    assert tree.structure(found) == tree.structure(saved)
    for x, y in zip(tree.leaves(saved), tree.leaves(found), strict=True):
        check_same(jnp.asarray(x), y)
        assert y.sharding == jnp.asarray(x).sharding
    check_same(random.normal(saved["keys"][0]), random.normal(found["keys"][0]))
    by_path = checkpoints.restore(tmp_path)
    assert set(by_path) == {tree.keystr(path) for path, _ in tree.leaves_with_path(saved)}
    check_same(by_path["['numbers'][1]"], jnp.asarray(2.5))


def test_the_last_one_stays_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(tmp_path, [DATA])

    def fail(*args: object) -> None:
        raise KeyboardInterrupt

    for step in ("write_shards", "write_manifest", "remove"):
        with monkeypatch.context() as patch:
            patch.setattr(files, step, fail)
            with pytest.raises(KeyboardInterrupt):
                checkpoints.save(tmp_path, [DATA + 1])
        is_new = step == "remove"
        check_same(checkpoints.restore(tmp_path)["[0]"], DATA + is_new)
    checkpoints.save(tmp_path, [DATA + 2])
    check_same(checkpoints.restore(tmp_path)["[0]"], DATA + 2)
    assert len(list(tmp_path.iterdir())) == 2  # what was not finished is gone


def test_saved_in_another_thread(tmp_path: Path) -> None:
    step = tinyjax.jit(lambda x: x + 1, donate_argnums=0)
    x = tinyjax.device_put(DATA, NamedSharding(MESH, P("x")))
    under_way = []
    for i in range(4):
        under_way.append(checkpoints.save_async(tmp_path / str(i % 2), x))
        x = step(x)
    for saving_ in under_way:
        saving_.wait()
        assert saving_.done
    for i in (2, 3):
        check_same(checkpoints.restore(tmp_path / str(i % 2), x), DATA + i)
    (tmp_path / "file").touch()
    failing = checkpoints.save_async(tmp_path / "file", x)
    with raises(OSError, match="file"):
        failing.wait()


def test_several_processes(tmp_path: Path) -> None:
    # two in one process, each of which writes the shards of its own devices
    x = tinyjax.device_put(DATA, NamedSharding(ROW, P("i")))
    types, shards = files._snapshot({"x": x, "n": 7}, copy=False)
    version = "0123456789abcdef"
    other = threading.Thread(
        target=files._write, args=(tmp_path, types, shards[1::2], version, 1, 2)
    )
    other.start()
    while not (tmp_path / f"data-{version}" / "1.json").exists():
        other.join(0.01)
    files._write(tmp_path, types, shards[::2], version, 0, 2)
    other.join()
    like: Any = {"x": NamedSharding(MESH, P("y", "x")), "n": 0}
    found = checkpoints.restore(tmp_path, like)
    check_same(found["x"], DATA)
    assert int(found["n"]) == 7


def test_a_process_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONGEST_WAIT", 0.0)
    content = files._snapshot(DATA, copy=False)
    with raises(CheckpointError, match="process 1 did not write its part"):
        files._write(tmp_path, *content, "0" * 16, 0, 2)
    with raises(CheckpointError, match="there is no checkpoint"):
        checkpoints.restore(tmp_path)


def change(**entries: object) -> Callable[[Path], None]:
    def edit(file: Path) -> None:
        file.write_text(
            json.dumps(json.loads(file.read_text(encoding="utf-8")) | entries), encoding="utf-8"
        )

    return edit


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def write(data: bytes) -> Callable[[Path], None]:
    def edit(file: Path) -> None:
        file.write_bytes(data)

    return edit


SHARD = {"array": "['w']", "start": [0, 0], "shape": [8, 8]}
HARMS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "cut manifest": ("manifest.json", cut),
    "list": ("manifest.json", write(b"[]")),
    "not text": ("manifest.json", write(b"\xff\xfe")),
    "other format": ("manifest.json", change(format=99)),
    "elsewhere": ("manifest.json", change(version="../../x")),
    "no version": ("manifest.json", change(version="f" * 16)),
    "no processes": ("manifest.json", change(processes=0)),
    "one more process": ("manifest.json", change(processes=2)),
    "no dtype": ("manifest.json", change(arrays={"['w']": {"shape": [8, 8], "dtype": "rot"}})),
    "other dtype": ("manifest.json", change(arrays={"['w']": {"shape": [8, 8], "dtype": "int32"}})),
    "as bytes": ("manifest.json", change(arrays={"['w']": {"shape": [4], "dtype": "key<fry>"}})),
    "other shape": ("manifest.json", change(arrays={"['w']": {"shape": [8, 9], "dtype": "int8"}})),
    "negative": ("manifest.json", change(arrays={"['w']": {"shape": [-8], "dtype": "int8"}})),
    "no arrays": ("manifest.json", change(arrays=[])),
    "no index": ("data-*/0.json", Path.unlink),
    "cut index": ("data-*/0.json", cut),
    "no shards": ("data-*/0.json", change(shards=[])),
    "shards twice": ("data-*/0.json", change(shards=[SHARD, SHARD])),
    "shard elsewhere": ("data-*/0.json", change(shards=[SHARD | {"start": [4, 0]}])),
    "negative start": ("data-*/0.json", change(shards=[SHARD | {"start": [-1, 0]}])),
    "shard of one axis": ("data-*/0.json", change(shards=[SHARD | {"start": [0], "shape": [8]}])),
    "no data": ("data-*/0.safetensors", Path.unlink),
    "cut data": ("data-*/0.safetensors", cut),
    "pickle": ("data-*/0.safetensors", write(b"\x80\x04cposix\nsystem\n(S'true'\ntR.")),
    "empty data": ("data-*/0.safetensors", write(b"")),
}


@pytest.mark.parametrize("harm", HARMS)
def test_damaged_files(harm: str, tmp_path: Path) -> None:
    checkpoints.save(tmp_path, {"w": DATA})
    pattern, edit = HARMS[harm]
    edit(next(tmp_path.glob(pattern)))
    with pytest.raises(CheckpointError):
        checkpoints.restore(tmp_path)


def test_mistakes(tmp_path: Path) -> None:
    with raises(CheckpointError, match="there is no checkpoint in"):
        checkpoints.restore(tmp_path)
    checkpoints.save(os.fspath(tmp_path), {"w": DATA, "b": [1, 2]})
    with raises(CheckpointError, match=r"lacks \['v'\]; it has also \['b'\]\[1\], \['w'\]"):
        checkpoints.restore(tmp_path, {"v": DATA, "b": [1]})
    with raises(CheckpointError, match=r"float32\[8,9\] at \['w'\].*has float32\[8,8\]"):
        checkpoints.restore(tmp_path, {"w": ShapeDtypeStruct((8, 9), "float32"), "b": [1, 2]})
    with raises(CheckpointError, match=r"has int8\[8,8\] at"):
        checkpoints.restore(tmp_path, {"w": DATA.astype(np.int8), "b": [1, 2]})
    three = NamedSharding(tinyjax.make_mesh((3,), ("i",)), P("i"))
    with raises(ShardingError, match="8 is no multiple of 3"):
        checkpoints.restore(tmp_path, {"w": three, "b": [1, 2]})
    checkpoints.save(tmp_path, np.arange(2.0))
    with tinyjax.enable_x64(False), raises(CheckpointError, match="wide_dtypes"):
        checkpoints.restore(tmp_path)


@pytest.mark.parametrize("shape", [[1 << 40], [1 << 70], [0, 1 << 70], [4, 1 << 61]])
def test_a_manifest_that_asks_for_more_than_there_is(tmp_path: Path, shape: list[int]) -> None:
    checkpoints.save(tmp_path, {"x": jnp.arange(4.0)})
    manifest = tmp_path / "manifest.json"
    record = json.loads(manifest.read_text(encoding="utf-8"))
    record["arrays"]["['x']"]["shape"] = shape
    manifest.write_text(json.dumps(record), encoding="utf-8")
    for index in tmp_path.glob("data-*/*.json"):
        told = json.loads(index.read_text(encoding="utf-8"))
        told["shards"][0] |= {"start": [0] * len(shape), "shape": shape}
        index.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(CheckpointError):
        checkpoints.restore(tmp_path)


def test_shards_that_overlap_leave_a_gap(tmp_path: Path) -> None:
    """As many elements as the array has, and yet not all of them."""
    rows = NamedSharding(tinyjax.make_mesh((2,), ("rows",)), P("rows"))
    checkpoints.save(tmp_path, {"x": tinyjax.device_put(jnp.arange(4.0), rows)})
    (index,) = tmp_path.glob("data-*/*.json")
    told = json.loads(index.read_text(encoding="utf-8"))
    told["shards"][1]["start"] = [1]
    index.write_text(json.dumps(told), encoding="utf-8")
    with raises(CheckpointError, match="it is damaged"):
        checkpoints.restore(tmp_path)


def test_indices_nested_too_deep(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, {"x": jnp.arange(4.0)})
    (tmp_path / "manifest.json").write_text("[" * 200_000, encoding="utf-8")
    with raises(CheckpointError, match="is damaged"):
        checkpoints.restore(tmp_path)
