"""Reads the output of `export --opaque`: native histograms, exemplars and metadata."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Final, Literal

import msgspec

from archive.batch import OpaqueKind
from archive.remote_write.messages import read_exemplar, read_metadata
from archive.remote_write.native_histogram import read_histogram
from archive.remote_write.protobuf import MalformedError
from archive.series.labels import RefusedError
from archive.tables.schema import LATEST_TIME
from archive.tables.series import NAME_LABEL
from archive.tools.errors import ToolError
from archive.tools.importing.batch import ImportBatch, ImportedMessage, canonical

BATCH_MESSAGES: Final = 5_000
_READERS: Final[dict[OpaqueKind, Callable[[bytes, int, int], object]]] = {
    OpaqueKind.HISTOGRAM: read_histogram,
    OpaqueKind.EXEMPLAR: read_exemplar,
    OpaqueKind.METADATA: read_metadata,
}


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["histogram", "exemplar", "metadata"]
    labels: dict[str, str] | None
    time: Annotated[int, msgspec.Meta(ge=0, le=LATEST_TIME)] | None
    data: str


_decoder = msgspec.json.Decoder(_Line)


class OpaqueReader:
    """Validates every message like the receiver."""

    def __init__(self, where: str, without: str = "") -> None:
        self._where, self._without = where, without

    def batches(self, lines: Iterable[str], seen: Callable[[int], None]) -> Iterator[ImportBatch]:
        """`seen` is called with the number of characters read."""
        held: list[ImportedMessage] = []
        for place, line in enumerate(lines, 1):
            seen(len(line))
            try:
                held.append(self._message(line))
            except (ValueError, RefusedError, MalformedError) as error:
                raise ToolError(f"{self._where}: line {place}: {error}") from error
            if len(held) >= BATCH_MESSAGES:
                yield ImportBatch(messages=held)
                held = []
        yield ImportBatch(messages=held)

    def _message(self, text: str) -> ImportedMessage:
        line = _decoder.decode(text)
        kind = OpaqueKind[line.kind.upper()]
        try:
            data = base64.b64decode(line.data, validate=True)
        except binascii.Error:
            raise ValueError("the data is not base64") from None
        _READERS[kind](data, 0, len(data))
        if line.labels is None:
            if kind is not OpaqueKind.METADATA:
                raise ValueError(f"a {line.kind} without labels")
            return ImportedMessage(kind, None, line.time or 0, data)
        if not line.labels.get(NAME_LABEL):
            raise ValueError("no metric name")
        return ImportedMessage(kind, canonical(line.labels, self._without), line.time or 0, data)
