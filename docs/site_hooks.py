"""Hooks of mkdocs: pages from outside docs/, links to the repository, folders in the navigation."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
# Path in the repository -> path in the site.
INCLUDED: Final = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "archive/FORMAT.md": "project/archive-format.md",
    "archive/WAL.md": "project/write-ahead-log.md",
}
_FENCE_OR_LINK: Final = re.compile(
    r"^(?P<fence> *```).*?^ *```$|`[^`\n]+`|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = [_expanded(entry) for entry in config.nav or []]
    return config


def _expanded(entry: Any) -> Any:
    """`Title: folder/` becomes a section with all pages of the folder, README.md first.

    The prefix that all alerts share is left off in the navigation."""
    if not isinstance(entry, dict):
        return entry
    ((title, value),) = entry.items()
    if isinstance(value, list):
        return {title: [_expanded(each) for each in value]}
    if not value.endswith("/"):
        return entry
    names = sorted(path.name for path in (ROOT / "docs" / value).glob("*.md"))
    names.sort(key=lambda name: name != "README.md")
    return {title: [_entry(value + name, name.removesuffix(".md")) for name in names]}


def _entry(place: str, name: str) -> str | dict[str, str]:
    alert = name.removeprefix("JetStream")
    return place if alert == name else {alert: place}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, place in INCLUDED.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    place = page.file.src_uri
    source = next((s for s, p in INCLUDED.items() if p == place), f"docs/{place}")

    def replaced(found: re.Match[str]) -> str:
        if found["link"] is None or "://" in found["link"] or found["link"].startswith("#"):
            return found[0]
        path, hash_, anchor = found["link"].partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        in_site = _in_site(target)
        if in_site is None:
            # Without a published repository there is nothing to link to.
            where = config.repo_url and f"{config.repo_url.rstrip('/')}/blob/main/{target}"
            return f"[{found['text']}]({where})" if where else f"`{target}`"
        link = posixpath.relpath(in_site, posixpath.dirname(place) or ".")
        return f"{found['image']}[{found['text']}]({link}{hash_}{anchor})"

    return _FENCE_OR_LINK.sub(replaced, markdown)


def _in_site(target: str) -> str | None:
    """Where the site has this path of the repository; None for what it does not have."""
    if target in INCLUDED:
        return INCLUDED[target]
    if not target.startswith("docs/"):
        return None
    if (ROOT / target).is_dir():
        target = f"{target}/README.md"
    return target.removeprefix("docs/")
