"""What keeps a page from flooding Prometheus: the fold of ephemeral consumers and the series cap."""

from __future__ import annotations

from collections import Counter

import pytest
from prometheus_client.samples import Sample
from support.exporter.models import consumer, consumer_config, server, snapshot, stream
from support.exporter.rendered_series import FULL, rendered, samples_of, text_of, values_of

from exporter import catalog
from exporter.model import Consumer, Replica, Snapshot, StreamOrigin
from exporter.samples.render import Limits, Renderer
from exporter.signals.results import ConsumerSignals, Signals
from exporter.signals.verdict import Verdict

EPHEMERAL = consumer_config(durable=False)


def ephemeral_consumers(number: int, stream_name: str = "ORDERS") -> list[Consumer]:
    return [
        consumer(
            f"e{place}",
            stream=stream_name,
            num_pending=10,
            num_ack_pending=2,
            num_redelivered=1,
            num_waiting=3,
            config=EPHEMERAL,
        )
        for place in range(number)
    ]


def folded(found: Snapshot, most: int = 3) -> tuple[list[Sample], int]:
    page = rendered(found, limits=Limits(max_ephemerals=most))
    return samples_of(text_of(page)), page.folded


def test_ephemerals_up_to_the_cap_keep_their_own_rows() -> None:
    samples, number = folded(snapshot(stream(), *ephemeral_consumers(3)))
    assert number == 0
    assert {s.labels["consumer"] for s in samples if "consumer" in s.labels} == {"e0", "e1", "e2"}


def test_more_of_them_share_one_row_of_sums() -> None:
    rows = [
        consumer("durable", num_pending=7),
        *ephemeral_consumers(4),
        *ephemeral_consumers(1, "OTHER"),
    ]
    samples, number = folded(snapshot(stream(consumers=5), stream("OTHER", consumers=1), *rows))
    assert number == 4
    named = {(s.labels["stream"], s.labels["consumer"]) for s in samples if "consumer" in s.labels}
    assert named == {("ORDERS", "durable"), ("ORDERS", "_ephemeral"), ("OTHER", "e0")}
    sums = {s.name: s.value for s in samples if s.labels.get("consumer") == "_ephemeral"}
    assert sums == {
        catalog.CONSUMER_NUM_PENDING.name: 40,
        catalog.CONSUMER_NUM_ACK_PENDING.name: 8,
        catalog.CONSUMER_NUM_REDELIVERED.name: 4,
        catalog.CONSUMER_NUM_WAITING.name: 12,
    }


def test_the_shared_row_shows_the_worst_verdict() -> None:
    verdicts = {"e0": Verdict.IDLE, "e1": Verdict.NO_WORKER_PULLS, "e2": Verdict.PAUSED, "e3": None}
    signals = Signals({
        ("APP", "ORDERS", name): ConsumerSignals(0, 0, 0, verdict, 0.0)
        for name, verdict in verdicts.items()
    })  # fmt: skip
    found = snapshot(stream(), *ephemeral_consumers(4))
    page = Renderer("nats", limits=Limits(max_ephemerals=3)).render(found, signals)
    samples = samples_of(text_of(page))
    assert values_of(samples, catalog.CONSUMER_VERDICT) == [Verdict.NO_WORKER_PULLS]


def test_a_stream_counts_its_ephemerals_folded_or_not() -> None:
    rows = [*ephemeral_consumers(4), *ephemeral_consumers(2, "OTHER")]
    streams = [stream(consumers=4), stream("OTHER", consumers=2), stream("EMPTY")]
    samples, _ = folded(snapshot(*streams, *rows))
    ephemerals = catalog.STREAM_EPHEMERAL_CONSUMERS
    assert values_of(samples, ephemerals, stream="ORDERS") == [4]
    assert values_of(samples, ephemerals, stream="OTHER") == [2]
    assert values_of(samples, ephemerals, stream="EMPTY") == [0]


def test_where_consumers_could_not_be_listed_their_number_is_not_reported() -> None:
    samples, _ = folded(snapshot(stream(consumers=4)))
    assert values_of(samples, catalog.STREAM_EPHEMERAL_CONSUMERS) == []
    assert values_of(samples, catalog.STREAM_CONSUMERS) == [4]


# --- the series cap -------------------------------------------------------------------------------


def many() -> Snapshot:
    """Streams and consumers of unlike weight."""
    streams = [
        stream(f"s{n:02}", replicas=(Replica("n2", 0, False, 1.0),) * (n % 2)) for n in range(20)
    ]
    limits = [consumer_config(max_ack_pending=None), consumer_config(max_deliver=3)]
    rows = [consumer(f"c{n:03}", stream="s00", config=limits[n % 2]) for n in range(200)]
    return snapshot(server(), *streams, *rows)


def weights(samples: list[Sample]) -> Counter[tuple[str, str]]:
    """Series of each asset; those of a consumer are not its stream's."""
    return Counter(
        (sample.labels["stream"], sample.labels.get("consumer", ""))
        for sample in samples
        if "stream" in sample.labels
    )


@pytest.mark.parametrize("cap", [0, 1, 40, 300, 500, 1000, 2000, 3700])
def test_rows_that_do_not_fit_are_dropped_whole_and_counted(cap: int) -> None:
    whole = samples_of(text_of(rendered(many())))
    page = rendered(many(), limits=Limits(max_series=cap))
    kept = samples_of(text_of(page))
    assert page.series == len(kept)
    assert page.series + page.dropped == len(whole)
    assert page.dropped > 0
    assert weights(kept).items() <= weights(whole).items()


@pytest.mark.parametrize("cap", [40, 300, 500, 1000, 2000, 3700])
def test_the_cap_holds_and_most_of_it_is_used(cap: int) -> None:
    page = rendered(many(), limits=Limits(max_series=cap))
    heaviest = max(weights(samples_of(text_of(rendered(many())))).values())
    assert cap - 3 * heaviest <= page.series <= cap


def test_nothing_is_dropped_when_everything_just_fits() -> None:
    exactly = rendered(many()).series
    page = rendered(many(), limits=Limits(max_series=exactly))
    assert (page.series, page.dropped) == (exactly, 0)


def test_servers_are_reported_whatever_the_cap() -> None:
    page = rendered(many(), limits=Limits(max_series=0))
    assert values_of(samples_of(text_of(page)), catalog.SERVER_UP) == [1]


def test_streams_go_before_consumers_and_names_in_their_order() -> None:
    few = weights(samples_of(text_of(rendered(many(), limits=Limits(max_series=200)))))
    assert 0 < len(few) < 20
    assert sorted(few) == [(f"s{number:02}", "") for number in range(len(few))]
    more = weights(samples_of(text_of(rendered(many(), limits=Limits(max_series=1000)))))
    consumers = sorted(name for _, name in more if name)
    assert len(more) - len(consumers) == 20
    assert 0 < len(consumers) < 200
    assert consumers == [f"c{number:03}" for number in range(len(consumers))]


def test_a_stream_with_very_many_sources_cannot_pass_the_cap() -> None:
    origins = tuple(StreamOrigin(f"o{number}", 0, 1.0, "") for number in range(300))
    page = rendered(snapshot(stream("a"), stream("b", origins=origins)), FULL, Limits(500))
    samples = samples_of(text_of(page))
    assert page.series == len(samples) <= 500
    assert set(weights(samples)) == {("a", "")}
    assert page.dropped > 900
