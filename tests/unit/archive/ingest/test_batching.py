"""Plain requests that arrive together: stored as one batch, with a response each."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.remote_write import messages as rw
from support.remote_write.decoded import DecoderHarness, rows_of
from support.remote_write.endpoint import MemoryLog

from archive.ingest.protocol import RequestInfo, WriteResponse
from archive.ingest.quarantine import Quarantine
from archive.ingest.receiver import Receiver
from archive.remote_write.decoder import Decoder, Version
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import ReceiverCounters
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.quarantine import QuarantineSettings
from archive.wal.errors import WalUnavailableError

NOW: Final = 1_794_800_000_000


class Sent:
    """A receiver, and requests sent to it in one loop iteration."""

    def __init__(self, folder: Path) -> None:
        self.log, self.counters = MemoryLog(), ReceiverCounters()
        self.log.gate.set()
        self.decoder = Decoder(Limits(), "", SeriesTable())
        quarantine = Quarantine(folder, QuarantineSettings())
        self.receiver = Receiver(self.decoder, self.log, Limits(), quarantine, self.counters)

    def send(
        self, body: bytes, sender: str = "a", cursor: ConnectionCursor | None = None
    ) -> asyncio.Future[WriteResponse]:
        return self.receiver.receive_soon(
            RequestInfo(Version.V1, sender, ""), body, cursor or ConnectionCursor()
        )

    async def codes(self, *responses: asyncio.Future[WriteResponse]) -> list[int]:
        return [response.code for response in await asyncio.gather(*responses)]

    @property
    def batches(self) -> list[tuple[str, int]]:
        return [(batch.sender, len(batch.series)) for batch in self.log.batches]


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    return Sent(tmp_path)


def body(*places: int, **labels: str) -> bytes:
    at = time.time_ns() // 1_000_000 - 60_000
    series = [rw.series("up", rw.sample(1 + n, at + n), place=f"{n}", **labels) for n in places]
    return rw.compressed(rw.request_v1(*series))


NAMELESS: Final = rw.compressed(
    rw.request_v1(rw.Series([("job", "x")], [rw.sample(1, NOW)]), rw.series("up", rw.sample(1, 9)))
)


async def test_requests_of_one_loop_iteration_are_one_batch_with_a_response_each(
    sent: Sent,
) -> None:
    bodies = [body(0, 1), body(2), body(1, 3, 4)]
    responses = await asyncio.gather(*(sent.send(each) for each in bodies))
    assert responses == [WriteResponse(204)] * 3
    assert sent.batches == [("a", 6)]
    assert sent.counters.samples == 6
    assert sent.counters.received_bytes == sum(map(len, bodies))
    assert sent.counters.newest == {"a": int(sent.log.batches[0].times.max())}


async def test_responses_wait_until_the_batch_is_durable(sent: Sent) -> None:
    sent.log.gate.clear()
    responses = [sent.send(body(place)) for place in range(3)]
    await sent.log.appending.wait()
    assert not any(response.done() for response in responses)
    sent.log.gate.set()
    assert await sent.codes(*responses) == [204] * 3


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (b"\x05nonsense", "snappy"),
        (rw.compressed(b"\x0a\x7fcut off"), ""),
        (NAMELESS, "refused 1 x"),
    ],
    ids=["no block", "no request", "refused in a part"],
)
async def test_a_bad_request_is_refused_and_the_others_are_kept(
    sent: Sent, odd: bytes, reason: str
) -> None:
    first, wrong, last = (sent.send(each) for each in (body(0), odd, body(1)))
    assert await sent.codes(first, wrong, last) == [204, 400, 204]
    assert reason in wrong.result().reason
    kept = 3 if odd is NAMELESS else 2
    assert sent.counters.samples == sum(count for _, count in sent.batches) == kept
    assert sum(sent.counters.refused.values()) == 1


async def test_senders_are_not_mixed(sent: Sent) -> None:
    senders = ["a", "a", "b", "a"]
    responses = [sent.send(body(place), sender) for place, sender in enumerate(senders)]
    assert await sent.codes(*responses) == [204] * 4
    assert sent.batches == [("a", 2), ("b", 1), ("a", 1)]


async def test_a_batch_is_bounded_in_size(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sent.decoder.size_of(body(0))
    assert size is not None
    monkeypatch.setattr("archive.ingest.batching.INLINE_SIZE", 2 * size)
    assert await sent.codes(*(sent.send(body(place)) for place in range(5))) == [204] * 5
    assert sent.batches == [("a", 2), ("a", 2), ("a", 1)]


async def test_a_disk_that_fails_fails_all_of_them_and_nothing_is_counted(sent: Sent) -> None:
    sent.log.error = WalUnavailableError("no space")
    assert await sent.codes(*(sent.send(body(place)) for place in range(3))) == [503] * 3
    assert (sent.counters.samples, sent.counters.deferred["disk"]) == (0, 3)
    sent.log.error = None
    assert await sent.codes(*(sent.send(body(place)) for place in range(3))) == [204] * 3


async def test_an_immediate_refusal_of_the_log_is_reported(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise WalUnavailableError("no space")

    monkeypatch.setattr(sent.log, "append_soon", refuse)
    assert await sent.codes(sent.send(body(0)), sent.send(body(1))) == [503, 503]


async def test_a_client_that_disconnects_does_not_affect_the_others(sent: Sent) -> None:
    sent.log.gate.clear()
    responses = [sent.send(body(place)) for place in range(3)]
    await sent.log.appending.wait()
    responses[1].cancel()
    sent.log.gate.set()
    assert await sent.codes(responses[0], responses[2]) == [204, 204]
    assert sent.batches == [("a", 3)]


async def test_while_a_large_one_is_decoded_the_others_wait_for_the_lock(sent: Sent) -> None:
    async with sent.receiver.decoder_lock:
        responses = [sent.send(body(place)) for place in range(2)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert sent.batches == []
    assert await sent.codes(*responses) == [204, 204]
    assert sent.batches == [("a", 1), ("a", 1)]


async def test_a_connection_that_is_not_plain_goes_alone_until_it_is_again(sent: Sent) -> None:
    cursor = ConnectionCursor()
    at = time.time_ns() // 1_000_000
    histogram = rw.Series([("__name__", "h")], histograms=[rw.Histogram(at)])
    odd = rw.compressed(rw.request_v1(histogram))
    for each, alone in ((odd, True), (odd, True), (body(0), True), (body(0), False)):
        responses = [sent.send(each, cursor=cursor), sent.send(body(1))]
        assert await sent.codes(*responses) == [204, 204]
        assert len(sent.log.batches) == (2 if alone else 1), each
        sent.log.batches.clear()


# --- decoding -------------------------------------------------------------------------------------


def request(places: list[int]) -> bytes:
    found = [
        rw.series("m", rw.sample(place % 3, NOW + place), place="x" * place) for place in places
    ]
    return rw.request_v1(*found)


PLACES: Final = st.lists(st.integers(0, 60), min_size=1, max_size=40)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(PLACES, st.integers(0, 2)), min_size=1, max_size=4), max_size=6))
def test_requests_decoded_together_mean_what_they_mean_alone(
    rounds: list[list[tuple[list[int], int]]],
) -> None:
    together, alone, cursors = (
        DecoderHarness(),
        DecoderHarness(),
        [ConnectionCursor() for _ in range(3)],
    )
    for sent in rounds:
        messages = [request(places) for places, _ in sent]
        bodies = [rw.compressed(message) for message in messages]
        own = [cursors[connection] for _, connection in sent]
        decoded = together.decoder.decode_batch(bodies, own, "test", NOW)
        assert decoded is not None
        expected = Counter(
            row
            for each in bodies
            for row in rows_of(alone.decode(Version.V1, each, NOW).batch, alone.table)
        )
        assert Counter(rows_of(decoded.batch, together.table)) == expected


@pytest.mark.parametrize("known", [False, True])
def test_a_request_is_not_completed_by_the_one_behind_it(known: bool) -> None:
    """Wherever it is cut off, and though the two together would be one that is whole."""
    harness = DecoderHarness()
    message = request([1, 2, 3])
    if known:
        harness.decode(Version.V1, rw.compressed(message), NOW)
    whole = {0, *(len(request([1, 2, 3][:count])) for count in range(1, 4))}
    for cut in range(len(message) + 1):
        parts = [rw.compressed(message[:cut]), rw.compressed(message[cut:])]
        decoded = harness.decoder.decode_batch(
            parts, [ConnectionCursor(), ConnectionCursor()], "test", NOW
        )
        assert (decoded is not None) == (cut in whole), cut
