"""`streamgauge demo`: one machine, the whole pipeline, and a workload that can be broken and healed."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from streamgauge.demo.console import say
from streamgauge.demo.faults.registry import BROKEN_AT_FIRST, NAMES
from streamgauge.demo.processes.child import ChildError
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.run import DEFAULT_SPEED, PORTS, Plan, WorkloadError, until_told
from streamgauge.demo.web.client import NoDemoError, list_faults, turn


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until Ctrl-C, a child's death (exit 1) or the given time; break and heal talk to it."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command == "faults":
        return list_faults()
    if arguments.command in ("break", "heal"):
        try:
            return turn(arguments.command, arguments.names)
        except NoDemoError as error:
            say(sys.stderr, f"streamgauge demo: {error}")
            return 2
    return _run(_plan(parser, arguments))


def _run(plan: Plan) -> int:
    outcome = 0
    try:
        asyncio.run(until_told(plan))
    except* (ChildError, NoDemoError, ProgramMissingError, WorkloadError) as group:
        say(sys.stderr, f"streamgauge demo: {_first(group)}")
        outcome = 1
    return outcome


def _first(error: BaseException) -> BaseException:
    """The first cause in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _plan(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Plan:
    broken = () if arguments.broken == "none" else tuple(arguments.broken.split(","))
    if unknown := [name for name in broken if name not in NAMES]:
        parser.error(f"--broken {unknown[0]}: known are {', '.join(NAMES)}, or none")
    return Plan(
        nodes=arguments.nodes,
        fixed_ports=arguments.ports == "fixed",
        seconds=arguments.seconds,
        prometheus=not arguments.no_prometheus,
        past=not arguments.no_history,
        broken=broken,
        speed=arguments.speed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="streamgauge demo", description=__doc__)
    parser.set_defaults(command="run")
    parser.add_argument(
        "--nodes", type=int, choices=(1, 3), default=1, help="NATS servers (default 1)"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="N", help="end by itself after N seconds (default: never)"
    )
    parser.add_argument(
        "--ports",
        choices=("fixed", "any"),
        default="fixed",
        help=f"fixed: {', '.join(str(port) for port in PORTS.values())}, 4222 and 8222 where free "
        "(default); any: free ones",
    )
    parser.add_argument("--no-prometheus", action="store_true", help="no Prometheus, no alerts")
    parser.add_argument(
        "--no-history", action="store_true", help="no archive, no sixty days, no report"
    )
    parser.add_argument(
        "--broken",
        metavar="NAMES",
        default=",".join(BROKEN_AT_FIRST),
        help="what is broken from the start, with commas, or none (default %(default)s)",
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="N",
        default=DEFAULT_SPEED,
        help="the waits of alert rules are N times shorter (default %(default)g)",
    )
    commands = parser.add_subparsers(title="while a demo runs", metavar="")
    for command, what in (("break", "break something"), ("heal", "heal it again")):
        sub = commands.add_parser(command, help=what, description=what)
        sub.add_argument("names", nargs="+", metavar="NAME", help=", ".join(NAMES))
        sub.set_defaults(command=command)
    sub = commands.add_parser("faults", help="what can be broken, and which alert tells of it")
    sub.set_defaults(command="faults")
    return parser
