"""Requests crafted to mislead length checks: known labels, plain sizes, other content."""

from __future__ import annotations

import struct
from typing import Final

import pytest
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness

from archive.remote_write.decoder import Version

NOW: Final = 1_794_800_000_000
TIME: Final = rw.varint(NOW)
VALUE: Final = b"\x09" + struct.pack("<d", 2.5)
assert len(TIME) == 6

# Every one is as long as a plain sample of its kind: with or without a value, with or without a start.
SAMPLES: Final = {
    "a start where the time should be": VALUE + b"\x18" + TIME,
    "an unknown field where the time should be": VALUE + b"\x20" + TIME,
    "a short time and a short start": VALUE + b"\x10" + rw.varint(2**20) + b"\x18" + rw.varint(2**13),
    "the time before the value": b"\x10" + TIME + VALUE,
    "a time that does not end": VALUE + b"\x10" + b"\xff" * 6,
    "a time that ends early": VALUE + b"\x10" + TIME[:4] + b"\x01" + b"\x08",
    "a value that is a number": b"\x08" + b"\x80" * 7 + b"\x01" + b"\x10" + TIME,
    "zero: a start where the time should be": b"\x18" + TIME,
    "zero: an unknown field": b"\x20" + TIME,
    "zero: a short time and a short start": b"\x10" + rw.varint(2**20) + b"\x18" + rw.varint(2**13),
    "zero: a time that does not end": b"\x10" + b"\xff" * 6,
    "zero: five bytes and a field without content": b"\x10" + TIME[:4] + b"\x01" + b"\x10",
    "started: two times": VALUE + b"\x10" + TIME + b"\x10" + TIME,
    "started: the start first": VALUE + b"\x18" + TIME + b"\x10" + TIME,
    "started: a start that does not end": VALUE + b"\x10" + TIME + b"\x18" + b"\xff" * 6,
    "started zero: the start first": b"\x18" + TIME + b"\x10" + TIME,
    "started zero: an unknown field": b"\x10" + TIME + b"\x20" + TIME,
}  # fmt: skip
LABELS: Final = [("__name__", "up"), ("job", "a")]
both = pytest.mark.parametrize("version", list(Version), ids=lambda version: version.value)


def message_of(version: Version, sample: bytes, behind: bytes = b"") -> bytes:
    """The crafted series between two plain ones."""
    plain = rw.series("down", rw.sample(1, NOW))
    if version is Version.V1:
        labels = b"".join(rw.length(1, rw.label(pair)) for pair in LABELS)
        crafted = rw.length(1, labels + rw.length(2, sample) + behind)
        return rw.request_v1(plain) + crafted + rw.request_v1(plain)
    symbols = rw.Symbols()
    crafted = rw.length(1, symbols.references(LABELS)) + rw.length(2, sample) + behind
    parts = [rw.length(5, each) for each in (symbols.series(plain), crafted, symbols.series(plain))]
    return b"".join([rw.length(4, text.encode()) for text in symbols.numbers] + parts)


def check(version: Version, message: bytes) -> None:
    harness = DecoderHarness()
    plain = VALUE + b"\x10" + TIME
    for known in (plain, b"\x10" + TIME, plain + b"\x18" + TIME):
        harness.outcome(version, rw.compressed(message_of(version, known)), NOW)
    for _ in range(2):
        expected = harness.slow_outcome(version, message, NOW)
        harness.decoder.forget_metadata()
        assert harness.outcome(version, rw.compressed(message), NOW) == expected


@both
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_a_sample_of_the_plain_length_is_read_for_what_it_is(
    version: Version, sample: bytes
) -> None:
    assert len(sample) in (7, 14, 16, 23)
    check(version, message_of(version, sample))


@both
@pytest.mark.parametrize(
    "behind",
    [
        rw.length(2, rw.sample(3, NOW).encoded()),
        rw.length(3, rw.Exemplar(NOW, 1).encoded_v1()),
        rw.length(5, b"\x08\x01"),
        rw.length(5, b"\x08\x01\x18\x00"),
        rw.length(5, b"\x08\x01\x18\x00\x20\x00\x08"),
        rw.length(5, b""),
        rw.length(9, b"later"),
        rw.number(6, NOW - 5),
        b"\x2a",
        b"\x2a\x05\x08\x01",
        b"\x00",
    ],
    ids=bytes.hex,
)
def test_what_follows_a_plain_sample_is_not_overlooked(version: Version, behind: bytes) -> None:
    for sample in (VALUE + b"\x10" + TIME, b"\x10" + TIME):
        check(version, message_of(version, sample, behind))


@pytest.mark.parametrize("number", [3, 4, 5, 6, 15])
@pytest.mark.parametrize("sample", [VALUE + b"\x10" + TIME, b"\x10" + TIME], ids=["value", "zero"])
def test_what_looks_like_a_sample_under_another_number_is_none(number: int, sample: bytes) -> None:
    labels = b"".join(rw.length(1, rw.label(pair)) for pair in LABELS)
    crafted = rw.length(1, labels + rw.length(number, sample))
    check(Version.V1, rw.request_v1(rw.series("down", rw.sample(1, NOW))) + crafted)


@both
def test_a_length_written_longer_than_need_be_is_still_the_same_length(version: Version) -> None:
    message = message_of(version, VALUE + b"\x10" + TIME)
    tag, changed = b"\x0a" if version is Version.V1 else b"\x2a", 0
    for at in range(len(message) - 1):
        if message[at : at + 1] == tag and message[at + 1] < 0x80:
            padded = message[: at + 1] + bytes([message[at + 1] | 0x80, 0]) + message[at + 2 :]
            check(version, padded)
            changed += 1
    assert changed >= 3


@both
def test_labels_that_look_like_a_sample_are_labels(version: Version) -> None:
    inner = (VALUE + b"\x10" + TIME).decode("latin-1")
    series = [
        rw.Series([("__name__", "up"), ("job", inner), ("zone", "\x12\x10" + inner)], [rw.sample(1, NOW)]),
        rw.Series([("__name__", "up"), ("job", "a"), ("zone", "\n\x05up")], [rw.sample(0, NOW)]),
    ]  # fmt: skip
    check(version, rw.request_v1(*series) if version is Version.V1 else rw.request_v2(*series))
