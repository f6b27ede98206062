"""Chooses format and encoding of a scrape by the q-values of its headers.

prometheus-client ignores q-values. Prometheus uses them to announce its scrape_protocols.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exporter.exposition.text_format import Format

_OPENMETRICS = "application/openmetrics-text"
_OPENMETRICS_VERSIONS = ("", "1.0.0")  # the versions that the writer supports
_TEXT = ("text/plain", "text/*", "*/*")


@dataclass(frozen=True, slots=True)
class _Choice:
    """One item of an Accept or Accept-Encoding header."""

    name: str
    version: str
    quality: float  # 0: not acceptable


def choose_format(accept: str) -> Format:
    """OpenMetrics only if the client names it and prefers nothing else that is supported."""
    choices = list(_choices(accept))
    openmetrics = max(
        (
            choice.quality
            for choice in choices
            if choice.name == _OPENMETRICS and choice.version in _OPENMETRICS_VERSIONS
        ),
        default=0.0,
    )
    text = max((choice.quality for choice in choices if choice.name in _TEXT), default=0.0)
    return Format.OPENMETRICS if openmetrics > 0 and openmetrics >= text else Format.TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    qualities = {choice.name: choice.quality for choice in _choices(accept_encoding)}
    anything = qualities.get("*", 0.0)
    gzip = qualities.get("gzip", qualities.get("x-gzip", anything))
    return gzip > 0 and gzip >= qualities.get("identity", 0.0)


def _choices(header: str) -> Iterator[_Choice]:
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        given = dict(_pair(parameter) for parameter in parameters)
        if name:
            yield _Choice(name, given.get("version", ""), _quality(given.get("q", "1")))


def _pair(parameter: str) -> tuple[str, str]:
    name, _, value = parameter.partition("=")
    return name.strip(), value.strip().strip('"')


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 0.0  # an invalid value means not acceptable
    return quality if 0.0 <= quality <= 1.0 else 0.0
