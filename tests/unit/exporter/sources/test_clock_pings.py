"""The clock samples of a poll: several, but only while time is left."""

import asyncio
import time
from collections import Counter

import pytest
from support.nats.servers import NEWEST
from support.recordings.recording_file import Exchange, RecordedReply, RecordingFile
from support.recordings.replay import POLL_SECONDS, Recording, Replayer

from exporter.sources.clock_pings import MORE_SAMPLES, sample_timeouts
from exporter.sources.request_context import RequestContext, SkippedRequests

SHORT_SECONDS = 1.5


class CountingReplayer(Replayer):
    def __init__(self, file: RecordingFile) -> None:
        super().__init__(file)
        self.requested: Counter[str] = Counter()

    def response(self, request: str) -> tuple[Exchange, tuple[RecordedReply, ...]]:
        self.requested[request] += 1
        return super().response(request)


async def clock_samples(source: str, seconds: float) -> int:
    """The number of clock samples in a poll of one server with so much time."""
    file = RecordingFile.load(Recording(NEWEST, "standalone", source).path)
    replayer = CountingReplayer(file)
    polled = replayer.source(source, "nats")
    with replayer.playing(file):
        await polled.poll(time.monotonic() + seconds)
    await polled.close()
    return sum(n for request, n in replayer.requested.items() if _has_time(request))


def _has_time(request: str) -> bool:
    return "PING.STATZ" in request or "PING.STATSZ" in request or request.endswith("/varz")


@pytest.mark.parametrize("source", ["account", "system", "monitor"])
def test_every_poll_takes_several_samples_of_a_clock(source: str) -> None:
    assert asyncio.run(clock_samples(source, POLL_SECONDS)) == 1 + MORE_SAMPLES


@pytest.mark.parametrize("source", ["account", "system", "monitor"])
def test_a_poll_in_a_hurry_takes_one(source: str) -> None:
    assert asyncio.run(clock_samples(source, SHORT_SECONDS)) == 1


def test_a_sample_never_takes_much_of_the_poll() -> None:
    rounds = list(sample_timeouts(RequestContext(time.monotonic() + 60, SkippedRequests())))
    assert len(rounds) == MORE_SAMPLES
    assert max(rounds) <= 0.5
