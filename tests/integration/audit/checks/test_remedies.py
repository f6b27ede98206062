"""Applies the remedies of findings on a real server and checks that the findings are resolved."""

import re
from dataclasses import dataclass

from support.audit.command import AuditRun, audit, lowered
from support.audit.contexts import check_of
from support.audit.live import consumer_cases, stream_cases
from support.audit.live.assets import WORKER, Row, make
from support.audit.live.remedies import apply
from support.nats.servers import NEWEST, NatsServer, connected, default_options
from support.recordings.scenario import Api

from exporter.audit.check import Subject


@dataclass(frozen=True)
class Remedy:
    code: str
    which: int = 0  # index of the command


REMEDIES = (
    Remedy("max-deliver-unlimited", 1),
    Remedy("max-deliver-one"),
    Remedy("max-deliver-high"),
    Remedy("backoff-missing"),
    Remedy("backoff-endless", 1),
    Remedy("backoff-first-short"),
    Remedy("backoff-decreasing"),
    Remedy("ack-wait-long"),
    Remedy("horizon-short"),
    Remedy("horizon-over-retention"),
    Remedy("max-ack-pending-unlimited"),
    Remedy("max-ack-pending-high"),
    Remedy("max-ack-pending-low"),
    Remedy("durable-expires"),
    Remedy("ephemeral-lingers", 1),
    Remedy("ack-wait-over-retention"),
    Remedy("pause-long"),
    Remedy("dupe-window-short", 1),
    Remedy("dupe-window-clipped"),
    Remedy("dupe-window-off"),
    Remedy("no-ack"),
    Remedy("abandoned-kept", 1),
    Remedy("dead-letter-body-gone"),
    Remedy("no-limits"),
    Remedy("kv-expiry-silent"),
    Remedy("large-uncompressed"),
    Remedy("consumers-near-limit", 1),
    Remedy("stream-limit-near", 1),
    Remedy("workqueue-drops"),
    Remedy("discard-new-unlimited"),
    # The last one: its stream stores all advisories.
    Remedy("no-dead-letter"),
)
LOWERED = {"large-uncompressed": {"LARGE_BYTES": 50_000}, "consumers-near-limit": {"LEAST": 2}}
# Values for the placeholders.
VALUES = {
    "N": "10",
    "STEPS": "5",
    "FIRST": "30s",
    "LAST": "10m",
    "SHORTER": "5m",
    "LONGER": "5m",
    "AGE": "30d",
    "LONGER_AGE": "7d",
    "BYTES": "10GB",
    "MORE_MESSAGES": "2000000",
    "HIGHER": "1000",
    "LOWER": "1000",
    "LIMIT": "1000",
}
ROWS = {row.code: row for row in (*consumer_cases.ROWS, *stream_cases.ROWS) if not row.about}


def key(row: Row) -> tuple[str, str, str]:
    consumer = WORKER if check_of(row.code).subject is Subject.CONSUMER else ""
    return row.code, row.name_of(row.bad), consumer


def command_for(run: AuditRun, remedy: Remedy) -> str:
    wanted = key(ROWS[remedy.code])
    (shown,) = (
        one["commands"]
        for one in run.findings
        if (one["check"], one["stream"], one["consumer"]) == wanted
    )
    # A finding about ephemeral consumers names its stream: any of them may be meant.
    return str(shown[remedy.which]).replace(" NAME ", f" {WORKER} ")


def filled_in(command: str) -> str:
    """Replaces only values of flags: names of assets may be in capitals too."""
    return re.sub(
        r"(?<= )(--[\w-]+) ([A-Z_]+)(?= |$)",
        lambda found: f"{found[1]} {VALUES[found[2]]}",
        command,
    )


async def test_each_remedy_resolves_its_finding() -> None:
    # The commands reserve this much storage.
    options = default_options(max_file="500GB")
    async with NatsServer(NEWEST, options) as server, connected(server) as client:
        api = Api(client)
        for remedy in REMEDIES:
            row = ROWS[remedy.code]
            await make(api, row.name_of(row.bad), row.bad)
        with lowered(LOWERED):
            before = await audit(server)
            assert [r.code for r in REMEDIES if key(ROWS[r.code]) not in before.found] == []
            for remedy in REMEDIES:
                await apply(server, api, filled_in(command_for(before, remedy)))
            after = await audit(server)
    assert [r.code for r in REMEDIES if key(ROWS[r.code]) in after.found] == []
