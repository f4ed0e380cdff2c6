"""The reference: a page for each public name, its topic, its signature and its source."""

import ast
import inspect
import re
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

import tinyjax
from raising import raises
from website import reference, topics
from website.docstrings import docstring_of, items, render
from website.name_pages import Name, Reference

pytestmark = pytest.mark.skipif(sys.flags.optimize > 1, reason="python -OO drops docstrings")


@cache
def whole() -> Reference:
    """The reference, made when the first test asks for it: it reads the whole package."""
    return Reference()


@cache
def pages() -> dict[str, str]:
    return whole().pages()


def page(path: str) -> str:
    return pages()[path]


def shown_signature(path: str) -> str:
    """The signature on a page, with types by their last parts, as Sphinx shows them."""
    leaf = path.rpartition(".")[2]
    line = next(x for x in page(path).splitlines() if re.match(rf"\.\. py:\w+:: {leaf}\b", x))
    return re.sub(r"tinyjax\.[\w.]*\.(\w+)|tinyjax\.(\w+)", r"\1\2", line.partition(":: ")[2])


def test_every_public_name_has_a_page() -> None:
    public = {entry.path for rows in reference.entries().values() for entry in rows}
    assert public == whole().by_path.keys()
    assert {name.path for name in whole().names} <= {n.path for n in whole().by_page.values()}
    assert pages().keys() >= whole().by_page.keys()
    assert len({page.lower() for page in pages()}) == len(pages()), "files may ignore case"
    assert not [n.path for n in whole().names if isinstance(n.value, TypeVar | ParamSpec)]


def test_every_module_and_topic_lists_its_names() -> None:
    for module, rows in reference.entries().items():
        listed = re.findall(r"^   \* - :py:obj:`([\w.]+) <", page(module), re.MULTILINE)
        wanted = {entry.path.removeprefix("tinyjax.") for entry in rows}
        assert wanted == {*listed}, module
        assert f":doc:`{module}`" in page("modules")
    for topic in topics.topics():
        assert f"<{topic.slug}>" in page("index")
        assert ":py:obj:" in page(topic.slug)


def test_the_page_of_the_package_begins_with_the_transformations() -> None:
    listed = re.findall(r"^   \* - :py:obj:`([\w.]+) <", page("tinyjax"), re.MULTILINE)
    assert listed[:4] == ["grad", "jit", "vmap", "grad"]


def test_a_name_without_a_topic_is_an_error_that_says_what_to_write() -> None:
    names = {
        name.path: [name.path.removeprefix("tinyjax."), f"{name.home}.{name.home_name}"[8:]]
        for name in whole().names
    }
    assert topics.assigned(names)["tinyjax.lax.scan"].slug == "control-flow"
    with raises(topics.TopicError, match=r"tinyjax\.brandnew.*website/topics.py.*'tinyjax.'"):
        topics.assigned(names | {"tinyjax.brandnew": ["brandnew", "inside.brandnew"]})
    del names["tinyjax.scipy.cluster.vq.vq"], names["tinyjax.scipy.cluster.vq.whiten"]
    with raises(topics.TopicError, match=r"no public name.*'scipy\.cluster'"):
        topics.assigned(names)


# Signatures


@pytest.mark.parametrize(
    ("path", "signature"),
    [
        (
            "tinyjax.tree.leaves",
            "leaves(tree: PyTree, is_leaf: IsLeaf | None=None) -> list[Leaf]",
        ),
        ("tinyjax.numpy.sin", "sin(x: ArrayLike, /) -> Array"),
        (  # a family's, from one pattern
            "tinyjax.scipy.stats.norm.pdf",
            "pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array",
        ),
        (  # the fields of a class of attrs
            "tinyjax.stages.ArgInfo",
            "ArgInfo(aval: ShapedArray, donated: bool)",
        ),
        ("tinyjax.errors.AxisError", "AxisError(message: str, axis: int, ndim: int)"),
        (  # for a block
            "tinyjax.default_device",
            "default_device(device: Placement | str) -> AbstractContextManager[None]",
        ),
        ("tinyjax.Array", "Array"),
    ],
)
def test_signatures_are_as_in_the_source(path: str, signature: str) -> None:
    assert shown_signature(path) == signature


def test_signatures_have_the_parameters_that_python_knows() -> None:
    for name in whole().names:
        if name.kind == "function" and inspect.isfunction(name.value):
            head = ast.parse(f"def f{whole().signature(name)}: ...").body[0]
            assert isinstance(head, ast.FunctionDef)
            args = head.args
            shown = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
            known = inspect.signature(name.value).parameters
            assert [x.arg for x in shown if x] == [*known], name.path


def test_no_signature_shows_what_nobody_writes() -> None:
    for path, text in pages().items():
        for line in text.splitlines():
            if line.lstrip().startswith(".. py:"):
                assert not re.search(r"ForwardRef| at 0x|<\w+ |collections\.", line), (path, line)


# What pages say


def test_the_page_of_arrays_has_all_attributes_and_methods() -> None:
    text = page("tinyjax.Array")
    shown = re.findall(r"^   \.\. py:(?:property|method|attribute):: (\w+)", text, re.MULTILINE)
    kind = tinyjax.Array  # it has names of other libraries, too, which raise
    assert {*shown} == {name for name in dir(kind) if name[0] != "_" and hasattr(kind, name)}
    assert {"reshape", "astype", "T", "dtype", "shape", "sum", "at"} <= {*shown}
    assert "``__matmul__``" in text
    assert "x.at[index].set(values: ArrayLike" in text


def test_docstrings_are_shown_by_their_sections() -> None:
    doc = docstring_of(tinyjax.numpy.linalg.norm)
    args = dict(items(dict(doc.sections)["Args"]))
    assert [*args] == [*inspect.signature(tinyjax.numpy.linalg.norm).parameters]
    text = render(doc, whole().error)
    assert ":param keepdims: whether these axes stay" in text
    assert ":raises ~tinyjax.errors.AxisError: " in text
    assert doc.example


def test_every_section_of_a_docstring_is_known() -> None:
    """Of a section that is written otherwise the page would show plain text."""
    for name in whole().names:
        unknown = re.findall(r"^(?!Note)[A-Z]\w+:$", name.doc.text, re.MULTILINE)
        assert not unknown, (name.path, unknown)


def sources() -> list[Name]:
    return [name for name in whole().names if name.ours]


def test_every_name_leads_to_the_line_that_defines_it() -> None:
    elsewhere = []
    for name in sources():
        assert name.place is not None, name.path
        assert "\n:Source: " in page(next(p for p, n in whole().by_page.items() if n is name))
        line = Path(name.place.file).read_text("utf-8").splitlines()[name.place.line - 1]
        if not re.search(rf"\b{name.home_name.rpartition('.')[2]}\b", line):
            elsewhere.append(name.path)
    assert not elsewhere, "their lines do not name them"


def test_pages_name_the_same_in_other_libraries() -> None:
    assert "jax.lax.scan" in page("tinyjax.lax.scan")
    text = page("tinyjax.numpy.linalg.norm")
    assert "``jnp.linalg.norm``" in text
    assert "`numpy.linalg.norm <https://numpy.org/" in text
    assert "chunk_size" in page("tinyjax.vmap").partition(":In other libraries:")[2]
    assert whole().by_path["tinyjax.numpy.absolute"].path == "tinyjax.numpy.abs"
    assert "``tinyjax.numpy.absolute``" in page("tinyjax.numpy.abs")


#: How a page links to one of another library.
ELSEWHERE_LINK = re.compile(r"<https://[^>]*/(?:_autosummary|generated)/([\w.]+)\.html>`__")


def value_at(path: str) -> Any:
    """Return another library's value at a path; raise where it has none."""
    parts = path.split(".")
    value: Any = import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        if not hasattr(value, part):
            import_module(".".join(parts[:number]))
        value = getattr(value, part)
    return value


def test_links_to_other_libraries_lead_to_names_that_they_have() -> None:
    """As released and installed; a name of lax has a page if it is a function."""
    counts = Counter[str]()
    for name in whole().names:
        for path in ELSEWHERE_LINK.findall(" ".join(whole().elsewhere(name))):
            value = value_at(path)
            library, _, rest = path.partition(".")
            counts[library] += 1
            if rest.startswith("lax."):
                assert inspect.isroutine(value) or inspect.isfunction(value), path
            if library == "numpy":
                assert value.__name__ == path.rpartition(".")[2], "an alias has no page"
    assert counts["jax"] > 700, counts
    assert counts["numpy"] > 300, counts
    assert counts["scipy"] > 150, counts


def test_pages_lead_to_the_guides_that_treat_their_names() -> None:
    def guides(path: str) -> list[str]:
        line = re.search(r"^:Guides: (.*)$", page(path), re.MULTILINE)
        return re.findall(r"<\.\./docs/([^>]*)>", line[1]) if line else []

    assert guides("tinyjax.lax.scan")[0] == "tutorials/loops.html#a-loop-in-the-program"
    assert guides("tinyjax.random.split")[0] == "tutorials/random-keys.html#many-keys-at-once"
    assert guides("tinyjax.autodiff.jet") == ["toolbox.html#higher-derivatives-along-a-curve"]
    assert guides("derivatives")[0] == "tutorials/derivatives.html"
    assert guides("tinyjax.numpy.ones") == []


def test_overloads_are_shown_folded() -> None:
    text = page("tinyjax.lax.linalg.svd")
    folded = text.partition("<details class='overloads'>")[2].partition("</details>")[0]
    assert "2 overloads" in folded
    assert re.findall(r"compute_uv: Literal\[(\w+)\]", folded) == ["True", "False"]
    assert "   :no-index:" in folded
    assert "overloads" not in page("tinyjax.numpy.sin")


#: What is met in other processes: their examples show what to do instead, or start one.
ELSEWHERE = {"ForkError", "MissingJaxlibError", "NotAddressableError", "ProcessesDifferError"}


def test_an_error_is_shown_with_a_program_that_raises_it_and_the_mended_one() -> None:
    without = []
    for name in whole().names:
        if name.kind == "exception" and name.ours and name.leaf not in ELSEWHERE:
            example = dict(name.doc.sections).get("Example", "")
            raised, *rest = re.split(rf"except (?:\w+\.)*{name.leaf} as error:", example)
            mended = "".join(rest).partition("\n\n")[2]
            ours = name.module == "tinyjax.errors"
            if ">>> try:" not in raised or not rest or (ours and ">>>" not in mended):
                without.append(name.leaf)
    assert not without
