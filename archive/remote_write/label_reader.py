"""Reads the labels of 1.0 requests, with a cache of decoded labels."""

from __future__ import annotations

from typing import Final

from archive.remote_write.protobuf import Buffer, expect, read_fields, read_varint
from archive.series.labels import Label, read_text
from streamgauge.protobuf import LENGTH

LABEL_TAG: Final = 0x0A
_NAME: Final = 1
_VALUE: Final = 2
_MAX_CACHED: Final = 200_000
_NAME_TAG: Final = 0x0A
_VALUE_TAG: Final = 0x12
_LEAST: Final = 4  # bytes: two tags and two lengths
_ONE_BYTE: Final = 0x80  # lengths below it have one byte
_LONGEST: Final = 129  # where the value begins behind a name of 127 bytes


def end_of_labels(buffer: Buffer, at: int, stop: int) -> int:
    """The end of the labels at the start of a series; does not parse them."""
    while at < stop and buffer[at] == LABEL_TAG:
        length = buffer[at + 1]
        at += 2
        if length >= 0x80:
            length, at = read_varint(buffer, at - 1, stop)
        at += length
    return at


def read_label(buffer: Buffer, start: int, stop: int) -> Label:
    """Raises RefusedError when it is not UTF-8."""
    name = value = b""
    for field in read_fields(buffer, start, stop):
        if field.number == _NAME:
            expect(field, LENGTH, "the name of a label")
            name = bytes(buffer[field.start : field.stop])
        elif field.number == _VALUE:
            expect(field, LENGTH, "the value of a label")
            value = bytes(buffer[field.start : field.stop])
    return read_text(name), read_text(value)


class LabelReader:
    """Caches single labels by their bytes: most series share most of their labels."""

    def __init__(self) -> None:
        self._known: dict[bytes, Label] = {}

    def read(self, raw: bytes, max_labels: int) -> list[Label]:
        """The labels in `raw`; stops one label after `max_labels`."""
        labels: list[Label] = []
        known, at, stop = self._known, 0, len(raw)
        while at < stop and len(labels) <= max_labels:
            start, length = at + 2, raw[at + 1]
            if length >= 0x80:
                length, start = read_varint(raw, at + 1, stop)
            at = start + length
            label = known.get(raw[start:at])
            labels.append(label or self._learn(raw[start:at]))
        return labels

    def _learn(self, message: bytes) -> Label:
        if len(self._known) >= _MAX_CACHED:
            self._known.clear()
        label = self._known[message] = _short_label(message) or read_label(message, 0, len(message))
        return label


def _short_label(message: bytes) -> Label | None:
    """`read_label` for the usual form: name, value, nothing else, each shorter than 128 bytes."""
    size = len(message)
    split = message[1] + 2 if size > _LEAST else size
    if split + 1 >= size or message[0] != _NAME_TAG or message[split] != _VALUE_TAG:
        return None
    value = size - split - 2
    if split > _LONGEST or value >= _ONE_BYTE or message[split + 1] != value:
        return None
    return read_text(message[2:split]), read_text(message[split + 2 :])
