"""The archive as a process: acknowledged samples survive, authentication, shutdown."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import signal
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import bcrypt
import pytest
from support.archive.process import ArchiveProcess, archiving, ran
from support.archive.published import read_published
from support.certificates import Authority
from support.deploy.files import promtool
from support.remote_write import messages as rw
from support.waiting import until

from exporter import catalog
from exporter.metric import Origin

LABELS: Final = {"account": "A", "stream": "ORDERS"}


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
async def archive(tmp_path: Path) -> AsyncIterator[ArchiveProcess]:
    async with archiving(tmp_path) as running:
        yield running


def request_of(version: str, *series: rw.Series) -> bytes:
    return rw.request_v1(*series) if version == rw.V1 else rw.request_v2(*series)


async def test_what_was_acknowledged_is_published_at_the_end_in_either_version(
    archive: ArchiveProcess,
) -> None:
    at = now() - 60_000
    for repeat, version in enumerate([rw.V1, rw.V2, rw.V1, rw.V2]):
        series = [rw.later(each, repeat * 1000) for each in rw.many(100, LABELS, at)]
        series.append(rw.series("gone", rw.Sample(at + repeat, rw.STALE)))
        assert (await archive.write(request_of(version, *series), version)).status == 204
    assert await archive.stop() == 0
    published = await asyncio.to_thread(read_published, archive.data)
    assert published.count == 404
    name = ("__name__", "streamgauge_test")
    for place in range(100):
        labels = tuple(sorted([*LABELS.items(), name, ("consumer", f"consumer-{place}")]))
        expected = [(at + repeat * 1000, rw.bits_of(place % 7)) for repeat in range(4)]
        assert published.points[labels] == expected
    assert published.points[("__name__", "gone"),] == [(at + n, rw.STALE) for n in range(4)]
    assert any(line.endswith("archive.serve  stopping") for line in await archive.log_lines())
    assert await asyncio.to_thread(list, (archive.data / "wal").glob("*.wal")) == []


async def test_a_kill_loses_nothing_and_a_repeated_request_doubles_nothing(
    archive: ArchiveProcess,
) -> None:
    at = now() - 60_000
    first = rw.request_v1(*rw.many(50, LABELS, at))
    assert (await archive.write(first)).status == 204
    await archive.child.kill()
    await archive.start()
    await archive.ready()
    # Like a sender after a lost response.
    assert (await archive.write(first)).status == 204
    assert (await archive.write(rw.request_v1(*rw.many(60, LABELS, at + 1)))).status == 204
    assert (await archive.scrape()).value("archive_series") == 60
    assert await archive.stop() == 0
    published = await asyncio.to_thread(read_published, archive.data)
    assert published.count == 110


async def test_its_metrics_report_what_it_does(archive: ArchiveProcess) -> None:
    at = now()
    await archive.write(rw.request_v2(*rw.many(5, LABELS, at)), rw.V2)
    await archive.write(rw.request_v1(rw.Series([("job", "x")], [rw.sample(1, at)])))
    series = await until(
        archive.scrape,
        lambda found: found.value("archive_quarantined_requests_total") == 1,
        "the refused request is not in quarantine",
    )
    assert series.value("archive_requests_total", code="204") == 1
    assert series.value("archive_requests_total", code="400") == 1
    assert series.value("archive_samples_total") == 5
    assert series.value("archive_duplicate_samples_total") == 0
    assert series.value("archive_series") == 5
    wal = series.value("archive_wal_bytes")
    assert wal is not None
    assert wal > 0
    assert series.value("archive_wal_oldest_timestamp_seconds") == pytest.approx(at / 1000, abs=60)
    newest = series.value("archive_newest_sample_timestamp_seconds", sender="127.0.0.1")
    assert newest == pytest.approx(at / 1000)
    assert series.value("archive_compaction_last_success_timestamp_seconds") is None
    assert series.value("archive_refused_requests_total", reason="parts") == 1
    assert series.value("archive_refused_samples_total", reason="no metric name") == 1
    for reason in ("conflict", "other_replica", "unknown_series", "misplaced"):
        assert series.value("archive_dropped_samples_total", reason=reason) == 0
    promised = {metric.name for metric in catalog.ALL if metric.origin is Origin.ARCHIVE}
    text = (await archive.request("/metrics")).text
    served = set(re.findall(r"^(streamgauge_\w+)", text, re.MULTILINE))
    assert promised - served == {"streamgauge_archive_compaction_last_success_timestamp_seconds"}
    assert served <= promised


@pytest.mark.program
async def test_promtool_finds_no_fault_in_its_metrics(archive: ArchiveProcess) -> None:
    await archive.write(
        rw.request_v2(
            *rw.many(5, LABELS, now()),
        ),
        rw.V2,
    )
    text = (await archive.request("/metrics")).text
    program = await asyncio.to_thread(promtool)
    checked = await asyncio.to_thread(
        subprocess.run, [str(program), "check", "metrics"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


async def test_a_large_request_does_not_hold_up_the_others(archive: ArchiveProcess) -> None:
    """A request of the largest kind is read in a thread of its own."""
    population = rw.request_v1(
        *(rw.many(1, {"zone": f"{n}" * 20}, now())[0] for n in range(20_000))
    )
    large = asyncio.create_task(archive.write(population))
    while not large.done():
        assert (await archive.request("/-/healthy")).status == 200
    assert (await large).status == 204


# --- authentication -------------------------------------------------------------------------------


async def test_only_users_and_tokens_may_write(tmp_path: Path) -> None:
    hashed = bcrypt.hashpw(b"pass", bcrypt.gensalt(4)).decode()
    files = {
        "web.yml": f"basic_auth_users:\n  eve: {hashed}\nhttp_server_config:\n"
        "  headers: {X-Frame-Options: deny}\n",
        "eu.token": "secret-eu\n",
        "archive.yml": "web: {config_file: web.yml}\nbearer_tokens: {eu: eu.token}\n",
    }
    config = ("--config", str(tmp_path / "archive.yml"))
    basic = {"Authorization": "Basic " + base64.b64encode(b"eve:pass").decode()}
    bearer = {"Authorization": "Bearer secret-eu"}
    async with archiving(tmp_path, *config, headers=basic, files=files) as archive:
        message = rw.request_v1(*rw.many(1, LABELS, now()))
        response = await archive.write(message)
        assert (response.status, response.headers["X-Frame-Options"]) == (204, "deny")
        assert (await archive.write(message, headers=bearer)).status == 204
        wrong = ("Bearer secret-us", "Bearer ", "Basic " + base64.b64encode(b"eve:no").decode())
        for header in wrong:
            response = await archive.write(message, headers={"Authorization": header})
            assert response.status == 401
        series = await archive.scrape()
        assert series.value("archive_requests_total", code="401") == len(wrong)
        for sender in ("eve", "eu"):
            assert series.named("archive_newest_sample_timestamp_seconds", sender=sender)
        response = await archive.request("/metrics", headers={"Authorization": "Bearer x"})
        assert response.status == 401


async def test_a_token_alone_requires_authentication_too(tmp_path: Path) -> None:
    files = {"eu.token": "secret-eu\n", "archive.yml": "bearer_tokens: {eu: eu.token}\n"}
    config = ("--config", str(tmp_path / "archive.yml"))
    bearer = {"Authorization": "Bearer secret-eu"}
    async with archiving(tmp_path, *config, headers=bearer, files=files) as archive:
        message = rw.request_v1(*rw.many(1, LABELS, now()))
        assert (await archive.write(message)).status == 204
        response = await archive.write(message, headers={"Authorization": ""})
        assert response.status == 401
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


async def test_it_is_served_by_tls(tmp_path: Path) -> None:
    authority = await asyncio.to_thread(Authority.create, tmp_path / "tls")
    server = await asyncio.to_thread(authority.issue, "server")
    settings = f"tls_server_config:\n  cert_file: {server.cert}\n  key_file: {server.key}\n"
    flags = ("--web.config.file", str(tmp_path / "web.yml"))
    trust = await asyncio.to_thread(ssl.create_default_context, cafile=str(authority.cert))
    async with archiving(tmp_path, *flags, tls=trust, files={"web.yml": settings}) as archive:
        assert (await archive.write(rw.request_v1(*rw.many(1, LABELS, now())))).status == 204


async def test_listening_to_all_without_authentication_is_warned_of(tmp_path: Path) -> None:
    async with archiving(tmp_path, host="0.0.0.0") as archive:  # noqa: S104  that is the point
        warned = [line for line in await archive.log_lines() if " WARN " in line]
    assert len(warned) == 1
    assert "every client that reaches this address can write" in warned[0]


async def test_the_path_of_the_external_url_is_the_prefix_of_all_routes(tmp_path: Path) -> None:
    flags = ("--web.external-url", "https://example.com/gauge", "--web.telemetry-path", "/own")
    async with archiving(tmp_path, *flags, prefix="/gauge") as archive:
        assert (await archive.write(rw.request_v1(*rw.many(1, LABELS, now())))).status == 204
        metrics = await archive.request("/gauge/own")
        assert 'archive_requests_total{code="204"} 1' in metrics.text
        assert (await archive.request("/own")).status == 404
        index = (await archive.request("/")).text  # redirected
        assert "https://example.com/gauge/api/v1/write" in index
        assert (await archive.request("/gauge/-/reload", "POST")).status == 403


async def test_a_reload_reads_tokens_and_the_web_configuration_again(tmp_path: Path) -> None:
    files = {"web.yml": "", "eu.token": "first\n", "archive.yml": "bearer_tokens: {eu: eu.token}\n"}
    flags = ("--config", str(tmp_path / "archive.yml"), "--web.enable-lifecycle",
             "--web.config.file", str(tmp_path / "web.yml"))  # fmt: skip
    first, second = ({"Authorization": f"Bearer {token}"} for token in ("first", "second"))
    async with archiving(tmp_path, *flags, headers=first, files=files) as archive:
        await asyncio.to_thread((tmp_path / "eu.token").write_text, "second\n")
        assert (await archive.request("/-/reload", "POST")).status == 200
        assert (await archive.request("/", headers=second)).status == 200
        await asyncio.to_thread((tmp_path / "web.yml").write_text, "nonsense: 1\n")
        response = await archive.request("/-/reload", "POST", headers=second)
        assert response.status == 500
        assert "web.yml: line 1: unknown key" in response.text  # its name may be a secret


# --- the beginning and the end --------------------------------------------------------------------


async def test_two_archives_in_one_folder_are_refused(archive: ArchiveProcess) -> None:
    ended = await ran("--data", str(archive.data), "--web.listen-address", "127.0.0.1:0")
    assert ended.code == 2
    assert ended.err.startswith("streamgauge: ")
    assert str(archive.data) in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ((), "streamgauge: --data: is missing, and it has no default"),
        (("--data", "x", "--web.listen-address", "y"), 'streamgauge: --web.listen-address: "y" is no address (write HOST:PORT)'),
        (("--data", "x", "--config", "/nowhere.yml"), "streamgauge: /nowhere.yml: cannot be read: No such file or directory"),
    ],
)  # fmt: skip
async def test_a_configuration_error_is_one_line_and_exit_2(
    flags: tuple[str, ...], line: str
) -> None:
    ended = await ran(*flags)
    assert (ended.code, ended.err) == (2, line + "\n")


async def test_sighup_ends_nothing_and_logs_what_applies_without_a_restart(
    archive: ArchiveProcess,
) -> None:
    os.kill(archive.child.pid, signal.SIGHUP)

    async def output() -> bool:
        return "nothing to reload" in await archive.child.log_text()

    await until(output, bool, "SIGHUP was not logged")
    assert (await archive.write(rw.request_v1(*rw.many(1, LABELS, now())))).status == 204


async def test_a_sender_that_never_ends_its_request_does_not_hold_up_the_end(
    archive: ArchiveProcess,
) -> None:
    assert (await archive.write(rw.request_v1(*rw.many(3, LABELS, now())))).status == 204
    reader, writer = await asyncio.open_connection("127.0.0.1", archive.port)
    head = "".join(f"{name}: {text}\r\n" for name, text in rw.headers().items())
    writer.write(f"POST /api/v1/write HTTP/1.1\r\nHost: x\r\n{head}".encode())
    writer.write(b"Content-Length: 100\r\n\r\nhello")
    await writer.drain()
    assert await archive.stop() == 0
    assert b" 204 " not in await reader.read()
    writer.close()
    assert (await asyncio.to_thread(read_published, archive.data)).count == 3
