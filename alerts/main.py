"""`streamgauge alerts`: the rules with your thresholds, in the format of your Prometheus."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from alerts import thresholds
from alerts.quantity import ThresholdError
from alerts.render_options import DEFAULT, RenderOptions, RenderOptionsError, Timing
from streamgauge.serving.version import add_version

_DESCRIPTION = "Renders the alert rules with your thresholds, in a format for your Prometheus."
_FAULTY = 2
_WIDTH = 79
# The name of each format's file.
_FILES = {
    "file": "streamgauge.rules.yml",
    "operator": "prometheusrule.yml",
    "helm": "prometheusrule.yaml",
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ThresholdError, RenderOptionsError) as error:
        sys.stderr.write(f"streamgauge alerts: {error}\n")
    except OSError as error:
        sys.stderr.write(f"streamgauge alerts: {error.filename}: {error.strerror}\n")
    return _FAULTY


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="streamgauge alerts", description=_DESCRIPTION)
    add_version(made)
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    _add_render(commands.add_parser("render", help="write the rules"))
    listing = commands.add_parser("thresholds", help="list the thresholds for --set")
    add_version(listing)
    listing.set_defaults(run=_list_thresholds)
    return made


def _add_render(render: argparse.ArgumentParser) -> None:
    add_version(render)
    add = render.add_argument
    add(
        "--format",
        choices=tuple(_FILES),
        default="file",
        help="plain rule files, a PrometheusRule resource, or a template of a Helm chart",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write files into this folder instead of standard output",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="assignments",
        help="another value for a threshold, like stream_full_ratio=0.9 or clock_offset=2s",
    )
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="LABEL=REGEX",
        dest="exclusions",
        help="exclude assets whose label matches the whole pattern, like stream=TEST_.*",
    )
    add(
        "--runbooks",
        default=DEFAULT.runbooks,
        metavar="URL",
        help="where the runbooks are (default: pages of the exporter)",
    )
    add(
        "--dashboards",
        default=DEFAULT.boards,
        metavar="URL",
        help="the address of Grafana (default: the exporter's setting web.grafana_url)",
    )
    add(
        "--replica-labels",
        default=",".join(DEFAULT.replica_labels),
        metavar="LABELS",
        help="labels of the scrape in which the replicas of an exporter differ (default: %(default)s)",
    )
    add(
        "--speed",
        type=float,
        default=1.0,
        metavar="N",
        help="for tests: divide all waits and windows by N",
    )
    render.set_defaults(run=_render)


def _render(arguments: argparse.Namespace) -> int:
    # Here: --help needs no YAML library.
    from alerts.rendering.rule_files import (
        helm_template,
        one_rule_file,
        operator_resource,
        rule_files,
    )

    render: dict[str, Callable[[RenderOptions], str]] = {
        "file": one_rule_file,
        "operator": operator_resource,
        "helm": helm_template,
    }
    whole = render[arguments.format]
    options = RenderOptions(
        thresholds=thresholds.overridden(arguments.assignments),
        timing=Timing(speed=arguments.speed),
        exclusions=_exclusions(arguments.exclusions),
        runbooks=arguments.runbooks.rstrip("/"),
        boards=arguments.dashboards.rstrip("/"),
        replica_labels=tuple(arguments.replica_labels.split(",")),
    )
    if arguments.out is None:
        sys.stdout.write(whole(options))
        return 0
    texts = (
        rule_files(options)
        if arguments.format == "file"
        else {_FILES[arguments.format]: whole(options)}
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (arguments.out / file).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {arguments.out / file}\n")
    return 0


def _exclusions(written: Sequence[str]) -> dict[str, str]:
    """Several patterns of one label are alternatives."""
    found: dict[str, str] = {}
    for each in written:
        label, equals, expression = each.partition("=")
        if not equals:
            raise RenderOptionsError(f"exclude {each}: write it as label=regex")
        found[label] = f"{found[label]}|{expression}" if label in found else expression
    return found


def _list_thresholds(_: argparse.Namespace) -> int:
    for each in thresholds.ALL:
        sys.stdout.write(f"{each.name} = {each.text}\n")
        sys.stdout.write(textwrap.indent(textwrap.fill(each.meaning, _WIDTH - 4), "    ") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
