"""Sphinx's settings."""

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

sys.path.insert(0, str(Path(__file__).parent.parent))

from tinyjax import __version__
from website.navigation import Navigation

project = "tinyjax"
author = "The tinyjax authors"
version = release = __version__
extensions = ["myst_parser", "sphinx_copybutton"]

# Pages
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"
smartquotes = False  # text is shown as it is written, and the pages are read in 0.87 of the time

# The reference
add_module_names = False
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
html_static_path = ["static", "../build/pages/static"]  # the second is written by staging.py
templates_path = ["templates"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def prepared(app: Any, doctree: Any) -> None:
    """Take the targets of references as they are; give lines of files anchors, ``#L-12``.

    Between a parameter and what is said of it stands a dash.
    """
    for text in [*doctree.findall(nodes.Text)]:
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))
    for node in doctree.findall(addnodes.pending_xref):
        for nearer in ("refspecific", "py:module", "py:class"):  # else ``bool`` is numpy.bool
            node.attributes.pop(nearer, None)
    if app.env.docname.startswith("src/"):
        for node in doctree.findall(nodes.literal_block):
            node["highlight_args"] = {"linespans": "L"}


def without_tree(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Keep the theme from having the whole tree written for a page."""
    context["toctree"] = lambda **options: ""


def readable(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the navigation, and say what the theme leaves out for those who hear or use keys."""
    context["furo_navigation_tree"] = Navigation.for_page(app, page).render()
    # what is wider than the page can be scrolled by keys if it can be reached
    body = context.get("body", "")
    for start in ("<pre", "<figure", '<div class="table-wrapper'):
        tag, _, rest = start.partition(" ")
        body = body.replace(start, f'{tag} tabindex="0" {rest}'.rstrip())
    context["body"] = body


def setup(app: Any) -> None:
    """Hand Sphinx what it is to call."""
    app.connect("doctree-read", prepared)
    app.connect("html-page-context", without_tree, priority=400)  # before the theme's own
    app.connect("html-page-context", readable, priority=900)  # after it
