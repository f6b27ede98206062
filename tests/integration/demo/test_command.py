"""`streamgauge demo` as a user runs it: links that respond, and a complete cleanup."""

import asyncio
import os
import re
import signal
from pathlib import Path

import aiohttp
import pytest
from support.demo_process import Demo, running_demo, text_of

STUCK = r'streamgauge_consumer_num_pending\{[^}]*consumer="stuck"[^}]*\} (\d+)'


async def _children(demo: Demo) -> dict[str, int]:
    return await asyncio.to_thread(_children_of, demo.process.pid)


def _children_of(parent: int) -> dict[str, int]:
    """Name and process id of each child."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(
                line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line
            )
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        if fields["PPid"] == str(parent):
            found[fields["Name"]] = int(fields["Pid"])
    return found


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _wait_for(pattern: str, url: str) -> None:
    """Polls until it matches; the time limit of pytest ends the wait."""
    while True:
        if re.search(pattern, await text_of(url)):
            return
        await asyncio.sleep(0.2)


async def test_the_demo_shows_the_stuck_consumer_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        await _wait_for(STUCK, demo.address("Metrics"))
        assert "<html" in (await text_of(demo.address("Status page"))).lower()
        children = await _children(demo)
        assert len(children) == 2, children
        demo.process.send_signal(signal.SIGINT)
        _, complaint = await demo.process.communicate()
    assert (demo.process.returncode, complaint) == (0, b"")
    assert [name for name, pid in children.items() if _exists(pid)] == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_work_that_is_still_running_at_ctrl_c_is_no_error(tmp_path: Path) -> None:
    working = r'streamgauge_consumer_num_ack_pending\{[^}]*consumer="late"[^}]*\} [1-9]'
    async with running_demo(tmp_path, "--no-prometheus", "--broken", "late-ack") as demo:
        await _wait_for(working, demo.address("Metrics"))
        demo.process.send_signal(signal.SIGINT)
        _, complaint = await demo.process.communicate()
    assert (demo.process.returncode, complaint) == (0, b"")


async def test_prometheus_of_the_demo_scrapes_the_exporter(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-history") as demo:
        prometheus = demo.address("Prometheus")
        if prometheus == "not":
            pytest.skip("Prometheus cannot be had here")
        query = 'streamgauge_consumer_num_pending{consumer="stuck"}'
        await _wait_for(r'"value":\[', f"{prometheus}api/v1/query?query={query}")


async def test_the_demo_stops_after_the_given_seconds(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus", "--seconds", "0.1") as demo:
        await demo.process.communicate()
    assert demo.process.returncode == 0
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


@pytest.mark.parametrize("victim", ["nats-server", "exporter"])
async def test_a_child_that_dies_is_named_and_ends_the_demo(tmp_path: Path, victim: str) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        children = await _children(demo)
        nats_server = children.pop("nats-server")
        (exporter,) = children.values()
        os.kill(nats_server if victim == "nats-server" else exporter, signal.SIGKILL)
        _, complaint = await demo.process.communicate()
    assert demo.process.returncode == 1
    assert f"{victim}" in complaint.decode()
    assert "ended with exit code -9" in complaint.decode()
    assert [pid for pid in (nats_server, exporter) if _exists(pid)] == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_break_and_heal_find_the_demo_and_print_what_to_expect(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus", "--broken", "none") as demo:
        assert {each["broken"] for each in (await demo.state())["faults"].values()} == {False}
        code, output, complaint = await demo.say("break", "outage", "poison")
        assert (code, complaint) == (0, "")
        assert "EMAILS > sender" in output
        assert "ConsumerNoWorkerPulls" in output
        faults = (await demo.state())["faults"]
        assert [name for name, each in faults.items() if each["broken"]] == ["poison", "outage"]
        assert (await demo.say("heal", "outage"))[0] == 0
        assert (await demo.state())["faults"]["outage"]["broken"] is False


async def test_a_failure_that_cannot_be_is_refused_with_its_reason(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        code, _, complaint = await demo.say("break", "leader")
        assert (code, complaint.count("\n")) == (2, 1)
        assert "leader needs three servers" in complaint
        code, _, complaint = await demo.say("break", "moon")
        assert (code, "unknown fault 'moon'" in complaint) == (2, True)


async def test_without_a_demo_break_reports_how_to_start_one(tmp_path: Path) -> None:
    absent = Demo(process=None, page="", folder=tmp_path)  # type: ignore[arg-type]
    code, _, complaint = await absent.say("break", "poison")
    assert (code, complaint) == (
        2,
        "streamgauge demo: no demo runs here; start one with `streamgauge demo`\n",
    )


async def test_a_button_pressed_by_another_site_is_refused(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus", "--broken", "none") as demo:
        url = f"{demo.address('Start page')}break/poison"
        stranger = {"Origin": "http://elsewhere.example"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, headers=stranger) as response,
        ):
            assert response.status == 403
        assert (await demo.state())["faults"]["poison"]["broken"] is False


async def test_a_demo_whose_reader_is_gone_still_cleans_up(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        children = await _children(demo)
        demo.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        demo.process.send_signal(signal.SIGTERM)
        await demo.process.wait()
    assert [name for name, pid in children.items() if _exists(pid)] == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []
