"""Parses Prometheus series selectors, such as `metric{label="value",other=~"regex"}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from archive.tables.series import NAME_LABEL
from archive.tools.errors import ToolError

_SELECTOR: Final = re.compile(r"\s*([a-zA-Z_:][\w:]*)?\s*(?:\{(.*)\})?\s*", re.DOTALL)
_MATCHER: Final = re.compile(
    r"""\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(,|$)"""
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Matcher:
    label: str
    operator: str  # =, !=, =~, !~
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """A missing label counts as empty; a regular expression must match the whole value."""
        found = labels.get(self.label, "")
        if self.operator in ("=", "!="):
            return (found == self.value) is (self.operator == "=")
        return (re.fullmatch(self.value, found) is not None) is (self.operator == "=~")


@dataclass(frozen=True, slots=True)
class Selector:
    text: str
    matchers: tuple[Matcher, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(matcher.matches(labels) for matcher in self.matchers)


def parse_selector(text: str) -> Selector:
    whole = _SELECTOR.fullmatch(text)
    if whole is None or not text.strip():
        raise _invalid(text)
    name, inside = whole.groups()
    matchers = [Matcher(NAME_LABEL, "=", name)] if name else []
    matchers += _inside(inside or "", text)
    if not matchers:
        raise ToolError(f"--match: {text!r} selects nothing (omit --match to select everything)")
    return Selector(text, tuple(matchers))


def chosen(labels: Mapping[str, str], selectors: Iterable[Selector]) -> bool:
    """Whether any selector matches; True without selectors."""
    every = tuple(selectors)
    return not every or any(selector.matches(labels) for selector in every)


def _inside(inside: str, text: str) -> list[Matcher]:
    found, place = [], 0
    while place < len(inside):
        one = _MATCHER.match(inside, place)
        if one is None:
            if not inside[place:].strip():
                break
            raise _invalid(text)
        found.append(_matcher(one, text))
        place = one.end()
    return found


def _matcher(one: re.Match[str], text: str) -> Matcher:
    value = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), one[3][1:-1], flags=re.DOTALL)
    if one[2] in ("=~", "!~"):
        try:
            re.compile(value)
        except re.error as error:
            raise ToolError(
                f"--match: {text!r}: {value!r} is not a regular expression: {error}"
            ) from error
    return Matcher(one[1], one[2], value)


def _invalid(text: str) -> ToolError:
    return ToolError(f'--match: {text!r} is not a selector (write it like up{{job="nats"}})')
