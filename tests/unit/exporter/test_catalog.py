"""The catalogue: what a definition refuses, and that every public name is well formed and documented."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exporter import catalog
from exporter.metric import DefinitionError, Kind, Level, Metric, Origin, Subject, Unit
from exporter.pages.reference import metrics

REFERENCE = Path(__file__).parents[3] / "docs" / "metrics.md"

GOOD: dict[str, Any] = {
    "name": "streamgauge_stream_oddities",
    "kind": Kind.GAUGE,
    "help": "Odd things in the stream.",
    "labels": ("system", "stream"),
    "subject": Subject.STREAM,
    "origin": Origin.RESPONSE,
}

BAD = {
    "another prefix": ({"name": "nats_stream_oddities"}, "snake_case"),
    "the prefix alone": ({"name": "streamgauge_"}, "snake_case"),
    "capital letters": ({"name": "streamgauge_Stream_oddities"}, "snake_case"),
    "a doubled underscore": ({"name": "streamgauge_stream__oddities"}, "snake_case"),
    "a trailing line break": ({"name": "streamgauge_stream_oddities\n"}, "snake_case"),
    "a counter without _total": ({"kind": Kind.COUNTER}, "_total"),
    "a gauge with _total": ({"name": "streamgauge_oddities_total"}, "_total"),
    "a histogram with _total": (
        {"name": "streamgauge_oddities_total", "kind": Kind.HISTOGRAM},
        "_total",
    ),
    "an info without _info": ({"kind": Kind.INFO}, "_info"),
    "a gauge with _info": ({"name": "streamgauge_stream_info"}, "_info"),
    "a finding that is a gauge": ({"name": "streamgauge_stream_finding"}, "_info"),
    "a gauge called _count": ({"name": "streamgauge_stream_count"}, "reserved suffix"),
    "a gauge called _sum": ({"name": "streamgauge_stream_sum"}, "reserved suffix"),
    "a gauge called _bucket": ({"name": "streamgauge_stream_bucket"}, "reserved suffix"),
    "a gauge called _created": ({"name": "streamgauge_stream_created"}, "reserved suffix"),
    "a unit that the name does not say": ({"unit": Unit.BYTES}, "its unit bytes"),
    "a unit in the middle of the name": (
        {"name": "streamgauge_stream_bytes_max", "unit": Unit.BYTES},
        "its unit bytes",
    ),
    "bytes that are not declared": ({"name": "streamgauge_stream_bytes"}, "not declare"),
    "seconds that are not declared": (
        {"name": "streamgauge_busy_seconds_total", "kind": Kind.COUNTER},
        "not declare",
    ),
    "a ratio that is not declared": ({"name": "streamgauge_fill_ratio"}, "not declare"),
    "help without a stop": ({"help": "Odd things"}, "full stop"),
    "no help": ({"help": ""}, "full stop"),
    "help that is too long": ({"help": "x" * 400 + "."}, "longer than 400"),
    "help over two lines": ({"help": "Odd\nthings."}, "one line"),
    "a label named twice": ({"labels": ("system", "system")}, "twice"),
    "a label with a dash": ({"labels": ("raft-group",)}, "malformed label"),
    "a label of Prometheus' own": ({"labels": ("__name__",)}, "malformed label"),
}


@pytest.mark.parametrize(("change", "why"), BAD.values(), ids=BAD)
def test_a_definition_refuses(change: dict[str, Any], why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        Metric(**{**GOOD, **change})


def test_the_definition_that_the_bad_ones_start_from_is_good() -> None:
    assert Metric(**GOOD).family == "streamgauge_stream_oddities"


def test_a_constant_must_be_called_like_its_metric() -> None:
    with pytest.raises(DefinitionError, match="is called STREAM_ODD"):
        catalog.collected({"STREAM_ODD": Metric(**GOOD)})


def test_two_metrics_must_not_share_a_family() -> None:
    counter = Metric(**{**GOOD, "name": "streamgauge_odd_total", "kind": Kind.COUNTER})
    info = Metric(**{**GOOD, "name": "streamgauge_odd_info", "kind": Kind.INFO})
    with pytest.raises(DefinitionError, match="shares a family with streamgauge_odd_total"):
        catalog.collected({"ODD": counter, "ODD_INFO": info})


def test_no_metric_is_named_twice() -> None:
    assert [name for name, times in Counter(m.name for m in catalog.ALL).items() if times > 1] == []
    assert list(catalog.BY_NAME.values()) == list(catalog.ALL)


def test_no_constant_is_assigned_twice() -> None:
    # A second assignment would silently take the first metric out of the catalogue.
    body = ast.parse(inspect.getsource(catalog)).body
    assigned = Counter(
        target.id
        for statement in body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    )
    assert [name for name, times in assigned.items() if times > 1] == []


def test_every_definition_is_in_the_catalogue_under_its_own_name() -> None:
    named = {key: value for key, value in vars(catalog).items() if isinstance(value, Metric)}
    assert [key for key, metric in named.items() if key != catalog.constant_name(metric)] == []
    assert set(named.values()) == set(catalog.ALL)


def test_help_reads_as_sentences() -> None:
    glued = re.compile(r"[a-z][.;:,][A-Z]|  ")
    assert [m.name for m in catalog.ALL if not re.match(r"[A-Z01]", m.help)] == []
    assert [m.name for m in catalog.ALL if glued.search(m.help)] == []


def test_help_names_only_metrics_that_exist() -> None:
    like_a_metric = re.compile(
        r"\b(?:consumer|stream|server|account|meta|poll|advisories|snapshot)_\w+"
    )
    mentioned = {word for metric in catalog.ALL for word in like_a_metric.findall(metric.help)}
    assert "consumer_num_ack_pending" in mentioned
    assert [word for word in mentioned if f"streamgauge_{word}" not in catalog.BY_NAME] == []


def test_a_source_is_a_response_and_its_paths() -> None:
    responses = "(consumer info|stream info|account info|account statz|jsz|varz|statsz|healthz)"
    paths = r"[a-z_]+(\[\])?(\.[a-z_]+(\[\])?)*"
    one = rf"{responses}(, {responses})*: {paths}(, {paths})*"
    source = re.compile(rf"{one}(; {one})*")
    assert [m.name for m in catalog.ALL if m.source and not source.fullmatch(m.source)] == []


def test_what_a_response_shows_has_a_source() -> None:
    succeeded = [m for m in catalog.ALL if m.origin is Origin.RESPONSE]
    # That a server responded is no field of its response.
    assert [m for m in succeeded if not m.source] == [catalog.SERVER_UP]


def test_subjects_follow_the_names() -> None:
    words = {"consumer", "stream", "server", "account", "archive"}
    first_word = {m: m.name.removeprefix("streamgauge_").partition("_")[0] for m in catalog.ALL}
    wrong = [m.name for m, word in first_word.items() if word in words and m.subject.value != word]
    assert wrong == []


@pytest.mark.parametrize(
    ("subject", "identity"),
    [
        (Subject.CONSUMER, catalog.CONSUMER),
        (Subject.STREAM, catalog.STREAM),
        (Subject.SERVER, catalog.SYSTEM),
        (Subject.ACCOUNT, catalog.ACCOUNT),
    ],
)
def test_identity_labels_come_first(subject: Subject, identity: tuple[str, ...]) -> None:
    about = [metric for metric in catalog.ALL if metric.subject is subject]
    assert [m.name for m in about if m.labels[: len(identity)] != identity] == []


def test_full_is_for_consumers_only() -> None:
    assert {m.subject for m in catalog.ALL if m.level is Level.FULL} == {Subject.CONSUMER}


# Core metrics of a consumer that an ordinary pull consumer does not show: it is no push consumer,
# was never paused, is caught up, has a sound stream behind it, and no event happened.
NOT_ORDINARY = {
    *catalog.KEPT_IN_OUTAGES,
    catalog.CONSUMER_NAKS,
    catalog.CONSUMER_EXHAUSTED_UNCONFIRMED,
    catalog.CONSUMER_PUSH_BOUND,
    catalog.CONSUMER_PAUSED,
    catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES,
    catalog.CONSUMER_RETENTION_HEADROOM_RATIO,
    catalog.CONSUMER_RETENTION_HEADROOM_SECONDS,
}


def test_an_ordinary_consumer_has_20_core_series() -> None:
    core = [
        metric
        for metric in catalog.ALL
        if metric.subject is Subject.CONSUMER
        and metric.level is Level.CORE
        and metric.labels == catalog.CONSUMER
        and metric not in NOT_ORDINARY
    ]
    by_origin = Counter(metric.origin for metric in core)
    # The info is the 20th series.
    assert by_origin == {Origin.RESPONSE: 12, Origin.DERIVED: 7}


def spelled(metric: Metric) -> tuple[str, str, str, str, str]:
    return (
        metric.kind.value,
        metric.unit.value,
        metric.level.value,
        metric.origin.value,
        " ".join(metric.labels),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("consumer_num_pending", "gauge||core|response|system account stream consumer"),
        ("consumer_deliveries_total", "counter||core|response|system account stream consumer"),
        ("consumer_backlog_messages", "gauge||full|response|system account stream consumer"),
        ("consumer_ack_seconds", "histogram|seconds|full|event|system account stream consumer"),
        ("consumer_terms_total", "counter||full|event|system account stream consumer by"),
        (
            "consumer_config_finding",
            "info||full|derived|system account stream consumer check severity",
        ),
        (
            "consumer_info",
            "info||core|response|system account stream consumer durable kind ack_policy"
            " deliver_policy replay_policy filtered priority_policy flow_control leader replicas"
            " owner_name owner_team owner_severity owner_ignore",
        ),
        ("stream_bytes", "gauge|bytes|core|response|system account stream"),
        ("stream_fill_ratio", "gauge|ratio|core|response|system account stream limit"),
        ("stream_config_findings", "gauge||core|derived|system account stream check severity"),
        ("server_clock_offset_seconds", "gauge|seconds|core|derived|system server"),
        ("server_storage_max_bytes", "gauge|bytes|core|response|system server"),
        ("meta_leader", "gauge||core|response|system server"),
        ("meta_size", "gauge||core|response|system"),
        ("account_memory_reserved_bytes", "gauge|bytes|core|response|system account tier"),
        ("account_slow_consumers_total", "counter||core|response|system account server"),
        ("advisories_total", "counter||core|event|system account kind"),
        ("up", "gauge||core|self|system"),
        ("poll_errors_total", "counter||core|self|system request reason"),
        ("publish_ack_tap_active", "gauge||core|event|system"),
        ("build_info", "info||core|self|version python"),
        ("web_info", "info||core|self|external_url grafana_url scheme"),
        ("archive_received_bytes_total", "counter|bytes|core|archive|"),
        ("forecast_stream_bytes", "gauge|bytes|core|rollup|system account stream horizon quantile"),
    ],
)
def test_an_entry_matches_the_design(name: str, expected: str) -> None:
    assert spelled(catalog.BY_NAME[f"streamgauge_{name}"]) == tuple(expected.split("|"))


def test_verdicts_are_numbered_as_in_the_design() -> None:
    assert (catalog.VERDICTS[0], catalog.VERDICTS[9]) == ("ok", "no leader")
    numbered = dict(re.findall(r"(\d+) ([a-z -]+)[,.]", catalog.CONSUMER_VERDICT.help))
    named = {str(number): name for number, name in enumerate(catalog.VERDICTS)}
    assert numbered == {**named, "4": "no worker pulls or not bound"}


def test_the_reference_shows_every_metric_once() -> None:
    shown = re.findall(r"^\| `(streamgauge_\w+)` \|", metrics.render(), re.MULTILINE)
    assert sorted(shown) == sorted(catalog.BY_NAME)


def test_the_reference_keeps_its_tables_whole() -> None:
    rows = [line for line in metrics.render().splitlines() if line.startswith("| `")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}


def test_the_reference_on_disk_is_fresh() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == metrics.render(), "run make generate"
