"""Files and messages that were changed: arrays, checkpoints, programs, processes that meet."""

import io
import json
import random
import shutil
import socket
import struct
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from hostile.exports import in_header, in_letters
from hostile.isolation import Subject, explanation
from tinyjax.core.xla.disk_cache import DiskCache
from tinyjax.distributed.gathering import Handshake, JsonConnection, approach, gather, listener
from tinyjax.distributed.membership import Membership
from tinyjax.errors import DiskCacheWarning, TinyjaxError
from tinyjax.experimental import checkpoints
from tinyjax.experimental.serialize_executable import deserialize_and_load, serialize

REFUSED, SAME, OTHER = "refused", "the same result", "another result"

Files = dict[str, bytes]


@attrs.frozen
class Reader:
    """A function that reads bytes from elsewhere.

    Attributes:
        files: makes honest ones.
        read: reads them in a folder, and returns what they say.
        exact: whether what is not refused must be what was written.
    """

    files: Callable[[], Files]
    read: Callable[[Path], Any]
    exact: bool = False


# Arrays

_ARRAYS: Final[dict[str, Any]] = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "y": np.array([1, -2], np.int8),
    "z": np.array(1 + 2j),
}


def _npy() -> Files:
    file = io.BytesIO()
    np.save(file, _ARRAYS["x"])
    return {"a.npy": file.getvalue()}


def _npz(compressed: bool) -> Callable[[], Files]:
    def make() -> Files:
        file = io.BytesIO()
        save: Any = np.savez_compressed if compressed else np.savez
        save(file, **_ARRAYS)
        return {"a.npz": file.getvalue()}

    return make


def _load(folder: Path) -> Any:
    (file,) = folder.iterdir()
    found = jnp.load(file)
    return tinyjax.tree.map(np.asarray, found)


def _load_open(folder: Path) -> Any:
    (file,) = folder.iterdir()
    return tinyjax.tree.map(np.asarray, jnp.load(io.BytesIO(file.read_bytes())))


# Checkpoints


def _checkpoint() -> Files:
    with tempfile.TemporaryDirectory() as name:
        tree = {**_ARRAYS, "k": tinyjax.random.key(0), "h": jnp.ones((2, 0)), "b": jnp.bfloat16(3)}
        checkpoints.save(name, {**tree, "f": jnp.ones(3, "float8_e5m2"), "t": jnp.arange(3) > 1})
        folder = Path(name)
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _restore(folder: Path) -> Any:
    found = checkpoints.restore(folder)
    return {k: repr(x.dtype) + str(x.shape) + str(x) for k, x in found.items()}


# Compiled programs

_KEY: Final = bytes(range(32))


def _entry() -> Files:
    with tempfile.TemporaryDirectory() as name:
        DiskCache(name, 1 << 20).store(_KEY, b"code" * 100)
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def _load_entry(folder: Path) -> Any:
    folder.chmod(0o700)
    for file in folder.iterdir():
        file.chmod(0o600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiskCacheWarning)
        found = DiskCache(str(folder), 1 << 20).load(_KEY)
    if found is None:
        raise TinyjaxError("compiled anew")
    return found


def _executable() -> Files:
    double = tinyjax.jit(lambda x: 2 * x).lower(_ARRAYS["x"]).compile()
    return {"executable": serialize(double, key=_KEY)[0]}


def _run_executable(folder: Path) -> Any:
    """Load a program that somebody else has sealed: what is not damaged is compiled."""
    one = tinyjax.tree.structure(1)
    data = (folder / "executable").read_bytes()
    loaded = deserialize_and_load(data, tinyjax.tree.structure(((1,), {})), one)
    return loaded(_ARRAYS["x"])


# Processes that meet


def _hello() -> Files:
    return {"hello": json.dumps(attrs.asdict(Handshake(1, 2, 4, "versions"))).encode() + b"\n"}


def _gather(folder: Path) -> Any:
    """The first process, which another sends what is in the file."""
    here = listener("127.0.0.1:0")
    with socket.create_connection(here.getsockname()) as sending:
        sending.sendall((folder / "hello").read_bytes())
        sending.shutdown(socket.SHUT_WR)
        found = gather(here, Handshake(0, 2, 3, "versions"), 0.2)
    for line in found.lines.values():
        line.close()
    return found.devices, [*found.lines]


def _answer() -> Files:
    return {"answer": b'{"devices": [3, 4]}\n'}


def _approach(folder: Path) -> Any:
    """Another process, to which the first one sends the contents of the file."""
    data = (folder / "answer").read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as here:

        def serve() -> None:
            with here.accept()[0] as other:
                other.recv(4096)
                other.sendall(data)

        serving = Thread(target=serve)
        serving.start()
        host, port = here.getsockname()
        try:
            found = approach(f"{host}:{port}", Handshake(1, 2, 4, "versions"), 5)
        finally:
            serving.join()
    for line in found.lines.values():
        line.close()
    return [*found.devices]


def _talk() -> Files:
    return {"said": b'{"done": true}\n{"hello": [1, 2]}\n{"done": true}\n'}


def _listen(folder: Path) -> Any:
    """A process that hears from another while it computes."""
    sending, receiving = socket.socketpair()
    with sending:
        sending.sendall((folder / "said").read_bytes()[:100_000])
    line, member = JsonConnection(receiving), Membership(0, 2, {})
    heard: list[str] = []
    while (not heard or heard[-1] != "end") and len(heard) < 1000:
        for message in line.messages():
            heard.append(member._heard(1, message))
            if message is None:
                heard.append("end")
    line.close()
    return heard


READERS: Final[dict[str, Reader]] = {
    "npy": Reader(_npy, _load),
    "npy, an open file": Reader(_npy, _load_open),
    "npz": Reader(_npz(False), _load),
    "npz, an open file": Reader(_npz(False), _load_open),
    "npz, compressed": Reader(_npz(True), _load),
    "checkpoint": Reader(_checkpoint, _restore),
    "compiled program": Reader(_entry, _load_entry, exact=True),
    "executable": Reader(_executable, _run_executable, exact=True),
    "first process": Reader(_hello, _gather),
    "other process": Reader(_answer, _approach),
    "messages": Reader(_talk, _listen),
}
#: With how often each is tried.
_WEIGHTS: Final = (2, 1, 2, 1, 1, 5, 2, 2, 1, 1, 1)


# Changes


def _in_json(draw: random.Random, data: bytes) -> bytes:
    """Change a value of a text in JSON, or nest it deep, or change letters."""
    kind = draw.random()
    end = b"\n" if data.endswith(b"\n") else b""
    try:
        found = json.loads(data)
    except ValueError:
        return in_letters(draw, data)
    if kind < 0.25:
        return in_letters(draw, data)
    if kind < 0.35:
        depth = draw.choice([100, 5000, 30_000, 200_000])
        left, right = draw.choice([("[", "]"), ('{"a":', "}")])
        text = json.dumps(in_header(draw, found))
        at = draw.randrange(len(text))
        nest = left * depth + "1" + right * depth
        return draw.choice([nest, text[:at] + nest + text[at:]]).encode() + end
    if kind < 0.45:  # twice the same, or a number that is larger
        text = json.dumps(found)
        digits = [i for i, c in enumerate(text) if c.isdigit()]
        if digits:
            i = draw.choice(digits)
            new = draw.choice(["0", "9", "4294967296", "-1", "1e5", "9" * 5000, "1" + "0" * 30])
            return (text[:i] + new + text[i + 1 :]).encode() + end
    return json.dumps(in_header(draw, found)).encode() + end


def _in_safetensors(draw: random.Random, data: bytes) -> bytes:
    """Change the header, and its length with it."""
    (size,) = struct.unpack_from("<Q", data)
    header = _in_json(draw, data[8 : 8 + size])
    return struct.pack("<Q", len(header)) + header + data[8 + size :]


_NPY_WORDS: Final = (
    *(b"'|O'", b"'<f8'", b"'|V2'", b"'|V0'", b"'<U2'", b"'|S1'", b"'<M8[s]'", b"'>f4'", b"'|b1'"),
    *(b"True", b"None", b"__import__('os')", b"[('a','<f4')]", b"('<f4',(2,3))", b"'O,O'"),
)
_NPY_SIZES: Final = (
    *(b"(0,)", b"()", b"(2**9,)", b"(-1,)", b"(1099511627776,)", b"(4294967296,4294967296)"),
    *(b"(True,3)", b"(6,)", b"(3,2)", b"(9223372036854775807,0)", b"(" * 90 + b")" * 90),
)


def _in_npy(draw: random.Random, data: bytes) -> bytes:
    """Change the header of an array, which keeps its length, if it is in such a file."""
    at = data.find(b"{'descr'")
    end = data.find(b"\n", at)
    if at < 0 or end < 0:
        return in_letters(draw, data)
    told = data[at:end].rstrip()
    if draw.random() < 0.5:
        told = told.replace(b"'<f4'", draw.choice(_NPY_WORDS))
    else:
        told = told.replace(b"(2, 3)", draw.choice(_NPY_SIZES))
    return data[:at] + told.ljust(end - at)[: end - at] + data[end:]


def changed(draw: random.Random, files: Files) -> Files:
    """Change one of some files."""
    name = draw.choice([*files])
    data = files[name]
    if draw.random() < 0.05:
        new = draw.choice([b"", data[: draw.randrange(len(data))], data * 2, b"\x80\x04N.", b"{"])
    elif name.endswith(".json") or data[:1] == b"{":
        new = _in_json(draw, data)
    elif name.endswith(".safetensors"):
        new = draw.choice([_in_safetensors, _in_safetensors, in_letters])(draw, data)
    elif name.endswith(("npy", "npz")):
        new = draw.choice([_in_npy, in_letters])(draw, data)
    else:
        new = in_letters(draw, data)
    return {**files, name: new}


class Readers(Subject):
    """Files and messages that were changed."""

    batch = 500

    def __init__(self) -> None:
        self.honest: dict[str, Files] = {}

    @property
    def expected(self) -> Sequence[str]:
        return [
            f"{name}: {outcome}"
            for name, reader in READERS.items()
            for outcome in (REFUSED, SAME, *(() if reader.exact else (OTHER,)))
        ]

    def run(self, case: str, stage: Callable[[str], None]) -> str:
        draw = random.Random(case)
        name = draw.choices([*READERS], _WEIGHTS)[0]
        reader = READERS[name]
        if name not in self.honest:
            self.honest[name] = reader.files()
        files = self.honest[name]
        stage(name)
        while files == self.honest[name]:
            files = changed(draw, self.honest[name])
        return f"{name}: {self.outcome(reader, files, self.honest[name])}"

    def outcome(self, reader: Reader, files: Files, honest: Files) -> str:
        """Read files, and say what became of them."""
        folder = Path(tempfile.mkdtemp())
        try:
            for path, data in files.items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_bytes(data)
            with warnings.catch_warnings():
                warnings.simplefilter("error", ResourceWarning)
                warnings.simplefilter("ignore", UserWarning)
                found = str(reader.read(folder))
        except TinyjaxError:
            return REFUSED
        except BaseException as error:
            return explanation(error)
        finally:
            shutil.rmtree(folder)
        return SAME if found == self.expectation(reader, honest) else OTHER

    def expectation(self, reader: Reader, honest: Files) -> str:
        """Return the contents of the honest files."""
        folder = Path(tempfile.mkdtemp())
        try:
            for path, data in honest.items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_bytes(data)
            return str(reader.read(folder))
        finally:
            shutil.rmtree(folder)

    def describe(self, case: str) -> str:
        return case
