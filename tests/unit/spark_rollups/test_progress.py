"""Progress on a terminal and elsewhere."""

import io

import pytest

from spark_rollups import progress as module
from spark_rollups.progress import WIDTH, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_of_one_line_that_goes_away() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("a title that is far too long for it " * 3, 4)
    shown.step(1)
    shown.step(1)
    lines = screen.getvalue().split("\r")
    assert "\n" not in screen.getvalue()
    assert all(len(line.removesuffix("\x1b[K")) < WIDTH for line in lines)
    shown.end()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_the_share_and_the_time_left_are_shown() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("days", 4)
    shown.step(2)
    last = screen.getvalue().split("\r")[-1]
    assert last.startswith("days  50% [############............] ")
    assert "s left" in last


def test_elsewhere_lines_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    shown = Progress(file)
    shown.begin("days", 100)
    shown.step(1)
    assert file.getvalue() == ""
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
    shown.step(1)
    assert file.getvalue().startswith("days   2% ")
    assert file.getvalue().endswith("left\n")
    shown.end()
    assert "\r" not in file.getvalue()


def test_a_line_is_logged_above_the_bar() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("days", 2)
    shown.log("missing in the archive: 2026-09-28")
    assert screen.getvalue().endswith("\r\x1b[Kmissing in the archive: 2026-09-28\n")
