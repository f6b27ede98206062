"""`python -m dashboards.generate`: writes dashboards/generated/ and docs/dashboards.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dashboards.boards.registry import all_boards
from dashboards.grafana import Naming, render
from dashboards.panels.limits import limits
from dashboards.rendering.formats import plain_files
from dashboards.rendering.reference import page
from streamgauge.serving.generated_files import write_changed

ROOT = Path(__file__).parent.parent
BOARDS = Path("dashboards/generated")
PAGE = Path("docs/dashboards.md")


def generated() -> Iterator[tuple[Path, str]]:
    """Path below the root of the tree, and text."""
    boards = all_boards(limits())
    for name, text in plain_files([render(board, Naming()) for board in boards]):
        yield BOARDS / name, text
    yield PAGE, page(boards)


def write(root: Path) -> list[Path]:
    """Also removes the files of removed boards."""
    wanted = {root / path: text for path, text in generated()}
    removed = [path for path in (root / BOARDS).glob("*.json") if path not in wanted]
    for path in removed:
        path.unlink()
    return [*removed, *write_changed(wanted)]


def main() -> int:
    if not (ROOT / PAGE).parent.is_dir():
        sys.stderr.write(f"{(ROOT / PAGE).parent} is not there: run this in a source tree\n")
        return 1
    for path in write(ROOT):
        sys.stdout.write(f"{'wrote' if path.exists() else 'removed'} {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
