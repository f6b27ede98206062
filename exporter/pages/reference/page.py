"""The references as pages of the running exporter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from exporter.pages.reference import checks, configuration, metrics
from exporter.pages.reference.markdown_to_html import Document, to_document
from exporter.pages.reference.runbooks import INDEX, runbook, runbooks
from exporter.pages.rendering import render
from exporter.pages.status.view import DocLink

Links = list[tuple[str, str]]  # address and title


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


def _page(document: Document, links: Links) -> str:
    return render("doc.html", document=document, links=links)


def _header(current: str, docs: str, telemetry_path: str) -> Links:
    """`docs`: the way to /docs/. Relative, so that pages work behind a proxy that adds a path."""
    links = [(f"{docs}../", "Status"), (f"{docs}..{telemetry_path}", "Metrics")]
    pages = [*((name, each.title) for name, each in REFERENCES.items()), ("runbooks/", _RUNBOOKS)]
    return [*links, *((f"{docs}{name}", title) for name, title in pages if name != current)]
