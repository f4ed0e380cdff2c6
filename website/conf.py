"""Sphinx's settings."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

sys.path.insert(0, str(Path(__file__).parent.parent))

from tinyjax import __version__
from website import reference
from website.navigation import Navigation

project = "tinyjax"
author = "The tinyjax authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

# Pages
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"

# The reference
add_module_names = False
autodoc_type_aliases = reference.aliases()
autodoc_typehints = "signature"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
# What other packages define, and what only type checkers know, has no page here.
nitpick_ignore_regex = [("py:class", ".*")]
# A short name in a signature is taken to be the one that lies nearest.
suppress_warnings = ["ref.python"]

# The look; fonts are the reader's own
html_theme = "furo"
html_title = f"tinyjax {version}"
html_logo = html_favicon = "static/logo.svg"
html_theme_options = {"light_css_variables": {"color-code-background": "#f4f6f8"}}
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def without_links_to_type_variables(app: Any, doctree: Any) -> None:
    """Show the type variables of signatures as text."""
    names = reference.type_variables()
    for node in list(doctree.findall(addnodes.pending_xref)):
        name = node["reftarget"].rpartition(".")[2]
        if name in names:
            node.replace_self(nodes.Text(name))


def without_entries(transform: Any, **options: Any) -> None:
    """Show names in signatures as text where no entry of the reference ends with them.

    Sphinx would compare each `int` with all entries, which took a tenth of a build.
    """
    ends = last_names(transform.env)
    for node in list(transform.document.findall(addnodes.pending_xref)):
        if node.get("refspecific") and node["reftarget"].rpartition(".")[2] not in ends:
            wholes = (part for part in node.findall(addnodes.pending_xref_condition))
            whole = next((part for part in wholes if part["condition"] == "*"), node)
            node.replace_self(whole.children)


@cache
def last_names(env: Any) -> frozenset[str]:
    """List the names of all entries without their modules and classes."""
    return frozenset(name.rpartition(".")[2] for name in env.domains["py"].objects)


def without_tree(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Keep the theme from having the whole tree written for a page."""
    context["toctree"] = lambda **options: ""


def readable(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the navigation, and say what the theme leaves out for those who hear or use keys."""
    context["furo_navigation_tree"] = Navigation.of(app, page).written()
    # what is wider than the page can be scrolled by keys if it can be reached
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    wrapper = '<div class="table-wrapper'
    context["body"] = body.replace(wrapper, wrapper.replace("<div", '<div tabindex="0"'))


def setup(app: Any) -> None:
    """Hand Sphinx what it is to call."""
    app.connect("doctree-read", without_links_to_type_variables)
    early = {"default_priority": 5, "run": without_entries}  # before links are resolved
    app.add_post_transform(type("WithoutEntries", (SphinxPostTransform,), early))
    app.connect("html-page-context", without_tree, priority=400)  # before the theme's own
    app.connect("html-page-context", readable, priority=900)  # after it
