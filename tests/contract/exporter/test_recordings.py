"""The recorded responses themselves: complete, small, true to the byte and free of this machine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.collected import over_all
from support.nats.servers import NEWEST, OLDEST, VERSIONS
from support.recordings.recording_file import Exchange, RecordedError, RecordedReply, RecordingFile
from support.recordings.replay import (
    FOLDER,
    SOURCES,
    NotRecordedError,
    Recording,
    Replayer,
    recordings,
)

ALL = recordings()
MOST_BYTES = 3_000_000
A_PATH_OF_A_MACHINE = re.compile(r"/(tmp|home|root|work|Users|var)/")
AN_ADDRESS = re.compile(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b")

every_recording = over_all(ALL, "run make record")


def test_every_version_is_recorded_alone_and_the_outermost_as_a_cluster() -> None:
    scenarios = {(version, "standalone") for version in VERSIONS}
    scenarios |= {
        (version, scenario) for version in (OLDEST, NEWEST) for scenario in ("cluster", "one-down")
    }
    assert set(ALL) == {
        Recording(*scenario, source) for scenario in scenarios for source in SOURCES
    }


def test_the_folder_stays_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.json")) < MOST_BYTES


@every_recording
def test_a_recording_shows_where_it_comes_from(recording: Recording) -> None:
    file = RecordingFile.load(recording.path)
    assert sorted(file.about) == ["command", "date", "server"]
    responses = [reply.text for each in file.exchanges.values() for reply in each.replies]
    reported = re.findall(r'"(?:ver|version)":\s*"([0-9.]+)"', "".join(responses))
    assert set(reported) == {recording.version} == {file.about["server"]}


@every_recording
def test_nothing_of_the_recording_machine_is_left(recording: Recording) -> None:
    text = recording.path.read_text(encoding="utf-8")
    assert A_PATH_OF_A_MACHINE.findall(text) == []
    addresses = set(AN_ADDRESS.findall(text)) - {"127.0.0.1", "0.0.0.0"}  # noqa: S104
    assert addresses == set()


def test_the_traps_that_the_decoder_must_catch_are_recorded() -> None:
    """Otherwise the tests that none of them is exposed would prove nothing."""
    whole = "".join(each.path.read_text(encoding="utf-8") for each in ALL)
    for trap in (
        '"0001-01-01T00:00:00Z"',
        ": 18446744073709551615",
        ": 18446744073709551614",
        '"max_bytes": -1',
        '"active": -1',
    ):
        assert trap in whole


def file_of(*replies: RecordedReply, error: RecordedError | None = None) -> RecordingFile:
    file = RecordingFile({"server": "1"}, {"server_name": "n1"})
    file.keep(Exchange("A.REQUEST {}", 1000.5, replies, error))
    return file


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"b":[1,2],"c":{}}',
        '{\n  "a": 1,\n  "b": []\n}',
        '{"subject":"orders.\\u003e"}',
        '{"a": 1}',
        '{"twice":1,"twice":2}',
        '{"cpu":1e-7}',
        '{"n":18446744073709551615}',
        "no JSON at all",
        "",
        '{"word":"\\u00e9 é \\n"}',
    ],
)
def test_a_response_comes_back_byte_by_byte(text: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario" / "source.json"
    file = file_of(RecordedReply(text, {"Content-Encoding": "gzip"}, 0.25, 200))
    file.save(path)
    assert RecordingFile.load(path) == file


def test_a_failure_comes_back(tmp_path: Path) -> None:
    file = file_of(error=RecordedError("timeout", "no client spoke"))
    file.save(tmp_path / "source.json")
    assert RecordingFile.load(tmp_path / "source.json") == file


@pytest.mark.parametrize("recording", ALL, ids=str)
def test_a_file_is_as_the_recorder_would_write_it(recording: Recording, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    RecordingFile.load(recording.path).save(again)
    assert again.read_text(encoding="utf-8") == recording.path.read_text(encoding="utf-8")


def test_a_request_that_was_not_recorded_fails_and_names_it() -> None:
    replayer = Replayer(file_of(RecordedReply("{}", {}, 0.1)))
    with pytest.raises(NotRecordedError, match=r"ANOTHER\.REQUEST"):
        replayer.response("ANOTHER.REQUEST")


@every_recording
def test_responses_are_kept_so_that_a_change_can_be_read(recording: Recording) -> None:
    """As JSON values, not as one long text."""
    exchanges = json.loads(recording.path.read_text(encoding="utf-8"))["exchanges"]
    replies = [reply for each in exchanges for reply in each.get("replies", ())]
    assert replies != []
    assert [reply for reply in replies if "text" in reply] == []
