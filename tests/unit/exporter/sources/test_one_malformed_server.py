"""A server of three whose response is malformed: it costs what that server said, nothing else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from support.recordings.recording_file import RecordedReply, RecordingFile
from support.recordings.replay import Recording, Replayer, recordings, snapshot

from exporter.model import Outcome, Snapshot
from exporter.sources.transport.connection import Reply
from exporter.sources.transport.responder import server_ids, server_names

VERSIONS: Final = sorted({each.version for each in recordings("cluster")})
HUGE: Final = 10**400
WITH_CONFIG: Final = ',"config":true}'
Body = dict[str, Any]
each_version = pytest.mark.parametrize("version", VERSIONS)


def with_altered(
    recording: Recording, which: str, server: str, alter: Callable[[Body], None]
) -> Snapshot:
    """The first poll, with every response of that server to `which` altered."""
    file = RecordingFile.load(recording.path)
    found = 0

    def altered(reply: RecordedReply) -> RecordedReply:
        nonlocal found
        body = json.loads(reply.text)
        if body.get("server", {}).get("name") != server:
            return reply
        found += 1
        alter(body)
        return replace(reply, text=json.dumps(body))

    for request, exchange in list(file.exchanges.items()):
        if which in request:
            replies = tuple(map(altered, exchange.replies))
            file.exchanges[request] = replace(exchange, replies=replies)
            # After a malformed one, the same without configuration.
            file.keep(replace(exchange, request=request.replace(WITH_CONFIG, "}"), replies=replies))
    assert found
    return asyncio.run(_polled(file, recording.source))


async def _polled(file: RecordingFile, source: str) -> Snapshot:
    replayer = Replayer(file)
    polled = replayer.source(source, "nats")
    with replayer.playing(file):
        found = await polled.poll(time.monotonic() + 10.0)
    await polled.close()
    return found


def failed(found: Snapshot) -> list[Outcome]:
    return [each for each in found.outcomes if not each.ok]


def rows(found: Snapshot, without: str = "") -> set[tuple[str, ...]]:
    """What was read of streams and consumers that others lead."""
    led = [row for row in (*found.streams, *found.consumers) if row.up and row.leader != without]
    return {(row.account, getattr(row, "stream", ""), row.name) for row in led}


def a_leader(found: Snapshot) -> str:
    return next(row.leader for row in found.streams if row.name == "ORDERS")


@each_version
def test_of_malformed_statistics_the_server_is_known_and_its_values_are_not(version: str) -> None:
    recording = Recording(version, "cluster", "system")
    whole = snapshot(recording)
    broken = a_leader(whole)
    found = with_altered(recording, "STATSZ", broken, lambda body: body["statsz"].update(mem=HUGE))
    [outcome] = failed(found)
    assert (outcome.request, outcome.reason) == ("statsz", "malformed")
    assert outcome.detail.startswith(f"{broken}: statsz: ")
    assert rows(found) == rows(whole)
    [server] = [each for each in found.servers if each.name == broken]
    assert (server.up, server.process_memory_bytes, server.api_requests) == (True, None, None)
    others = [each for each in found.servers if each.name != broken]
    assert others == [each for each in whole.servers if each.name != broken]


@each_version
def test_malformed_lists_cost_the_streams_that_their_server_leads(version: str) -> None:
    recording = Recording(version, "cluster", "system")
    whole = snapshot(recording)
    broken = a_leader(whole)
    found = with_altered(
        recording, "JSZ", broken, lambda body: body["data"].update(account_details=7)
    )
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert all(each.detail.startswith(f"{broken}: jsz: ") for each in failed(found))
    assert rows(found) == rows(whole, without=broken)
    assert not found.complete


@each_version
@pytest.mark.parametrize("place", ["meta_cluster", "config", "limits", "api"])
def test_a_malformed_part_beside_the_lists_costs_no_row(version: str, place: str) -> None:
    recording = Recording(version, "cluster", "system")
    whole = snapshot(recording)
    broken = a_leader(whole)
    found = with_altered(recording, "JSZ", broken, lambda body: body["data"].update({place: 7}))
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert f"{broken}: {place}: Expected `object" in failed(found)[0].detail
    assert rows(found) == rows(whole)


@each_version
def test_a_lag_beyond_64_bits_in_the_meta_group_costs_no_row(version: str) -> None:
    recording = Recording(version, "cluster", "system")
    whole = snapshot(recording)
    assert whole.meta is not None

    def spoil(body: Body) -> None:
        body["data"]["meta_cluster"]["replicas"][0]["lag"] = 2**64

    found = with_altered(recording, "JSZ", whole.meta.leader, spoil)
    assert "meta_cluster: " in failed(found)[0].detail
    assert "replicas[0].lag" in failed(found)[0].detail
    assert rows(found) == rows(whole)
    assert found.meta is not None
    assert found.meta.leader == whole.meta.leader  # as the statistics say


@each_version
def test_malformed_counts_of_an_account_cost_no_row_and_no_other_account(version: str) -> None:
    recording = Recording(version, "cluster", "system")
    whole = snapshot(recording)

    def spoil(body: Body) -> None:
        body["data"]["account_details"][0]["api"] = {"total": -1}

    broken = a_leader(whole)
    found = with_altered(recording, "JSZ", broken, spoil)
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert "account " in failed(found)[0].detail
    assert rows(found) == rows(whole)
    requests = {each.name: each.api_requests for each in whole.accounts}
    assert {each.name: each.api_requests for each in found.accounts} == requests


@each_version
@pytest.mark.parametrize("which", ["HEALTHZ", "VARZ", "ACCOUNT.PING.STATZ"])
def test_other_malformed_responses_cost_what_they_would_have_said(version: str, which: str) -> None:
    recording = Recording(version, "cluster", "system")
    file = RecordingFile.load(recording.path)
    if not any(which in request for request in file.exchanges):
        pytest.skip(f"the first poll requests no {which}")
    whole = snapshot(recording)
    found = with_altered(recording, which, a_leader(whole), lambda body: body.update(data=7))
    [outcome] = failed(found)
    assert outcome.reason == "malformed"
    assert rows(found) == rows(whole)
    assert {each.name for each in found.servers if each.up} == {each.name for each in whole.servers}


@each_version
def test_the_account_source_keeps_a_server_with_malformed_connections(version: str) -> None:
    recording = Recording(version, "cluster", "account")
    whole = snapshot(recording)
    broken = whole.servers[0].name
    found = with_altered(recording, "STATZ", broken, lambda body: body.update(data=7))
    [outcome] = failed(found)
    assert (outcome.request, outcome.reason) == ("account_statz", "malformed")
    assert rows(found) == rows(whole)
    assert {each.name for each in found.servers if each.up} == {each.name for each in whole.servers}


def test_a_name_that_is_not_utf_8_is_recognized() -> None:
    reply = Reply(b'{"server":{"name":"n\xff1","id":"N\xffA"}}', {}, 0.0, 0.001)
    assert server_names([reply]) == {"n\ufffd1"}
    assert server_ids([reply]) == {"N\ufffdA"}
