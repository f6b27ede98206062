"""docs/permissions.md against real servers: its blocks suffice, each line counts, none does harm."""

import asyncio
import re
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import aiohttp
import nats
import pytest
from nats.aio.client import Client
from support.documents import read_document
from support.exporter.full_poller import whole_poller
from support.nats.servers import (
    APP,
    NEWEST,
    NatsCluster,
    NatsOptions,
    NatsServer,
    connected,
    versions,
)
from support.nats.stream_ready import store_first_message
from support.waiting import until

from exporter.errors import RequestError
from exporter.model import Outcome, Skipped, Snapshot
from exporter.polling.wiring import make_source
from exporter.settings.config import SystemSettings
from exporter.settings.options import read_options
from exporter.sources.account import AccountSource
from exporter.sources.request_context import RequestContext
from exporter.sources.source import Source
from streamgauge.demo.processes.ports import free_ports

PAGE: Final = read_document("docs/permissions.md")
SECTIONS: Final = {
    source: PAGE.section(f"{source.title()} source") for source in ("account", "system")
}
BLOCKS: Final = {source: section.block("conf") for source, section in SECTIONS.items()}
SUBJECTS: Final = {source: re.findall(r'"([$_][^"]*)"', block) for source, block in BLOCKS.items()}
REQUESTS: Final = {
    "account": {
        "account_statz",
        "user_info",
        "account_info",
        "stream_list",
        "consumer_list",
        "filtered_counts",
    },
    "system": {"statsz", "healthz", "varz", "account_statz", "jsz", "jsz_config", "subsz"},
}
EXTRAS: Final = re.findall(
    r"^\| `((?:exact|events): [^`]+)` \|([^|]*)\|([^|]*)\|$",
    PAGE.section("Optional features").text,
    re.MULTILINE,
)
# As servers log it; the client gets an error too.
VIOLATION: Final = re.compile(r'(?:Publish|Subscription) Violation - .*?Subject "([^"]+)"')
READER: Final = {"user": "streamgauge", "password": "change-me"}
END_MARK: Final = "the.end.of.the.test"

each_source = pytest.mark.parametrize("source", SECTIONS)
each_version = pytest.mark.parametrize("version", versions())
Settings = dict[str, SystemSettings]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of the page, read as the exporter would read them."""
    (tmp_path / "streamgauge.password").write_text(READER["password"] + "\n")
    return {source: written(tmp_path / f"{source}.yml", source) for source in SECTIONS}


@pytest.fixture
def needing_more(tmp_path: Path, settings: Settings) -> Settings:
    """Those of the account source with one more line, by that line."""
    return {
        line: written(tmp_path / f"more{place}.yml", "account", f"    {line}\n")
        for place, (line, _, _) in enumerate(EXTRAS)
    }


def written(file: Path, source: str, more: str = "") -> SystemSettings:
    file.write_text(SECTIONS[source].block("yaml") + more)
    return read_options(["--config", str(file)], {}).load().systems[0]


def with_accounts(source: str, user: str) -> NatsOptions:
    """A server whose account APP or SYS has that user."""
    mine, system = (user, "") if source == "account" else ("", user)
    lines = (
        "accounts {",
        "  APP { jetstream: enabled, users: [ { user: app, password: app }",
        f"    {mine} ] }}",
        "  SYS { users: [ { user: sys, password: sys }",
        f"    {system} ] }}",
        "}",
        "system_account: SYS",
    )
    return NatsOptions(extra=lines)


@asynccontextmanager
async def watched_server(version: str, options: NatsOptions) -> AsyncIterator[NatsServer]:
    """With a stream of one message, a consumer without deliveries, and a client that subscribes to
    the stream's subjects, so that the stream's own subscription is ambiguous.
    """
    async with NatsServer(version, options) as server:
        await make_orders(server)
        async with connected(server, APP) as client:
            await client.subscribe("orders.>")
            await client.flush()
            yield server


async def make_orders(server: NatsServer | NatsCluster) -> None:
    async with connected(server, APP) as client:
        jetstream = client.jetstream(timeout=20)
        await jetstream.add_stream(name="ORDERS", subjects=["orders.>"])
        await store_first_message(jetstream, "orders.new")
        await jetstream.pull_subscribe("orders.>", "worker")


async def poll(source: Source) -> Snapshot:
    return await source.poll(time.monotonic() + 20)


@dataclass(slots=True)
class Requested:
    """The requests of a poller, their outcomes, and its event problems."""

    outcomes: list[Outcome] = field(default_factory=list)
    skipped: set[Skipped] = field(default_factory=set)
    snapshots: list[Snapshot] = field(default_factory=list)
    problems: tuple[str, ...] = ()

    @property
    def failures(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.ok]

    @property
    def reasons(self) -> set[str]:
        found = {one.reason for one in self.failures} | {one.reason for one in self.skipped}
        return found | {"permission" for one in self.problems if "may not subscribe" in one}


async def all_requests(wanted: SystemSettings) -> Requested:
    """The requests of the first poll, of later polls, the subscriptions, and requests by name."""
    requested = Requested()
    async with whole_poller(wanted) as poller:
        for _ in range(2):
            await poller.poll_once()
            requested.outcomes += [record.outcome for record in poller.state.requests.values()]
            requested.skipped.update(poller.state.skipped)
            if poller.state.snapshot is not None:
                requested.snapshots.append(poller.state.snapshot)
        requested.problems = poller.event_session.problems() if poller.event_session else ()
        if isinstance(poller.source, AccountSource):
            await request_by_name(poller.source)
    return requested


@asynccontextmanager
async def opened(source: Source) -> AsyncIterator[Source]:
    try:
        yield source
    finally:
        await source.close()


async def request_by_name(source: AccountSource) -> None:
    context, api = RequestContext(time.monotonic() + 20, source.skipped_requests), source.assets.api
    await api.stream_info("ORDERS", context)
    await api.consumer_info("ORDERS", "worker", context)


async def violations(server: NatsServer) -> list[str]:
    """What the server denied so far; a last one of our own shows that its log is all there."""
    async with reader(server) as client:
        await client.publish(END_MARK, b"")
        await client.flush()
    log = await until(server.log_text, lambda text: END_MARK in text, "no violation in the log")
    found = VIOLATION.findall(log)
    assert found[-1] == END_MARK
    return found[:-1]


@asynccontextmanager
async def reader(
    server: NatsServer, counts: asyncio.Queue[str] | None = None
) -> AsyncIterator[Client]:
    async def note(error: Exception) -> None:
        if counts is not None:
            await counts.put(str(error))

    client = await nats.connect(server.url, error_cb=note, allow_reconnect=False, **READER)
    try:
        yield client
    finally:
        await client.close()


@each_version
@each_source
async def test_the_block_suffices_and_the_server_denies_nothing(
    source: str, version: str, settings: Settings
) -> None:
    wanted = settings[source]
    async with watched_server(version, with_accounts(source, BLOCKS[source])) as server:
        requested = await all_requests(replace(wanted, urls=(server.url,)))
        denied = await violations(server)
    unknown_to_it = {"user_info"} if version.startswith("2.9.") else set()
    assert {outcome.request for outcome in requested.outcomes} == REQUESTS[source] - unknown_to_it
    assert (requested.failures, requested.skipped, requested.problems) == ([], set(), ())
    last = requested.snapshots[-1]
    assert [(row.account, row.name) for row in last.consumers] == [("APP", "worker")]
    assert denied == []


@pytest.mark.parametrize(
    ("source", "subject"),
    [(source, subject) for source, subjects in SUBJECTS.items() for subject in subjects],
)
async def test_without_any_one_subject_the_exporter_reports_the_denial(
    source: str, subject: str, settings: Settings
) -> None:
    wanted, block = settings[source], BLOCKS[source].replace(f'"{subject}"', '"something.else"')
    assert block != BLOCKS[source]
    reasons: set[str] = set()
    async with watched_server(NEWEST, with_accounts(source, block)) as server:
        try:
            reasons = (await all_requests(replace(wanted, urls=(server.url,)))).reasons
        except RequestError as error:  # requested by name, outside of a poll
            reasons = {error.reason}
        denied = await violations(server)
    assert reasons == {"permission"}
    assert denied
    assert all(matches(subject, one) for one in denied), denied


def matches(pattern: str, subject: str) -> bool:
    tokens = [re.escape(word) for word in pattern.split(".")]
    translated = "\\.".join({"\\*": "[^.]+", ">": ".+"}.get(word, word) for word in tokens)
    return re.fullmatch(translated, subject) is not None


async def test_without_a_meta_leader_the_block_still_suffices(settings: Settings) -> None:
    wanted = settings["account"]
    async with NatsCluster(3, NEWEST, with_accounts("account", BLOCKS["account"])) as cluster:
        await make_orders(cluster)
        home = await cluster.stream_leader(APP, "ORDERS")
        async with opened(make_source(replace(wanted, urls=tuple(cluster.urls)))) as source:
            await poll(source)
            for node in [node.name for node in cluster.nodes if node.name != home]:
                await cluster.kill(node)
            snapshot = await until(
                lambda: poll(source),
                lambda seen: any(outcome.reason == "no_meta_leader" for outcome in seen.outcomes),
                "the cluster still has a meta leader",
            )
        denied = await violations(cluster.node_of(home))
    assert [(row.name, row.up) for row in snapshot.streams] == [("ORDERS", True)]
    assert [(row.name, row.up) for row in snapshot.consumers] == [("worker", True)]
    assert denied == []


HARMFUL: Final = {
    "account": (
        "orders.new",
        "$JS.API.STREAM.CREATE.MORE",
        "$JS.API.STREAM.UPDATE.ORDERS",
        "$JS.API.STREAM.PURGE.ORDERS",
        "$JS.API.STREAM.DELETE.ORDERS",
        "$JS.API.STREAM.MSG.GET.ORDERS",
        "$JS.API.STREAM.MSG.DELETE.ORDERS",
        "$JS.API.DIRECT.GET.ORDERS",
        "$JS.API.CONSUMER.CREATE.ORDERS",
        "$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.more",
        "$JS.API.CONSUMER.DELETE.ORDERS.worker",
        "$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker",
        "$JS.ACK.ORDERS.worker.1.1.1.1.0",
        "$SYS.REQ.ACCOUNT.PING.CONNZ",
    ),
    "system": (
        "$SYS.REQ.SERVER.ANY.RELOAD",
        "$SYS.REQ.SERVER.ANY.KICK",
        "$SYS.REQ.SERVER.ANY.LDM",
        "$SYS.REQ.CLAIMS.UPDATE",
        "$JS.API.META.LEADER.STEPDOWN",
        "$JS.API.SERVER.REMOVE",
        "$JS.API.ACCOUNT.PURGE.APP",
    ),
}
NOSY: Final = ("_INBOX.>", "orders.>", "$JS.EVENT.>", "$SYS.>")


@each_version
@each_source
async def test_the_user_can_neither_harm_nor_listen(source: str, version: str) -> None:
    counts: asyncio.Queue[str] = asyncio.Queue()
    tried = [*HARMFUL[source], *NOSY]
    async with watched_server(version, with_accounts(source, BLOCKS[source])) as server:
        before = await orders(server)
        async with reader(server, counts) as client:
            for subject in HARMFUL[source]:
                await client.publish(subject, b'{"seq":1}', reply="_INBOX_streamgauge.answer")
            for subject in NOSY:
                await client.subscribe(subject)
            await client.flush()
            responses = [await counts.get() for _ in tried]
        denied = await violations(server)
        after = await orders(server)
    for subject, response in zip(tried, responses, strict=True):
        assert f'"{subject.lower()}"' in response
    assert denied == tried
    assert after == before


async def orders(server: NatsServer) -> list[object]:
    """All that a user of the account can read of the stream and its consumers."""
    async with connected(server, APP) as client:
        info = await client.jetstream().stream_info("ORDERS")
        consumers = await client.jetstream().consumers_info("ORDERS")
    return [info.config, info.state, consumers]


async def test_the_user_also_fits_a_server_without_accounts(settings: Settings) -> None:
    lines = ("authorization { users: [ { user: app, password: app }", BLOCKS["account"], "] }")
    wanted = settings["account"]
    async with watched_server(NEWEST, NatsOptions(extra=lines)) as server:
        requested = await all_requests(replace(wanted, urls=(server.url,)))
        denied = await violations(server)
    assert requested.snapshots[0].complete
    assert denied == []


@each_version
async def test_a_server_of_the_domain_itself_wants_the_block_as_it_is(
    version: str, settings: Settings
) -> None:
    wanted = settings["account"]
    options = replace(with_accounts("account", BLOCKS["account"]), domain="hub")
    async with watched_server(version, options) as server:
        requested = await all_requests(replace(wanted, urls=(server.url,), domain="hub"))
        denied = await violations(server)
    assert requested.snapshots[0].complete
    assert denied == []


@each_version
async def test_over_a_leaf_node_the_prefix_of_the_domain_takes_the_place_of_the_usual_one(
    version: str, settings: Settings
) -> None:
    wanted, block = settings["account"], BLOCKS["account"].replace("$JS.API", "$JS.hub.API")
    (port,) = await asyncio.to_thread(free_ports, 1)
    async with (
        watched_server(version, of_a_domain("hub", f"listen: 127.0.0.1:{port}", "")) as hub,
        NatsServer(version, of_a_domain("edge", remote(port), block)) as leaf,
    ):
        await until(hub.log_text, lambda text: "Leafnode connection created" in text, "no leaf")
        requested = await all_requests(replace(wanted, urls=(leaf.url,), domain="hub"))
        denied = await violations(leaf)
    assert requested.snapshots[0].complete
    assert [row.name for row in requested.snapshots[0].streams] == ["ORDERS"]
    assert denied == []


def of_a_domain(domain: str, leaf_nodes: str, user: str) -> NatsOptions:
    options = with_accounts("account", user)
    extra = (*options.extra, f"leafnodes {{ {leaf_nodes} }}")
    return replace(options, server_name=domain, domain=domain, extra=extra)


def remote(port: int) -> str:
    return f'remotes: [ {{ url: "nats-leaf://app:app@127.0.0.1:{port}", account: APP }} ]'


@each_version
async def test_the_monitor_source_requests_only_the_documented_pages_without_a_user(
    version: str,
) -> None:
    async with watched_server(version, with_accounts("account", "")) as server:
        before = await pages_requested(server)
        wanted = SystemSettings(source="monitor", urls=(server.monitor_url,))
        requested = await all_requests(wanted)
        after = await pages_requested(server)
    assert all(snapshot.complete for snapshot in requested.snapshots)
    grown = {page for page, count in after.items() if count > before.get(page, 0)}
    named = set(re.findall(r"`GET (/\w+)`", PAGE.section("Monitor source").text))
    assert grown == named - {"/ipqueuesz"}  # servers do not count that one


async def pages_requested(server: NatsServer) -> dict[str, int]:
    """As the server counts them; this request is included only in the next response."""
    url = f"{server.monitor_url}/varz"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        counts: dict[str, int] = (await response.json(content_type=None))["http_req_stats"]
    return counts


def test_every_setting_that_needs_more_permissions_was_found() -> None:
    assert [re.findall(r"\w+", setting)[1] for setting, _, _ in EXTRAS] == [
        "lag", "capture_stream", "publish_ack_tap",
    ]  # fmt: skip


@each_version
@pytest.mark.parametrize(("setting", "publish", "subscribe"), EXTRAS, ids=lambda text: text[:20])
async def test_the_documented_permissions_suffice_for_each_setting(
    setting: str,
    publish: str,
    subscribe: str,
    version: str,
    needing_more: dict[str, SystemSettings],
) -> None:
    wanted = needing_more[setting]
    block = with_subjects(BLOCKS["account"], re.findall("`([^`]+)`", publish), "publish")
    block = with_subjects(block, re.findall("`([^`]+)`", subscribe), "subscribe")
    async with watched_server(version, with_accounts("account", block)) as server:
        await be_behind_and_captured(server)
        requested = await all_requests(replace(wanted, urls=(server.url,)))
        denied = await violations(server)
    assert (requested.failures, requested.skipped, requested.problems) == ([], set(), ())
    assert ("exact" in setting) == any(o.request == "exact_lag" for o in requested.outcomes)
    assert denied == []


def with_subjects(block: str, subjects: list[str], way: str) -> str:
    lines = "".join(f'"{subject}"\n' for subject in subjects)
    head, found, tail = block.partition(f"{way}: {{\n")
    assert found
    return head + found + tail.replace("allow: [\n", f"allow: [\n{lines}", 1)


async def be_behind_and_captured(server: NatsServer) -> None:
    """A lagging consumer, and a stream of advisories that holds one."""
    async with connected(server, APP) as client:
        jetstream = client.jetstream(timeout=20)
        subject = "$JS.EVENT.ADVISORY.CONSUMER.>"
        await jetstream.add_stream(name="ADVISORIES", subjects=[subject])
        puller = await jetstream.pull_subscribe("orders.>", "worker")
        (message,) = await puller.fetch(1, timeout=20)
        await message.nak()
        await client.flush()


@each_source
def test_the_nsc_command_and_the_table_name_the_same_subjects(source: str) -> None:
    tokens = shlex.split(SECTIONS[source].block("sh"))
    by_command = [
        subject
        for flag, value in pairwise(tokens)
        if flag in ("--allow-pub", "--allow-sub")
        for subject in value.split(",")
    ]
    by_table = re.findall(r"^\| `([$_][^`]+)`", SECTIONS[source].text, re.MULTILINE)
    assert sorted(by_command) == sorted(by_table) == sorted(SUBJECTS[source])
