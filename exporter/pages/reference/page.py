"""The references as pages of the running exporter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape

from exporter.pages.asset_files import asset, hash_source
from exporter.pages.reference import checks, configuration, metrics
from exporter.pages.reference.markdown_to_html import Document, to_document
from exporter.pages.reference.runbooks import INDEX, runbook, runbooks
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


_RUNBOOKS = "Runbooks"


def doc_links() -> tuple[DocLink, ...]:
    """Links of the status page, which is one level above."""
    references = (DocLink(each.title, f"docs/{name}") for name, each in REFERENCES.items())
    return (*references, DocLink(_RUNBOOKS, "docs/runbooks/"))


_STYLE = asset("page.css") + asset("reference.css")


def docs_policy() -> str:
    """The Content-Security-Policy header of these pages: one style sheet, no script."""
    return (
        f"default-src 'none'; style-src {hash_source(_STYLE)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def docs_page(name: str, telemetry_path: str = "/metrics") -> str:
    """Rendered once per process."""
    return _page(to_document(REFERENCES[name].render()), _header(name, "", telemetry_path))


@cache
def index_page(telemetry_path: str = "/metrics") -> str:
    """The list of all pages below /docs/."""
    references = [f"- [{each.title}]({name})" for name, each in REFERENCES.items()]
    alerts = [f"- [{name}](runbooks/{name})" for name in runbooks() if name != INDEX]
    lines = ["# Documentation", "", *references, "", f"## {_RUNBOOKS}", "",
             "What each alert means and what to do: [how to read them](runbooks/).", "", *alerts]  # fmt: skip
    return _page(to_document("\n".join(lines)), _header("", "", telemetry_path))


@cache
def runbook_page(name: str, telemetry_path: str = "/metrics") -> str:
    """Two levels below the status page."""
    document = to_document(runbook(name, frozenset(REFERENCES)))
    return _page(document, _header(name, "../", telemetry_path))


def _page(document: Document, header: str) -> str:
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
{header}
<main>
{_contents(document)}
{document.html}
</main>
<footer><p>Reference of Streamgauge {escape(VERSION)}.</p></footer>
</body>
</html>
"""


def _header(current: str, docs: str, telemetry_path: str) -> str:
    """`docs`: the way to /docs/. Relative, so that pages work behind a proxy that adds a path."""
    links = [(f"{docs}../", "Status"), (f"{docs}..{telemetry_path}", "Metrics")]
    pages = [*((name, each.title) for name, each in REFERENCES.items()), ("runbooks/", _RUNBOOKS)]
    links += [(f"{docs}{name}", title) for name, title in pages if name != current]
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
