"""The index of the search: the sections of the documentation, and words that mean the same.

``script`` writes it for ``static/find.js``, which ranks. A section is found by its heading, the
title of its page and the words of its text; names in code count as they are, such as ``jnp.where``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from website.blocks import FENCE

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"

#: How much the sections of a page count beside those of others: what explains comes first.
WEIGHTS: Final[Mapping[str, float]] = {
    "docs/changelog": 0.2,
    "docs/contributing": 0.4,
    "docs/derivations": 0.6,
    "docs/design": 0.6,
    "docs/differences": 0.7,
    "docs/faq": 1.3,
    "docs/gallery": 0.6,
    "docs/glossary": 0.8,
    "docs/guides": 0.3,
    "docs/index": 0.5,
    "docs/inside": 0.5,
    "docs/jax_api": 0.3,
    "docs/scipy_api": 0.3,
    "docs/jaxlib": 0.5,
    "docs/performance": 1.2,
    "docs/performance-tables": 0.5,
    "docs/packages": 0.3,
    "docs/reading": 0.6,
    "docs/tutorials/traps": 1.2,
    "docs/which": 1.5,
    "docs/why": 0.6,
}
#: Words that people type, and those of the pages.
SYNONYMS: Final[Mapping[str, str]] = {
    "amd": "gpu",
    "autograd": "autograd gradient",
    "backprop": "reverse gradient",
    "batch": "vmap",
    "batching": "vmap",
    "benchmark": "performance",
    "compare": "which",
    "condition": "cond if",
    "cuda": "gpu",
    "debug": "debug_nans print",
    "deterministic": "keys random",
    "dtype": "float64 dtypes",
    "error": "mistake",
    "fast": "performance",
    "faster": "performance",
    "hvp": "hessian",
    "install": "installation",
    "introduction": "first steps",
    "kernel": "primitive",
    "learn": "first steps",
    "load": "restore",
    "loop": "loops",
    "minimize": "optimizers",
    "minimum": "implicit",
    "multigpu": "devices",
    "mypy": "types checker",
    "nan": "nan",
    "ode": "differential equation implicit",
    "offload": "memory",
    "oom": "memory budget",
    "parallel": "devices",
    "pmap": "devices",
    "port": "coming",
    "profile": "timing exploring",
    "pytorch": "pytorch",
    "quickstart": "first steps",
    "recompile": "traced again",
    "retrace": "traced again",
    "save": "save restore",
    "scan": "scan loops",
    "seed": "random keys",
    "sharding": "devices",
    "slow": "slower performance",
    "speed": "performance",
    "start": "first steps",
    "tpu": "tpu gpu",
    "tune": "performance",
    "tutorial": "tutorials",
    "windows": "windows installation",
}
#: Names of other libraries, and what does the same here.
ALIASES: Final[Mapping[str, str]] = {
    "avg_pool": "lax.reduce_window",
    "avgpool2d": "lax.reduce_window",
    "backward": "grad",
    "conv": "lax.conv_general_dilated",
    "conv1d": "lax.conv_general_dilated",
    "conv2d": "lax.conv_general_dilated",
    "conv3d": "lax.conv_general_dilated",
    "cross_entropy": "nn.log_softmax",
    "detach": "lax.stop_gradient",
    "elementwise_grad": "vmap",
    "foldl": "lax.scan",
    "function": "jit",
    "gather_nd": "lax.gather",
    "map_fn": "lax.map",
    "max_pool": "lax.reduce_window",
    "maxpool2d": "lax.reduce_window",
    "no_grad": "lax.stop_gradient",
    "randn": "random.normal",
    "tensor": "numpy.array",
    "torch.compile": "jit",
    "vectorized_map": "vmap",
}

_HEADING: Final = re.compile(r"^(#{1,3}) (.*)$", re.MULTILINE)
#: A row of the glossary.
_ROW: Final = re.compile(r"^\| ([a-zA-Z][^|]*) \| ([^|]*) \|$", re.MULTILINE)
_FENCED: Final = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*|\d+")


def weight(page: str) -> float:
    """Return how much the sections of a page count."""
    return WEIGHTS.get(page, WEIGHTS.get(page.rpartition("/")[0], 1.0))


def words_of(text: str) -> str:
    """Return the words of a text, each once, in their order."""
    return " ".join(dict.fromkeys(word.lower() for word in _WORD.findall(text)))


def anchor(heading: str) -> str:
    """Return the place of a heading on its page."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def sections() -> Iterator[tuple[str, str, str, float, str]]:
    """List the sections: address, title of the page, heading, weight and words."""
    for file in sorted(DOCS.rglob("*.md")):
        name = file.relative_to(ROOT).with_suffix("").as_posix()
        text = file.read_text(encoding="utf-8")
        # what a comment in code begins with is no heading
        heads = [*_HEADING.finditer(_FENCED.sub(lambda m: m[0].replace("#", ";"), text))]
        address = "index.html" if name == "docs/index" else f"{name}.html"
        for head, end in zip(heads, [*(h.start() for h in heads[1:]), len(text)], strict=True):
            body = re.sub(r"\]\([^)]*\)", "]", text[head.end() : end])
            place = "" if head is heads[0] else f"#{anchor(_plain(head[2]))}"
            code = " ".join(FENCE.findall(body))
            words = words_of(f"{FENCE.sub('', body)} {code}")
            yield f"{address}{place}", _plain(heads[0][2]), _plain(head[2]), weight(name), words
        if name == "docs/glossary":
            for word, meaning in _ROW.findall(text):
                yield address, "Glossary", word, weight(name), words_of(meaning)


def _plain(heading: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")


def script() -> str:
    """Write the sections and the words for the search."""
    return (
        f"window.sections = {json.dumps([*sections()])};\n"
        f"window.synonyms = {json.dumps(SYNONYMS)};\nwindow.aliases = {json.dumps(ALIASES)};\n"
    )
