"""The demo's output in the terminal: progress at the start, then the links. 80 columns, plain text."""

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from streamgauge.demo.web.pages import Link


def print_line(out: TextIO, line: str) -> None:
    """Flushes, also into a pipe. A closed terminal is no error: the cleanup must go on."""
    with suppress(OSError):
        print(line, file=out, flush=True)


def guide(links: Sequence[Link], broken: Sequence[str], *, bold: bool) -> str:
    """The text after the start."""
    rows = [(link.name, link.address or "not running") for link in links]
    lines = ["", _heading("Where to look", bold=bold), *_table(rows)]
    lines += ["", _heading("Faults", bold=bold)]
    lines += [f"  broken now: {', '.join(broken) or 'nothing'}"]
    command = _own_command()
    lines += [f"  {command} demo faults          lists all faults"]
    lines += [f"  {command} demo break outage    (or on the start page)"]
    lines += [f"  {command} demo heal outage"]
    lines += ["", "Ctrl-C stops the demo and removes everything.", ""]
    return "\n".join(lines)


def _own_command() -> str:
    """As you can type it here: `make run` puts nothing on PATH."""
    return "streamgauge" if shutil.which("streamgauge") else sys.argv[0]


def _heading(text: str, *, bold: bool) -> str:
    return f"\033[1m{text}\033[0m" if bold else text


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]
