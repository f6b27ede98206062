"""Faults on a living server, from the first sign to the person, and back by the runbook's remedy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from support.alert_pipeline.config import SYSTEM, Tempo
from support.alert_pipeline.pipeline import Pipeline, pipeline
from support.faults.cluster_alerts import ALERTS as OF_A_CLUSTER
from support.faults.cluster_alerts import UNREACHABLE
from support.faults.delivery import (
    AckFloorStalled,
    AckWaitTooShort,
    MessagesAbandoned,
    MessagesLost,
    NakLoop,
    NotBound,
    NoWorkerPulls,
    Stalled,
)
from support.faults.fault import (
    Expected,
    Fault,
    Site,
    all_happen,
    assert_notified_once,
    page,
    prepared,
    ticket,
)
from support.faults.missing_assets import (
    ConsumerRecreated,
    ConsumerRemoved,
    InterestStreamDiscarding,
    PublishesNotStored,
    StreamRecreated,
    WorkqueueStuck,
)
from support.faults.reached_limits import (
    LIMIT_BYTES,
    LIMITED,
    AccountStorageFull,
    AckPendingFull,
    AckPendingHigh,
    OwnerLimitExceeded,
    StreamFull,
)
from support.nats.servers import APP, Account, Login, NatsServer, User, connected, default_options
from support.recordings.scenario import Api

from alerts.rule import Severity
from alerts.rules import ALERTS

FASTEST: Final = Tempo(speed=200)
FAST: Final = Tempo(speed=60)
UNMONITORED: Final = page("SystemUnmonitored", system=SYSTEM)
FAULTS: Final[tuple[type[Fault], ...]] = (
    StreamFull,
    AccountStorageFull,
    Stalled,
    AckPendingFull,
    MessagesLost,
    OwnerLimitExceeded,
    AckPendingHigh,
    NoWorkerPulls,
    NotBound,
    NakLoop,
    AckWaitTooShort,
    AckFloorStalled,
    MessagesAbandoned,
    ConsumerRemoved,
    ConsumerRecreated,
    StreamRecreated,
    InterestStreamDiscarding,
    WorkqueueStuck,
    PublishesNotStored,
)


@asynccontextmanager
async def trial(
    folder: Path, faults: Sequence[Fault], tempo: Tempo
) -> AsyncIterator[tuple[Site, Pipeline]]:
    """One server with the assets of all these faults, and everybody watches."""
    limit = f"jetstream {{ max_file: {LIMIT_BYTES}, max_mem: {LIMIT_BYTES} }}"
    limited = Account(LIMITED, (User("limited", "limited"),), jetstream=False, extra=(limit,))
    options = default_options(accounts=(*default_options().accounts, limited))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(options=options))
        app = await stack.enter_async_context(connected(server, APP))
        other = await stack.enter_async_context(connected(server, Login("limited", "limited")))
        site = await stack.enter_async_context(prepared(faults, Api(app), Api(other)))
        watched = await stack.enter_async_context(pipeline(folder, [server.url], tempo))
        yield site, watched


def alerts_of(faults: Iterable[Fault | type[Fault]]) -> list[Expected]:
    return [alert for fault in faults for alert in fault.alerts]


def beside(faults: Iterable[Fault]) -> list[Expected]:
    return [alert for fault in faults for alert in fault.beside]


async def test_a_full_stream_and_a_blocked_consumer_each_page_once_until_fixed(
    tmp_path: Path,
) -> None:
    faults = (StreamFull(), AckPendingFull())
    async with trial(tmp_path, faults, FASTEST) as (site, watched):
        await all_happen(faults, site, watched)
        assert_notified_once(watched.inbox, alerts_of(faults), beside(faults))
        assert await watched.pages_of_links() >= {
            "/stream", "/consumer", "/docs/runbooks/JetStreamStreamFull",
        }  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_each_fault_of_one_server_notifies_once_until_fixed(tmp_path: Path) -> None:
    faults = [kind() for kind in FAULTS]
    async with trial(tmp_path, faults, FAST) as (site, watched):
        await watched.until_no_asset_is_young()
        await all_happen(faults, site, watched)
        assert await watched.pages_of_links() >= {"/", "/stream", "/consumer"}
        await watched.exporter.stop()
        await watched.inbox.until_firing(UNMONITORED)
        # The page covers the ticket about its target. At this speed it comes after it: its window
        # is the shortest there is, the wait of the ticket is not.
        await watched.until_kept_quiet("JetStreamExporterDown")
        down = ticket("ExporterDown", instance=watched.exporter.instance)
        await watched.exporter.start()
        await watched.inbox.until_resolved(UNMONITORED)
        expected = [*alerts_of(faults), UNMONITORED]
        assert_notified_once(watched.inbox, expected, [*beside(faults), down])


def test_every_page_and_many_a_ticket_are_among_the_faults() -> None:
    expected = (*alerts_of(FAULTS), *OF_A_CLUSTER, UNMONITORED, UNREACHABLE)
    provoked = {alert["alertname"] for alert in expected}
    pages = {alert.full_name for alert in ALERTS if alert.severity is Severity.CRITICAL}
    assert pages - provoked == set()
    assert len(provoked - pages) >= 8
