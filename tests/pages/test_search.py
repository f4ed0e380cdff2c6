"""The search of the site, run by node, leads a question to the right page."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from website import finding
from website.name_pages import Reference

FIND: Final = Path(__file__).parents[2] / "website" / "static" / "find.js"
NODE: Final = shutil.which("node")
#: Runs the search on each question, and prints the addresses of its results in their order.
PROGRAM: Final = """
import {{ readFileSync }} from "node:fs";
globalThis.window = globalThis;
const load = (file) => (0, eval)(readFileSync(file, "utf8"));
for (const file of {files}) load(file);
const asked = JSON.parse(readFileSync(0, "utf8"));
const answered = asked.map((query) => (0, eval)("answers")(query, globalThis).map((x) => x.link));
console.log(JSON.stringify(answered));
"""

#: By question, the page that is to be first, or those of which one is.
QUESTIONS: Final[dict[str, str]] = {
    "print inside jit": "docs/faq docs/tutorials/traps",
    "jnp.where gradient": "docs/faq docs/tutorials/traps docs/derivations",
    "speed": "docs/performance",
    "conv2d": "reference/tinyjax.lax.conv_general_dilated",
    "scan": "reference/tinyjax.lax.scan",
    "jax.lax.scan": "reference/tinyjax.lax.scan",
    "grad": "reference/tinyjax.grad",
    "how fast is it": "docs/performance",
    "slower than jax": "docs/performance",
    "install": "docs/installation",
    "gpu": "docs/sharding docs/faq",
    "does it run on a gpu": "docs/faq docs/sharding",
    "per-example gradients": "docs/faq",
    "hessian vector product": "docs/faq docs/toolbox",
    "sparse jacobian": "docs/toolbox",
    "memory budget": "docs/toolbox",
    "nan in gradient": "docs/faq docs/tutorials/traps",
    "find the line that made a nan": "docs/faq",
    "index out of bounds": "reference/tinyjax.errors.OutOfBoundsError",
    "if on traced value": "reference/tinyjax.errors.TracerBoolConversionError",
    "while loop gradient": "docs/tutorials/loops docs/differences docs/faq",
    "random seed": "docs/tutorials/random-keys",
    "split a key": "docs/tutorials/random-keys",
    "why is it traced again": "docs/faq docs/compilation",
    "recompile for every length": "docs/compilation docs/faq",
    "save a model": "docs/faq docs/sharding",
    "export a program": "docs/compilation",
    "cache on disk": "docs/compilation",
    "time a function": "docs/timing docs/tutorials/traps docs/faq",
    "float64": "reference/tinyjax.numpy.float64",
    "optax": "docs/libraries docs/faq docs/tutorials/networks",
    "pytorch or jax": "docs/which",
    "choose a library": "docs/which",
    "what is a tracer": "docs/glossary docs/how-it-works",
    "custom derivative rule": "docs/faq",
    "write a primitive": "docs/new-primitive",
    "new transformation": "docs/transformations",
    "scipy minimize": "docs/implicit docs/faq reference/tinyjax.scipy.optimize.minimize",
    "solve an ode": "docs/implicit docs/derivations docs/tutorials/derivatives",
    "fixed point": "docs/implicit reference/tinyjax.implicit.fixed_point",
    "multiple devices": "docs/sharding docs/tutorials/devices",
    "type checker": "docs/types",
    "accuracy of special functions": "docs/evidence",
    "maxpool2d": "reference/tinyjax.lax.reduce_window",
    "detach": "reference/tinyjax.lax.stop_gradient",
    "port from jax": "docs/from-jax",
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the search's results for all questions, without the ends of addresses."""
    assert NODE is not None, "needs node"
    folder = tmp_path_factory.mktemp("search")
    (folder / "names.js").write_text(Reference().script(), encoding="utf-8")
    (folder / "sections.js").write_text(finding.script(), encoding="utf-8")
    files = [str(folder / "names.js"), str(folder / "sections.js"), str(FIND)]
    (folder / "run.mjs").write_text(PROGRAM.format(files=json.dumps(files)), encoding="utf-8")
    run = subprocess.run(
        [NODE, str(folder / "run.mjs")],
        input=json.dumps([*QUESTIONS]),
        capture_output=True,
        text=True,
        check=True,
    )
    results: list[list[str]] = json.loads(run.stdout)
    return {
        question: [link.partition(".html")[0] for link in links]
        for question, links in zip(QUESTIONS, results, strict=True)
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_leads_to_its_page(answered: dict[str, list[str]], question: str) -> None:
    first = answered[question][0]
    assert first in QUESTIONS[question].split(), answered[question][:4]


def test_a_name_has_one_entry(answered: dict[str, list[str]]) -> None:
    for question in ("scan", "grad"):
        links = answered[question]
        assert links.count(f"reference/tinyjax.{'lax.' * (question == 'scan')}{question}") == 1
        assert len({*links}) == len(links)
