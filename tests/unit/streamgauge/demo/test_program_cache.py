"""The cache of downloaded programs: atomic, and filled once."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streamgauge.demo.processes.program_cache import ProgramMissingError, cache_folder, cached, run
from streamgauge.demo.processes.programs import main


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def visible(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.endswith(".lock"))


def test_two_who_want_the_same_program_at_once_fetch_it_once(own_cache: Path) -> None:
    both_are_here = threading.Barrier(2)
    fetches: list[Path] = []

    def fetch(into: Path) -> None:
        fetches.append(into)
        (into / "program").write_text("whole")

    def want(_: int) -> str:
        both_are_here.wait()
        return (cached("tool", fetch) / "program").read_text()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(want, range(2))) == ["whole", "whole"]
    assert len(fetches) == 1
    assert visible(own_cache) == ["tool"]


def test_a_failed_fetch_leaves_nothing_and_may_be_tried_again(own_cache: Path) -> None:
    def break_off(into: Path) -> None:
        (into / "program").write_text("ha")
        raise ProgramMissingError("tool: the line went dead")

    with pytest.raises(ProgramMissingError, match="line went dead"):
        cached("tool", break_off)
    assert visible(own_cache) == []
    whole = cached("tool", lambda into: (into / "program").touch())
    assert visible(whole) == ["program"]


def test_a_failed_command_is_reported_in_one_line_with_its_last_output() -> None:
    complain = "print('first'); print('no such package'); raise SystemExit(3)"
    with pytest.raises(ProgramMissingError) as caught:
        run([sys.executable, "-c", complain], what="tool")
    assert str(caught.value) == "tool: no such package (exit 3)"


def test_a_system_without_apt_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["2.9.10"]) == 1
    assert "this system has no apt-get and dpkg" in capsys.readouterr().out


def test_the_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("STREAMGAUGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg/streamgauge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache/streamgauge"
