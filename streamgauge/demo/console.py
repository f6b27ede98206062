"""What the demo says: progress while it starts, then where to look. 80 columns, plain text."""

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from streamgauge.demo.web.pages import Place


def say(out: TextIO, line: str) -> None:
    """At once, also into a pipe: who waits wants to see that something moves.

    A reader or terminal that is gone is no reason to stop: cleaning up goes on."""
    with suppress(OSError):
        print(line, file=out, flush=True)


def guide(places: Sequence[Place], broken: Sequence[str], *, bold: bool) -> str:
    """The page that a visitor reads in the terminal."""
    rows = [(place.name, place.address or "not running") for place in places]
    lines = ["", _heading("Where to look", bold=bold), *_table(rows)]
    lines += ["", _heading("What is going on", bold=bold)]
    lines += [f"  broken now: {', '.join(broken) or 'nothing'}"]
    command = _own_command()
    lines += [f"  {command} demo faults          what else can be broken"]
    lines += [f"  {command} demo break outage    (or on the start page)"]
    lines += [f"  {command} demo heal outage"]
    lines += ["", "Ctrl-C ends it and removes everything.", ""]
    return "\n".join(lines)


def _own_command() -> str:
    """As it can be typed here: `make run` puts nothing on PATH."""
    return "streamgauge" if shutil.which("streamgauge") else sys.argv[0]


def _heading(text: str, *, bold: bool) -> str:
    return f"\033[1m{text}\033[0m" if bold else text


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]
