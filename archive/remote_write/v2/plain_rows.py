"""Reads plain series of a 2.0 request with numpy: references, one sample, optional metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.protobuf import Buffer
from archive.remote_write.varint_vector import Places, Words, end_in_time, times_in, words_of

_LABELS_TAG: Final = 0x0A
_SAMPLE_TAG: Final = 0x12
_METADATA_TAG: Final = 0x2A
_VALUE_TAG: Final = 0x09
_TIME_TAG: Final = 0x10
_START_TAG: Final = 0x18
_CONTINUED: Final = 0x80
_MAX_METADATA: Final = 8  # bytes, compared as one word
_MAX_REFERENCE: Final = 3  # bytes of a varint that is read here
_SHORTEST_SAMPLE: Final = 9

# By the length field of a sample, which determines its form; 0 for other forms.
_LENGTHS: Final = np.zeros(256, np.int64)
_VALUED: Final = np.zeros(256, np.bool_)
_STARTED: Final = np.zeros(256, np.bool_)
for _value in (0, 9):
    for _start in (0, 7):
        _size = _value + 7 + _start
        _LENGTHS[_size] = _size + 2
        _VALUED[_size] = _value > 0
        _STARTED[_size] = _start > 0
_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(_MAX_METADATA + 1)], np.uint64)


@dataclass(slots=True)
class PlainRows:
    """Columns; `which` is the index of the series in the request."""

    which: Places
    times: NDArray[np.int64]
    bits: NDArray[np.uint64]
    starts: NDArray[np.int64]
    metadata: NDArray[np.uint64]  # its bytes as a word, 0 without metadata
    metadata_places: Places
    stops: Places
    references: NDArray[np.int64]  # of all rows, concatenated
    counts: Places  # references of each row


def plain_rows(buffer: Buffer, start: Places, stop: Places) -> PlainRows:
    """The series between these positions that have the plain form."""
    words, octets = words_of(buffer), np.frombuffer(buffer, np.uint8)
    first, sizes = _references_at(octets, start, stop)
    sample = first + sizes
    form = octets[sample + 1]
    end, valued, started = sample + _LENGTHS[form], _VALUED[form], _STARTED[form]
    last = words[sample + np.where(valued, 10, 1)]
    begun = words[end - 8]
    fits = (sizes > 0) & (end > sample) & (octets[sample] == _SAMPLE_TAG)
    fits &= ~valued | (octets[sample + 2] == _VALUE_TAG)
    fits &= end_in_time(last, _TIME_TAG)
    fits &= ~started | end_in_time(begun, _START_TAG)
    fits &= (end == stop) | _is_metadata(words[end], stop - end - 2)
    columns = (
        np.arange(len(start)),
        times_in(last),
        np.where(valued, words[sample + 3], np.uint64(0)),
        np.where(started, times_in(begun), 0),
        _metadata(words[end + 2], stop - end - 2),
        end + 2,
        stop,
    )
    return _only(fits, columns, octets, first, sizes)


def _references_at(octets: NDArray[np.uint8], start: Places, stop: Places) -> tuple[Places, Places]:
    """Where the packed references of each series begin, and their length; 0 for other forms."""
    low, high = octets[start + 1].astype(np.int64), octets[start + 2].astype(np.int64)
    long = low >= _CONTINUED
    first = start + np.where(long, 3, 2)
    sizes = np.where(long, (low & 0x7F) | high << 7, low)
    fits = (octets[start] == _LABELS_TAG) & ~(long & (high >= _CONTINUED))
    fits &= first + sizes + _SHORTEST_SAMPLE <= stop
    sizes = np.where(fits, sizes, 0)
    # The last reference must end with the field.
    return first, np.where(octets[first + sizes - 1] < _CONTINUED, sizes, 0)


def _is_metadata(words: Words, sizes: Places) -> NDArray[np.bool_]:
    """Whether the rest of the series is metadata of at most one word."""
    header = (words & np.uint64(0xFFFF)).view(np.int64)
    fits: NDArray[np.bool_] = header == (_METADATA_TAG | sizes << 8)
    return (sizes > 0) & (sizes <= _MAX_METADATA) & fits


def _metadata(words: Words, sizes: Places) -> NDArray[np.uint64]:
    """Equal words for equal metadata: its bytes, and its size in the top byte if that is free."""
    sizes = np.clip(sizes, 0, _MAX_METADATA)
    masked = words & _MASKS[sizes]
    return np.where(sizes == _MAX_METADATA, masked, masked | sizes.view(np.uint64) << np.uint64(56))


def _only(
    fits: NDArray[np.bool_],
    columns: tuple[NDArray[np.int64] | NDArray[np.uint64], ...],
    octets: NDArray[np.uint8],
    first: Places,
    sizes: Places,
) -> PlainRows:
    """The matching rows, with their references."""
    if not fits.all():
        columns = tuple(column[fits] for column in columns)
        first, sizes = first[fits], sizes[fits]
    references, counts, short = _references(octets, first, sizes)
    if not short.all():
        columns = tuple(column[short] for column in columns)
        references, counts = references[np.repeat(short, counts)], counts[short]
    return PlainRows(*columns, references, counts)  # type: ignore[arg-type,call-arg]


def _references(
    octets: NDArray[np.uint8], first: Places, sizes: Places
) -> tuple[NDArray[np.int64], Places, NDArray[np.bool_]]:
    """The numbers in packed varints, how many each row has, and which rows have only short ones."""
    if not len(sizes):
        return sizes, sizes, sizes.astype(np.bool_)
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) + np.repeat(first - (ends - sizes), sizes)
    packed = octets[places]
    last = packed < _CONTINUED  # the last byte of each number
    stops = np.flatnonzero(last)
    starts = np.concatenate([[0], stops[:-1] + 1])
    length = stops - starts + 1
    numbers = (packed[starts] & 0x7F).astype(np.int64)
    for extra in range(1, _MAX_REFERENCE):
        more = np.flatnonzero(length > extra)
        numbers[more] |= (packed[starts[more] + extra] & 0x7F).astype(np.int64) << 7 * extra
    counts = np.diff(np.cumsum(last)[ends - 1], prepend=0)
    longest = np.maximum.reduceat(length, np.cumsum(counts) - counts)
    return numbers, counts, longest <= _MAX_REFERENCE
