"""The lab: a server or a cluster, the exporter with the tap, Prometheus, Alertmanager and the shipped rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from support.alert_pipeline.config import ACCOUNT_ALONE, EXPORTER, Tempo
from support.alert_pipeline.pipeline import pipeline
from support.lab.failure import Lab
from support.lab.recorder import Recorder, recording
from support.nats.clock_proxy import WrongClock, nats_with_clock
from support.nats.servers import APP, NatsCluster, NatsServer, connected, default_options
from support.recordings.scenario import Api

_NUMBERS: Final = ("dedupe_memory=1MiB",)
_THRESHOLDS: Final = "thresholds: {{replica_divergence_messages: 5}}\n"
# Waits are a sixtieth, but longer than the exporter takes for its slowest requests.
FAST: Final = Tempo(speed=60, least_wait=25.0, numbers=_NUMBERS)
# For the short form: as fast as polls of two seconds allow.
FASTEST: Final = Tempo(speed=200, least_wait=8.0, numbers=_NUMBERS)
# A busy machine must not look like a request that fails.
_POLL_TIMEOUT_SECONDS: Final = 10.0


@asynccontextmanager
async def laboratory(
    folder: Path,
    prepare: Callable[[Lab], Awaitable[None]],
    tempo: Tempo = FAST,
    site: NatsServer | NatsCluster | None = None,
    clock: WrongClock | None = None,
) -> AsyncIterator[tuple[Lab, Recorder]]:
    """All is prepared and everything is young when the block starts.

    `clock`: of the only server, as the exporter sees it."""
    async with AsyncExitStack() as stack:
        site = site or NatsServer(options=default_options())
        await stack.enter_async_context(site)
        nodes = site.nodes if isinstance(site, NatsCluster) else [site]
        client = await stack.enter_async_context(connected(nodes[0], APP))
        lab = Lab(nodes, Api(client), tempo.speed)
        stack.push_async_callback(lab.close)
        await prepare(lab)
        urls = [node.url for node in nodes]
        if clock is not None:
            proxy = nats_with_clock(nodes[0].ports.client, clock)
            urls = [await stack.enter_async_context(proxy)]
        systems = _THRESHOLDS + EXPORTER + ACCOUNT_ALONE
        watched = await stack.enter_async_context(
            pipeline(folder, urls, tempo, _POLL_TIMEOUT_SECONDS, systems)
        )
        yield lab, await stack.enter_async_context(recording(watched))
