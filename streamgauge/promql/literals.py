"""Numbers, strings and label lists as PromQL writes them. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable


def number(value: float) -> str:
    """The shortest spelling: whole numbers have no decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def label_list(labels: Iterable[str]) -> str:
    return f"({', '.join(labels)})"
