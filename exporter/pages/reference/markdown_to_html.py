"""Renders the Markdown references as HTML: markdown-it without raw HTML, plus anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_COMMENT = re.compile(r"^<!--.*?-->$", re.MULTILINE)
_CHAPTER = "h2"
_WIDE = "meaning"  # the column of whole sentences
_WORD_ENDS = re.compile(r"(?<=[_.])(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Chapter:
    html: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    html: str
    chapters: tuple[Chapter, ...]  # headings of the second level, for a table of contents


def to_document(markdown: str) -> Document:
    tokens = _PARSER.parse(_COMMENT.sub("", markdown))
    _add_table_anchors(tokens)
    # Only chapters get an anchor: a section below has the name of a key, like the row of that key.
    chapters = []
    for heading, text in _headings(tokens):
        if heading.tag == _CHAPTER:
            anchor = _anchor(text.content)
            heading.attrSet("id", anchor)
            chapters.append(Chapter(_render_inline(text), anchor))
    titles = [_render_inline(text) for _, text in _headings(tokens)]
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Document(titles[0] if titles else "", html.rstrip("\n"), tuple(chapters))


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            yield token, following


def _render_inline(token: Token) -> str:
    html: str = _PARSER.renderer.render([token], _PARSER.options, {})
    return html


def _add_table_anchors(tokens: Sequence[Token]) -> None:
    """A row whose first cell is a name gets that name as its anchor."""
    columns: list[str] = []
    row: Token | None = None
    cell = 0
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            columns = []
        elif token.type == "tr_open":
            row, cell = token, 0
        elif token.type == "th_open":
            token.attrSet("scope", "col")
            columns.append(tokens[place + 1].content)
        elif token.type == "td_open":
            if cell == 0 and row is not None:
                _name_row(row, token, tokens[place + 1], tokens[place + 2])
            elif columns[cell] == _WIDE:
                token.attrSet("class", "wide")
            cell += 1


def _name_row(row: Token, opening: Token, text: Token, closing: Token) -> None:
    opening.tag = closing.tag = "th"
    opening.attrSet("scope", "row")
    parts = text.children or []
    if len(parts) == 1 and parts[0].type == "code_inline":
        row.attrSet("id", _name_anchor(parts[0].content))


def _anchor(text: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return "-".join(words)


def _name_anchor(text: str) -> str:
    """The long name of `-h, --help`, and the flag alone of `--nats URL`."""
    return text.rpartition(", ")[2].partition(" ")[0]


def _code(
    _: RendererHTML, tokens: Sequence[Token], place: int, _options: OptionsDict, _env: EnvType
) -> str:
    # Long names may break between their words, and nowhere else.
    return f"<code>{_WORD_ENDS.sub('<wbr>', escape(tokens[place].content))}</code>"


def _table(*_: object) -> str:
    return '<div class="box"><table class="reference">\n'


def _table_end(*_: object) -> str:
    return "</table></div>\n"


def _parser() -> MarkdownIt:
    # Images would be fetched from elsewhere, and the pages' policy forbids them.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.add_render_rule("code_inline", _code)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("table_close", _table_end)
    return parser


_PARSER = _parser()
