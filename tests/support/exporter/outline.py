"""What a browser would see of a page: tags that must balance, attributes, text and rows of tables."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "line", "polyline", "wbr"}


class Outline(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._text: list[str] = []
        self.inline: dict[str, str] = {"style": "", "script": ""}
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.inline:
            self.inline[self.open[-1]] += data
            return
        self._text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def values(self, attribute: str) -> list[str]:
        return [value for _, name, value in self.attributes if name == attribute]

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", self.text)

    @property
    def cells(self) -> list[list[str]]:
        """The rows of all tables, without the space around texts."""
        return [[re.sub(r"\s+", " ", cell).strip() for cell in row] for row in self.rows]

    @property
    def links(self) -> list[str]:
        return [value for tag, name, value in self.attributes if (tag, name) == ("a", "href")]
