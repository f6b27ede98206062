"""The catalogue against what recorded responses of real servers become: source, samples, text."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from prometheus_client.samples import Sample
from support.collected import over_all
from support.exporter.rendered_series import FULL, key, rendered, samples_of, text_of
from support.recordings.recording_file import RecordingFile
from support.recordings.replay import Recording, Replayer, recordings, snapshot

from exporter import catalog
from exporter.exposition.text_format import Format
from exporter.metric import Level, Metric, Origin, Subject
from exporter.model import Consumer
from exporter.polling.loop import SystemPoller
from exporter.polling.supervisor import system_samples
from exporter.samples.render import Rendered, Renderer
from exporter.samples.selection import Selection
from exporter.samples.self_metrics import SelfMetrics, SelfSample
from streamgauge.demo.processes.programs import prometheus

ALL = recordings()
SYSTEM = "nats"
MOST_SERIES_OF_A_CONSUMER = 20
OPTIONAL = {*catalog.OWNER_LABELS, *catalog.WRITER_LABELS}
# The clock may be ahead or behind; everything else counts or measures.
MAY_BE_NEGATIVE = {catalog.SERVER_CLOCK_OFFSET_SECONDS.name}
# One response gives these together with the clock of the exporter.
NEED_A_CLOCK = {
    catalog.SERVER_CLOCK_OFFSET_SECONDS,
    catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS,
    catalog.SERVER_ROUND_TRIP_SECONDS,
}
# Only for names in the settings: tests/integration/exporter/test_opt_in.py reads them from real servers.
OPT_IN = {
    catalog.STREAM_SUBJECT_MESSAGES,
    catalog.STREAM_METADATA_INFO,
    catalog.CONSUMER_METADATA_INFO,
}

every_recording = over_all(ALL, "the series of a recording break the rule: correct the exporter")


@cache
def page(recording: Recording, system: str = SYSTEM) -> Rendered:
    return rendered(snapshot(recording, system))


@cache
def samples(recording: Recording) -> list[Sample]:
    return samples_of(text_of(page(recording)))


def produced() -> set[Metric]:
    return {block.metric for recording in ALL for block in page(recording).blocks}


def test_every_entry_that_a_response_gives_is_given_by_a_recorded_one() -> None:
    wanted = {metric for metric in catalog.ALL if metric.origin is Origin.RESPONSE}
    assert sorted(metric.name for metric in wanted - produced() - OPT_IN) == []


def test_responses_give_nothing_that_the_catalogue_calls_otherwise() -> None:
    others = {metric for metric in produced() if metric.origin is not Origin.RESPONSE}
    assert others == NEED_A_CLOCK


@every_recording
def test_nothing_outside_the_catalogue_is_produced(recording: Recording) -> None:
    assert {sample.name for sample in samples(recording)} <= set(catalog.BY_NAME)


@every_recording
def test_every_sample_has_exactly_the_labels_of_its_definition(recording: Recording) -> None:
    wrong = [
        (sample.name, tuple(sample.labels))
        for sample in samples(recording)
        if tuple(sample.labels) != expected_labels(sample)
    ]
    assert wrong == []


def expected_labels(sample: Sample) -> tuple[str, ...]:
    """What owners declare is a label only where it is set."""
    defined = catalog.BY_NAME[sample.name].labels
    return tuple(label for label in defined if label in sample.labels or label not in OPTIONAL)


@every_recording
def test_no_series_appears_twice(recording: Recording) -> None:
    assert twice(samples(recording)) == []


@every_recording
def test_no_series_appears_twice_when_two_systems_share_a_page(recording: Recording) -> None:
    both = samples_of(text_of(page(recording, "east"), page(recording, "west")))
    assert twice(both) == []
    assert len(both) == 2 * len(samples(recording))


def twice(found: list[Sample]) -> list[object]:
    return [each for each, number in Counter(map(key, found)).items() if number > 1]


@every_recording
def test_no_server_spelling_of_unlimited_or_unknown_is_exposed(recording: Recording) -> None:
    wrong = [
        sample
        for sample in samples(recording)
        if not 0 <= sample.value < 2**53 and sample.name not in MAY_BE_NEGATIVE
    ]
    assert wrong == []


@every_recording
def test_no_timestamp_lies_outside_the_time_of_the_recording(recording: Recording) -> None:
    taken = snapshot(recording).taken
    moments = [each for each in samples(recording) if each.name.endswith("_timestamp_seconds")]
    assert moments != []
    assert [each for each in moments if not taken - 3600 < each.value <= taken + 1] == []


@every_recording
def test_both_formats_agree(recording: Recording) -> None:
    as_open = samples_of(text_of(page(recording), fmt=Format.OPENMETRICS), Format.OPENMETRICS)
    assert [(key(each), each.value) for each in as_open] == [
        (key(each), each.value) for each in samples(recording)
    ]


@every_recording
def test_the_number_of_series_is_reported_right(recording: Recording) -> None:
    assert page(recording).series == len(samples(recording))


@every_recording
def test_an_ordinary_consumer_has_at_most_20_core_series(recording: Recording) -> None:
    core = samples_of(text_of(rendered(snapshot(recording), Selection(Level.CORE))))
    numbers = Counter(consumer_of(sample) for sample in core if "consumer" in sample.labels)
    ordinary = {
        (row.account, row.stream, row.name): numbers[row.account, row.stream, row.name]
        for row in snapshot(recording).consumers
        if is_ordinary(row)
    }
    assert ordinary != {}
    left = MOST_SERIES_OF_A_CONSUMER - core_series_still_to_come()
    assert {name: number for name, number in ordinary.items() if number > left} == {}


def consumer_of(sample: Sample) -> tuple[str, str, str]:
    return sample.labels["account"], sample.labels["stream"], sample.labels["consumer"]


def is_ordinary(row: Consumer) -> bool:
    return (
        row.up
        and row.config is not None
        and row.config.kind == "pull"
        and not row.paused
        and not row.config.thresholds.limits
    )


def core_series_still_to_come() -> int:
    """Derived ones that a healthy consumer shows; the excluded ones show faults and events."""
    rare = {
        catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES,
        catalog.CONSUMER_EXHAUSTED_UNCONFIRMED,
        catalog.CONSUMER_RETENTION_HEADROOM_RATIO,
        catalog.CONSUMER_RETENTION_HEADROOM_SECONDS,
        catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS,
        catalog.CONSUMER_LIMIT_EXCEEDED,
        *catalog.KEPT_IN_OUTAGES,
    }
    return sum(
        1
        for metric in catalog.ALL
        if metric.subject is Subject.CONSUMER
        and metric.level is Level.CORE
        and metric.origin is Origin.DERIVED
        and metric not in rare
    )


@pytest.fixture(scope="module")
def promtool() -> Path:
    programs = prometheus()
    if programs is None:
        pytest.skip("promtool is not available")
    return programs.promtool


def lint(promtool: Path, text: str) -> str:
    """The problems that promtool finds; it prints warnings to stderr and still exits with 0."""
    command = [str(promtool), "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.program
@pytest.mark.parametrize("recording", ALL, ids=str)
def test_promtool_finds_nothing_to_report(recording: Recording, promtool: Path) -> None:
    assert lint(promtool, text_of(page(recording))) == ""


@pytest.mark.program
def test_promtool_would_report_something(promtool: Path) -> None:
    broken = text_of(page(ALL[0])).replace("_deliveries_total", "_deliveries")
    assert "consumer_deliveries" in lint(promtool, broken)


@dataclass
class Own:
    """The self metrics of one poller."""

    poller: SystemPoller

    def self_samples(self) -> Iterable[SelfSample]:
        return system_samples(self.poller, time.time())


async def whole_page(recording: Recording, fmt: Format) -> str:
    """A scrape of an exporter that polled once: the responses, and its self metrics."""
    replayer = Replayer(RecordingFile.load(recording.path))
    source = replayer.source(recording.source, SYSTEM)
    poller = SystemPoller(SYSTEM, recording.source, (), source, Renderer(SYSTEM, FULL), 15, 10)
    with replayer.playing(replayer.file):
        await poller.poll_once()
        own = SelfMetrics(Own(poller), "1.0", "3.11").text(fmt)
        return text_of(poller.served(time.time()), fmt=fmt, live=own)


@pytest.mark.program
@pytest.mark.parametrize("recording", recordings("one-down"), ids=str)
def test_promtool_finds_nothing_to_report_of_the_whole_page(
    recording: Recording, promtool: Path
) -> None:
    text = asyncio.run(whole_page(recording, Format.TEXT))
    assert catalog.REQUEST_SUCCESS.name in text
    assert lint(promtool, text) == ""


@pytest.mark.parametrize("fmt", Format)
@pytest.mark.parametrize("recording", recordings("one-down"), ids=str)
def test_a_whole_page_holds_only_our_series_and_those_of_the_process(
    recording: Recording, fmt: Format
) -> None:
    found = samples_of(asyncio.run(whole_page(recording, fmt)), fmt)
    ours = [sample for sample in found if not sample.name.startswith("process_")]
    assert twice(found) == []
    assert {sample.name for sample in ours} <= set(catalog.BY_NAME)
    wrong = [each for each in ours if set(each.labels) != set(expected_labels(each))]
    assert wrong == []
