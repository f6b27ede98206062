"""`streamgauge audit` on real servers: output, incomplete data and exit codes."""

import asyncio
import json
import os
import sys
import xml.etree.ElementTree as ET
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from nats.aio.client import Client
from support.audit.command import audit
from support.exporter.process import UNREACHABLE
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    Account,
    Login,
    NatsCluster,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    default_options,
    versions,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMMAND: Final = (sys.executable, "-m", "streamgauge.cli", "audit")
SECOND: Final = 10**9
WIDTH: Final = 80
# A stream and a consumer without any finding above info.
ADVISORY: Final = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"
GOOD_STREAM: Final = {
    "subjects": ["orders.>"],
    "max_age": 7 * 86_400 * SECOND,
    "max_bytes": 100_000_000,
    "duplicate_window": 600 * SECOND,
    "allow_direct": True,
}
GOOD_CONSUMER: Final = {
    "durable_name": "worker",
    "ack_policy": "explicit",
    "ack_wait": 60 * SECOND,
    "max_deliver": 6,
    "backoff": [60 * SECOND, 120 * SECOND, 300 * SECOND, 600 * SECOND, 1800 * SECOND],
    "max_ack_pending": 500,
    "sample_freq": "10%",
}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


async def ran(*flags: str, environ: Mapping[str, str] | None = None, stdout: int = PIPE) -> Ended:
    """Runs the command as a process."""
    clean = {name: text for name, text in os.environ.items() if "STREAMGAUGE_" not in name}
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *flags,
        stdin=DEVNULL,
        stdout=stdout,
        stderr=PIPE,
        env={**clean, "PYTHONWARNINGS": "error", **(environ or {})},
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, (out or b"").decode(), err.decode())


async def request(client: Client, subject: str, body: Mapping[str, Any]) -> None:
    reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=5)
    response = json.loads(reply.data)
    assert "error" not in response, response


async def add_stream(client: Client, name: str, **config: object) -> None:
    await request(client, f"STREAM.CREATE.{name}", {"name": name, "num_replicas": 1, **config})


async def add_consumer(client: Client, stream: str, **config: Any) -> None:
    subject = f"CONSUMER.DURABLE.CREATE.{stream}.{config['durable_name']}"
    await request(client, subject, {"stream_name": stream, "config": config})


async def add_good_system(client: Client) -> None:
    await add_stream(client, "ORDERS", **GOOD_STREAM)
    await add_consumer(client, "ORDERS", **GOOD_CONSUMER)
    # A stream stores the advisories, and a consumer processes them.
    dead = {"subjects": [ADVISORY], "max_age": 30 * 86_400 * SECOND, "max_bytes": 10_000_000}
    await add_stream(client, "DEAD", **{**GOOD_STREAM, **dead})
    await add_consumer(client, "DEAD", **{**GOOD_CONSUMER, "durable_name": "clerk"})
    for number in range(5):
        headers = {"Nats-Msg-Id": f"order-{number}"}
        await client.jetstream().publish("orders.new", b"1", headers=headers)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=versions())
async def good(request: pytest.FixtureRequest) -> AsyncIterator[NatsServer]:
    async with NatsServer(request.param, default_options()) as server:
        async with connected(server) as client:
            await add_good_system(client)
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bad() -> AsyncIterator[NatsServer]:
    """A server with violations, and one ignored code of each kind."""
    async with NatsServer(NEWEST, default_options()) as server, connected(server) as client:
        muted = {"io.streamgauge.ignore": "no-ack, no-such-check"}
        await add_stream(client, "LOOSE", subjects=["loose.>"], no_ack=True)
        await add_stream(client, "QUIET", subjects=["quiet.>"], no_ack=True, metadata=muted)
        endless = {"durable_name": "endless", "ack_policy": "explicit", "max_deliver": -1}
        await add_consumer(client, "LOOSE", **endless)
        own = {"metadata": {"io.streamgauge.ignore": "max-deliver-unlimited"}}
        await add_consumer(client, "LOOSE", **{**endless, "durable_name": "meant", **own})
        yield server


@pytest.mark.parametrize(
    ("source", "login"), [("account", APP), ("system", SYS), ("monitor", None)]
)
async def test_a_well_configured_system_has_nothing_above_info(
    good: NatsServer, source: str, login: Login | None
) -> None:
    found = await audit(good, login, "--watch", "1s", "--sample-messages", source=source)
    assert [one for one in found.findings if one["severity"] != "info"] == []
    assert found.broken == []
    assert (found.code, found.complaints) == (0, "")
    assert found.system["streams"] == 2


async def add_default_system(client: Client) -> None:
    """Only what the API requires: all else is the server's own default."""
    for kind, policy in (("ORDERS", {}), ("JOBS", {"retention": "workqueue"})):
        subject = kind.lower()
        await add_stream(client, kind, subjects=[f"{subject}.>"], **policy)
        await add_consumer(client, kind, durable_name="worker", ack_policy="explicit")
        for _ in range(3):
            await client.jetstream().publish(f"{subject}.new", b"1")
    ephemeral = {"ack_policy": "explicit", "inactive_threshold": 600 * SECOND}
    for _ in range(3):
        body = {"stream_name": "ORDERS", "config": ephemeral}
        await request(client, "CONSUMER.CREATE.ORDERS", body)


@pytest.mark.parametrize(("source", "login"), [("account", APP), ("system", SYS)])
@pytest.mark.parametrize("version", versions())
async def test_a_default_system_has_exit_code_0_and_its_defaults_are_one_line(
    version: str, source: str, login: Login
) -> None:
    async with NatsServer(version, default_options()) as server:
        async with connected(server) as client:
            await add_default_system(client)
        found = await audit(server, login, "--watch", "1s", source=source)
        access = ("--source", source, "--nats", server.url, "--user", login.user)
        shown = await ran(*access, environ={"STREAMGAUGE_PASSWORD": login.password})
    assert [one for one in found.findings if one["severity"] != "info"] == []
    assert found.code == 0
    assert {one["consumer"] for one in found.findings} <= {"", "worker"}
    assert shown.out.count("Server defaults: ") == 1
    assert "max-deliver-unlimited (2)" in " ".join(shown.out.split())
    assert "INFO  max-deliver-unlimited" not in shown.out


async def test_what_is_wrong_is_found_with_evidence_and_a_command(bad: NatsServer) -> None:
    found = await audit(bad)
    assert found.code == 1
    assert {("no-ack", "LOOSE", ""), ("max-deliver-unlimited", "LOOSE", "endless")} <= found.found
    (finding,) = [one for one in found.findings if one["check"] == "no-ack" and not one["muted_by"]]
    assert finding["commands"][0] == "nats stream edit LOOSE --ack"
    assert finding["evidence"]


async def test_muted_findings_and_unknown_codes_are_reported(bad: NatsServer) -> None:
    found = await audit(bad)
    muted = {(one["check"], one["stream"], one["muted_by"]) for one in found.findings}
    assert ("no-ack", "QUIET", "stream metadata") in muted
    assert ("max-deliver-unlimited", "LOOSE", "consumer metadata") in muted
    assert found.system["muted"] == 2
    assert found.system["unknown_ignores"] == [{"code": "no-such-check", "subject": "QUIET"}]


async def test_what_is_muted_fails_no_pipeline(bad: NatsServer, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    text = "systems:\n  - name: prod\n    audit:\n      ignore: [no-ack, max-deliver-unlimited]\n"
    await asyncio.to_thread(settings.write_text, text)
    only = ("--only", "no-ack,max-deliver-unlimited")
    found = await audit(bad, APP, "--config", str(settings), *only)
    assert found.code == 0
    assert {one["muted_by"] for one in found.findings} == {"configuration"}
    assert (await audit(bad, APP, *only)).code == 1


@pytest.mark.parametrize(
    ("flags", "code"),
    [(("--fail-on", "crit"), 0), (("--fail-on", "never"), 0), (("--fail-on", "info"), 1)],
)
async def test_fail_on_sets_the_exit_code(
    bad: NatsServer, flags: tuple[str, ...], code: int
) -> None:
    assert (await audit(bad, APP, "--only", "no-ack", *flags)).code == code


async def test_checks_can_be_chosen(bad: NatsServer) -> None:
    one = await audit(bad, APP, "--only", "no-ack", "--only", "no-limits")
    assert one.system["checks"] == ["no-ack", "no-limits"]
    rest = await audit(bad, APP, "--skip", "no-ack")
    assert "no-ack" not in rest.system["checks"]
    assert "no-ack" not in {check for check, _, _ in rest.found}


def address(server: NatsServer, login: Login) -> str:
    return server.url.replace("//", f"//{login.user}:{login.password}@")


async def test_the_report_for_people_fits_eighty_columns(bad: NatsServer) -> None:
    ended = await ran("--nats", address(bad, APP))
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith("nats (account): 2 streams, 2 consumers, ")
    wide = [line for line in lines if len(line) > WIDTH]
    assert all(line.strip().startswith("nats ") for line in wide), wide
    assert "    nats stream edit LOOSE --ack" in lines
    assert "Not evaluated" in lines
    assert "\x1b" not in ended.out


async def test_the_account_source_reports_checks_that_need_servers(bad: NatsServer) -> None:
    lacks = {one["check"]: one["reason"] for one in (await audit(bad)).system["not_evaluated"]}
    assert "the system or the monitor source" in lacks["auth-off"]
    seen = (await audit(bad, SYS, source="system")).system["not_evaluated"]
    assert "auth-off" not in {one["check"] for one in seen}


async def test_junit_and_markdown_output(bad: NatsServer) -> None:
    made = await audit(bad, APP, "--format", "junit", "--fail-on", "warn")
    cases = list(ET.fromstring(made.printed).iter("testcase"))  # noqa: S314  our own
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert "no-ack" in failed
    assert "max-deliver-unlimited" not in failed
    assert made.code == 1
    made = await audit(bad, APP, "--format", "markdown", "--severity", "warn")
    assert made.printed.startswith("# Audit of nats\n")
    assert "\n| LOOSE | " in made.printed


async def test_a_second_poll_detects_changes(bad: NatsServer) -> None:
    async with connected(bad) as client:
        await add_stream(client, "ORPHAN", subjects=["orphan.>"], retention="interest")
        polled = asyncio.Event()
        running = asyncio.create_task(
            audit(bad, SYS, "--watch", "1s", source="system", polled=polled)
        )
        await polled.wait()
        for _ in range(20):
            await client.jetstream().publish("orphan.new", b"1")
        found = await running
        await request(client, "STREAM.DELETE.ORPHAN", {})
    assert ("interest-orphan", "ORPHAN", "") in found.found
    assert found.code == 1


async def test_messages_are_sampled_only_with_the_flag(bad: NatsServer) -> None:
    window = {"subjects": ["ids.>"], "duplicate_window": 600 * SECOND}
    async with connected(bad) as client:
        await add_stream(client, "IDS", **window)
        for number in range(30):
            headers = {"Nats-Msg-Id": str(number)} if number % 2 else None
            await client.jetstream().publish("ids.x", b"secret", headers=headers)
        without = await audit(bad, APP, "--only", "ids-missing")
        sampled = await audit(bad, APP, "--only", "ids-missing", "--sample-messages")
        await request(client, "STREAM.DELETE.IDS", {})
    assert [one["check"] for one in without.system["not_evaluated"]] == ["ids-missing"]
    assert sampled.about("ids-missing") == {"IDS"}
    assert "secret" not in sampled.printed


async def test_several_systems_of_a_file_are_audited_each(bad: NatsServer, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    urls = {"one": address(bad, APP), "two": bad.monitor_url}
    systems = [
        {"name": name, "urls": [url], "source": "monitor" if name == "two" else "account"}
        for name, url in urls.items()
    ]
    await asyncio.to_thread(settings.write_text, json.dumps({"systems": systems}))
    ended = await ran("--config", str(settings), "--format", "json")
    systems_found = {one["system"]: one for one in json.loads(ended.out)["systems"]}
    sources = {name: one["source"] for name, one in systems_found.items()}
    assert sources == {"one": "account", "two": "monitor"}
    assert all(one["counts"]["warn"] > 0 for one in systems_found.values())


@pytest.mark.parametrize("form", ["json", "junit"])
async def test_a_failed_system_is_in_the_report_of_the_others(
    bad: NatsServer, tmp_path: Path, form: str
) -> None:
    settings = tmp_path / "settings.yml"
    urls = {"there": address(bad, APP), "gone": UNREACHABLE}
    systems = [{"name": name, "urls": [url]} for name, url in urls.items()]
    await asyncio.to_thread(settings.write_text, json.dumps({"systems": systems}))
    ended = await ran("--config", str(settings), "--format", form, "--fail-on", "never")
    assert ended.code == 2
    if form == "json":
        incomplete = {one["system"]: one["incomplete"] for one in json.loads(ended.out)["systems"]}
        assert incomplete["there"] == []
        assert incomplete["gone"][0].startswith("stream_list failed (connection): ")
    else:
        suites = ET.fromstring(ended.out)  # noqa: S314  our own
        assert {one.get("name"): one.get("errors") for one in suites} == {"there": "0", "gone": "1"}


async def test_a_stream_that_is_down_makes_the_report_incomplete() -> None:
    async with NatsCluster(3, NEWEST, default_options()) as cluster:
        async with connected(cluster.nodes[0]) as client:
            for number in range(6):
                await add_stream(client, f"R1_{number}", subjects=[f"r{number}.>"])
            reply = await client.request("$JS.API.STREAM.INFO.R1_0", b"", timeout=5)
        holder = json.loads(reply.data)["cluster"]["leader"]
        await cluster.stop(holder)
        await cluster.settle()
        alive = next(one for one in cluster.nodes if one.running)
        found = await audit(alive, APP, "--fail-on", "never", "--timeout", "10s")
    assert found.code == 2
    assert any("did not respond: " in gap and "R1_0" in gap for gap in found.system["incomplete"])


async def test_no_server_is_one_line_and_exit_code_2() -> None:
    found = await audit(UNREACHABLE, APP, "--format", "table")
    assert found.code == 2
    assert found.printed.startswith("nats (account): FAILED, nothing was evaluated: ")
    assert found.complaints.startswith("streamgauge: nats: stream_list failed (connection): ")
    assert found.complaints.count("\n") == 1


async def test_a_wrong_password_is_reported_and_not_printed(bad: NatsServer) -> None:
    found = await audit(bad, Login("app", "hunter2"), "--format", "table")
    assert found.code == 2
    assert found.printed.startswith("nats (account): FAILED, nothing was evaluated: ")
    assert "hunter2" not in found.printed
    assert found.complaints.startswith("streamgauge: nats: ")
    assert "hunter2" not in found.complaints


@asynccontextmanager
async def denying(*subjects: str) -> AsyncIterator[NatsServer]:
    denied = Permissions(publish_deny=subjects)
    users = (User("app", "app"), User("some", "some", permissions=denied))
    accounts = (Account("APP", users, jetstream=True),)
    async with NatsServer(NEWEST, NatsOptions(accounts=accounts)) as server:
        yield server


async def test_a_denied_request_makes_the_report_incomplete() -> None:
    async with denying("$JS.API.CONSUMER.LIST.>") as server:
        async with connected(server, Login("app", "app")) as client:
            await add_good_system(client)
        found = await audit(server, Login("some", "some"))
        assert found.code == 2
        assert found.system["incomplete"][0].startswith("consumer_list (permission): ")
        assert "incomplete: consumer_list (permission)" in found.complaints


async def test_a_closed_pipe_is_no_error(bad: NatsServer) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = await ran("--nats", address(bad, APP), stdout=writing)
    finally:
        os.close(writing)
    assert (ended.code, ended.err) == (1, "")
