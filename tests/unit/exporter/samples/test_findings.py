"""Findings as series: counted by stream, named by consumer, kept while nothing changes."""

import pytest
from support.audit.reports import ORDERS, WORKER, audit_context, check, evaluated, muted_consumer
from support.exporter.models import consumer, snapshot, stream
from support.exporter.rendered_series import FULL, samples_of, text_of

from exporter import catalog
from exporter.audit.check import Finding
from exporter.audit.report import Report
from exporter.audit.severity import Severity
from exporter.metric import Level
from exporter.model import Snapshot
from exporter.samples.render import Limits, Renderer
from exporter.samples.selection import Selection

SEEN = snapshot(stream(), stream("OTHER"), consumer("worker"), consumer("other"))
OTHER = Finding(evidence="", account="APP", stream="ORDERS", consumer="other")
GONE = Finding(evidence="", account="APP", stream="GONE")
SERVER = Finding(evidence="", server="n1")
BY_STREAM, BY_CONSUMER = catalog.STREAM_CONFIG_FINDINGS, catalog.CONSUMER_CONFIG_FINDING
Series = set[tuple[str, ...]]


def found(renderer: Renderer, report: Report | None, seen: Snapshot = SEEN) -> Series:
    """Every finding that is served: stream, consumer, check, severity and the value."""
    page = text_of(renderer.render(seen, report=report))
    return {
        (
            sample.labels["stream"],
            sample.labels.get("consumer", ""),
            sample.labels["check"],
            sample.labels["severity"],
            f"{sample.value:g}",
        )
        for sample in samples_of(page)
        if sample.name in (BY_STREAM.name, BY_CONSUMER.name)
    }


def test_findings_are_counted_by_stream_and_named_by_consumer() -> None:
    report = evaluated(
        audit_context(),
        check("a-check", ORDERS, WORKER, OTHER, GONE, SERVER),
        check("b-check", WORKER, severity=Severity.CRIT),
    )
    assert found(Renderer("nats", FULL), report) == {
        ("ORDERS", "", "a-check", "warn", "3"),
        ("ORDERS", "", "b-check", "crit", "1"),
        ("ORDERS", "worker", "a-check", "warn", "1"),
        ("ORDERS", "worker", "b-check", "crit", "1"),
        ("ORDERS", "other", "a-check", "warn", "1"),
    }


def test_findings_of_servers_accounts_and_the_system_have_series() -> None:
    report = evaluated(
        audit_context(),
        check("a-check", SERVER, SERVER, Finding(evidence="", account="APP"), Finding(evidence="")),
        check("b-check", Finding(evidence="", server="n1", severity=Severity.INFO)),
    )
    page = samples_of(text_of(Renderer("nats").render(SEEN, report=report)))
    wanted = {
        catalog.SERVER_CONFIG_FINDING.name,
        catalog.ACCOUNT_CONFIG_FINDING.name,
        catalog.META_CONFIG_FINDING.name,
    }
    series = [
        (one.name, tuple(one.labels.values()), one.value) for one in page if one.name in wanted
    ]
    assert sorted(series) == [
        (catalog.ACCOUNT_CONFIG_FINDING.name, ("nats", "APP", "a-check", "warn"), 1),
        (catalog.META_CONFIG_FINDING.name, ("nats", "a-check", "warn"), 1),
        (catalog.SERVER_CONFIG_FINDING.name, ("nats", "n1", "a-check", "warn"), 1),
        (catalog.SERVER_CONFIG_FINDING.name, ("nats", "n1", "b-check", "info"), 1),
    ]


def test_a_consumer_that_fails_a_check_twice_counts_once() -> None:
    """Two lines of one series would make Prometheus refuse the whole scrape."""
    report = evaluated(audit_context(), check("a-check", WORKER, WORKER))
    assert found(Renderer("nats", FULL), report) == {
        ("ORDERS", "", "a-check", "warn", "1"),
        ("ORDERS", "worker", "a-check", "warn", "1"),
    }
    page = text_of(Renderer("nats", FULL).render(SEEN, report=report))
    assert page.count(f"\n{BY_CONSUMER.name}{{") == 1


def test_muted_findings_make_no_series() -> None:
    looked = audit_context(muted_consumer("a-check"))
    report = evaluated(looked, check("a-check", WORKER, OTHER))
    assert found(Renderer("nats", FULL), report) == {
        ("ORDERS", "", "a-check", "warn", "1"),
        ("ORDERS", "other", "a-check", "warn", "1"),
    }


@pytest.mark.parametrize("report", [None, evaluated(audit_context(), check("a-check"))])
def test_without_findings_there_is_no_series(report: Report | None) -> None:
    assert found(Renderer("nats", FULL), report) == set()


def test_consumers_are_named_only_where_that_is_wanted() -> None:
    report = evaluated(audit_context(), check("a-check", WORKER))
    counted = {("ORDERS", "", "a-check", "warn", "1")}
    named = {("ORDERS", "worker", "a-check", "warn", "1")}
    assert found(Renderer("nats", Selection(Level.CORE)), report) == counted
    chosen = Selection(Level.CORE, include=frozenset({BY_CONSUMER.name}))
    assert found(Renderer("nats", chosen), report) == counted | named


def test_a_new_audit_and_a_new_consumer_change_what_is_served() -> None:
    renderer = Renderer("nats", FULL)
    report = evaluated(audit_context(), check("a-check", WORKER, OTHER))
    first = found(renderer, report)
    assert found(renderer, report) == first
    assert found(renderer, evaluated(audit_context(), check("a-check"))) == set()
    assert found(renderer, report) == first
    assert found(renderer, report, snapshot(stream(), consumer("worker"))) == {
        ("ORDERS", "", "a-check", "warn", "2"),
        ("ORDERS", "worker", "a-check", "warn", "1"),
    }
    assert found(renderer, evaluated(audit_context(), check("b-check", OTHER))) == {
        ("ORDERS", "", "b-check", "warn", "1"),
        ("ORDERS", "other", "b-check", "warn", "1"),
    }


def test_the_series_cap_counts_findings() -> None:
    report = evaluated(audit_context(), check("a-check", WORKER, OTHER))
    whole = Renderer("nats", FULL).render(SEEN, report=report)
    less = Renderer("nats", FULL, Limits(max_series=whole.series - 1)).render(SEEN, report=report)
    assert less.series < whole.series
    assert less.series + less.dropped == whole.series
