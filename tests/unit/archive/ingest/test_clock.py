"""The clock of the host is set back or forward while samples arrive."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.remote_write import messages as rw
from support.remote_write.endpoint import MemoryLog

from archive.ingest.clock import Clock
from archive.ingest.protocol import RequestInfo
from archive.ingest.quarantine import Quarantine
from archive.ingest.receiver import Receiver
from archive.remote_write.decoder import Decoder, Version
from archive.self_metrics import ReceiverCounters
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.quarantine import QuarantineSettings

SECOND = 1_000_000_000
START = 1_794_800_000 * SECOND
HOUR = 3_600
DAY = 86_400


class Host:
    """Its clock can be set; time passes all the same."""

    def __init__(self) -> None:
        self.passed = 0
        self.set_by = 0
        self.clock = Clock(lambda: START + self.passed + self.set_by, lambda: self.passed)

    def wait(self, seconds: int) -> None:
        self.passed += seconds * SECOND

    def true_time(self) -> int:
        return (START + self.passed) // 1_000_000


def test_a_clock_set_back_is_not_followed_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    host = Host()
    for host.set_by in (0, -5 * SECOND, -HOUR * SECOND, -HOUR * SECOND):
        host.wait(10)
        assert host.clock.now() == host.true_time()
    assert [record.message for record in caplog.records] == ["clock of the host was set back"]


def test_a_clock_set_forward_is_followed_there_and_back() -> None:
    host = Host()
    host.set_by = HOUR * SECOND
    assert host.clock.now() == host.true_time() + HOUR * 1_000
    host.set_by = 0
    assert host.clock.now() == host.true_time()


@pytest.mark.parametrize("jump", [-400 * DAY, -DAY, -HOUR, -601, -60, 60, HOUR, DAY, 400 * DAY])
async def test_current_samples_are_accepted_whatever_the_clock_does(
    tmp_path: Path, jump: int
) -> None:
    host, log = Host(), MemoryLog()
    log.gate.set()
    quarantine = Quarantine(tmp_path, QuarantineSettings(size=0))
    decoder = Decoder(Limits(), "", SeriesTable())
    receiver = Receiver(decoder, log, Limits(), quarantine, ReceiverCounters(), host.clock)
    info = RequestInfo(Version.V1, "eu", "")
    codes = []
    for host.set_by in (0, jump * SECOND, jump * SECOND, 0, 0):
        host.wait(30)
        body = rw.compressed(rw.request_v1(*rw.many(5, {}, host.true_time())))
        codes.append((await receiver.receive(info, body)).code)
    assert codes == [204] * 5
    assert log.samples == 25
