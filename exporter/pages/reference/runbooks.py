"""The runbooks of the alerts, for the pages of the running exporter."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# The wheel holds a copy beside this package; in a checkout they are in docs/.
_FOLDERS = (
    Path(__file__).parents[1] / "runbooks",
    Path(__file__).parents[3] / "docs" / "runbooks",
)
INDEX = "README"
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_OTHER_PAGE = re.compile(r"\.\./([a-z-]+)\.md")


@cache
def runbooks() -> dict[str, str]:
    """Markdown by the name of the alert, and the index; call it off the event loop."""
    folder = next((each for each in _FOLDERS if each.is_dir()), None)
    if folder is None:
        return {}
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))}


def runbook(name: str, served: frozenset[str]) -> str:
    """With links that work in the exporter. `served`: the pages one level above."""
    pages = runbooks()

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        page, other = target.removesuffix(".md"), _OTHER_PAGE.fullmatch(target)
        if not target or "://" in target:
            return found[0]
        if page in pages:
            return f"[{text}]({'.' if page == INDEX else page}{anchor})"
        if other is not None and other[1] in served:
            return f"[{text}](../{other[1]}{anchor})"
        return text  # not served here

    return _LINK.sub(link, pages[name])
