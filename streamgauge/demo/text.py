"""What the demo says: progress while it starts, then where to look. 80 columns, plain text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from streamgauge.demo.workload import STORIES


@dataclass(frozen=True)
class Addresses:
    """Where everything listens; no Prometheus, no address."""

    exporter: str
    nats: str
    monitor: str
    prometheus: str | None


def say(out: TextIO, line: str) -> None:
    """At once, also into a pipe: who waits wants to see that something moves."""
    print(line, file=out, flush=True)


def guide(addresses: Addresses, *, bold: bool) -> str:
    """The page that a visitor reads."""
    prometheus = f"{addresses.prometheus}/" if addresses.prometheus else "not running"
    rows = [
        ("Status page", f"{addresses.exporter}/"),
        ("Metrics", f"{addresses.exporter}/metrics"),
        ("Prometheus", prometheus),
        ("NATS", f"{addresses.nats}  (user app, password app)"),
        ("NATS monitor", f"{addresses.monitor}/"),
    ]
    lines = ["", _heading("Where to look", bold=bold), *_table(rows)]
    lines += ["", _heading("What is going on", bold=bold), *_table(STORIES)]
    lines += ["", "Ctrl-C ends it and removes everything.", ""]
    return "\n".join(lines)


def _heading(text: str, *, bold: bool) -> str:
    return f"\033[1m{text}\033[0m" if bold else text


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]
