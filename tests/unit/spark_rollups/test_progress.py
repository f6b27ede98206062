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
    shown.begin("a title that is far too long for it " * 3)
    shown.show(1, 4, 2)
    shown.show(2, 4, 2)
    lines = screen.getvalue().split("\r")
    assert "\n" not in screen.getvalue()
    assert all(len(line.removesuffix("\x1b[K")) < WIDTH for line in lines)
    assert lines[-1].endswith(" 2/4 tasks\x1b[K")
    shown.end()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_done_and_all_tasks_are_shown() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("days")
    shown.show(2, 4, 1)
    assert screen.getvalue().split("\r")[-1] == "days [############............] 2/4 tasks\x1b[K"


def test_before_the_first_task_it_shows_what_is_awaited() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("days")
    shown.show(0, 0, 0)
    assert screen.getvalue().endswith("\rdays: planning\x1b[K")
    shown.show(0, 7, 0)
    assert screen.getvalue().endswith("\rdays: 7 tasks wait for executors\x1b[K")


def test_elsewhere_each_job_has_a_line_and_more_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    shown = Progress(file)
    shown.begin("days")
    shown.show(1, 100, 2)
    assert file.getvalue() == "days\n"
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
    shown.show(2, 100, 2)
    assert file.getvalue() == "days\ndays: 2 of 100 tasks\n"
    shown.end()
    assert "\r" not in file.getvalue()


def test_elsewhere_a_long_line_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
    file, title = io.StringIO(), "a title of its own " * 5
    shown = Progress(file)
    shown.begin(title)
    shown.show(0, 7, 0)
    assert file.getvalue() == f"{title}\n{title}: 7 tasks wait for executors\n"


def test_a_line_is_logged_above_the_bar() -> None:
    screen = Terminal()
    shown = Progress(screen)
    shown.begin("days")
    shown.log("missing in the archive: 2026-09-28")
    assert screen.getvalue().endswith("\r\x1b[Kmissing in the archive: 2026-09-28\n")
