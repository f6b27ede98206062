"""The command `streamgauge`: the first word names a room, the rest is that room's own affair."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# Imported only when asked for: one room's dependencies are not another's.
ROOMS = {
    "exporter": ("exporter.main", "poll NATS JetStream and serve it to Prometheus"),
    "alerts": ("alerts.main", "alert rules with your thresholds, in the form you need"),
    "archive": ("archive.main", "receive remote write and keep it in Parquet"),
    "dashboards": ("dashboards.main", "the Grafana boards, in the form you need"),
    "demo": ("streamgauge.demo.main", "a NATS server with a living workload, watched"),
}


def usage() -> str:
    rooms = "\n".join(f"  {name:10} {what}" for name, (_, what) in ROOMS.items())
    return f"usage: streamgauge ROOM ...\n\n{rooms}\n\nstreamgauge ROOM --help tells more.\n"


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0 if words else 2
    if words[0] == "--version":
        from exporter.version import VERSION

        sys.stdout.write(f"streamgauge {VERSION}\n")
        return 0
    if words[0] not in ROOMS:
        sys.stderr.write(f"streamgauge: there is no room {words[0]}\n\n{usage()}")
        return 2
    run: Callable[[Sequence[str]], int] = import_module(ROOMS[words[0]][0]).main
    return run(words[1:])


if __name__ == "__main__":
    sys.exit(main())
