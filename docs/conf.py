"""The documentation site, made by Sphinx: `make docs` builds it into out/site."""

from pathlib import Path

from sphinx.application import Sphinx

import sharedoa

project = "sharedoa"
copyright = "the sharedoa authors"
release = sharedoa.__version__

# The source is the whole repository, so that links between documents are those of the files.
root_doc = "docs/index"
documents = ("SECURITY.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md")
include_patterns = ["docs/**", "apps/*/README.md", *documents]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
myst_heading_anchors = 3

autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "sharedoa"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]


def redirect(app: Sphinx, error: Exception | None) -> None:
    """The site's first page is docs/index."""
    if error is None and app.builder.format == "html":
        page = '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
        (Path(app.outdir) / "index.html").write_text(page)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", redirect)
