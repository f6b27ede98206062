"""`streamgauge dashboards render`: writes the boards in a format for your Grafana."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from dashboards.boards.registry import all_boards
from dashboards.panels.limits import limits
from dashboards.rendering.formats import FORMATS, Json
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.version import add_version

PROGRAM = "streamgauge dashboards"
_DESCRIPTION = "Writes the Grafana boards in a format for your Grafana."
_MOST_UID_CHARACTERS = 40  # Grafana refuses longer ones
_UID = re.compile(r"[A-Za-z0-9_-]+")
_ADDRESS = re.compile(r"(https?://|/)[^\s\"\'<>]*")
_TAG = re.compile(r"[^\s,][^,]{0,49}")


class UsageError(Exception):
    """A wrong argument, in one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(argv: Sequence[str] | None = None) -> int:
    """0 written, 1 could not write, 2 wrong arguments."""
    try:
        arguments = parser().parse_args(argv)
        boards = _boards(arguments)
    except UsageError as error:
        return _fail(str(error), 2)
    except ModuleNotFoundError as error:
        return _fail(f"{error.name} is missing: install streamgauge[dashboards]", 2)
    try:
        written = _write(boards, arguments.format, arguments.out)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}", 1)
    sys.stdout.write(f"wrote {written} files into {arguments.out}\n")
    return 0


def parser() -> argparse.ArgumentParser:
    made = _Parser(prog=PROGRAM, description=_DESCRIPTION)
    add_version(made)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    render = commands.add_parser(
        "render", help="write the boards into a folder", description=_DESCRIPTION
    )
    add_version(render)
    add = render.add_argument
    add("--format", choices=FORMATS, default="file", help="format of the files (default file)")
    add("--out", type=Path, required=True, metavar="DIR", help="output folder, created if missing")
    add("--uid-prefix", default="sg-", metavar="TEXT", help="prefix of every uid (default sg-)")
    add("--tag", default="streamgauge", help="tag of the boards and of their menu")
    add("--datasource", default="default", metavar="NAME",
        help="default data source (default: that of Grafana)")  # fmt: skip
    add("--runbooks", default="", metavar="URL",
        help="folder of the runbooks, as for the alerts (default: pages of the exporter)")  # fmt: skip
    add("--set", action="append", default=[], metavar="THRESHOLD=VALUE", dest="assignments",
        help="another value for an alert threshold; repeatable")  # fmt: skip
    return made


def _boards(arguments: argparse.Namespace) -> list[Json]:
    # First, so that a wrong argument is reported without grafanalib.
    _check_names(arguments)
    try:
        chosen = limits(arguments.assignments)
    except ValueError as error:
        raise UsageError(f"--set {error}") from None
    from dashboards.grafana import Naming, render

    naming = Naming(arguments.uid_prefix, arguments.tag, arguments.datasource, arguments.runbooks)
    return [render(board, naming) for board in all_boards(chosen)]


def _check_names(arguments: argparse.Namespace) -> None:
    prefix = arguments.uid_prefix
    longest = max(len(board.key) for board in all_boards(limits()))
    if not _UID.fullmatch(prefix):
        raise UsageError(f"--uid-prefix {prefix!r}: only letters, digits, - and _ are allowed")
    if len(prefix) + longest > _MOST_UID_CHARACTERS:
        most = _MOST_UID_CHARACTERS - longest
        raise UsageError(f"--uid-prefix {prefix}: is longer than {most} characters")
    if not _TAG.fullmatch(arguments.tag):
        raise UsageError(f"--tag {arguments.tag!r}: is not a tag of 1 to 50 characters, no comma")
    if arguments.runbooks and not _ADDRESS.fullmatch(arguments.runbooks):
        raise UsageError(
            f"--runbooks {arguments.runbooks!r}: is not an address (https://..., /...)"
        )


def _write(boards: list[Json], form: str, folder: Path) -> int:
    number = 0
    for name, text in FORMATS[form](boards):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
        number += 1
    return number


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {one_line(text)}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
