"""A system that the settings do not name gets one name, and nothing is served under another."""

from __future__ import annotations

from support.exporter.scripted_poller import (
    exposed_systems,
    outage,
    own,
    polled,
    snapshot,
    unnamed_poller,
)

from exporter.model import Server, Snapshot

EAST = Server("n1", "ID1", True, cluster="east")
WEST = Server("n2", "ID2", True, cluster="west")
INCOMPLETE = snapshot(servers=(EAST,), servers_expected=2, complete=False)
COMPLETE = snapshot(servers=(EAST,))


async def names_served(*responses: Snapshot, interval: float = 15.0) -> list[set[str]]:
    """After each poll."""
    poller, found = unnamed_poller(*responses, interval=interval), []
    for _ in responses:
        await polled(poller)
        found.append(exposed_systems(poller))
    return found


async def test_the_first_complete_poll_decides() -> None:
    assert await names_served(INCOMPLETE, INCOMPLETE, COMPLETE) == [set(), set(), {"east"}]


async def test_later_polls_do_not_change_it() -> None:
    both = snapshot(servers=(EAST, WEST), servers_expected=2)
    served = await names_served(COMPLETE, both, INCOMPLETE, outage())
    assert served == [{"east"}] * 4


async def test_a_system_that_stays_incomplete_is_named_before_it_counts_as_missing() -> None:
    assert await names_served(INCOMPLETE, INCOMPLETE, interval=61.0) == [{"east"}] * 2
    poller = unnamed_poller(INCOMPLETE, naming_seconds=0.0)
    await polled(poller)
    assert exposed_systems(poller) == {"east"}


async def test_a_system_that_never_responded_stays_without_a_name() -> None:
    assert await names_served(outage(), outage(), interval=61.0) == [set(), set()]
    assert await names_served(outage(), COMPLETE) == [set(), {"east"}]


async def test_the_polls_themselves_are_shown_before_the_name_is_known() -> None:
    poller = unnamed_poller(INCOMPLETE)
    await polled(poller)
    shown = own(poller)
    assert shown["up",] == 0
    assert (shown["servers_expected",], shown["servers_responding",]) == (2, 1)
    assert shown["request_success", "stream_list"] == 1


async def test_a_replaced_poller_hands_its_name_on() -> None:
    before, after = unnamed_poller(COMPLETE), unnamed_poller(INCOMPLETE)
    await polled(before)
    after.keep_name(before)
    await polled(after)
    assert exposed_systems(after) == {"east"}
    young = unnamed_poller(INCOMPLETE)
    young.keep_name(unnamed_poller(COMPLETE))
    assert young.unnamed
