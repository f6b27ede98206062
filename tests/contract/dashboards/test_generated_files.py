"""The committed boards and their page are up to date, to the byte."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from dashboards.boards.registry import all_boards
from dashboards.generate import ROOT, generated, write
from dashboards.panels.limits import limits
from dashboards.panels.model import Text

GENERATED = dict(generated())


def committed(path: Path) -> str | None:
    return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else None


def test_the_committed_files_are_up_to_date() -> None:
    stale = [str(path) for path in GENERATED if committed(path) != GENERATED[path]]
    assert not stale, f"run make generate and commit {stale}"


def test_there_is_no_file_of_a_removed_board() -> None:
    found = {path.relative_to(ROOT) for path in (ROOT / "dashboards/generated").glob("*.json")}
    assert found == {path for path in GENERATED if path.suffix == ".json"}


def test_writing_twice_changes_nothing_and_removes_old_boards(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    old = tmp_path / "dashboards/generated/sg-gone.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    assert len(write(tmp_path)) == len(GENERATED) + 1
    assert not old.exists()
    assert write(tmp_path) == []


def test_the_boards_are_in_the_package() -> None:
    inside = files("dashboards").joinpath("generated")
    assert {each.name for each in inside.iterdir()} >= {
        f"{p.name}" for p in GENERATED if p.suffix == ".json"
    }


def test_every_board_and_every_panel_is_in_the_page() -> None:
    page = next(text for path, text in GENERATED.items() if path.suffix == ".md")
    boards = all_boards(limits())
    drawn = [panel for board in boards for panel in board.panels if not isinstance(panel, Text)]
    wanted = [*(f"\n## {board.title}\n" for board in boards), *(f"| {p.title} |" for p in drawn)]
    assert [text for text in wanted if text not in page] == []
