"""The command `streamgauge`: the first word names a room, the rest is that room's own affair."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# Imported only when asked for: one room's dependencies are not another's.
COMMANDS = {
    "exporter": ("exporter.main", "poll NATS JetStream and serve it to Prometheus"),
    "alerts": ("alerts.main", "alert rules with your thresholds, in the form you need"),
    "archive": ("archive.main", "receive remote write and keep it in Parquet"),
    "dashboards": ("dashboards.main", "the Grafana boards, in the form you need"),
    "audit": (
        "exporter.audit.command.main",
        "what is wrong before it breaks, with evidence and remedy",
    ),
    "rollup": ("spark_rollups.main", "hours, days and forecasts from the archive, on Spark"),
    "report": ("spark_rollups.report.main", "the monthly capacity report: HTML, CSV, JSON"),
    "demo": ("streamgauge.demo.main", "the whole pipeline on one machine, with failures to try"),
}
# The extra of the wheel with what a room needs, where it is not called like the room.
EXTRAS = {"audit": "exporter", "demo": "all,dev", "report": "spark", "rollup": "spark"}
OWN = {"alerts", "archive", "dashboards", "exporter", "spark_rollups", "streamgauge"}


def usage() -> str:
    rooms = "\n".join(f"  {name:10} {what}" for name, (_, what) in COMMANDS.items())
    return f"usage: streamgauge ROOM ...\n\n{rooms}\n\nstreamgauge ROOM --help tells more.\n"


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0 if words else 2
    if words[0] == "--version":
        from streamgauge.serving.version import VERSION

        sys.stdout.write(f"streamgauge {VERSION}\n")
        return 0
    if words[0] not in COMMANDS:
        sys.stderr.write(f"streamgauge: there is no room {words[0]}\n\n{usage()}")
        return 2
    try:
        run: Callable[[Sequence[str]], int] = import_module(COMMANDS[words[0]][0]).main
        return run(words[1:])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in OWN:
            raise  # no extra would bring it: a fault of ours
        return _incomplete(words[0], error.name)


def _incomplete(room: str, module: str) -> int:
    extra = EXTRAS.get(room, room)
    sys.stderr.write(f"streamgauge {room}: {module} is missing: install streamgauge[{extra}]\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
