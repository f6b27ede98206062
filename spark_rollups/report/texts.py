"""Sentences of the report, from jinja2 templates. They are plain text: the page escapes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Kind, text_of

FILTERS = {
    "amount": lambda value: text_of(Kind.COUNT, value),
    "bytes": fmt.bytes_text,
    "capital": fmt.capital,
    "count": fmt.count,
    "day": fmt.day,
    "day_range": fmt.day_range,
    "days": fmt.days_listed,
    "listed": fmt.listed,
    "plural": fmt.plural,
    "share": fmt.share,
    "span": fmt.span,
}


def sentences(chapter: str, **values: Any) -> tuple[str, ...]:
    """Of a chapter: the lines of its block in sentences.txt that are not empty."""
    found = _environment().get_template("sentences.txt")
    text = "".join(found.blocks[chapter](found.new_context(values)))
    return tuple(filter(None, (line.strip() for line in text.splitlines())))


@cache
def template(text: str) -> Template:
    return _environment().from_string(text)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("spark_rollups.report", "templates"),
        autoescape=False,  # noqa: S701 - plain text
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: " ".join(value.splitlines()) if isinstance(value, str) else value,
    )
    made.filters |= FILTERS
    return made
