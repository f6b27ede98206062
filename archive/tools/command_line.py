"""The command line of `streamgauge archive TOOL`. Imports no library, so that `--help` is fast."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from archive.tools.arguments import add_place, add_span
from streamgauge.serving.settings.flags import FlagParser
from streamgauge.serving.version import add_version


@dataclass(frozen=True, slots=True)
class Tool:
    module: str  # has `run`
    summary: str
    description: str
    add_arguments: Callable[[ArgumentParser], None]


def parser() -> ArgumentParser:
    made = FlagParser(prog="streamgauge archive", allow_abbrev=False)
    add_version(made)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, tool in TOOLS.items():
        one = commands.add_parser(
            name, help=tool.summary, description=tool.description, allow_abbrev=False
        )
        add_version(one)
        tool.add_arguments(one)
    return made


def _add_inspect_arguments(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument(
        "--gap", default="5m", metavar="TIME", help="minimum length of a gap (default 5m)"
    )
    parser.add_argument(
        "--by", metavar="LABEL", help="also show missing hours for each value of this label"
    )
    parser.add_argument("--json", action="store_true", help="JSON output")


def _add_verify_arguments(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--quick", action="store_true", help="files only, without the rows")


def _add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "place", metavar="DIR", help="the data folder, or http://HOST:PORT of a running archive"
    )
    parser.add_argument(
        "--store", metavar="ADDRESS", help="address of the tables, if they are not in DIR"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--prometheus", metavar="URL", help="a server, such as http://127.0.0.1:9090"
    )
    source.add_argument("--openmetrics", metavar="FILE", help="a text file; - is standard input")
    source.add_argument(
        "--opaque", metavar="FILE", help="a file of export --opaque, with native histograms"
    )
    parser.add_argument(
        "--via", choices=["remote-read", "query"],
        help="API of the server (default: remote read if it has it, which is exact)",
    )  # fmt: skip
    parser.add_argument(
        "--match", action="append", default=[], metavar="SELECTOR",
        help="only these series of the server, like 'up{job=\"nats\"}'; repeatable",
    )  # fmt: skip
    add_span(parser)
    parser.add_argument("--replica-label", default="", metavar="LABEL", help="label to remove")
    parser.add_argument("--user", metavar="NAME", help="user name at the server")
    parser.add_argument("--password-file", metavar="FILE", help="file that holds the password")
    parser.add_argument("--token-file", metavar="FILE", help="file that holds a bearer token")


def _add_export_arguments(parser: ArgumentParser) -> None:
    add_place(parser)
    add_span(parser)
    parser.add_argument(
        "--match", action="append", default=[], metavar="SELECTOR",
        help="only these series, like 'up{job=\"nats\"}'; repeatable",
    )  # fmt: skip
    parser.add_argument("--output", metavar="FILE", help="output file (default: standard output)")
    parser.add_argument(
        "--opaque", metavar="FILE",
        help="also native histograms, exemplars and metadata, as JSON lines with base64",
    )  # fmt: skip


def _add_compact_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("place", metavar="DIR", help="the data folder")
    parser.add_argument(
        "--store", metavar="ADDRESS", help="address of the tables, if they are not in DIR"
    )


TOOLS: Final = {
    "inspect": Tool(
        "archive.tools.inspecting.inspect_command",
        "show days, series, bytes per sample and gaps of an archive",
        "Shows the days of an archive, the bytes per sample, and where samples are missing. "
        "It reads the write-ahead log too, so the newest minutes are included.",
        _add_inspect_arguments,
    ),
    "verify": Tool(
        "archive.tools.verifying.verify_command",
        "check every file, row and statistic of an archive",
        "Checks every file against the log of its table, every row against the format, every statistic "
        "against its samples, and the checksums of the write-ahead log. It changes nothing; "
        "exit code 1 means that something is wrong.",
        _add_verify_arguments,
    ),
    "import": Tool(
        "archive.tools.importing.import_command",
        "import samples from a Prometheus server or an OpenMetrics file",
        "Imports samples from a Prometheus server or an OpenMetrics file: those of an outage, or "
        "of the time before the archive. Samples that the archive has already are not stored "
        "twice, so you can run it again.",
        _add_import_arguments,
    ),
    "export": Tool(
        "archive.tools.exporting.export_command",
        "export an archive as OpenMetrics text",
        "Writes an archive, or some of its series, as OpenMetrics text, with the samples of the "
        "write-ahead log. OpenMetrics has no stale markers, so they are dropped; --opaque keeps "
        "what else OpenMetrics cannot express.",
        _add_export_arguments,
    ),
    "compact": Tool(
        "archive.tools.compact_command",
        "publish the write-ahead log and merge the files of days, now",
        "Publishes everything in the write-ahead log and merges the files of past days, now. The "
        "server does both when they are due; this is for a directory that no server uses.",
        _add_compact_arguments,
    ),
}
