"""docs/migrate.md lists every metric of the other exporters, and its statements are true."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import promql_parser
import pytest
from support.peer_exporters import PEERS, recorded

from alerts.compatibility import nats_surveyor, prometheus_nats_exporter
from alerts.compatibility.mapping import Family, OldMetric
from alerts.compatibility.rule_files import ROOT, SETS, generated, main
from exporter import catalog
from exporter.metric import PREFIX, Kind, Level, Metric

TABLES: Final[dict[str, tuple[Mapping[str, Sequence[OldMetric]], Sequence[Family]]]] = {
    PEERS[0]: (prometheus_nats_exporter.NAMES, prometheus_nats_exporter.FAMILIES),
    PEERS[1]: (nats_surveyor.NAMES, nats_surveyor.FAMILIES),
}
OLDS: Final = {old.name: old for _, olds in SETS.values() for old in olds}


def test_the_committed_files_are_up_to_date() -> None:
    texts = generated().items()
    stale = [name for name, text in texts if (ROOT / name).read_text(encoding="utf-8") != text]
    assert not stale, f"run python -m alerts.compatibility and commit {stale}"


@pytest.mark.parametrize("program", PEERS)
def test_every_metric_of_the_old_exporter_is_listed(program: str) -> None:
    names, families = TABLES[program]
    listed = {old.name for part in names.values() for old in part}
    prefixes = tuple(family.prefix for family in families)
    served = recorded().names(program)
    assert len(served) > 80
    assert {name for name in served - listed if not name.startswith(prefixes)} == set()


@pytest.mark.parametrize("program", PEERS)
def test_no_name_is_listed_twice(program: str) -> None:
    names = [old.name for part in TABLES[program][0].values() for old in part]
    assert len(names) == len(set(names))


def metric_of(old: OldMetric) -> Metric | None:
    return catalog.BY_NAME.get(PREFIX + old.new.partition("{")[0])


def test_every_new_name_is_in_the_catalogue() -> None:
    assert [old.name for old in OLDS.values() if old.new and metric_of(old) is None] == []


def test_a_note_names_the_level_full() -> None:
    def is_full(old: OldMetric) -> bool:
        metric = metric_of(old)
        return metric is not None and metric.level is Level.FULL

    wrong = [old.name for old in OLDS.values() if is_full(old) != ("Level full" in old.note)]
    assert not wrong, f"correct the notes in alerts/compatibility: {wrong}"


def test_a_new_counter_was_a_gauge() -> None:
    """nats-surveyor has counters too."""
    types = "\n".join(recorded().texts.values())
    wrong = []
    for old in OLDS.values():
        if not old.rule or old.note != "A counter now: `rate` and `increase` are right.":
            continue
        metric = metric_of(old)
        base = re.sub(
            "^nats_(?=varz|stream_last|consumer_del)", "(?:gnatsd|jetstream|nats)_", old.name
        )
        was_gauge = re.search(rf"^# TYPE {base} gauge$", types, re.MULTILINE)
        if metric is None or metric.kind is not Kind.COUNTER or not was_gauge:
            wrong.append(old.name)
    assert not wrong, f"correct the notes in alerts/compatibility: {wrong}"


def test_every_rule_parses() -> None:
    for old in OLDS.values():
        if old.rule:
            promql_parser.parse(old.rule)


def test_a_name_without_a_rule_has_a_reason() -> None:
    missing = [old.name for old in OLDS.values() if not old.rule and not old.note]
    assert not missing, f"add a note in alerts/compatibility: {missing}"


def test_the_old_exporter_reports_unlimited_as_documented() -> None:
    samples = recorded().samples(PEERS[0])
    limits = {s.value for s in samples if s.name == "jetstream_stream_limit_bytes"}
    assert limits == {1e7, -1}
    accounts = {s.value for s in samples if s.name == "jetstream_account_max_storage"}
    assert accounts == {2.0**64, 100 * 2.0**20}


def test_followers_report_zero_as_documented() -> None:
    samples = [
        s for s in recorded().samples(PEERS[0])
        if s.name == "jetstream_consumer_num_pending" and s.labels["consumer_name"] == "idler"
    ]  # fmt: skip
    pending = {s.labels["is_consumer_leader"]: s.value for s in samples}
    assert pending == {"true": 50, "false": 0}


def test_the_rules_are_printed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nats-surveyor"]) == 0
    assert "record: nats_stream_total_messages" in capsys.readouterr().out
    assert main(["another"]) == 2
    error = capsys.readouterr().err
    assert "another: is not one of prometheus-nats-exporter" in error
    assert error.count("\n") == 1
