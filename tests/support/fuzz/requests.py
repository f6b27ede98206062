"""Altered remote-write requests: the decoder against the protobuf library.

Where one accepts and the other refuses, the difference is one of the rules below.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

from support.fuzz.values import altered_bytes
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, rows_of
from support.remote_write.protobuf_reference import (
    ReferenceSeries,
    read_reference,
    read_reference_by_symbols,
)

from archive.remote_write.decoder import Version
from archive.remote_write.protobuf import MalformedError

NOW: Final = 1_794_800_000_000
# Our decoder refuses the request, the library does not: the text of our reason.
STRICTER: Final = {
    "has the wire type": "a known field of another wire type is no unknown field for us",
    "of version 2.0, announced as 1.0": "a 2.0 request would be an empty 1.0 request",
    "of version 1.0, announced as 2.0": "a 1.0 request would be an empty 2.0 request",
    "has the unknown wire type": "groups, which no sender uses, are not skipped",
}
REFUSED: Final = "refused by the protobuf library"
OTHER_KINDS: Final = "other kinds of data"
NOT_EXPLAINED: Final = "not explained"


def request(chance: random.Random, version: Version) -> bytes:
    names = ["__name__", "job", "instance", "__replica__", "zone"]
    series = []
    for _ in range(chance.randint(1, 4)):
        chosen = sorted(chance.sample(names, chance.randint(1, 5)))
        labels = [(name, chance.choice(["a", "b", "é", "x" * 40])) for name in chosen]
        time = chance.choice([NOW, NOW - 15_000, 0, -1, NOW + 10**9])
        bits = chance.choice([0, rw.bits_of(1.5), rw.STALE])
        series.append(rw.Series(labels, [rw.Sample(time, bits)] * chance.randint(1, 2)))
    return rw.request_v1(*series) if version is Version.V1 else rw.request_v2(*series)


def expected_rows(series: list[ReferenceSeries]) -> Counter[object]:
    """By the rules of docs/archive.md, from what the library read."""
    rows: Counter[object] = Counter()
    for each in series:
        try:
            named = {name.decode(): value.decode() for name, value in each.labels}
        except UnicodeDecodeError:
            continue
        replica = named.pop("__replica__", "")
        count = len({name for name, _ in each.labels})
        if count < len(each.labels) or "" in named or not named.get("__name__"):
            continue
        identity = tuple(sorted((name, value) for name, value in named.items() if value))
        for time, bits in each.samples:
            if 0 <= time <= NOW + 600_000:
                rows[identity, replica, time, bits] += 1
    return rows


def reference_of(version: Version, message: bytes) -> list[ReferenceSeries] | None:
    read = read_reference if version is Version.V1 else read_reference_by_symbols
    return read(message)


def disagreement(harness: DecoderHarness, version: Version, message: bytes) -> str:
    """The rule that explains it; empty when both agree."""
    reference = reference_of(version, message)
    try:
        decoded = harness.decode(version, rw.compressed(message), NOW)
    except MalformedError as error:
        if reference is None:
            return ""
        return next((rule for rule in STRICTER if rule in str(error)), f"{NOT_EXPLAINED}: {error}")
    if reference is None:
        return f"{NOT_EXPLAINED}: only the library refuses it"
    # Without start times: we read field 3 of a sample as in 2.0, to the library it is unknown.
    found = Counter(row[:4] for row in rows_of(decoded.batch, harness.table))
    assert found == expected_rows(reference)
    return ""


def check_requests(count: int, seed: int, version: Version) -> Counter[str]:
    """The rules that explain the disagreements, "" for agreement; REFUSED counts besides."""
    chance, harness = random.Random(seed), DecoderHarness()
    rules: Counter[str] = Counter()
    for _ in range(count):
        message = altered_bytes(request(chance, version), chance)
        try:
            rules[disagreement(harness, version, message)] += 1
            rules[REFUSED] += reference_of(version, message) is None
        except NotImplementedError:
            rules[OTHER_KINDS] += 1
    return rules
