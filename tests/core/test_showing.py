"""The display of arrays, structures and residuals in notebooks."""

import io
import re
import time
from base64 import b64decode
from typing import Any

import ml_dtypes
import numpy as np
import PIL.Image
import pytest
from IPython.core.formatters import DisplayFormatter

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import NamedSharding, P, tree
from tinyjax.core.values.concrete import ConcreteArray

MATRIX = np.linspace(-1, 1, 100 * 40, dtype=np.float32).reshape(100, 40)


def html(x: Any) -> str:
    """Return IPython's HTML, which keeps the plain text beside it."""
    data, _ = DisplayFormatter().format(x)
    text: str = data["text/html"]
    assert len(text) < 12_000
    assert "text/plain" in data
    return text


def with_value(x: np.ndarray[Any, Any], value: float) -> np.ndarray[Any, Any]:
    x = x.copy()
    x[3, 5] = value
    return x


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (MATRIX, ["float32[100,40]", "16 KB", "from -1 to 1", "<img"]),
        (with_value(MATRIX, np.nan), ["1 NaN", "from -1 to 1"]),
        (with_value(MATRIX, np.inf), ["1 infinite"]),
        (MATRIX > 0, ["bool[100,40]", "0.5 of all True"]),
        (MATRIX * 1j, ["complex64[100,40]", "absolute values from 0.0002501 to 1"]),
        (MATRIX.astype(ml_dtypes.bfloat16), ["bfloat16[100,40]", "from -1 to 1", "<img"]),
        (np.arange(1000, dtype=np.int8), ["int8[1000]", "from -128 to 127", "[  0,   1,   2, ..."]),
        (np.zeros((3, 0, 5000)), []),
        (np.ones((2,) * 12), ["[0, 0, 0, 0, 0, 0, 0, 0, 0, 0] is"]),
        (np.ones((50, 50)), ["from 1 to 1"]),
    ],
)
def test_large_arrays_have_type_range_and_some_values(data: Any, words: list[str]) -> None:
    x = jnp.asarray(data)
    if not words:
        assert x.size == 0
        return
    found = html(x)
    for part in words:
        assert part in found


def test_the_picture_is_the_matrix() -> None:
    source = re.search(r"base64,([^\"]+)", html(jnp.asarray(with_value(MATRIX[:64], np.nan))))
    assert source is not None
    image = PIL.Image.open(io.BytesIO(b64decode(source[1])))
    assert image.size == (40, 64)
    pixels = np.asarray(image.convert("RGB"))
    assert pixels[3, 5].tolist() == [0xE0, 0x20, 0x20]
    assert pixels[0, 0].tolist() == [0, 0, 0]
    grey = pixels[:, :, 0].astype(float)
    grey[3, 5] = grey[3, 4]
    assert (np.diff(grey.ravel()) >= 0).all()
    assert pixels[63, 39].tolist() == [254, 254, 254]


def test_a_gigabyte_is_shown_at_once_and_not_copied() -> None:
    x = ConcreteArray(np.broadcast_to(np.float32(2.0), (1 << 14, 1 << 14)))
    begin = time.perf_counter()
    found = html(x)
    assert "from 2 to 2 of a sample" in found
    assert "1.07 GB" in found
    assert time.perf_counter() - begin < 5


def test_small_values_keep_their_text() -> None:
    for x in (jnp.ones(()), jnp.arange(100), tree.structure({"a": [1, 2]})):
        data, _ = DisplayFormatter().format(x)
        assert data == {"text/plain": repr(x)}


def test_arrays_without_data_say_what_they_are() -> None:
    seen: list[str] = []

    def look(x: Any) -> Any:
        seen.append(html(x))
        return x

    tinyjax.make_jaxpr(look)(jnp.ones((30, 30)))
    tinyjax.vmap(look)(jnp.ones((3, 200)))
    assert "float32[30,30]" in seen[0]
    assert "traced by make_jaxpr of" in seen[0]
    assert "float32[200]" in seen[1]
    rows = NamedSharding(tinyjax.make_mesh((2,), ("rows",)), P("rows"))
    assert "on 2 devices" in html(tinyjax.device_put(jnp.ones((300, 3)), rows))
    keys = tinyjax.random.split(tinyjax.random.key(0), 200)
    assert "key" in html(keys)


def test_a_structure_is_laid_out_in_lines() -> None:
    layer = {"weights": 0, "bias": (0, [0, None]), "<name>": {}}
    found = html(tree.structure({f"layer {i}": layer for i in range(200)}))
    assert "600 leaves" in found
    assert "more lines" in found
    lines = found.split("<pre>")[1].split("\n")
    assert lines[0].startswith("{&#x27;layer 0&#x27;: {&#x27;&lt;name&gt;&#x27;: {}")
    assert len(lines) < 60
    deep: Any = 0
    for _ in range(3000):
        deep = [deep, 0]
    assert "3,001 leaves" in html(tree.structure(deep))


def test_residuals_are_a_table_by_size() -> None:
    def f(w: Any, x: Any) -> Any:
        return jnp.sin(w @ x).sum()

    found = tinyjax.saved_residuals(f, jnp.ones((20, 30)), jnp.ones(30))
    assert isinstance(found, list)
    shown = html(found)
    assert f"{len(found)} residuals" in shown
    assert shown.index("the argument w") < shown.index("the argument x")
    assert shown.count("<tr>") == len(found)
    assert "more" not in shown
