"""Sphinx configuration."""

import re

project = "eigenkit"
author = "The eigenkit developers"
copyright = "2026, the eigenkit developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx.ext.mathjax",
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
    "within_subsection_order": "FileNameSortKey",
    "show_signature": False,
}
suppress_warnings = ["config.cache"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css", "choosing.css"]
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
exclude_patterns = ["_build", "gallery/used_by"]


def skip_routing(app, what, name, obj, skip, options):
    """Leave out the metadata methods that scikit-learn adds to every estimator."""
    routing = name.endswith("_request") or name == "get_metadata_routing"
    return True if routing else None


def escape_fitted_names(app, what, name, obj, options, lines):
    """Fitted attributes end in an underscore, which reStructuredText takes for a link."""
    for i, line in enumerate(lines):
        if "``" not in line and not line.lstrip().startswith(".."):
            lines[i] = re.sub(r"(?<=[\s(])([A-Za-z]\w*)_(?=[^\w`*]|$)", r"\1\\_", line)


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)
