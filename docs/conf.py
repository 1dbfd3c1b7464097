"""The documentation site: Sphinx with the theme Furo. `make docs` builds it into build/site."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]

from site_parts import c_header, commands, gallery, reference  # noqa: E402
from site_parts.project import facts  # noqa: E402

_, release, address = facts()
project, author = "malleable", "The malleable developers"
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["site_parts", "gallery"]
suppress_warnings = ["myst.header"]

# Pages are Markdown as it reads on a code host, too: `:::` in place of fences for what only a site has.
myst_enable_extensions = ["colon_fence", "html_image", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say types, with shapes and units
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "py:obj"  # `name`: a link where the reference has it, code elsewhere
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 72

html_theme = "furo"
html_title = f"{project} {release}"
html_baseurl = address
html_static_path = ["site_parts/static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "site_parts/static/mark.svg"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # output is not for copying
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}
# Contrast of 7 : 1 and more in both schemes.
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

linkcheck_anchors = False
linkcheck_timeout = 20


def joined(app, what, name, found, options, lines):
    """``name, user : type`` of an Attributes section as one word: a field would take the first for a type."""
    for k, line in enumerate(lines):
        if re.match(r"[a-z_]\w*(, [a-z_]\w*)+ : ", line):
            names, kind = line.split(" : ", 1)
            lines[k] = f"{names.replace(', ', ',')} : {kind}"


def reachable(app, page, template, context, doctree):
    """Captions of the menu have a level, and wide code can be scrolled by keys: the theme leaves both out."""
    menu = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = menu.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
    context["body"] = context.get("body", "").replace("<pre>", '<pre tabindex="0">')


def setup(app):
    """Pages that are made of the sources: written before Sphinx looks for pages."""
    app.connect("autodoc-process-docstring", joined, priority=100)  # before Napoleon's
    app.connect("html-page-context", reachable, priority=900)  # behind the theme's
    made = HERE / "made"
    for part in (reference, commands, c_header, gallery):
        part.write(made)
