"""Recorded responses, altered: short lists and malformed rows, with every source."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.exporter.rendered_series import FULL
from support.recordings.recording_file import Exchange, RecordedReply, RecordingFile
from support.recordings.replay import SOURCES, Recording, Replayer, recordings, snapshot

from exporter.model import Outcome, Snapshot
from exporter.polling.pipeline import Pipeline, PollExtras
from exporter.samples.render import Renderer

VERSIONS = sorted({each.version for each in recordings("standalone")})
Body = dict[str, Any]
Alter = Callable[[Body], None]

every_version = pytest.mark.parametrize("version", VERSIONS)
every_source = pytest.mark.parametrize("source", SOURCES)


def altered(recording: Recording, which: str, alter: Alter, *also: Exchange) -> Snapshot:
    """The first poll with every response altered whose request contains `which`."""
    file = RecordingFile.load(recording.path)
    for request, exchange in file.exchanges.items():
        if which in request:
            file.exchanges[request] = replace(
                exchange, replies=tuple(_altered(reply, alter) for reply in exchange.replies)
            )
    for exchange in also:
        file.keep(exchange)
    return asyncio.run(_polled(file, recording.source))


def _altered(reply: RecordedReply, alter: Alter) -> RecordedReply:
    body = json.loads(reply.text)
    alter(body)
    return replace(reply, text=json.dumps(body))


async def _polled(file: RecordingFile, source: str) -> Snapshot:
    replayer = Replayer(file)
    polled = replayer.source(source, "nats")
    with replayer.playing(file):
        found = await polled.poll(time.monotonic() + 10.0)
    await polled.close()
    return found


def failed(found: Snapshot) -> list[Outcome]:
    return [each for each in found.outcomes if not each.ok]


def rows(found: Snapshot) -> set[tuple[str, ...]]:
    return {(row.account, row.name) for row in found.streams if row.up} | {
        (row.account, row.stream, row.name) for row in found.consumers if row.up
    }


def streams_in(body: Body) -> Iterator[Body]:
    page = body.get("data", body)
    yield from page.get("streams") or () if isinstance(page.get("streams"), list) else ()
    for account in page.get("account_details") or ():
        yield from account.get("stream_detail") or ()


def stream_name(row: Body) -> str:
    return str(row.get("name") or row["config"]["name"])


# --- totals ---------------------------------------------------------------------------------------


def empty_page(request: str, total: int) -> Exchange:
    """What a stand-alone server sends for an offset behind the end."""
    body = json.dumps({"total": total, "limit": 256})
    return Exchange(request, 0.0, (RecordedReply(body, {}, 0.001),))


@every_version
def test_a_stream_that_is_not_listed_makes_the_poll_partial(version: str) -> None:
    recording = Recording(version, "standalone", "account")
    whole = snapshot(recording)
    count = len(whole.streams)

    def hide_one(body: Body) -> None:
        del body["streams"][1]
        body["total"] = count

    ends = [
        empty_page(f'$JS.API.STREAM.LIST {{"offset":{number}}}', count)
        for number in range(1, count)
    ]
    found = altered(recording, "STREAM.LIST", hide_one, *ends)
    [outcome] = failed(found)
    assert (outcome.request, outcome.reason) == ("stream_list", "partial")
    assert outcome.detail == f"STREAM.LIST: {count - 1} of {count} rows were received"
    assert not found.complete
    assert len(found.streams) == count - 1
    assert rows(found) < rows(whole)
    assert any(row.up for row in found.consumers)


def test_a_negative_total_makes_the_poll_partial_and_keeps_the_rows() -> None:
    recording = Recording(VERSIONS[-1], "standalone", "account")
    found = altered(recording, "STREAM.LIST", lambda body: body.update(total=-1))
    assert [each.reason for each in failed(found)] == ["partial"]
    assert rows(found) == rows(snapshot(recording))


def test_a_short_list_of_consumers_names_the_stream() -> None:
    recording = Recording(VERSIONS[-1], "standalone", "account")

    def promise(body: Body) -> None:
        body["total"] = 99

    subject = "$JS.API.CONSUMER.LIST.ORDERS"
    ends = [empty_page(f'{subject} {{"offset":{number}}}', 99) for number in range(1, 99)]
    found = altered(recording, subject, promise, *ends)
    [outcome] = failed(found)
    assert (outcome.request, outcome.reason) == ("consumer_list", "partial")
    assert "CONSUMER.LIST.ORDERS: " in outcome.detail
    assert "of 99 rows were received" in outcome.detail
    assert rows(found) == rows(snapshot(recording))


@pytest.mark.parametrize("source", ["system", "monitor"])
@every_version
def test_an_account_that_is_not_listed_makes_the_poll_partial(version: str, source: str) -> None:
    recording = Recording(version, "standalone", source)
    whole = snapshot(recording)
    file = RecordingFile.load(recording.path)
    first = next(
        each for name, each in file.exchanges.items() if "/jsz" in name or "PING.JSZ" in name
    )
    body = json.loads(first.replies[0].text)
    accounts = body.get("data", body)["account_details"]
    count = len(accounts)

    def promise(body: Body) -> None:
        body.get("data", body).update(total=count + 1, accounts=count + 1)

    def page(request: str, names: list[str]) -> Exchange:
        listed = {"account_details": [{"name": name} for name in names], "total": count + 1}
        server = {"server": body.get("server", {}), "data": listed}
        text = json.dumps(server if source == "system" else listed)
        return Exchange(request, first.sent, (RecordedReply(text, {}, 0.001, 200),))

    at_end = first.request.replace('"offset":0', f'"offset":{count}')
    at_end = at_end.replace("offset=0", f"offset={count}")
    all_names = (
        '$SYS.REQ.SERVER.PING.JSZ {"accounts":true,"offset":0,"limit":1000000}'
        if source == "system"
        else first.request.split("/jsz")[0] + "/jsz?accounts=1&offset=0&limit=1000000"
    )
    names = [account.get("id") or account["name"] for account in accounts]
    ends = (page(at_end, []), page(all_names, names))
    found = altered(recording, first.request, promise, *ends)
    [outcome] = failed(found)
    assert (outcome.request, outcome.reason) == ("jsz_config", "partial")
    assert outcome.detail.endswith(f": {count} of {count + 1} accounts were received")
    assert not found.complete
    assert rows(found) == rows(whole)
    assert all(row.config is not None for row in found.streams)


# --- malformed rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["many", -1])
@every_source
@every_version
def test_a_malformed_stream_costs_only_itself(
    version: str, source: str, written: str | int
) -> None:
    recording = Recording(version, "standalone", source)
    whole = snapshot(recording)

    def spoil(body: Body) -> None:
        for row in streams_in(body):
            if stream_name(row) == "ORDERS":
                row["state"]["messages"] = written

    which = {"account": "STREAM.LIST", "system": "JSZ", "monitor": "jsz"}[source]
    found = altered(recording, which, spoil)
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert "ORDERS" in failed(found)[0].detail
    assert "messages" in failed(found)[0].detail
    assert not found.complete
    unread = {(row.name, row.reason) for row in found.streams if not row.up}
    assert unread == {("ORDERS", "malformed")}
    lost = {key for key in rows(whole) if key[1] == "ORDERS"}
    assert rows(found) == rows(whole) - lost
    known = {(row.account, row.stream, row.name) for row in whole.consumers}
    assert {(row.account, row.stream, row.name) for row in found.consumers} <= known


@every_source
@every_version
def test_a_malformed_consumer_costs_only_itself(version: str, source: str) -> None:
    recording = Recording(version, "standalone", source)
    whole = snapshot(recording)
    spoilt = next(row for row in whole.consumers if row.stream == "ORDERS" and row.up)

    def spoil(body: Body) -> None:
        inner = [
            row
            for stream in streams_in(body)
            if stream_name(stream) == "ORDERS"
            for row in stream.get("consumer_detail") or ()
        ]
        for row in [*inner, *(body.get("consumers") or () if source == "account" else ())]:
            if row["name"] == spoilt.name:
                row["num_pending"] = {}

    which = {"account": "CONSUMER.LIST.ORDERS", "system": "JSZ", "monitor": "jsz"}[source]
    found = altered(recording, which, spoil)
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert spoilt.name in failed(found)[0].detail
    unread = {(row.stream, row.name, row.reason) for row in found.consumers if not row.up}
    assert unread == {("ORDERS", spoilt.name, "malformed")}
    lost = {key for key in rows(whole) if key[1:] == ("ORDERS", spoilt.name)}
    assert rows(found) == rows(whole) - lost


def test_a_malformed_row_without_a_name_is_counted() -> None:
    recording = Recording(VERSIONS[-1], "standalone", "account")

    def spoil(body: Body) -> None:
        body["streams"][1] = 7

    found = altered(recording, "STREAM.LIST", spoil)
    [outcome] = failed(found)
    assert outcome.reason == "malformed"
    assert outcome.detail == (
        "STREAM.LIST: malformed rows: 1; first: a row without a name: Expected `object`, got `int`"
    )
    assert len(found.streams) == len(snapshot(recording).streams) - 1


def test_a_malformed_row_of_a_follower_hides_nothing() -> None:
    recording = Recording(VERSIONS[-1], "cluster", "system")
    whole = snapshot(recording)
    leader = next(row.leader for row in whole.streams if row.name == "ORDERS")

    def spoil(body: Body) -> None:
        for row in streams_in(body):
            if stream_name(row) == "ORDERS" and body["server"]["name"] != leader:
                row["state"]["messages"] = "many"

    found = altered(recording, "JSZ", spoil)
    assert {each.reason for each in failed(found)} == {"malformed"}
    assert [row.name for row in found.streams if not row.up] == []
    assert len(found.streams) == len(whole.streams)


# --- numbers --------------------------------------------------------------------------------------

EVERY_REQUEST = {
    "monitor": ("/varz", "/jsz", "/accstatz", "/healthz"),
    "system": ("STATSZ", "VARZ", "JSZ", "ACCSTATZ", "HEALTHZ", "SUBSZ", "CONNZ"),
    "account": ("JS.API.INFO", "STREAM.LIST", "CONSUMER.LIST", "STATZ"),
}


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Their places, in a list those in its first element; without totals, which request further pages."""
    if isinstance(value, dict):
        for key in value.keys() - {"total", "accounts"}:
            yield from numbers_in(value[key], (*path, key))
    elif isinstance(value, list):
        yield from numbers_in(value[0], (*path, 0)) if value else ()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def put(body: Any, path: tuple[Any, ...], number: int) -> None:
    *within, last = path
    for key in within:
        body = body[key]
    body[last] = number


@pytest.mark.parametrize(
    "number",
    [10**400, -(10**400), 2**64 - 1, -(2**63)],
    ids=["10**400", "-10**400", "2**64-1", "-2**63"],
)
@every_source
def test_no_number_of_a_response_fails_the_poll(source: str, number: int) -> None:
    recording = Recording(VERSIONS[-1], "standalone", source)
    exchanges = RecordingFile.load(recording.path).exchanges
    tried = 0
    for which in EVERY_REQUEST[source]:
        bodies = [
            json.loads(each.replies[0].text)
            for request, each in exchanges.items()
            if which in request
        ]
        for path in {path for body in bodies for path in numbers_in(body)}:

            def alter(body: Body, path: tuple[Any, ...] = path) -> None:
                with contextlib.suppress(KeyError, IndexError, TypeError):
                    put(body, path, number)

            found = altered(recording, which, alter)
            view = Pipeline(Renderer("nats", FULL)).process(found, PollExtras())
            assert view is not None
            used = [each.storage_used for each in found.servers] + [
                each.storage_used for account in found.accounts for each in account.usage
            ]
            assert all(each is None or 0 <= each < 2**63 for each in used)
            tried += 1
    assert tried > 20
