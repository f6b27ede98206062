"""Snapshots as a scrape shows them: rendered, joined and read back by prometheus-client."""

from collections.abc import Iterable
from dataclasses import replace

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as families_of_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as families_of_text
from prometheus_client.samples import Sample

from exporter import catalog
from exporter.exposition.text_format import Format, assemble
from exporter.metric import Level, Metric, Origin, Subject
from exporter.model import Snapshot
from exporter.samples.render import Limits, Rendered, Renderer
from exporter.samples.selection import Selection
from exporter.signals.engine import SignalState

FULL = Selection(Level.FULL)
_COMPARE_POLLS = frozenset(
    metric.name
    for metric in catalog.ALL
    if metric.origin is Origin.DERIVED and metric.subject in (Subject.CONSUMER, Subject.STREAM)
)
Key = tuple[str, tuple[tuple[str, str], ...]]


def rendered(
    snapshot: Snapshot, selection: Selection = FULL, limits: Limits | None = None
) -> Rendered:
    """What one snapshot alone shows: no metric that compares polls."""
    one_poll = replace(selection, exclude=selection.exclude | _COMPARE_POLLS)
    renderer = Renderer(snapshot.system, one_poll, limits or Limits())
    return renderer.render(snapshot, SignalState().update(snapshot))


def text_of(*pages: Rendered, fmt: Format = Format.TEXT, live: bytes = b"") -> str:
    whole = assemble([page.blocks for page in pages], live, fmt)
    return b"".join(whole.plain_chunks()).decode()


def samples_of(text: str, fmt: Format = Format.TEXT) -> list[Sample]:
    read = families_of_text if fmt is Format.TEXT else families_of_openmetrics
    return [sample for family in read(text) for sample in family.samples]


def key(sample: Sample) -> Key:
    return sample.name, tuple(sorted(sample.labels.items()))


def series_of(snapshot: Snapshot, selection: Selection = FULL) -> dict[Key, float]:
    return {key(each): each.value for each in samples_of(text_of(rendered(snapshot, selection)))}


def values_of(samples: Iterable[Sample], metric: Metric, **labels: str) -> list[float]:
    """The values of all series of the metric that carry these labels."""
    return [
        sample.value
        for sample in samples
        if sample.name == metric.name and labels.items() <= sample.labels.items()
    ]
