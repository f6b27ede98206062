"""The decoder against the protobuf library, on valid and on mutated requests.

Where one accepts and the other refuses, the difference is one of the rules below.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

import pytest
from support.nats.servers import long_run
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, rows_of
from support.remote_write.protobuf_reference import ReferenceSeries, read_reference

from archive.remote_write.decoder import Version
from archive.remote_write.protobuf import MalformedError

NOW: Final = 1_794_800_000_000
MUTATIONS: Final = 100_000 if long_run() else 10_000
# Our decoder refuses the request, the library does not: the text of our reason.
STRICTER: Final = {
    "has the wire type": "a known field of another wire type is no unknown field for us",
    "of version 2.0, announced as 1.0": "a 2.0 request would be an empty 1.0 request",
    "has the unknown wire type": "groups, which no sender uses, are not skipped",
}


def requests(chance: random.Random) -> bytes:
    names = ["__name__", "job", "instance", "__replica__", "zone"]
    series = []
    for _ in range(chance.randint(1, 4)):
        chosen = sorted(chance.sample(names, chance.randint(1, 5)))
        labels = [(name, chance.choice(["a", "b", "é", "x" * 40])) for name in chosen]
        time = chance.choice([NOW, NOW - 15_000, 0, -1, NOW + 10**9])
        bits = chance.choice([0, rw.bits_of(1.5), rw.STALE])
        series.append(rw.Series(labels, [rw.Sample(time, bits)] * chance.randint(1, 2)))
    return rw.request_v1(*series)


def mutated(message: bytes, chance: random.Random) -> bytes:
    data = bytearray(message)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        at = chance.randrange(len(data) + 1)
        how = chance.randrange(5)
        if how == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif how == 1 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            del data[at : at + chance.randint(1, 6)]
        elif how == 3:
            data[at:at] = chance.randbytes(chance.randint(1, 6))
        else:
            del data[at:]
    return bytes(data)


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


def disagreement(harness: DecoderHarness, message: bytes) -> str:
    """The rule that explains it; empty when both agree."""
    reference = read_reference(message)
    try:
        decoded = harness.decode(Version.V1, rw.compressed(message), NOW)
    except MalformedError as error:
        if reference is None:
            return ""
        return next((rule for rule in STRICTER if rule in str(error)), f"not explained: {error}")
    if reference is None:
        return "not explained: only the library refuses it"
    # Without start times: we read field 3 of a sample as in 2.0, to the library it is unknown.
    found = Counter(row[:4] for row in rows_of(decoded.batch, harness.table))
    assert found == expected_rows(reference)
    return ""


@pytest.mark.timeout(900)  # a hundred thousand in the long run
def test_the_decoder_and_protobuf_agree_or_differ_by_a_rule() -> None:
    chance, harness = random.Random(20), DecoderHarness()
    rules: Counter[str] = Counter()
    refused = 0
    for _ in range(MUTATIONS):
        message = mutated(requests(chance), chance)
        try:
            rules[disagreement(harness, message)] += 1
        except NotImplementedError:
            rules["other kinds of data"] += 1
        refused += read_safely(message) is None
    assert not [rule for rule in rules if rule.startswith("not explained")]
    assert rules[""] > MUTATIONS / 2
    assert refused > MUTATIONS / 20


def read_safely(message: bytes) -> list[ReferenceSeries] | None:
    try:
        return read_reference(message)
    except NotImplementedError:
        return []
