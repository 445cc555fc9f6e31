"""Sphinx configuration."""

import inspect
import re
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx_gallery.sorting import ExplicitOrder

sys.path.insert(0, str(Path(__file__).parent))
import generate
import related
import thumbnails

log = logging.getLogger(__name__)
SHORT = 28  # characters that fit beside others on a phone
FITTED = re.compile(r"(?<=[\s(])([A-Za-z]\w*)_(?=[^\w`*]|$)")
generate.write()

project = "eigenkit"
author = "The eigenkit developers"
copyright = "2026, the eigenkit developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# The examples run when the pages are built; one that fails, fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/used_by",
    "doc_module": ("eigenkit",),
    "min_reported_time": 5,
    "write_computation_times": False,
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("labels", "numbers", "views", "trust", "large", "own")]
    ),
    "within_subsection_order": "FileNameSortKey",
    "show_signature": False,
    "reset_modules": ("matplotlib", thumbnails.style),
    "first_notebook_cell": "# Needs eigenkit with its plots: pip install '.[plot]' in a checkout.\n"
    "%matplotlib inline",
}
suppress_warnings = ["config.cache"]
html_theme = "furo"
html_title = "eigenkit"
smartquotes_action = "qe"  # two hyphens stay two hyphens: they begin an option
# The button beside a block copies what one types: no prompts, no output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
html_static_path = ["_static"]
html_extra_path = ["generated/site"]
html_css_files = [
    "tables.css",
    "code.css",
    "choosing.css",
    "pictures.css",
    "landing.css",
    "print.css",
]
# Formulas are MathML, which browsers draw by themselves: the pages need no network.
html_math_renderer = "mathml"
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
exclude_patterns = ["_build", "gallery/used_by", "generated"]


def skip_routing(app, what, name, obj, skip, options):
    """Leave out the metadata methods that scikit-learn adds to every estimator."""
    routing = name.endswith("_request") or name == "get_metadata_routing"
    return True if routing else None


def escape_fitted_names(app, what, name, obj, options, lines):
    """Fitted attributes end in an underscore, which reStructuredText takes for a link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(".."):
            words = line.split("``")  # what stands between two marks is literal
            words[::2] = [FITTED.sub(r"\1\\_", part) for part in words[::2]]
            lines[i] = "``".join(words)


def own_signature(app, what, name, obj, options, signature, returns):
    """The parameters of the constructor, also where a parent class takes any."""
    if what != "class" or signature is None:
        return None
    taken = inspect.signature(obj)
    bare = [p.replace(annotation=p.empty) for p in taken.parameters.values()]
    return str(taken.replace(parameters=bare, return_annotation=taken.empty)), None


def add_links(app, what, name, obj, options, lines):
    """Under what it documents: the page about it, its relatives, and examples that use it."""
    if what not in ("class", "function"):
        return
    lines += related.see_also(name.removeprefix("eigenkit."))
    found = app.srcdir / "gallery" / "used_by" / f"{name}.examples"
    text = found.read_text(encoding="utf-8") if found.exists() else ""
    if pages := dict.fromkeys(re.findall(r":doc:`(.+?)`", text)):
        lines += ["", ".. rubric:: In the gallery", "", *(f"- :doc:`{page}`" for page in pages), ""]


def refuse_silent_images(app, doctree):
    """An image that says nothing to those who cannot see it is a warning, and fails the build."""
    for image in doctree.findall(nodes.image):
        beside_its_title = "_thumb" in image["uri"]  # which would be read twice
        if not image.get("alt", "").strip() and not beside_its_title:
            log.warning("image without alternative text: %s", image["uri"], location=image)


def trim_code(app, doctree):
    """Without the empty line that a doctest needs at its end."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().endswith("\n"):
            block.rawsource = block.astext().rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def keep_short_code_whole(app, doctree):
    """Options and names are not broken at their hyphens; ``code.css`` makes use of the mark."""
    for code in doctree.findall(nodes.literal):
        if len(code.astext()) <= SHORT:
            code["classes"].append("short")


def inline_math(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block_math(translator, node):
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.connect("builder-inited", thumbnails.write, priority=900)  # after the gallery has run
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-signature", own_signature)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)
    app.connect("autodoc-process-docstring", add_links, priority=950)
    app.connect("doctree-read", refuse_silent_images)
    app.connect("doctree-read", trim_code)
    app.connect("doctree-read", keep_short_code_whole)
