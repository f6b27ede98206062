"""Series for names in the settings, read from real servers: messages by subject, and metadata."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.exporter.full_poller import whole_poller
from support.exporter.rendered_series import samples_of, text_of
from support.nats.servers import APP, SYS, NatsServer, connected
from support.recordings.scenario import Api, since

from exporter.polling.loop import SystemPoller
from exporter.polling.scrape_view import state_samples
from exporter.settings.config import SourceName, SystemSettings
from exporter.settings.events import EventAccountSettings, EventSettings
from exporter.settings.opt_in import (
    CountedStreamSettings,
    MetadataSettings,
    SubjectCountSettings,
)
from streamgauge.serving.settings.loader import Secret

each_source = pytest.mark.parametrize("source", ["account", "system"])


def settings(server: NatsServer, source: SourceName, **changes: Any) -> SystemSettings:
    login = APP if source == "account" else SYS
    beside = EventAccountSettings(
        urls=(server.url,), user=APP.user, password=Secret(APP.password), name="APP"
    )
    return SystemSettings(
        name="test", source=source, urls=(server.url,), user=login.user,
        password=Secret(login.password), account="APP" if source == "account" else None,
        config_interval=1.0,
        events=EventSettings(account=None if source == "account" else beside), **changes,
    )  # fmt: skip


def counted(*streams: CountedStreamSettings, most: int = 10_000) -> SubjectCountSettings:
    return SubjectCountSettings(streams=streams, max_subjects=most)


async def series(poller: SystemPoller, name: str, label: str) -> dict[str, float]:
    """After one more poll: the values of a metric by one label."""
    await poller.poll_once()
    samples = samples_of(text_of(poller.served(time.time())))
    return {s.labels[label]: s.value for s in samples if s.name == f"streamgauge_{name}"}


def own(poller: SystemPoller, name: str) -> dict[tuple[str, ...], float]:
    """A metric of the exporter about this system."""
    found = state_samples("test", poller.state, time.time())
    return {
        each.labels[1:]: each.value for each in found if each.metric.name == f"streamgauge_{name}"
    }


async def publish_orders(api: Api) -> None:
    for name in ("ORDERS", "OTHERS"):
        await api.stream(name, subjects=[f"{name.lower()}.>"])
    for subject, number in (("eu.new", 5), ("eu.paid", 3), ("us.new", 4), ("ap.new", 1)):
        await api.publish(f"orders.{subject}", number)
    await api.publish("others.x", 2)


@each_source
async def test_messages_are_counted_by_subject_the_largest_first(
    nats_server: NatsServer, source: SourceName
) -> None:
    wanted = counted(CountedStreamSettings(name="ORDERS", top=2))
    async with connected(nats_server) as client:
        await publish_orders(Api(client))
        async with whole_poller(settings(nats_server, source, subject_counts=wanted)) as poller:
            if source == "system":
                await poller.poll_once()  # the account of the events gets its name
            found = await series(poller, "stream_subject_messages", "subject")
            assert found == {"orders.eu.new": 5, "orders.us.new": 4}
            assert await series(poller, "stream_subjects_hidden", "stream") == {"ORDERS": 2}
            assert own(poller, "request_success")[("subject_counts",)] == 1


async def test_a_filter_counts_only_what_it_matches(nats_server: NatsServer) -> None:
    wanted = counted(
        CountedStreamSettings(name="ORDERS", filter="orders.eu.*"),
        CountedStreamSettings(name="OTHERS", filter="others.none"),
    )
    async with connected(nats_server) as client:
        await publish_orders(Api(client))
        async with whole_poller(settings(nats_server, "account", subject_counts=wanted)) as poller:
            found = await series(poller, "stream_subject_messages", "subject")
            assert found == {"orders.eu.new": 5, "orders.eu.paid": 3}
            hidden = await series(poller, "stream_subjects_hidden", "stream")
            assert hidden == {"ORDERS": 0, "OTHERS": 0}


async def test_a_stream_with_too_many_subjects_is_skipped_and_says_so(
    nats_server: NatsServer,
) -> None:
    wanted = counted(
        CountedStreamSettings(name="ORDERS"),
        CountedStreamSettings(name="OTHERS", filter="others.x"),
        most=3,
    )
    async with connected(nats_server) as client:
        await publish_orders(Api(client))
        async with whole_poller(settings(nats_server, "account", subject_counts=wanted)) as poller:
            found = await series(poller, "stream_subject_messages", "subject")
            assert found == {"others.x": 2}
            assert own(poller, "request_skipped") == {("subject_counts", "ceiling"): 1}


async def test_between_two_rounds_the_counts_stay_until_the_stream_is_gone(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = counted(CountedStreamSettings(name="OTHERS"), CountedStreamSettings(name="MISSPELT"))
    async with connected(nats_server) as client:
        api = Api(client)
        await publish_orders(api)
        async with whole_poller(settings(nats_server, "account", subject_counts=wanted)) as poller:
            assert await series(poller, "stream_subject_messages", "subject") == {"others.x": 2}
            (said,) = [each for each in caplog.records if "no such stream" in each.getMessage()]
            assert said.fields == {"stream": "MISSPELT"}  # type: ignore[attr-defined]
            await api.publish("others.x", 1)
            assert await series(poller, "stream_subject_messages", "subject") == {"others.x": 2}
            await api.request("STREAM.DELETE.OTHERS")
            assert await series(poller, "stream_subject_messages", "subject") == {}


async def test_without_the_settings_nothing_is_requested_and_nothing_exported(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client:
        await publish_orders(Api(client))
        async with whole_poller(settings(nats_server, "account")) as poller:
            assert await series(poller, "stream_subject_messages", "subject") == {}
            assert await series(poller, "stream_metadata_info", "key") == {}
            assert ("subject_counts",) not in own(poller, "request_success")
            assert own(poller, "metadata_dropped_values") == {}


@each_source
async def test_chosen_metadata_are_labels_and_nothing_else_is(
    nats_server: NatsServer, source: SourceName
) -> None:
    if not since(nats_server.version, "2.10"):
        pytest.skip("no metadata before 2.10")
    wanted = MetadataSettings(keys=("tier", "cost-centre"), max_series=4)
    async with connected(nats_server) as client:
        api = Api(client)
        await api.stream("A", subjects=["a"], metadata={"tier": "gold", "secret": "x"})
        await api.stream("B", subjects=["b"], metadata={"tier": "x" * 129, "cost-centre": "7"})
        await api.stream("C", subjects=["c"])
        for number in range(3):
            name = f"worker{number}"
            await api.consumer("C", name, durable_name=name, metadata={"tier": f"{number}"})
        async with whole_poller(settings(nats_server, source, metadata=wanted)) as poller:
            assert await series(poller, "stream_metadata_info", "value") == {"gold": 1, "7": 1}
            # Four series fit: two of streams, two of three consumers.
            assert await series(poller, "consumer_metadata_info", "consumer") == {
                "worker0": 1, "worker1": 1,
            }  # fmt: skip
            dropped = own(poller, "metadata_dropped_values")
            assert dropped == {("limit",): 1, ("text",): 1}
