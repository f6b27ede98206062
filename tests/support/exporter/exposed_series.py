"""What an exporter would serve of a test's servers: one poll, read back from its own text."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from support.nats.servers import APP, SYS, NatsCluster, NatsServer

from exporter.exposition.text_format import Format, assemble
from exporter.metric import PREFIX, Level
from exporter.polling.loop import SystemPoller
from exporter.polling.supervisor import system_samples
from exporter.polling.wiring import make_poller
from exporter.samples.self_metrics import SelfMetrics, SelfSample
from exporter.settings.config import ExporterSettings, SourceName, SystemSettings
from streamgauge.serving.settings.loader import Secret

SOURCES: Final[tuple[SourceName, ...]] = ("account", "system", "monitor")
SYSTEM_NAME: Final = "test"

Labels = frozenset[tuple[str, str]]
Series = tuple[str, Labels]  # the name is without the prefix that all of ours have


def series(name: str, **labels: str) -> Series:
    """A series of the test's system."""
    return name, frozenset({"system": SYSTEM_NAME, **labels}.items())


@dataclass(frozen=True)
class Exposed:
    """One exposition: the value of every series."""

    samples: Mapping[Series, float]

    def value(self, name: str, **labels: str) -> float | None:
        """None when there is no such series."""
        return self.samples.get(series(name, **labels))

    def named(self, name: str, **labels: str) -> dict[Labels, float]:
        """All series of that name whose labels include these."""
        wanted = set(labels.items())
        return {
            found: value
            for (metric, found), value in self.samples.items()
            if metric == name and wanted <= found
        }

    def among(self, wanted: Iterable[Series]) -> dict[Series, float | None]:
        """The part that a test has a truth for; None for what is absent."""
        return {one: self.samples.get(one) for one in wanted}


def settings_of(
    target: NatsServer | NatsCluster, source: SourceName, system: str = SYSTEM_NAME
) -> SystemSettings:
    """Polls as a user of the default account layout."""
    nodes = target.nodes if isinstance(target, NatsCluster) else [target]
    login = {"account": APP, "system": SYS, "monitor": None}[source]
    return SystemSettings(
        name=system,
        source=source,
        urls=tuple(node.monitor_url if source == "monitor" else node.url for node in nodes),
        user=login.user if login else "",
        password=Secret(login.password) if login else None,
        # A 2.9 server does not report the account name to an ordinary user.
        account="APP" if source == "account" else None,
    )


@asynccontextmanager
async def polling(
    target: NatsServer | NatsCluster, source: SourceName
) -> AsyncIterator[SystemPoller]:
    """With every metric there is."""
    poller = make_poller(ExporterSettings(detail=Level.FULL), settings_of(target, source))
    try:
        yield poller
    finally:
        await poller.source.close()


async def polled(poller: SystemPoller) -> Exposed:
    await poller.poll_once()
    return await served(poller, time.time())


async def served(poller: SystemPoller, now: float) -> Exposed:
    """What a scrape at that time gets, without a new poll."""
    return read_back(await asyncio.to_thread(_text, poller, now))


def read_back(text: str) -> Exposed:
    """Read by prometheus-client, so by a client else's rules."""
    samples: dict[Series, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.startswith(PREFIX):
                continue  # of the process that runs the test
            key = sample.name.removeprefix(PREFIX), frozenset(sample.labels.items())
            if key in samples:
                raise AssertionError(f"a scrape would be refused: {key} is there twice")
            samples[key] = sample.value
    return Exposed(samples)


@dataclass(frozen=True)
class _Oneself:
    poller: SystemPoller
    now: float

    def self_samples(self) -> Iterable[SelfSample]:
        return system_samples(self.poller, self.now)


def _text(poller: SystemPoller, now: float) -> str:
    own = SelfMetrics(_Oneself(poller, now), "0", "0").text(Format.TEXT)
    exposition = assemble([poller.served(now).blocks], own, Format.TEXT)
    return b"".join(exposition.plain_chunks()).decode()
