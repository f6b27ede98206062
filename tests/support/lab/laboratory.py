"""The lab: one server, the exporter with the tap, Prometheus, Alertmanager and the shipped rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from support.alert_pipeline.config import Tempo
from support.alert_pipeline.pipeline import pipeline
from support.lab.failure import Lab
from support.lab.recorder import Recorder
from support.nats.servers import APP, NatsServer, connected, default_options
from support.recordings.scenario import Api

from streamgauge.demo.pipeline.alerting import SMALL_NUMBERS

# Waits are a sixtieth, but longer than the exporter takes for its slowest requests.
FAST: Final = Tempo(speed=60, least_wait=25.0, numbers=(*SMALL_NUMBERS, "dedupe_memory=1MiB"))
# A busy machine must not look like a request that fails.
_POLL_TIMEOUT_SECONDS: Final = 10.0


@asynccontextmanager
async def laboratory(
    folder: Path, prepare: Callable[[Lab], Awaitable[None]], tempo: Tempo = FAST
) -> AsyncIterator[tuple[Lab, Recorder]]:
    """All is prepared and nothing is young when the block starts."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(options=default_options()))
        client = await stack.enter_async_context(connected(server, APP))
        lab = Lab(server, Api(client))
        stack.push_async_callback(lab.close)
        await prepare(lab)
        watched = await stack.enter_async_context(
            pipeline(folder, [server.url], tempo, _POLL_TIMEOUT_SECONDS)
        )
        recorder = Recorder(watched)
        lab.start(recorder.run())
        await watched.until_no_asset_is_young()
        yield lab, recorder
