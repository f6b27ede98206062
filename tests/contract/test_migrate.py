"""docs/migrate.md leaves no name of the other exporters out, and says nothing that is not so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import promql_parser
import pytest
from contract.migrate_peers import PEERS, recorded

from alerts.compatibility import nats_surveyor, prometheus_nats_exporter
from alerts.compatibility.mapping import Family, OldMetric
from alerts.compatibility.rule_files import ROOT, SETS, generated, main
from exporter import catalog
from exporter.metric import PREFIX, Kind, Level

TABLES: Final[dict[str, tuple[Mapping[str, Sequence[OldMetric]], Sequence[Family]]]] = {
    PEERS[0]: (prometheus_nats_exporter.NAMES, prometheus_nats_exporter.FAMILIES),
    PEERS[1]: (nats_surveyor.NAMES, nats_surveyor.FAMILIES),
}
OLDS: Final = {old.name: old for _, olds in SETS.values() for old in olds}
each_old = pytest.mark.parametrize("old", OLDS.values(), ids=OLDS.keys())


@pytest.mark.parametrize("name", generated())
def test_the_committed_file_is_fresh(name: str) -> None:
    committed = (ROOT / name).read_text(encoding="utf-8")
    assert committed == generated()[name], "run python -m alerts.compatibility"


@pytest.mark.parametrize("program", PEERS)
def test_every_name_that_the_old_exporter_serves_has_its_line(program: str) -> None:
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


@each_old
def test_the_new_name_is_in_the_catalogue(old: OldMetric) -> None:
    if old.new:
        assert PREFIX + old.new.partition("{")[0] in catalog.BY_NAME


@each_old
def test_a_metric_of_the_level_full_is_called_so(old: OldMetric) -> None:
    if old.new:
        full = catalog.BY_NAME[PREFIX + old.new.partition("{")[0]].level is Level.FULL
        assert full == ("Level full" in old.note)


@each_old
def test_what_became_a_counter_is_called_so(old: OldMetric) -> None:
    """Only where the old one was a gauge: nats-surveyor has counters too."""
    if old.rule and old.note == "A counter now: `rate` and `increase` are right.":
        assert catalog.BY_NAME[PREFIX + old.new].kind is Kind.COUNTER
        types = "\n".join(recorded().texts.values())
        base = re.sub(
            "^nats_(?=varz|stream_last|consumer_del)", "(?:gnatsd|jetstream|nats)_", old.name
        )
        assert re.search(rf"^# TYPE {base} gauge$", types, re.MULTILINE)


@each_old
def test_a_rule_asks_only_for_series_of_ours(old: OldMetric) -> None:
    if old.rule:
        promql_parser.parse(old.rule)
        asked = set(re.findall(r"streamgauge_\w+", old.rule))
        assert asked
        assert asked <= set(catalog.BY_NAME)


@each_old
def test_a_name_without_a_rule_says_why(old: OldMetric) -> None:
    assert old.rule or old.note


def test_what_the_page_says_of_unlimited_is_true() -> None:
    samples = recorded().samples(PEERS[0])
    limits = {s.value for s in samples if s.name == "jetstream_stream_limit_bytes"}
    assert limits == {1e7, -1}
    accounts = {s.value for s in samples if s.name == "jetstream_account_max_storage"}
    assert accounts == {2.0**64, 100 * 2.0**20}


def test_what_the_page_says_of_followers_is_true() -> None:
    samples = [
        s for s in recorded().samples(PEERS[0])
        if s.name == "jetstream_consumer_num_pending" and s.labels["consumer_name"] == "idler"
    ]  # fmt: skip
    told = {s.labels["is_consumer_leader"]: s.value for s in samples}
    assert told == {"true": 50, "false": 0}


def test_the_rules_are_printed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nats-surveyor"]) == 0
    assert "record: nats_stream_total_messages" in capsys.readouterr().out
    assert main(["another"]) == 2
    said = capsys.readouterr().err
    assert "another: is not one of prometheus-nats-exporter" in said
    assert said.count("\n") == 1
