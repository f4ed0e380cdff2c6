"""The pages of the reference, in reStructuredText: a page for each name, topic and module.

Sphinx does not import what it describes: descriptions are written here, from docstrings, from the
source (``signatures``) and from live values. The names' pages are in no table of contents, which
would be a part of each; topics list them.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any, Final

import attrs

from tinyjax._base.lazy import HOMES
from tinyjax.core.values.array import OPERATORS, IndexUpdate
from website import reference, signatures
from website.docstrings import Docstring, docstring_of, parsed, render
from website.guides import Guides
from website.topics import FIRST, TOPICS, Topic, assigned, topics

ROOT: Final = Path(__file__).resolve().parent.parent
#: The table of what JAX has of these names, and how it differs.
_JAX: Final = ROOT / "docs" / "jax_api.md"
#: Where others describe their functions.
_NUMPY: Final = "https://numpy.org/doc/stable/reference/generated/{}.html"
_SCIPY: Final = "https://docs.scipy.org/doc/scipy/reference/generated/{}.html"
_JAX_PAGES: Final = "https://docs.jax.dev/en/latest/_autosummary/{}.html"
#: JAX's modules whose names have pages of their own, primitives and the classes of lax excepted.
_JAX_MODULES: Final = re.compile(
    r"jax\.(numpy|nn|random|scipy|tree|lax(?!\.(linalg\.)?([A-Z]|\w+_p$)))\b"
)
#: What else JAX's lists leave out.
_JAX_WITHOUT: Final = frozenset(
    f"jax.{module}.{name}"
    for module, names in {
        "lax": "broadcast_like conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
        "conv_transpose_shape_tuple create_token dce_sink dtype linalg.ormqr mulhi padtype_to_pads "
        "pbroadcast pcast reduce_window_shape_tuple scaled_dot shape_as_value stack stage tile "
        "unstack",
        "nn.initializers": "Initializer kaiming_normal kaiming_uniform xavier_normal "
        "xavier_uniform",
        "random": "key_dtype",
    }.items()
    for name in names.split()
)
#: What the example of an error prints of it.
_MESSAGE: Final = re.compile(r"print\(error.*\n((?:(?!>>>).+\n?)+)")
_LITERAL: Final = re.compile(r"``([A-Za-z_][\w.]*)``")


#: Values without a name of their own: two names of one are two names.
PLAIN: Final = (bool, int, float, str, tuple, NoneType)


def _titled(title: str, line: str = "=") -> str:
    return f"{title}\n{line * len(title)}\n"


def _plain(path: str, package: str = "tinyjax.") -> str:
    return path.removeprefix(package)


def _jax_names(missing: bool) -> Iterator[tuple[str, str]]:
    """Read of JAX's names which are here and how they differ, or which are missing and why."""
    module, of_missing = "", False
    for line in _JAX.read_text(encoding="utf-8").splitlines():
        which, how = "", ""
        if line.startswith("## "):
            module = line[3:]
        elif line.startswith(("| missing", "| differs")):
            of_missing = line.startswith("| missing")
        elif line.startswith("Have:"):
            which, of_missing = line, False
        elif line.startswith("| `") and line.count("|") == 3:
            which, how = line.strip("| ").split(" | ")
        if of_missing == missing:
            yield from ((f"{module}.{name}", how) for name in re.findall(r"`([\w.]+)`", which))


@attrs.frozen
class Name:
    """A value that the reference describes once: its public paths, and its definition.

    Attributes:
        path: the path that the page goes by.
        others: the other paths.
        value: the value itself.
        home: the module that defines it.
        home_name: its name in that module.
    """

    path: str
    others: tuple[str, ...]
    value: Any = attrs.field(eq=False, repr=False)
    home: str
    home_name: str

    @property
    def module(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def ours(self) -> bool:
        """The flag for a value that the package defines itself."""
        described = inspect.isclass(self.value) or inspect.isroutine(self.value)
        return not described or (self.value.__module__ or "tinyjax").startswith("tinyjax")

    @property
    def kind(self) -> str:
        """The kind of object for Sphinx."""
        if not self.ours:
            return "data"
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if inspect.isroutine(self.value) else "data"

    @cached_property
    def doc(self) -> Docstring:
        """The contents of its docstring, or for a value of the comment above it."""
        if self.kind != "data" and (doc := docstring_of(self.value)).text:
            return doc
        if text := reference.comment(self.leaf, self.value):
            return parsed(text)
        if not self.ours:
            return parsed(f"The same as ``{self.value.__module__}.{self.value.__qualname__}``.")
        kind = type(self.value)
        if isinstance(self.value, (*PLAIN, frozenset)):
            return parsed(f"The value ``{self.value!r}``.")
        if kind.__module__ in ("types", "typing", "collections.abc"):
            return parsed(f"Stands for ``{self.value}``.")
        return Docstring(docstring_of(kind).first)

    @cached_property
    def place(self) -> signatures.Place | None:
        """The place of its definition."""
        return signatures.place(self.home, self.home_name, self.value)

    def heading(self) -> str:
        """Return the heading of its file under which it stands."""
        if self.place is None or self.place.node is None:
            return ""
        return signatures.heading(self.place)


def _canonical(paths: list[str], value: Any) -> str:
    """Choose the path that a page goes by: short, by its own name, and not experimental."""
    name = getattr(value, "__name__", None)
    home = getattr(value, "__module__", None) or ""

    def rank(path: str) -> tuple[bool, ...]:
        module, _, leaf = path.rpartition(".")
        return (
            ".experimental." in path or ".example_libraries." in path,
            not f"{home}.".startswith(f"{module}."),
            leaf != name,
            module != "tinyjax",
        )

    return min(paths, key=rank)


def names() -> list[Name]:
    """List what is public, what has several paths once."""
    paths: dict[object, list[str]] = defaultdict(list)
    values: dict[object, Any] = {}
    for module, rows in reference.entries().items():
        for entry in rows:
            value = entry.value
            # small values are one object that has no name of its own
            plain = isinstance(value, PLAIN)
            key: object = entry.path if plain else id(value)
            paths[key].append(f"{module}.{entry.name}")
            values[key] = value
    result: list[Name] = []
    for key, several in paths.items():
        path = _canonical(several, values[key])
        others = tuple(p for p in several if p != path)
        result.append(Name(path, others, values[key], *_home(path, values[key])))
    return sorted(result, key=lambda name: name.path.lower())


def _home(path: str, value: Any) -> tuple[str, str]:
    """Say which module defines a name, and as what."""
    module, _, leaf = path.rpartition(".")
    if isinstance(value, FunctionType | type) and signatures.defines(
        value.__module__, value.__qualname__
    ):
        return value.__module__, value.__qualname__
    home, attribute = HOMES.get(module, {}).get(leaf, (module, leaf))
    while home in HOMES and attribute in HOMES[home]:
        home, attribute = HOMES[home][attribute]
    while not signatures.defines(home, attribute) and (
        origin := signatures.imported(home, attribute)
    ):
        home, attribute = origin
    return home, attribute


@attrs.frozen
class Reference:
    """All pages."""

    names: list[Name] = attrs.field(factory=names)

    @cached_property
    def by_path(self) -> dict[str, Name]:
        return {path: name for name in self.names for path in (name.path, *name.others)}

    @cached_property
    def by_page(self) -> dict[str, Name]:
        """The names by their pages, which do not differ in case alone: files may not."""
        pages: dict[str, Name] = {}
        counts = Counter(module.__name__ for module in reference.public_modules())
        for name in self.names:
            number = counts[name.path.lower()]
            counts[name.path.lower()] += 1
            pages[f"{name.path}-{number}" if number else name.path] = name
        return pages

    @cached_property
    def by_value(self) -> dict[int, str]:
        """The paths of what annotations name."""
        of_python = (Any, object)
        paths = {id(n.value): n.path for n in self.names if not isinstance(n.value, PLAIN)}
        return {key: path for key, path in paths.items() if key not in map(id, of_python)}

    @cached_property
    def topic_of(self) -> dict[str, Topic]:
        return assigned(
            {
                name.path: [_plain(name.path), _plain(f"{name.home}.{name.home_name}")]
                for name in self.names
            }
        )

    @cached_property
    def guides(self) -> Guides:
        return Guides(tuple(dict.fromkeys(page for topic in topics() for page in topic.pages)))

    @cached_property
    def leaves(self) -> dict[str, list[Name]]:
        """The names by their last parts."""
        leaves: dict[str, list[Name]] = defaultdict(list)
        for path, name in self.by_path.items():
            leaves[path.rpartition(".")[2]].append(name)
        return leaves

    @cached_property
    def of_jax(self) -> dict[str, str]:
        """JAX's names that are here, and how they differ."""
        return dict(_jax_names(missing=False))

    def script(self) -> str:
        """Write what the search finds names by: their paths, pages, first lines and messages."""
        rows = []
        for page, name in self.by_page.items():
            paths = [_plain(path) for path in (name.path, *name.others)]
            example = dict(name.doc.sections).get("Example", "") if name.kind == "exception" else ""
            messages = " ".join(_MESSAGE.findall(example))
            rows.append([paths, page, name.doc.first.replace("``", ""), messages])
        absent = {_plain(name, "jax.").lower(): why for name, why in _jax_names(missing=True)}
        return f"window.names = {json.dumps(rows)};\nwindow.absent = {json.dumps(absent)};\n"

    def link(self, value: object) -> str | None:
        """Return the path of what an annotation names."""
        return self.by_value.get(id(value))

    def error(self, name: str) -> str:
        """Return the path of an error, shown by its last part."""
        classes = [n for n in self.leaves.get(name.rpartition(".")[2], ()) if n.kind == "exception"]
        return f"~{classes[0].path}" if classes else name

    def sources(self) -> list[Path]:
        """List the files to which the pages lead."""
        return sorted({Path(name.place.file) for name in self.names if name.place is not None})

    def pages(self) -> dict[str, str]:
        """Write all pages, by name."""
        pages = {page: self.page(name) for page, name in self.by_page.items()}
        members: dict[str, list[Name]] = defaultdict(list)
        for name in self.names:
            members[self.topic_of[name.path].slug].append(name)
        pages |= {t.slug: self.topic_page(t, members[t.slug]) for t in topics()}
        modules: list[str] = []
        for module in reference.public_modules():
            shown = [n for n in self.names if self._is_in(n, module.__name__)]
            if shown:
                modules.append(module.__name__)
                pages[module.__name__] = self.module_page(module.__name__, shown)
        return pages | self.indexes(modules)

    def _is_in(self, name: Name, module: str) -> bool:
        return any(p.rpartition(".")[0] == module for p in (name.path, *name.others))

    # Pages of names

    def page(self, name: Name) -> str:
        """Write the page of a name."""
        topic = self.topic_of[name.path]
        parts = [
            f":orphan:\n:topic: {topic.slug}\n",
            _titled(name.path),
            f":doc:`{topic.title} <{topic.slug}>`\n",
            self.description(name),
            *self.notes(name),
        ]
        return "\n".join(parts)

    def description(self, name: Name) -> str:
        """Write the signature and what the docstring says, and for a class its members."""
        head = f".. py:{name.kind}:: {name.leaf}{self.signature(name)}\n   :module: {name.module}\n"
        if name.kind == "data":
            head += f"   :type: {type(name.value).__name__}\n"
        body = render(name.doc, self.error)
        if name.kind == "function":
            body = self.overloads("function", name.leaf, name.value) + body
        if name.kind in ("class", "exception"):
            body += self.bases(name.value) + "\n".join(self.members(name))
        elif name.kind == "data" and not name.doc.example and name.ours:
            body += self.shown(name)
        if name.path == "tinyjax.Array":
            body += self.of_arrays()
        return f"{head}\n{_indented(body)}"

    def signature(self, name: Name) -> str:
        match name.kind:
            case "function":
                return signatures.of_function(name.value, self.link)
            case "class" | "exception":
                return signatures.of_class(name.value, self.link)
            case _:
                return ""

    def overloads(self, kind: str, leaf: str, value: Any, bound: bool = False) -> str:
        """Write, folded, between which signatures type checkers choose."""
        several = signatures.overloads(value, self.link, bound)
        if not several:
            return ""
        heads = f"\n{' ' * len(f'.. py:{kind}:: ')}".join(f"{leaf}{text}" for text in several)
        summary = f"<summary>{len(several)} overloads, for type checkers</summary>"
        return (
            f".. raw:: html\n\n   <details class='overloads'>{summary}\n\n"
            f".. py:{kind}:: {heads}\n   :no-index:\n\n.. raw:: html\n\n   </details>\n\n"
        )

    def shown(self, name: Name) -> str:
        """Show a value as Python does: it is the example of its use."""
        text = repr(name.value)
        if " at 0x" in text or text.startswith("typing."):
            return ""
        return f"\n>>> import {name.module}\n>>> {name.path}\n{text}\n"

    def bases(self, kind: type) -> str:
        """Name the public classes of which a class is one."""
        paths = [self.by_value.get(id(base)) or base.__qualname__ for base in kind.__bases__]
        shown = [p for p in paths if p != "object" and not p.startswith("_")]
        listed = ", ".join(
            f":py:class:`~{p}`" if p.startswith("tinyjax.") else f"``{p}``" for p in shown
        )
        return f"\nBases: {listed}\n" if listed else ""

    def members(self, name: Name) -> Iterable[str]:
        """Describe the public attributes and methods of a class."""
        kind = name.value
        documented = {
            key
            for section, body in name.doc.sections
            if section == "Attributes"
            for key in re.findall(r"^(\w+):", body, re.MULTILINE)
        }
        for member, value in _public_members(kind):
            if member in documented and not callable(value):
                continue
            yield f"\n{self.member(name, member, value)}"

    def member(self, name: Name, member: str, value: Any) -> str:
        """Describe a method, a property or an element of an enumeration."""
        function: Any = value.fget if isinstance(value, property) else getattr(value, "func", value)
        doc = docstring_of(function) if inspect.isroutine(function) else Docstring("")
        if (
            name.path == "tinyjax.Array"
            and inspect.isroutine(value)
            and (not doc.text or function.__qualname__.partition(".")[0] != "Array")
        ):
            doc = self._as_function(member)
        more = ""
        if _is_property(value):
            head = f".. py:property:: {member}\n"
            annotation = getattr(function, "__annotations__", {}).get("return")
            if isinstance(annotation, str):
                text = signatures.linked(annotation, function.__globals__, self.link)
                head += f"   :type: {text}\n"
        elif inspect.isroutine(value):
            bound = not isinstance(inspect.getattr_static(name.value, member), staticmethod)
            text = signatures.of_function(value, self.link, bound)
            head = f".. py:method:: {member}{text}\n"
            more = self.overloads("method", member, value, bound)
        else:
            head = f".. py:attribute:: {member}\n"
            head += f"   :value: {value.value!r}\n" if isinstance(value, enum.Enum) else ""
        return f"{head}\n{_indented(more + render(doc, self.error))}"

    def _as_function(self, member: str) -> Docstring:
        """Say of which function of ``tinyjax.numpy`` a method of arrays is."""
        function = self.by_path.get(f"tinyjax.numpy.{member}")
        return Docstring(
            f"{function.doc.first} See :py:func:`{function.path}`." if function else ""
        )

    def of_arrays(self) -> str:
        """List the functions that the operators of arrays are, and what ``x.at[index]`` does."""
        functions = [self.by_path[f"tinyjax.numpy.{name}"] for name, _ in OPERATORS.values()]
        operators = (
            f"   * - ``{operator}``\n     - :py:obj:`{_plain(name.path)} <{name.path}>`\n"
            for operator, name in zip(OPERATORS, functions, strict=True)
        )
        text = render(docstring_of(IndexUpdate), self.error)
        updates = (
            f"   * - ``x.at[index].{name}{signatures.of_function(method, _nothing, True)}``\n"
            f"     - {docstring_of(method).first}\n"
            for name, method in _public_members(IndexUpdate)
        )
        return (
            f"\n.. rubric:: Operators\n\n{self.table(operators)}"
            f"\n.. rubric:: Updates\n\n{text}\n{self.table(updates)}"
        )

    def notes(self, name: Name) -> Iterable[str]:
        """Say what else is to be known: see also, other libraries, other paths, the source."""
        rows: list[str] = []
        if name.others:
            listed = ", ".join(f"``{path}``" for path in name.others)
            rows.append(f":Also: {listed}")
        if related := self.related(name):
            listed = ", ".join(f":py:obj:`{_plain(n.path)} <{n.path}>`" for n in related)
            rows.append(f":See also: {listed}")
        paths = [_plain(path) for path in (name.path, *name.others)]
        if treated := self.guides.sections_for(paths, self.topic_of[name.path].pages):
            rows.append(f":Guides: {', '.join(treated)}")
        if elsewhere := [*self.elsewhere(name)]:
            rows.append(f":In other libraries: {', '.join(elsewhere)}")
        if name.place is not None:
            file = Path(name.place.file).relative_to(ROOT).as_posix()
            link = f"../{file}.html#L-{name.place.line}"
            rows.append(f":Source: `{file}, line {name.place.line} <{link}>`__")
        yield "\n".join(rows) + "\n"

    def related(self, name: Name) -> list[Name]:
        """List what the docstring names, and what has the same name elsewhere."""
        texts = (name.doc.text, *(body for _, body in name.doc.sections))
        words = [m for text in texts for m in _LITERAL.findall(text)]
        names = [self.resolved(word, name) for word in words]
        names += [n for n in self.leaves[name.leaf] if n.kind == name.kind]
        unique = dict.fromkeys(n for n in names if n is not None and n.path != name.path)
        return [*unique][:8]

    def resolved(self, word: str, name: Name) -> Name | None:
        """Find the name that a word of a docstring means."""
        scopes = (name.module, "tinyjax", "tinyjax.numpy")
        for path in (f"tinyjax.{word}", *(f"{scope}.{word}" for scope in scopes)):
            if candidate := self.by_path.get(path.replace("tinyjax.jnp.", "tinyjax.numpy.")):
                return candidate if candidate.kind != "data" else None
        return None

    def elsewhere(self, name: Name) -> Iterable[str]:
        """Name the same in JAX, and in NumPy or SciPy."""
        for path in (name.path, *name.others):
            jax = f"jax.{_plain(path)}"
            if jax in self.of_jax:
                shown = (
                    f"`{jax} <{_JAX_PAGES.format(jax)}>`__"
                    if _JAX_MODULES.match(jax) and jax not in _JAX_WITHOUT
                    else f"``{jax}``"
                )
                how = self.of_jax[jax]
                short = jax.replace("jax.numpy.", "jnp.")
                also = f" (``{short}``)" if short != jax else ""
                yield f"{shown}{also}" + (f" – here it {_in_rst(how)}" if how else "")
        for path in (name.path, *name.others):
            plain = _plain(path)
            if plain.startswith("numpy.") and (own := _own_path(plain)):
                yield f"`{plain} <{_NUMPY.format(own)}>`__"
            elif plain.startswith("scipy.stats.") and plain.count(".") == 3:
                whole = plain.rpartition(".")[0]
                yield f"`{plain} <{_SCIPY.format(whole)}>`__"
            elif plain.startswith("scipy.") and (own := _own_path(plain)):
                yield f"`{plain} <{_SCIPY.format(own)}>`__"

    # Pages of topics and modules

    def row(self, name: Name, path: str | None = None) -> str:
        """Write a row of a table: the name and what it does."""
        shown = _plain(path or name.path)
        first = name.doc.first or "\\"
        return f"   * - :py:obj:`{shown} <{name.path}>`\n     - {first}\n"

    def table(self, rows: Iterable[str]) -> str:
        return ".. list-table::\n   :widths: 35 65\n   :class: names\n\n" + "".join(rows)

    def topic_page(self, topic: Topic, names: list[Name]) -> str:
        """Write the page of a topic: tables by module, and by the headings of files."""
        parts = [_titled(topic.title), f"{topic.about}\n"]
        if topic.pages:
            listed = ", ".join(self.guides.titles[page] for page in topic.pages)
            parts.append(f":Guides: {listed}\n")
        if first := self.first(topic):
            parts.append(self.table(map(self.row, first)))
        rest = [name for name in names if name not in first]
        for heading, members in self.sections(rest):
            if heading:
                parts.append(_titled(heading, "-"))
            parts.append(self.table(map(self.row, members)))
        return "\n".join(parts)

    def sections(self, names: list[Name]) -> Iterable[tuple[str, list[Name]]]:
        """Divide names by their modules, and those of a long list by the headings of files."""
        modules: dict[str, list[Name]] = defaultdict(list)
        for name in names:
            modules[name.module].append(name)
        for module in sorted(modules, key=_order):
            several = len(modules) > 1
            headings: dict[str, list[Name]] = defaultdict(list)
            for name in modules[module]:
                headings[name.heading() if len(modules[module]) > 12 else ""].append(name)
            for heading, members in sorted(headings.items(), key=lambda row: row[0] != ""):
                label = ": ".join(x for x in (module if several else "", heading) if x)
                yield label, members

    def module_page(self, module: str, names: list[Name]) -> str:
        """Write the index of a module: what it says of itself, and its names by topic."""
        text = render(parsed(inspect.getdoc(import_module(module)) or ""), self.error)
        parts = [":orphan:\n", _titled(module), f".. py:module:: {module}\n\n{text}"]
        begin = [self.by_path[f"{module}.{name}"] for name in FIRST.get(module, "").split()]
        if begin:
            parts.append(self.table(map(self.row, begin)))
        groups: dict[Topic, list[Name]] = defaultdict(list)
        for name in names:
            groups[self.topic_of[name.path]].append(name)
        for topic in topics():
            if members := groups.get(topic):
                parts.append(_titled(topic.title, "-") if len(groups) > 1 else "")
                first = [n for n in self.first(topic) if n in members]
                rows = (
                    self.row(name, path)
                    for name in dict.fromkeys((*first, *members))
                    for path in (name.path, *name.others)
                    if path.rpartition(".")[0] == module
                )
                parts.append(self.table(rows))
        return "\n".join(parts)

    def first(self, topic: Topic) -> list[Name]:
        """List the names with which a topic begins."""
        return [self.by_path[f"tinyjax.{path}"] for path in topic.first.split()]

    def indexes(self, modules: list[str]) -> dict[str, str]:
        """Write the first page of the reference, and the list of modules."""
        parts = [_titled("Reference"), "What is public, by what it is for.\n"]
        listed: list[str] = []
        for group, inside in TOPICS.items():
            parts.append(_titled(group, "-"))
            rows = (f"   * - :doc:`{t.title} <{t.slug}>`\n     - {t.about}\n" for t in inside)
            parts.append(self.table(rows))
            listed += [f"   {topic.slug}" for topic in inside]
        listed.append("   modules")
        parts.append(
            "All :doc:`modules <modules>`, and all names in :ref:`alphabetical order <genindex>`.\n"
        )
        parts.append(".. toctree::\n   :hidden:\n\n" + "\n".join(listed) + "\n")
        rows = (
            f"   * - :doc:`{m}`\n     - {parsed(inspect.getdoc(import_module(m)) or '').first}\n"
            for m in modules
        )
        return {
            "index": "\n".join(parts),
            "modules": f"{_titled('Modules')}\n{self.table(rows)}",
        }


def _indented(text: str) -> str:
    return "".join(f"   {line}" if line.strip() else line for line in text.splitlines(True))


def _in_rst(text: str) -> str:
    """Turn a cell of a Markdown table into reStructuredText."""
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)


def _own_path(path: str) -> str | None:
    """Return the path of a function of NumPy or SciPy by its own name, where they have it."""
    module, _, name = path.rpartition(".")
    try:
        home = import_module(module)
    except ImportError:
        return None
    value = getattr(home, name, None)
    if not callable(value) or inspect.isclass(value) or name.startswith("__"):
        return None
    own = getattr(value, "__name__", name)
    return f"{module}.{own}" if getattr(home, own, None) is value else path


def _nothing(value: object) -> None:
    """Give an annotation no link, which literal text cannot have."""


def _order(module: str) -> tuple[bool, bool, str]:
    """Sort modules: the package itself, those of NumPy's names, and the others."""
    return (module != "tinyjax", not module.startswith("tinyjax.numpy"), module)


def _is_property(value: object) -> bool:
    return isinstance(value, property) or inspect.isdatadescriptor(value)


def _public_members(kind: type) -> list[tuple[str, Any]]:
    """List the attributes and methods of a class that the package defines, as they are written."""
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("tinyjax"):
            for name in vars(base):
                if not name.startswith("_") and hasattr(kind, name):
                    static = inspect.getattr_static(kind, name)
                    members[name] = static if _is_property(static) else getattr(kind, name)
    return [*members.items()]
