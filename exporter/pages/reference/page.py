"""The references as pages of the running exporter: whoever is paged may have nothing else at hand."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from exporter.pages.reference import checks, configuration, metrics
from exporter.pages.reference.markdown_to_html import Document, to_document
from exporter.pages.status.view import DocLink
from streamgauge.serving.version import VERSION


@dataclass(frozen=True, slots=True)
class _Reference:
    title: str  # in the navigation
    render: Callable[[], str]


REFERENCES: Mapping[str, _Reference] = {
    "metrics": _Reference("Metrics reference", metrics.render),
    "configuration": _Reference("Configuration", configuration.render),
    "checks": _Reference("Checks", checks.render),
}


def doc_links() -> tuple[DocLink, ...]:
    """For the status page, which stands one level above."""
    return tuple(DocLink(each.title, f"docs/{name}") for name, each in REFERENCES.items())


def _asset(name: str) -> str:
    return files("exporter.pages").joinpath("assets", name).read_text(encoding="utf-8")


# Read at import: a request must not touch the disk from the event loop.
_STYLE = _asset("page.css") + _asset("reference.css")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def docs_policy() -> str:
    """The Content-Security-Policy header of these pages: one style sheet, no script at all."""
    return (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def docs_page(name: str, telemetry_path: str = "/metrics") -> str:
    """Made once per process; the first time it takes some milliseconds."""
    document = to_document(REFERENCES[name].render())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{document.title} · Streamgauge</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body class="doc">
{_header(name, telemetry_path)}
<main>
{_contents(document)}
{document.html}
</main>
<footer><p>As this exporter, version {escape(VERSION)}, has it built in.</p></footer>
</body>
</html>
"""


def _header(current: str, telemetry_path: str) -> str:
    # Relative, so that the pages also work behind a proxy that adds a path.
    links = [("../", "Status"), (f"..{telemetry_path}", "Metrics")]
    links += [(name, each.title) for name, each in REFERENCES.items() if name != current]
    anchors = "".join(f'<a href="{href}">{escape(title)}</a>' for href, title in links)
    return (
        f'<header><p class="brand">Streamgauge <span>{escape(VERSION)}</span></p>'
        f"<nav>{anchors}</nav></header>"
    )


def _contents(document: Document) -> str:
    entries = "".join(
        f'<li><a href="#{heading.anchor}">{heading.html}</a></li>' for heading in document.chapters
    )
    return f'<ul class="contents">{entries}</ul>'
