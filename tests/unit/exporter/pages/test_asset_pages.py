"""The page of one consumer, stream or server: what, since when, why, what next, and its history."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed
from support.exporter.models import NOW, at, consumer, server, stream, stream_config
from support.exporter.outline import Outline
from support.exporter.status_views import HOSTILE, MemoryPoller, held, polled, site

from exporter.model import OwnerNotes, Replica, StreamOrigin
from exporter.signals.results import Signals

NAMES = {"system": "demo", "account": "APP", "stream": "ORDERS", "consumer": "worker"}
SIGNALS = Signals(
    consumers={
        ("APP", "ORDERS", "worker"): held(
            ("ack_pending_full", 600.0), ("falling_behind", 60.0),
            lag=700.0, redelivery_ratio=0.25, unjudged=(("long_jobs", "no configuration"),),
        ),
    },
    stream_conditions={("APP", "ORDERS"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
    stream_unjudged={("APP", "ORDERS"): (("diverged", "no value reported"),)},
    server_unjudged={"n1": (("unhealthy", "no value reported"), ("storage_high", "no value reported"))},
)  # fmt: skip
REPLICAS = (Replica("n2", 5, True, 90.0), Replica("n3", 0, False, 0.2))
WORKER = consumer(
    num_pending=50, num_ack_pending=1000, replicas=REPLICAS, last_delivery=at(NOW - 600),
    delivered_stream_seq=1234,
)  # fmt: skip
STREAM = stream(
    config=stream_config(
        discard="new", max_messages=10, subjects=("orders.>",), notes=OwnerNotes(owner="ana")
    ),
    messages=10, replicas=REPLICAS, origins=(StreamOrigin("UP", 3, 5.0, ""),),
)  # fmt: skip
SERVER = server(offset=7.0, cluster="east", version="2.15.1", storage_used=1024, meta_leader=True)


def poller() -> MemoryPoller:
    return polled(WORKER, consumer("fine"), STREAM, SERVER, signals=SIGNALS)


def with_history(minutes: int = 45) -> MemoryPoller:
    made = poller()
    for step in range(minutes * 2 + 1):
        before = NOW - (minutes * 2 - step) * 30
        row = changed(WORKER, num_pending=step, delivered_consumer_seq=step * 60)
        rows = (row, *made.state.snapshot.consumers[1:])  # type: ignore[union-attr]
        shot = changed(made.state.snapshot, taken=before, consumers=rows)  # type: ignore[type-var]
        made.history.update(shot, SIGNALS)
    return made


def page(kind: str, made: MemoryPoller | None = None, grafana: str = "", **names: str) -> Outline:
    status, html = site(made or poller(), grafana=grafana).asset(kind, {**NAMES, **names})
    assert status == 200
    outline = Outline(html)
    assert outline.open == []
    return outline


def test_a_consumer_shows_what_since_when_why_and_what_next() -> None:
    found = page("consumer", grafana="https://g.example")
    assert "✕ worker consumer ack pending full, for 10 min 22:03 UTC" in found.words
    assert "1,000 of 1,000 unacknowledged" in found.words
    assert "nothing more is delivered." in found.words
    assert "nats consumer info ORDERS worker" in found.words
    assert found.cells[1][:2] == ["▲ falling behind", "1 min 22:12 UTC"]
    assert "docs/runbooks/JetStreamConsumerAckPendingFull" in found.links
    assert "docs/runbooks/JetStreamConsumerBacklogGrowing" in found.links
    assert "stream?system=demo&account=APP&stream=ORDERS" in found.links
    assert any(link.startswith("https://g.example/d/sg-consumer?") for link in found.links)


def test_a_consumer_shows_numbers_configuration_replicas_and_what_is_not_judged() -> None:
    words = page("consumer").words
    for text in (
        "Pending 50", "Ack pending 1,000 of 1,000", "Lag 11 min", "Redelivery ratio 25%",
        "Last delivery 10 min ago", "Delivered up to 1,234", "ack_wait 30 s", "Ack policy explicit",
        "n2 ▲ offline 5 1 min ago", "no configuration: long jobs",
    ):  # fmt: skip
        assert text in words, text


def test_a_stream_shows_its_consumers_replicas_and_origin() -> None:
    words = page("stream").words
    for text in (
        "✕ ORDERS stream full, for 30 s", "Messages 10", "Used 100%", "Subjects orders.>",
        "Owner ana", "worker ✕ ack pending full for 10 min 50 1,000 11 min", "fine not judged yet 0",
        "n2 ▲ offline", "UP in contact 3 5 s ago",
        "Not judged no value reported: diverged",
    ):  # fmt: skip
        assert text in words, text


def test_a_server_shows_its_clock_and_storage() -> None:
    words = page("server", server="n1").words
    for text in (
        "▲ n1 server clock off, for 2 h", "Clock offset +7.0 s ± 1 ms", "Storage 1 KiB",
        "Version 2.15.1", "Meta group leader", "demo › east",
        "Not judged no value reported: unhealthy, storage high",
    ):  # fmt: skip
        assert text in words, text


def test_an_unwell_asset_has_charts_with_words_for_screen_readers() -> None:
    found = page("consumer", with_history())
    labels = [
        value for tag, name, value in found.attributes if (tag, name) == ("svg", "aria-label")
    ]
    assert "Pending: now 90, between 0 and 90" in labels
    assert "Deliveries: now 2/s, between 2/s and 2/s" in labels
    assert "Ack pending: now 1,000, between 1,000 and 1,000" in labels
    assert "45 min ago" in found.words
    assert "the dashed line marks where ack pending full began" in found.words


def test_an_asset_without_history_has_no_charts() -> None:
    assert "svg" not in page("consumer").tags
    assert "svg" not in page("consumer", with_history(), consumer="fine").tags


def test_a_consumer_without_a_leader_has_no_numbers() -> None:
    gone = Signals(consumers={("APP", "ORDERS", "worker"): held(("no_leader", 5.0))})
    words = page("consumer", polled(consumer(up=False, config=None), signals=gone)).words
    assert "no leader, for 5 s" in words
    assert "Not known: its leader does not respond." in words
    assert "nats server report jetstream" in words


def test_a_name_that_is_not_found_gets_the_nearest_ones() -> None:
    for kind, names, near in (
        ("consumer", {"consumer": "workr"}, "consumer?system=demo&account=APP&stream=ORDERS&consumer=worker"),
        ("stream", {"stream": "ORDER"}, "stream?system=demo&account=APP&stream=ORDERS"),
        ("server", {"server": "n11"}, "server?system=demo&server=n1"),
    ):  # fmt: skip
        status, html = site(poller()).asset(kind, {**NAMES, **names})
        assert status == 404
        assert near in Outline(html).links
    assert site(poller()).asset("consumer", {**NAMES, "system": "none"})[0] == 404
    assert site(poller()).asset("consumer", {})[0] == 404


def test_while_a_system_is_stale_its_assets_are_not_shown_as_they_were() -> None:
    made = poller()
    made.state = replace(made.state, last_response=NOW - 3600)
    assert site(made).asset("consumer", NAMES)[0] == 404
    assert site(made).asset("server", {**NAMES, "server": "n1"})[0] == 200


def test_hostile_names_stay_text_and_commands_are_quoted() -> None:
    name = "x;reboot"
    stuck = Signals(consumers={("APP", name, HOSTILE): held(("stalled", 5.0))})
    row = consumer(HOSTILE, stream=name, leader=HOSTILE)
    found = page("consumer", polled(row, signals=stuck), stream=name, consumer=HOSTILE)
    assert "img" not in found.tags
    assert "nats consumer info 'x;reboot' '<script>" in found.words
