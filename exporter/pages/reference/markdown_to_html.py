"""The Markdown of our own references -> HTML: headings, paragraphs, lists, tables, code. Pure.

It knows what the references use and nothing else; all text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

_HEADING = re.compile(r"(#{1,3}) (.*)")
_CHAPTER = 2
_FENCE = "```"
_WIDE = "meaning"  # the column of whole sentences
_WIDE_CELL = '<td class="wide">'
_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_WORD_ENDS = re.compile(r"(?<=[_.])(?=[a-z])")
_BREAK = "<wbr>"
_ONLY_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    html: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    html: str
    chapters: tuple[Heading, ...]  # of the second level, for a table of contents


def to_document(markdown: str) -> Document:
    blocks = list(_blocks(markdown.splitlines()))
    headings = [block for block in blocks if isinstance(block, Heading)]
    return Document(
        title=headings[0].html if headings else "",
        html="\n".join(_html(block) for block in blocks),
        chapters=tuple(heading for heading in headings if heading.level == _CHAPTER),
    )


def _html(block: Heading | str) -> str:
    if isinstance(block, str):
        return block
    # Only chapters: a section below has the name of a key, and that is the anchor of its row.
    anchor = f' id="{block.anchor}"' if block.level == _CHAPTER else ""
    return f"<h{block.level}{anchor}>{block.html}</h{block.level}>"


def _blocks(lines: list[str]) -> Iterator[Heading | str]:
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith(_FENCE):
            end = lines.index(_FENCE, place + 1)
            yield f"<pre><code>{escape(chr(10).join(lines[place + 1 : end]))}</code></pre>"
            place = end + 1
            continue
        end = place + 1
        kind = _kind(line)
        while kind != "heading" and end < len(lines) and _kind(lines[end]) == kind:
            end += 1
        yield from _block(kind, lines[place:end])
        place = end


def _kind(line: str) -> str:
    if not line.strip() or line.startswith("<!--"):
        return "nothing"
    if _HEADING.fullmatch(line):
        return "heading"
    if line.startswith(_FENCE):
        return "fence"
    return "list" if line.startswith("- ") else "table" if line.startswith("|") else "paragraph"


def _block(kind: str, lines: list[str]) -> Iterator[Heading | str]:
    if kind == "heading" and (found := _HEADING.fullmatch(lines[0])):
        yield Heading(len(found[1]), inline(found[2]), _anchor(found[2]))
    elif kind == "list":
        items = "".join(f"<li>{inline(line.removeprefix('- '))}</li>" for line in lines)
        yield f"<ul>{items}</ul>"
    elif kind == "table":
        yield _table([_cells(line) for line in lines])
    elif kind == "paragraph":
        yield f"<p>{inline(' '.join(lines))}</p>"


def inline(text: str) -> str:
    """Code and emphasis; the rest is plain text."""
    parts, last = [], 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[last : found.start()]))
        parts.append(_code(found["code"]) if found["code"] else _strong(found["strong"]))
        last = found.end()
    return "".join((*parts, escape(text[last:])))


def _code(text: str) -> str:
    # Long names may break between their words, and nowhere else.
    return f"<code>{_WORD_ENDS.sub(_BREAK, escape(text))}</code>"


def _strong(text: str) -> str:
    return f"<strong>{escape(text)}</strong>"


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace(r"\|", "|") for cell in _CELL_BORDER.split(inner)]


def _table(rows: list[list[str]]) -> str:
    columns, _, *body = rows
    head = "".join(f'<th scope="col">{inline(cell)}</th>' for cell in columns)
    wide = columns.index(_WIDE) if _WIDE in columns else 0
    lines = "\n".join(_row(cells, wide) for cells in body)
    return (
        f'<div class="box"><table class="reference"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )


def _row(cells: list[str], wide: int) -> str:
    """A row that begins with a name can be linked to by that name."""
    first, *rest = cells
    name = _ONLY_CODE.fullmatch(first)
    anchor = f' id="{escape(_name_anchor(name[1]))}"' if name else ""
    others = "".join(
        f"{_WIDE_CELL if place == wide else '<td>'}{inline(cell)}</td>"
        for place, cell in enumerate(rest, start=1)
    )
    return f'<tr{anchor}><th scope="row">{inline(first)}</th>{others}</tr>'


def _anchor(text: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return "-".join(words)


def _name_anchor(text: str) -> str:
    """Of `-h, --help` the long name, of `--nats URL` only the flag."""
    return text.rpartition(", ")[2].partition(" ")[0]
