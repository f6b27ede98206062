"""Prometheus' side: its configurations are valid, and the archive is sent what the rollups read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml
from support.collected import over_all
from support.deploy.files import COMPOSE, DEPLOY, ROOT, load, promtool, run
from support.deploy.relabelling import RULES, kept, relabelling

from exporter import catalog
from exporter.metric import Metric, Subject
from spark_rollups import metric_selection
from streamgauge.demo.processes.program_cache import cache_folder

CONFIGURATIONS: Final = [*sorted((DEPLOY / "prometheus").glob("*.yml")), COMPOSE / "prometheus.yml"]
each_configuration = over_all(
    CONFIGURATIONS,
    "correct the configuration in deploy",
    lambda path: f"{path.parent.name}/{path.name}",
)


@pytest.mark.program
@each_configuration
def test_promtool_accepts_the_configuration(path: Path) -> None:
    run(promtool(), "check", "config", "--syntax-only", path)


@each_configuration
def test_every_example_keeps_the_same(path: Path) -> None:
    assert relabelling(path) == RULES


def test_the_operators_form_keeps_the_same() -> None:
    (write,) = load(DEPLOY / "prometheus" / "operator-remote-write.yaml")["spec"]["remoteWrite"]
    assert write["writeRelabelConfigs"] == [
        {("sourceLabels" if key == "source_labels" else key): value for key, value in rule.items()}
        for rule in RULES
    ]


def test_the_form_of_vmagent_keeps_the_same() -> None:
    text = (DEPLOY / "victoriametrics" / "archive-relabel.yml").read_text()
    assert yaml.safe_load(text) == RULES


@pytest.mark.program
@pytest.mark.parametrize("program", ["vmagent"])
def test_vmagent_accepts_its_files(program: str) -> None:
    found = cache_folder() / "debian-victoria-metrics" / "usr" / "bin" / program
    if not found.exists():
        pytest.skip(f"{program} was not fetched by the tests of the archive")
    run(found, "-dryRun", "-promscrape.config=scrape.yml", "-remoteWrite.url=http://127.0.0.1:1/",
        "-remoteWrite.urlRelabelConfig=archive-relabel.yml", folder=DEPLOY / "victoriametrics")  # fmt: skip


def used_by_the_rollups() -> set[str]:
    """By name in the requests, and by attribute of the catalogue anywhere in that package."""
    lists = (
        metric_selection.HOURLY,
        metric_selection.STATES,
        metric_selection.QUANTILES,
        metric_selection.TRENDED,
    )
    names = {name for each in lists for name in each}
    names |= {name for each in metric_selection.FORECASTED for name in (each.metric, each.limit)}
    for path in (ROOT / "spark_rollups").rglob("*.py"):
        names |= {metric.name for metric in metrics_named(ast.parse(path.read_text()))}
    return names


def metrics_named(tree: ast.AST) -> Iterator[Metric]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = getattr(catalog, node.attr, None)
            if isinstance(found, Metric) and node.value.id in ("c", "catalog"):
                yield found


def test_everything_that_the_rollups_use_is_kept() -> None:
    used = used_by_the_rollups()
    own = {m.name for m in catalog.ALL if m.subject in (Subject.ROLLUP, Subject.ARCHIVE)}
    assert len(used) > 30
    assert {name for name in used - own if not kept(name)} == set()


@pytest.mark.parametrize(
    "name",
    ["go_goroutines", "up", "ALERTS", "scrape_duration_seconds", "streamgauge_request_duration_seconds",
     "streamgauge_poll_duration_seconds", "streamgauge_consumer_ack_floor_stream_seq",
     "streamgauge_archive_samples_total", "streamgauge:consumer_lag_seconds:worst10", "jetstream_stream_last_seq"],
)  # fmt: skip
def test_what_no_report_reads_is_dropped(name: str) -> None:
    assert not kept(name)


def test_buckets_of_histograms_are_kept() -> None:
    assert kept("streamgauge_consumer_ack_seconds_bucket")


def test_the_drop_list_names_metrics_that_exist() -> None:
    names = [name for name in catalog.BY_NAME if name.startswith("streamgauge_consumer_")]
    dropped = [name for name in names if not kept(name)]
    assert len(dropped) == 5


def test_the_rule_path_is_the_documented_one() -> None:
    (place,) = load(DEPLOY / "prometheus" / "prometheus.yml")["rule_files"]
    assert place == "/etc/prometheus/streamgauge/*.rules.yml"
