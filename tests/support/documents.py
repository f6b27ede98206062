"""Our own documents as tests read them: sections, fenced blocks, links, words in code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    def section(self, heading: str) -> "Document":
        """The text below that heading of the second level, up to the next one."""
        _, found, rest = self.text.partition(f"\n## {heading}\n")
        if not found:
            raise AssertionError(f"{self.name} has no section {heading!r}")
        return Document(self.path, rest.partition("\n## ")[0])

    def blocks(self, language: str) -> list[str]:
        return [body for kind, body in _FENCE.findall(self.text) if kind == language]

    def block(self, language: str) -> str:
        """The only one of that language."""
        (found,) = self.blocks(language)
        return found

    def prose(self) -> str:
        """Without fenced blocks."""
        return _FENCE.sub("", self.text)

    def links(self) -> list[str]:
        return _LINK.findall(self.prose())

    def code(self) -> Iterator[str]:
        """Everything set as code, in a line or in a block of its own."""
        yield from _CODE.findall(self.prose())
        yield from (body for _, body in _FENCE.findall(self.text))

    def anchors(self) -> set[str]:
        """What a link may name after #, as the usual renderers make it of headings."""
        titles = (title for _, title in _HEADING.findall(self.prose()))
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def read_document(path: str) -> Document:
    return Document(ROOT / path, (ROOT / path).read_text())


def all_documents() -> list[Document]:
    """What is written for people; CHANGELOG.md speaks of the past, so it may name what is gone."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [Document(path, path.read_text()) for path in paths]
