"""The command `streamgauge COMMAND ...`: finds the command and calls its `main`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from streamgauge.serving.version import VERSION
from streamgauge.shadowed import OWN_PACKAGES, foreign_module

HELP: Final = ("-h", "--help")


@dataclass(frozen=True, slots=True)
class Command:
    """A command is imported only when it is called: its dependencies are its own."""

    main: str  # module with `main(argv)`
    parser: str  # module with `parser()`; it imports the standard library only
    summary: str
    extra: str  # of the wheel, with what `main` needs
    tools: str = ""  # module with the `parser()` of `streamgauge COMMAND TOOL`


COMMANDS: Final = {
    "exporter": Command(
        "exporter.main",
        "exporter.settings.flags",
        "poll NATS JetStream and serve metrics to Prometheus",
        "exporter",
    ),
    "alerts": Command(
        "alerts.main", "alerts.main", "render the alert rules with your thresholds", "alerts"
    ),
    "archive": Command(
        "archive.main",
        "archive.settings.flags",
        "receive remote write and store it in Delta tables",
        "archive",
        tools="archive.tools.command_line",
    ),
    "dashboards": Command(
        "dashboards.main", "dashboards.main", "render the Grafana dashboards", "dashboards"
    ),
    "top": Command(
        "exporter.terminal.top",
        "exporter.terminal.top_flags",
        "show in the terminal what is unwell, gravest first",
        "exporter",
    ),
    "explain": Command(
        "exporter.terminal.explain",
        "exporter.terminal.explain_flags",
        "say in words what is wrong with a consumer, and what to run next",
        "exporter",
    ),
    "audit": Command(
        "exporter.audit.command.main",
        "exporter.audit.command.parser",
        "find configuration faults before they hurt, with evidence and remedy",
        "exporter",
    ),
    "rollup": Command(
        "spark_rollups.main",
        "spark_rollups.command_line",
        "compute rollups and forecasts of the archive on Spark",
        "spark",
    ),
    "report": Command(
        "spark_rollups.report.main",
        "spark_rollups.report.command_line",
        "write the monthly capacity report: HTML, CSV, JSON",
        "spark",
    ),
    "demo": Command(
        "streamgauge.demo.main",
        "streamgauge.demo.main",
        "run the whole pipeline on this machine, with faults to try",
        "all,dev",
    ),
}


def usage() -> str:
    commands = "\n".join(f"  {name:10} {each.summary}" for name, each in COMMANDS.items())
    return (
        f"usage: streamgauge COMMAND ...\n\ncommands:\n{commands}\n\n"
        "streamgauge COMMAND --help shows the flags of a command.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in (*HELP, "help"):
        sys.stdout.write(usage())
        return 0 if words else 2
    if words[0] == "--version":
        sys.stdout.write(f"streamgauge {VERSION}\n")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        sys.stderr.write(f"streamgauge: unknown command {name!r}\n\n{usage()}")
        return 2
    foreign = foreign_module()
    if foreign:
        sys.stderr.write(f"streamgauge: {foreign}\n")
        return 2
    text = _help_or_version(COMMANDS[name], rest)
    if text:
        sys.stdout.write(text)
        return 0
    return _run(name, rest)


def _help_or_version(command: Command, words: Sequence[str]) -> str:
    """What --help or --version prints, without the imports of `main`; empty without them."""
    if not {*HELP, "--version"}.intersection(words):
        return ""
    module = command.tools if command.tools and not words[0].startswith("-") else command.parser
    parser: argparse.ArgumentParser = import_module(module).parser()
    for word in words:
        if word in HELP:
            return parser.format_help()
        if word == "--version":
            return f"streamgauge {VERSION}\n"
        parser = _subparser(parser, word) or parser
    return ""


def _subparser(parser: argparse.ArgumentParser, word: str) -> argparse.ArgumentParser | None:
    for action in parser._actions:  # noqa: SLF001  argparse has no public list
        if isinstance(action, argparse._SubParsersAction) and word in action.choices:  # noqa: SLF001
            found: argparse.ArgumentParser = action.choices[word]
            return found
    return None


def _run(name: str, words: Sequence[str]) -> int:
    command = COMMANDS[name]
    try:
        run: Callable[[Sequence[str]], int] = import_module(command.main).main
        return run(words)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in OWN_PACKAGES:
            raise  # a fault of ours, not a missing extra
        sys.stderr.write(
            f"streamgauge {name}: {error.name} is missing: install streamgauge[{command.extra}]\n"
        )
        return 2


if __name__ == "__main__":
    sys.exit(main())
