"""Polling one system for an audit: number of polls, and what makes the result incomplete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.audit.reports import ORDERS, check
from support.exporter.models import NOW, consumer, consumer_config, server, snapshot, stream

from exporter.audit.check import Need
from exporter.audit.command import system_poll
from exporter.audit.command.system_poll import AuditOptions, NoResponseError, SystemAudit
from exporter.audit.context import AuditSettings
from exporter.audit.output.system_audit import AuditedSystem
from exporter.model import MetaGroup, Outcome, Snapshot
from exporter.settings.config import SourceName, SystemSettings

SEEN = snapshot(stream(), consumer("worker"), server())
FIRST = check("a-check", ORDERS)
SECOND = check("compares", ORDERS, needs=frozenset({Need.SECOND_POLL}))
DENIED = Outcome("consumer_list", False, 0.1, "permission", "denied")
LISTED = Outcome("stream_list", True, 0.1)


@dataclass
class Source:
    """Returns these snapshots one by one."""

    seen: list[Snapshot]
    closed: bool = False
    polls: int = field(default=0, init=False)

    async def poll(self, deadline: float) -> Snapshot:
        self.polls += 1
        place = min(self.polls, len(self.seen)) - 1
        return changed(self.seen[place], taken=NOW + self.polls)

    async def close(self) -> None:
        self.closed = True


def succeeded(*outcomes: Outcome, **changes: Any) -> Snapshot:
    return changed(SEEN, outcomes=outcomes or (LISTED,), **changes)


async def audited(
    monkeypatch: pytest.MonkeyPatch,
    seen: Sequence[Snapshot],
    source: SourceName = "account",
    **options: Any,
) -> tuple[AuditedSystem, Source]:
    given = Source(list(seen))
    monkeypatch.setattr(system_poll, "make_source", lambda _: given)
    url = "http://h:8222" if source == "monitor" else "nats://h:4222"
    system_audit = SystemAudit(
        SystemSettings(name="nats", source=source, urls=(url,)),
        AuditOptions(checks=(FIRST, SECOND), settings=AuditSettings(), timeout=1.0, **options),
        lambda _: None,
    )
    try:
        return await system_audit.audit(), given
    finally:
        assert given.closed


async def test_an_account_is_polled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, source = await audited(monkeypatch, [succeeded()])
    assert source.polls == 1
    assert [one.check.code for one in found.report.findings] == ["a-check"]
    assert [one.check.code for one in found.report.not_evaluated] == ["compares"]
    assert (found.streams, found.consumers, found.gaps) == (1, 1, ())


@pytest.mark.parametrize(("ok", "polls"), [(True, 1), (False, 2)])
async def test_failed_subscriptions_are_requested_again(
    monkeypatch: pytest.MonkeyPatch, ok: bool, polls: int
) -> None:
    read = Outcome("subsz", ok, 0.1, "" if ok else "size", "")
    found, source = await audited(monkeypatch, [succeeded(LISTED, read)], "system")
    assert source.polls == polls
    assert found.gaps == ()


async def test_watch_adds_a_second_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    found, source = await audited(monkeypatch, [succeeded()], watch=0.01)
    assert source.polls == 2
    assert [one.check.code for one in found.report.findings] == ["a-check", "compares"]


async def test_no_response_is_an_error_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Outcome("stream_list", False, 0.1, "connection", "no servers available")
    with pytest.raises(
        NoResponseError, match=r"stream_list failed \(connection\): no servers available"
    ):
        await audited(monkeypatch, [succeeded(failed)])


async def test_what_was_not_listed_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = await audited(monkeypatch, [succeeded(LISTED, DENIED)])
    assert found.gaps == ("consumer_list (permission): denied",)


async def test_a_gap_stays_until_the_request_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    state = Outcome("jsz", True, 0.1)
    failed = Outcome("jsz_config", False, 0.1, "timeout", "too late")
    snapshots = [succeeded(state, failed), succeeded(state)]
    found, _ = await audited(monkeypatch, snapshots, "system", watch=0.01)
    assert found.gaps == ("jsz_config (timeout): too late",)
    snapshots = [succeeded(state, failed), succeeded(state, Outcome("jsz_config", True, 0.1))]
    found, _ = await audited(monkeypatch, snapshots, "system", watch=0.01)
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("source", "gaps"), [("system", ()), ("monitor", ("varz (http_status): 500",))]
)
async def test_requests_beside_the_state_are_no_gap(
    monkeypatch: pytest.MonkeyPatch, source: SourceName, gaps: tuple[str, ...]
) -> None:
    beside = Outcome("varz", False, 0.1, "http_status", "500")
    found, _ = await audited(monkeypatch, [succeeded(LISTED, beside)], source)
    assert found.gaps == gaps


async def test_a_server_that_is_missed_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = (server("n1"), server("n2", up=False))
    seen = succeeded(servers=servers, servers_expected=2, servers_responding=1)
    found, _ = await audited(monkeypatch, [seen])
    assert found.gaps == ("1 server did not respond: n2",)


async def test_streams_that_are_down_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (stream("R1_6", up=False), stream("FINE"), stream("R1_4", up=False, config=None))
    found, _ = await audited(monkeypatch, [succeeded(streams=rows)])
    assert found.gaps == ("2 streams did not respond: R1_4, R1_6",)


async def test_assets_without_a_configuration_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = succeeded(streams=(stream(config=None),), consumers=(consumer("new", config=None),))
    found, _ = await audited(monkeypatch, [seen])
    assert found.gaps == (
        "1 stream without known configuration: ORDERS",
        "1 consumer without known configuration: ORDERS > new",
    )


async def test_of_many_that_are_down_a_few_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(consumer(f"c{number}", up=False) for number in range(7))
    found, _ = await audited(monkeypatch, [succeeded(consumers=rows)])
    few = ", ".join(f"ORDERS > c{number}" for number in range(5))
    assert found.gaps == (f"7 consumers did not respond: {few} and 2 more",)


async def test_internal_consumers_are_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    own = consumer("source", up=False, config=consumer_config(internal=True))
    found, _ = await audited(monkeypatch, [succeeded(consumers=(own,))])
    assert found.gaps == ()


async def test_assets_that_respond_to_the_second_poll_are_no_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshots = [succeeded(streams=(stream(up=False),)), succeeded()]
    found, _ = await audited(monkeypatch, snapshots, watch=0.01)
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("size", "gaps"),
    [(3, ("1 of 3 servers of the meta group did not respond",)), (2, ()), (None, ())],
)
async def test_a_member_of_the_meta_group_that_was_never_seen_is_a_gap(
    monkeypatch: pytest.MonkeyPatch, size: int | None, gaps: tuple[str, ...]
) -> None:
    # A server without JetStream is not a member.
    servers = (server("n1", jetstream=True), server("n2", jetstream=True), server("edge"))
    meta = MetaGroup(leader="n1", size=size)
    seen = succeeded(servers=servers, meta=meta, servers_expected=3, servers_responding=3)
    found, _ = await audited(monkeypatch, [seen], "system")
    assert found.gaps == gaps


async def test_a_member_that_is_down_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = (server("n1", jetstream=True), server("n2", up=False))
    meta = MetaGroup(leader="n1", size=2)
    seen = succeeded(servers=servers, meta=meta, servers_expected=2, servers_responding=1)
    found, _ = await audited(monkeypatch, [seen], "system")
    assert found.gaps == ("1 server did not respond: n2",)
