"""Each failure of the seeds, provoked live: the right alert, no other, true, and over by its remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import ALONE, SYSTEM
from support.lab.disturbances import ClockAhead, Unreachable
from support.lab.failure import NATS_CLI, PREFIX, Alerted, Failure, Lab
from support.lab.laboratory import FASTEST, laboratory
from support.lab.recorder import Recorder
from support.lab.seeds.ack_floor import Exhausted
from support.lab.seeds.deduplication import WindowShort
from support.lab.seeds.numbers import ALL, CLUSTER, ONE_SERVER
from support.lab.seeds.sequence_mismatch import RetentionOverran
from support.lab.seeds.wrong_last_sequence import KnownBadVersion
from support.nats.clock_proxy import WrongClock
from support.nats.servers import NatsCluster, NatsServer, default_options

RAISED_SECONDS: Final = 600.0  # a worker is taken for gone after five minutes
ALONE_SECONDS: Final = 120.0  # after the system source
TEXT_SECONDS: Final = 60.0  # until the whole failure is counted
OVER_SECONDS: Final = 420.0


async def problems_of(failure: Failure, lab: Lab, recorder: Recorder) -> list[str]:
    """Provokes it, compares its alert with the truth, and ends it."""
    name = f"{failure.number} {failure.stream}"
    await failure.provoke(lab)
    if not failure.alert:
        return []
    alert = await recorder.until_raised(failure, SYSTEM, RAISED_SECONDS)
    if alert is None:
        return [f"{name}: no {failure.alert} {failure.check}"]
    found = await _wrong_texts(name, failure, alert, lab, recorder)
    if failure.account_sees and not await recorder.until_raised(failure, ALONE, ALONE_SECONDS):
        found.append(f"{name}: the account source raises no {failure.alert}")
    if NATS_CLI is None and failure.by_cli:
        return found
    await failure.remedy(lab)
    if not await recorder.until_over(failure, OVER_SECONDS):
        found.append(f"{name}: {failure.alert} does not end after the remedy")
    if not failure.account_sees and recorder.raised(failure, ALONE):
        found.append(f"{name}: the account source raises {failure.alert} too")
    return found


async def _wrong_texts(
    name: str, failure: Failure, alert: Alerted, lab: Lab, recorder: Recorder
) -> list[str]:
    found = []
    if "<error" in alert.description or "<no value>" in alert.description:
        found.append(f"{name}: {alert.description}")
    truth = await failure.true_numbers(lab)
    if truth is not None and not await recorder.until_text(failure, truth, TEXT_SECONDS):
        found.append(f"{name}: not between {truth}: {alert.description}")
    async with recorder.watched.session.get(alert.runbook) as page:
        if page.status != 200:
            found.append(f"{name}: {alert.runbook} responds {page.status}")
    return found


def others(failures: Iterable[Failure], recorder: Recorder) -> list[str]:
    """Alerts above info that no failure explains."""
    allowed = {
        (PREFIX + alert, failure.stream)
        for failure in failures
        for alert in (failure.alert, *failure.beside)
    }
    of_servers = {PREFIX + alert for failure in failures for alert in failure.of_servers}
    return [
        f"unexpected: {one.name} {one.stream} {one.consumer}: {one.description}"
        for one in recorder.above_info()
        if (one.name, one.stream) not in allowed and one.name not in of_servers
    ]


async def happened(
    folder: Path,
    failures: Sequence[Failure],
    site: NatsServer | NatsCluster | None = None,
    *,
    together: bool = True,
) -> None:
    async with laboratory(folder, prepared(failures), site=site) as (lab, recorder):
        await recorder.watched.until_no_asset_is_young()
        runs = [problems_of(each, lab, recorder) for each in failures]
        found = await asyncio.gather(*runs) if together else [await run for run in runs]
        wrong = [line for lines in found for line in lines] + others(failures, recorder)
    assert not wrong, "\n".join(wrong)
    if NATS_CLI is None:
        pytest.skip("the nats CLI is not on PATH: alerts were right, remedies were not run")


def prepared(failures: Iterable[Failure]) -> Callable[[Lab], Awaitable[None]]:
    async def prepare(lab: Lab) -> None:
        for failure in failures:
            await failure.prepare(lab)

    return prepare


def test_every_number_of_the_table_is_provoked() -> None:
    assert {kind.number for kind in ALL} == set(range(1, 31))


@pytest.mark.timeout(600)
async def test_a_loss_given_up_redeliveries_a_short_window_a_wrong_clock_and_an_outage(
    tmp_path: Path,
) -> None:
    clock = WrongClock()
    failures = [RetentionOverran(), Exhausted(), WindowShort(), ClockAhead(clock)]
    outage = Unreachable()
    async with laboratory(tmp_path, prepared(failures), FASTEST, clock=clock) as (lab, recorder):
        await recorder.watched.until_no_asset_is_young()
        found = await asyncio.gather(*(problems_of(each, lab, recorder) for each in failures))
        found.append(await problems_of(outage, lab, recorder))
        wrong = [line for lines in found for line in lines]
        wrong += others([*failures, outage], recorder)
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
@pytest.mark.timeout(1500)
async def test_each_failure_of_one_server(tmp_path: Path) -> None:
    await happened(tmp_path, [kind() for kind in ONE_SERVER])


@pytest.mark.long
@pytest.mark.timeout(1500)
async def test_each_failure_of_a_cluster(tmp_path: Path) -> None:
    cluster = NatsCluster(3, options=default_options())
    await happened(tmp_path, [kind() for kind in CLUSTER], cluster, together=False)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_version_with_a_known_bug(tmp_path: Path) -> None:
    server = NatsServer(KnownBadVersion.VERSION, default_options())
    await happened(tmp_path, [KnownBadVersion()], server)
