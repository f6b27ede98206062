"""Which series are written: by level and name, and those that appear only once there is a reason."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import consumer, snapshot
from support.exporter.rendered_series import FULL, rendered, samples_of, text_of, values_of

from exporter import catalog
from exporter.metric import Level
from exporter.samples.render import Renderer
from exporter.samples.selection import Selection, full_name


def test_a_consumer_is_paused_or_not_only_once_it_was_paused() -> None:
    renderer = Renderer("nats", FULL)

    def pauses(**state: Any) -> list[float]:
        page = renderer.render(snapshot(consumer(**state), consumer("other")))
        return values_of(samples_of(text_of(page)), catalog.CONSUMER_PAUSED)

    assert pauses() == []
    assert pauses(paused=True, pause_remaining_seconds=60.0) == [1]
    assert pauses() == [0]


def test_a_deleted_consumer_takes_its_pause_along() -> None:
    renderer = Renderer("nats", FULL)
    renderer.render(snapshot(consumer(paused=True)))
    renderer.render(snapshot(consumer("other")))
    page = renderer.render(snapshot(consumer(), consumer("other")))
    assert values_of(samples_of(text_of(page)), catalog.CONSUMER_PAUSED) == []


def test_the_remaining_pause_is_reported_only_during_it() -> None:
    paused = consumer(paused=True, pause_remaining_seconds=61.5)
    samples = samples_of(text_of(rendered(snapshot(paused, consumer("other")))))
    assert values_of(samples, catalog.CONSUMER_PAUSE_REMAINING_SECONDS) == [61.5]


BACKLOG, PENDING = catalog.CONSUMER_BACKLOG_MESSAGES.name, catalog.CONSUMER_NUM_PENDING.name


@pytest.mark.parametrize(
    ("selection", "written"),
    [
        (Selection(), {PENDING}),
        (Selection(Level.FULL), {PENDING, BACKLOG}),
        (Selection(include=frozenset({BACKLOG})), {PENDING, BACKLOG}),
        (Selection(Level.FULL, exclude=frozenset({BACKLOG})), {PENDING}),
        (Selection(exclude=frozenset({PENDING})), set()),
        (Selection(include=frozenset({BACKLOG}), exclude=frozenset({BACKLOG})), {PENDING}),
    ],
)
def test_a_level_then_single_names_in_or_out(selection: Selection, written: set[str]) -> None:
    samples = samples_of(text_of(rendered(snapshot(consumer()), selection)))
    assert {sample.name for sample in samples} & {PENDING, BACKLOG} == written


def test_a_metric_is_known_with_and_without_the_prefix() -> None:
    assert full_name("consumer_num_pending") == full_name(PENDING) == PENDING
    assert full_name("consumer_num_pendin") is None
