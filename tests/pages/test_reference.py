"""The reference: a page for each public name, its topic, its signature and its source."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import tinyjax
from website import reference, topics
from website.docstrings import docstring_of, items, written
from website.name_pages import Name, Reference

REFERENCE = Reference()
PAGES = REFERENCE.pages()
CALLED = [name for name in REFERENCE.names if name.kind == "function"]


def page(path: str) -> str:
    return PAGES[path]


def shown_signature(path: str) -> str:
    """The signature on a page, with types by their last parts, as Sphinx shows them."""
    leaf = path.rpartition(".")[2]
    line = next(x for x in page(path).splitlines() if re.match(rf"\.\. py:\w+:: {leaf}\b", x))
    return re.sub(r"tinyjax\.[\w.]*\.(\w+)|tinyjax\.(\w+)", r"\1\2", line.partition(":: ")[2])


def test_every_public_name_has_a_page() -> None:
    public = {entry.path for rows in reference.entries().values() for entry in rows}
    assert public == REFERENCE.by_path.keys()
    assert {name.path for name in REFERENCE.names} <= {n.path for n in REFERENCE.by_page.values()}
    assert PAGES.keys() >= REFERENCE.by_page.keys()
    assert len({page.lower() for page in PAGES}) == len(PAGES), "files may ignore case"


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
        name.path: [name.path.removeprefix("tinyjax."), f"{name.home}.{name.there}"[8:]]
        for name in REFERENCE.names
    }
    assert topics.assigned(names)["tinyjax.lax.scan"].slug == "control-flow"
    with pytest.raises(
        topics.TopicError, match=r"tinyjax\.brandnew.*website/topics.py.*'tinyjax.'"
    ):
        topics.assigned(names | {"tinyjax.brandnew": ["brandnew", "inside.brandnew"]})
    del names["tinyjax.scipy.cluster.vq.vq"]
    with pytest.raises(topics.TopicError, match=r"no public name.*'scipy\.cluster'"):
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
    for name in CALLED:
        if inspect.isfunction(name.value):
            head = ast.parse(f"def f{REFERENCE.signature(name)}: ...").body[0]
            assert isinstance(head, ast.FunctionDef)
            given = head.args
            shown = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
            known = inspect.signature(name.value).parameters
            assert [x.arg for x in shown if x] == [*known], name.path


def test_no_signature_shows_what_nobody_writes() -> None:
    for path, text in PAGES.items():
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
    text = written(doc, REFERENCE.error)
    assert ":param keepdims: whether these axes stay" in text
    assert ":raises ~tinyjax.errors.AxisError: " in text
    assert doc.example


def test_every_section_of_a_docstring_is_known() -> None:
    """Of a section that is written otherwise the page would show plain text."""
    for name in REFERENCE.names:
        unknown = re.findall(r"^(?!Note)[A-Z]\w+:$", name.doc.text, re.MULTILINE)
        assert not unknown, (name.path, unknown)


def sources() -> list[Name]:
    return [name for name in REFERENCE.names if name.ours]


def test_every_name_leads_to_the_line_that_defines_it() -> None:
    elsewhere = []
    for name in sources():
        assert name.place is not None, name.path
        assert "\n:Source: " in page(next(p for p, n in REFERENCE.by_page.items() if n is name))
        line = Path(name.place.file).read_text("utf-8").splitlines()[name.place.line - 1]
        if not re.search(rf"\b{name.there.rpartition('.')[2]}\b", line):
            elsewhere.append(name.path)
    assert not elsewhere, "their lines do not name them"


def test_pages_name_the_same_in_other_libraries() -> None:
    assert "jax.lax.scan" in page("tinyjax.lax.scan")
    text = page("tinyjax.numpy.linalg.norm")
    assert "``jnp.linalg.norm``" in text
    assert "`numpy.linalg.norm <https://numpy.org/" in text
    assert "chunk_size" in page("tinyjax.vmap").partition(":In other libraries:")[2]
    assert REFERENCE.by_path["tinyjax.numpy.absolute"].path == "tinyjax.numpy.abs"
    assert "``tinyjax.numpy.absolute``" in page("tinyjax.numpy.abs")


#: What is met in other processes: their examples show what to do instead, or start one.
ELSEWHERE = {"ForkError", "MissingJaxlibError", "NotAddressableError", "ProcessesDifferError"}


@pytest.mark.parametrize(
    "name",
    [n for n in REFERENCE.names if n.kind == "exception" and n.leaf not in ELSEWHERE and n.ours],
    ids=lambda name: name.leaf,
)
def test_an_error_is_shown_with_a_program_that_raises_it_and_the_mended_one(name: Name) -> None:
    example = dict(name.doc.sections).get("Example", "")
    raised, _, rest = example.partition(f"except {name.leaf} as error:")
    if not rest:
        raised, _, rest = example.partition(f".{name.leaf} as error:")
    assert ">>> try:" in raised
    if name.module == "tinyjax.errors":
        assert ">>>" in rest.partition("\n\n")[2], "show the mended program"
