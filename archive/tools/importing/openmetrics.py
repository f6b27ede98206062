"""Reads OpenMetrics text; errors name the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NoReturn

import numpy as np

from archive.batch import OpaqueKind
from archive.tables.schema import LATEST_TIME
from archive.tables.series import NAME_LABEL, Labels
from archive.tools.errors import ToolError
from archive.tools.importing.batch import (
    ImportBatch,
    ImportedMessage,
    ImportedSeries,
    bits,
    canonical,
)
from archive.tools.opaque_messages import TYPES, Exemplar, Metadata, write_exemplar, write_metadata

BATCH_SAMPLES: Final = 200_000
_SERIES: Final = re.compile(r'[^\s{]*(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?')
_PAIR: Final = re.compile(
    r'\s*(?:([^\W\d]\w*|"(?:[^"\\]|\\.)*")\s*=\s*)?"((?:[^"\\]|\\.)*)"\s*(,|$)', re.ASCII
)
_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class OpenMetricsReader:
    """Caches the labels of each series text, so that most lines need no parsing of labels."""

    def __init__(self, where: str, without: str = "") -> None:
        self._where, self._without = where, without
        self._line = 0
        self._known: dict[str, Labels] = {}
        self._times: dict[str, list[int]] = {}
        self._values: dict[str, list[float]] = {}
        self._messages: list[ImportedMessage] = []
        self._families: dict[str, dict[str, str]] = {}
        self._emitted: set[tuple[tuple[str, str], ...]] = set()
        self._held = 0
        self._last_time = 0

    def batches(self, lines: Iterable[str], seen: Callable[[int], None]) -> Iterator[ImportBatch]:
        """`seen` is called with the number of characters read. A missing `# EOF` is an error."""
        ended = False
        for line in lines:
            self._line += 1
            seen(len(line))
            text = line.rstrip("\n")
            if ended and text:
                self._fail("text after # EOF")
            if text.startswith("#"):
                ended = ended or text == "# EOF"
                self._comment(text)
            elif text:
                self._sample(text)
            if self._held >= BATCH_SAMPLES:
                yield self._taken()
        if not ended:
            yield self._taken()
            self._fail("the text is truncated: it ends without # EOF")
        yield self._taken()

    def _sample(self, text: str) -> None:
        end = _SERIES.match(text)
        series = end[0] if end else ""
        rest, _, tail = text[len(series) :].partition(" # ")
        words = rest.split()
        labels = self._known.get(series)
        if labels is None:
            labels = self._known[series] = self._labels(series)
        if len(words) != 2:
            self._fail("expected a series, a value and a time" if len(words) != 1 else
                          "the sample has no time, and an archive needs one")  # fmt: skip
        value, time = self._number(words[0]), self._time(words[1])
        self._times.setdefault(series, []).append(time)
        self._values.setdefault(series, []).append(value)
        self._held += 1
        self._last_time = time
        if tail:
            self._exemplar(labels, tail)

    def _labels(self, series: str) -> Labels:
        name, brace, inside = series.partition("{")
        pairs = self._pairs(inside[:-1]) if brace else []
        labels = {key: value for key, value in pairs if key}
        name = name or next((value for key, value in pairs if not key), "")
        if not name or len(labels) + (not series.partition("{")[0]) < len(pairs):
            self._fail("has no name, or a label twice")
        if NAME_LABEL in labels:
            self._fail(f"has a label {NAME_LABEL}")
        return canonical({**labels, NAME_LABEL: name}, self._without)

    def _pairs(self, inside: str) -> list[tuple[str, str]]:
        """A quoted text without a key is the metric's name, as in OpenMetrics 2."""
        found, place = [], 0
        while place < len(inside):
            one = _PAIR.match(inside, place)
            if one is None:
                self._fail(f"cannot read the labels {inside!r}")
            key = one[1] or ""
            found.append((_unescaped(key.strip('"')), _unescaped(one[2])))
            place = one.end()
        return found

    def _comment(self, text: str) -> None:
        words = text.split(" ", 3)
        if len(words) < 3 or words[1] not in ("TYPE", "HELP", "UNIT"):
            return
        about = self._families.setdefault(words[2], {})
        about[words[1]] = words[3] if len(words) > 3 else ""

    def _exemplar(self, labels: Labels, tail: str) -> None:
        shown = _SERIES.match(tail)
        inside = shown[0] if shown else ""
        words = tail[len(inside) :].split()
        if not inside.startswith("{") or not 1 <= len(words) <= 2:
            self._fail("expected an exemplar: labels in braces, a value and a time")
        pairs = tuple(self._pairs(inside[1:-1]))
        time = self._time(words[1]) if len(words) == 2 else 0
        data = write_exemplar(Exemplar(pairs, self._number(words[0]), time))
        self._messages.append(
            ImportedMessage(OpaqueKind.EXEMPLAR, labels, time or self._last_time, data)
        )

    def _taken(self) -> ImportBatch:
        """The collected samples, with new metadata of the families."""
        batch = ImportBatch(messages=[*self._messages, *self._metadata()])
        for series, times in self._times.items():
            values = bits(self._values[series])
            batch.series.append(
                ImportedSeries(self._known[series], np.array(times, np.int64), values)
            )
        self._times, self._values, self._messages, self._held = {}, {}, [], 0
        return batch

    def _metadata(self) -> Iterator[ImportedMessage]:
        for family, about in self._families.items():
            key = (("", family), *sorted(about.items()))
            kind = about.get("TYPE", "unknown")
            if key not in self._emitted and self._last_time:
                self._emitted.add(key)
                metadata = Metadata(
                    f"{family}_total" if kind == "counter" else family,
                    kind if kind in TYPES else "unknown",
                    _unescaped(about.get("HELP", "")),
                    about.get("UNIT", ""),
                )
                yield ImportedMessage(
                    OpaqueKind.METADATA, None, self._last_time, write_metadata(metadata)
                )

    def _number(self, word: str) -> float:
        try:
            return float(word.replace("_", "x"))  # Python accepts 1_000
        except ValueError:
            self._fail(f"{word!r} is not a number")

    def _time(self, word: str) -> int:
        seconds = self._number(word)
        if not abs(seconds) < 1e12:
            self._fail(f"{word} is not a time in seconds")
        time = round(seconds * 1000)
        if not 0 <= time <= LATEST_TIME:
            self._fail(f"{word} is before 1970 or after 9998")
        return time

    def _fail(self, what: str) -> NoReturn:
        raise ToolError(f"{self._where}: line {self._line}: {what}")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
