"""`streamgauge demo`: the whole pipeline on one machine, with faults that you can break and heal."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Final

from streamgauge.demo.plan import BROKEN_AT_START, DEFAULT_SPEED, PORTS, Plan
from streamgauge.serving.version import add_version

_DESCRIPTION: Final = (
    "Runs NATS, a workload, the exporter, Prometheus, Alertmanager, the archive and the report on "
    "this machine, until Ctrl-C. The workload has faults that you can break and heal."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 1 when a child process ends, 2 when there is no demo to send a request to."""
    made = parser()
    arguments = made.parse_args(argv)
    if arguments.command == "faults":
        from streamgauge.demo.web.client import list_faults

        return list_faults()
    if arguments.command in ("break", "heal"):
        return _switch(arguments.command, arguments.names)
    return _run(_plan(made, arguments))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="streamgauge demo", description=_DESCRIPTION)
    made.set_defaults(command="run")
    add_version(made)
    made.add_argument(
        "--nodes", type=int, choices=(1, 3), default=1, help="NATS servers (default 1)"
    )
    made.add_argument(
        "--seconds", type=float, metavar="N", help="stop after N seconds (default: never)"
    )
    made.add_argument(
        "--ports",
        choices=("fixed", "any"),
        default="fixed",
        help=f"fixed: {', '.join(str(port) for port in PORTS.values())}, 4222 and 8222 where free "
        "(default); any: free ones",
    )
    made.add_argument("--no-prometheus", action="store_true", help="no Prometheus, no alerts")
    made.add_argument("--no-history", action="store_true", help="no archive, history or report")
    made.add_argument(
        "--grafana",
        action="store_true",
        help="Grafana with the boards: a grafana program, else a container (downloads its image)",
    )
    made.add_argument(
        "--broken",
        metavar="NAMES",
        default=",".join(BROKEN_AT_START),
        help="faults from the start, separated by commas, or none (default %(default)s)",
    )
    made.add_argument(
        "--speed",
        type=float,
        metavar="N",
        default=DEFAULT_SPEED,
        help="alert rules and exporter wait N times shorter (default %(default)g)",
    )
    commands = made.add_subparsers(title="while a demo runs", metavar="COMMAND")
    for command, what in (
        ("break", "start faults in the running demo"),
        ("heal", "end faults in the running demo"),
    ):
        sub = commands.add_parser(command, help=what, description=what)
        add_version(sub)
        sub.add_argument(
            "names", nargs="+", metavar="NAME", help="a fault; `streamgauge demo faults` lists them"
        )
        sub.set_defaults(command=command)
    sub = commands.add_parser("faults", help="list the faults and their alerts")
    add_version(sub)
    sub.set_defaults(command="faults")
    return made


def _switch(command: str, names: list[str]) -> int:
    from streamgauge.demo.web.client import NoDemoError, switch_faults

    try:
        return switch_faults(command, names)
    except NoDemoError as error:
        sys.stderr.write(f"streamgauge demo: {error}\n")
        return 2


def _run(plan: Plan) -> int:
    from streamgauge.demo.processes.child import ChildError
    from streamgauge.demo.processes.program_cache import ProgramMissingError
    from streamgauge.demo.run import WorkloadError, run_until_signal
    from streamgauge.demo.web.client import NoDemoError

    outcome = 0
    try:
        asyncio.run(run_until_signal(plan))
    except* (ChildError, NoDemoError, ProgramMissingError, WorkloadError) as group:
        sys.stderr.write(f"streamgauge demo: {_first(group)}\n")
        outcome = 1
    return outcome


def _first(error: BaseException) -> BaseException:
    """The first cause in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _plan(made: argparse.ArgumentParser, arguments: argparse.Namespace) -> Plan:
    from streamgauge.demo.faults.registry import NAMES, NEED_CLUSTER, needs_cluster

    broken = () if arguments.broken == "none" else tuple(arguments.broken.split(","))
    for name in broken:
        if name not in NAMES:
            made.error(f"--broken {name}: known are {', '.join(NAMES)}, or none")
        if name in NEED_CLUSTER and arguments.nodes == 1:
            made.error(f"--broken: {needs_cluster(name)}")
    return Plan(
        nodes=arguments.nodes,
        fixed_ports=arguments.ports == "fixed",
        seconds=arguments.seconds,
        prometheus=not arguments.no_prometheus,
        history=not arguments.no_history,
        grafana=arguments.grafana,
        broken=broken,
        speed=arguments.speed,
    )
