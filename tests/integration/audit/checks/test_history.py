"""Checks that need history: real assets, and generated rollups in real Parquet files."""

import asyncio
from pathlib import Path

from support.audit.command import audit
from support.audit.contexts import check_of
from support.audit.live.assets import HOUR, MINUTE, SECOND, WORKER, Asset, Row, make
from support.audit.rollups import acks, daily_row, in_flight, write
from support.nats.servers import APP, NEWEST, NatsServer, connected, default_options
from support.recordings.scenario import Api

from exporter import catalog
from exporter.audit.check import Subject

BACKOFF = {"max_deliver": 5, "backoff": [30 * SECOND, 60 * SECOND]}
WIDE = {"max_ack_pending": 2000}
AGED = {"max_age": 10 * MINUTE}
RARE = {"duplicate_window": HOUR}
PLAIN = Asset({}, {})


def twice(code: str, asset: Asset = PLAIN) -> Row:
    """Two identical assets; only their history differs."""
    return Row(code, asset, Asset(asset.stream, asset.consumer))


ROWS = (
    twice("ack-wait-short"),
    twice("ack-wait-long", Asset({}, {"ack_wait": 5 * MINUTE})),
    twice("backoff-first-short", Asset({}, BACKOFF)),
    twice("blind"),
    twice("max-ack-pending-high", Asset({}, WIDE)),
    twice("max-ack-pending-low"),
    twice("recreate-hazard"),
    twice("retention-vs-lag", Asset(AGED, {})),
    twice("consumers-growing"),
    twice("dupe-window-costly", Asset(RARE)),
)


def write_history(folder: Path) -> None:
    """For each pair: a history with a violation, and a near miss."""
    pending, sent = catalog.CONSUMER_NUM_ACK_PENDING, catalog.CONSUMER_DELIVERIES
    again, lag = catalog.CONSUMER_REDELIVERIES, catalog.CONSUMER_LAG_SECONDS
    made, stored = catalog.CONSUMER_RECREATED, catalog.STREAM_STORED_MESSAGES
    slow, quick = {"below_30": 900.0, "below_60": 1000.0}, {"below_10": 900.0, "below_30": 1000.0}
    daily = [
        *acks("ack-wait-short-bad", WORKER, **slow),
        *acks("ack-wait-short-good", WORKER, **quick),
        *acks("ack-wait-long-bad", WORKER, below_10=1000.0),
        *acks("ack-wait-long-good", WORKER, **quick),
        *acks("backoff-first-short-bad", WORKER, **slow),
        *acks("backoff-first-short-good", WORKER, **quick),
        daily_row(sent, "blind-bad", WORKER, increase=1000.0),
        daily_row(again, "blind-bad", WORKER, increase=11.0),
        daily_row(sent, "blind-good", WORKER, increase=1000.0),
        daily_row(again, "blind-good", WORKER, increase=10.0),
        daily_row(pending, "max-ack-pending-high-bad", WORKER, max=199.0),
        daily_row(pending, "max-ack-pending-high-good", WORKER, max=200.0),
        daily_row(made, "recreate-hazard-bad", WORKER, increase=1.0),
        daily_row(made, "recreate-hazard-good", WORKER, increase=0.0),
        daily_row(lag, "retention-vs-lag-bad", WORKER, max=301.0),
        daily_row(lag, "retention-vs-lag-good", WORKER, max=300.0),
        *(growing("consumers-growing-bad", 500.0), growing("consumers-growing-good", 499.0)),
        daily_row(stored, "dupe-window-costly-bad", increase=864_000.0),
        daily_row(stored, "dupe-window-costly-good", increase=863_000.0),
    ]
    usual = [
        in_flight("max-ack-pending-low-bad", WORKER, 800.0),
        in_flight("max-ack-pending-low-good", WORKER, 799.0),
    ]
    write(folder, daily, usual)


def growing(stream: str, by: float) -> dict[str, object]:
    numbers = {"first": 10.0, "min": 10.0, "last": 10.0 + by, "max": 10.0 + by}
    return daily_row(catalog.STREAM_CONSUMERS, stream, **numbers)


async def test_history_that_violates_a_check_is_found(tmp_path: Path) -> None:
    await asyncio.to_thread(write_history, tmp_path)
    async with NatsServer(NEWEST, default_options()) as server:
        async with connected(server) as client:
            for row in ROWS:
                for asset in (row.bad, row.good):
                    await make(Api(client), row.name_of(asset), asset)
        with_history = await audit(server, APP, "--rollups", str(tmp_path))
        without = await audit(server, APP)
    for row in ROWS:
        consumer = WORKER if check_of(row.code).subject is Subject.CONSUMER else ""
        assert (row.code, row.name_of(row.bad), consumer) in with_history.found
        assert (row.code, row.name_of(row.good), consumer) not in with_history.found
        assert not without.about(row.code), row.code
    unknown = {one["check"] for one in without.system["not_evaluated"]}
    assert {"blind", "retention-vs-lag", "consumers-growing", "ack-wait-short"} <= unknown
