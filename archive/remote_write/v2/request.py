"""The symbols and the positions of the series in a 2.0 request."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from archive.remote_write.protobuf import Field, MalformedError, expect, read_fields, read_varint
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.varint_vector import Places
from streamgauge.protobuf import LENGTH

_SYMBOL_TAG: Final = 0x22
_SERIES_TAG: Final = 0x2A
_SYMBOLS: Final = 4
_SERIES: Final = 5
_OF_VERSION_1: Final = (1, 2, 3)
_MAX_SYMBOLS: Final = 1_000_000
_CONTINUED: Final = 0x80


class Request:
    def __init__(self, symbols: list[bytes], starts: list[int], stops: list[int]) -> None:
        self.symbols = symbols
        self.starts: Places = np.array(starts, np.int64)
        self.stops: Places = np.array(stops, np.int64)

    @cached_property
    def texts(self) -> list[str | None]:
        """The symbols as text; None for one that is not UTF-8."""
        return [_text(symbol) for symbol in self.symbols]


def read_request(memory: bytearray, size: int, accumulator: RequestAccumulator) -> Request:
    """Fast for symbols before series, as senders write them; else field by field."""
    data = bytes(memoryview(memory)[:size])
    symbols: list[bytes] = []
    starts: list[int] = []
    stops: list[int] = []
    max_series, at = accumulator.limits.series, 0
    try:
        while at < size and data[at] == _SYMBOL_TAG and len(symbols) < _MAX_SYMBOLS:
            start, length = at + 2, data[at + 1]
            if length >= _CONTINUED:
                length, start = read_varint(data, at + 1, size)
            at = start + length
            symbols.append(data[start:at])
        while at < size and data[at] == _SERIES_TAG and len(starts) < max_series:
            start, length = at + 2, data[at + 1]
            if length >= _CONTINUED:
                length, start = read_varint(data, at + 1, size)
            at = start + length
            starts.append(start)
            stops.append(at)
    except IndexError:
        raise MalformedError("the request ends inside a symbol or a series") from None
    if at > size:
        raise MalformedError("a symbol or a series is longer than the request")
    if at < size:
        return _read_by_the_rules(data, accumulator)
    accumulator.count_series(len(starts))
    return Request(symbols, starts, stops)


def _read_by_the_rules(data: bytes, accumulator: RequestAccumulator) -> Request:
    symbols: list[bytes] = []
    starts: list[int] = []
    stops: list[int] = []
    for field in read_fields(data, 0, len(data)):
        _check(field)
        if field.number == _SYMBOLS:
            symbols.append(data[field.start : field.stop])
        elif field.number == _SERIES:
            accumulator.count_series(1)
            starts.append(field.start)
            stops.append(field.stop)
        if len(symbols) > _MAX_SYMBOLS:
            raise MalformedError(f"the request holds more than {_MAX_SYMBOLS} symbols")
    return Request(symbols, starts, stops)


def _check(field: Field) -> None:
    if field.number in (_SYMBOLS, _SERIES):
        expect(field, LENGTH, "a symbol or a series")
    if field.number in _OF_VERSION_1:
        # It would decode as an empty request: a success that loses all samples.
        raise MalformedError("the body is a request of version 1.0, announced as 2.0")


def _text(symbol: bytes) -> str | None:
    try:
        return symbol.decode()
    except UnicodeDecodeError:
        return None
