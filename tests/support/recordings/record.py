"""Records requests of the sources and responses of real servers: `python -m support.recordings.record [VERSION...]`."""

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from support.nats.servers import (
    APP,
    NEWEST,
    OLDEST,
    OTHER,
    SYS,
    VERSIONS,
    Login,
    NatsCluster,
    NatsServer,
    connected,
)
from support.recordings.recording_file import RecordingFile
from support.recordings.recording_transports import RecordingLink, RecordingMonitor, RecordingWriter
from support.recordings.replay import FOLDER, SOURCES, Recording
from support.recordings.scenario import options, standalone
from support.recordings.scenario_cluster import clustered, lose

from exporter.sources.account import AccountSource
from exporter.sources.monitor import HttpAccess
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.system import SystemSource
from exporter.sources.transport.credentials import NatsAccess

COMMAND: Final = "make record"
POLL_SECONDS: Final = 20.0
# Long: a second poll requests only the state, even on a slow machine.
OPTIONS: Final = SourceOptions(system="nats", config_interval=3600, health_interval=3600)
_INFO_KEPT: Final = ("server_name", "version", "domain", "cluster", "jetstream")

Recorded = AccountSource | SystemSource | RecordingMonitor


@dataclass
class Recorder:
    """One kind of source on real servers of one version."""

    version: str
    kind: str
    servers: Sequence[NatsServer]

    def __post_init__(self) -> None:
        self._writer = RecordingWriter(self.servers)
        self._opened: list[Recorded] = []

    def open(self, alive: Sequence[NatsServer]) -> Recorded:
        """A source without state, connected to a server that stays alive."""
        source = self._source(alive)
        self._opened.append(source)
        return source

    def _source(self, alive: Sequence[NatsServer]) -> Recorded:
        if self.kind == "monitor":
            urls = tuple(server.monitor_url for server in self.servers)
            return RecordingMonitor(OPTIONS, HttpAccess(urls), writer=self._writer)
        login = SYS if self.kind == "system" else APP
        connection = RecordingLink(_access(alive, login), self._writer)
        return (
            SystemSource(OPTIONS, connection)
            if login is SYS
            else AccountSource(OPTIONS, connection)
        )

    async def record(self, scenario: str, *polled: Recorded) -> None:
        """Polls all sources at one point in time: one response is kept per request."""
        place = Recording(self.version, scenario, self.kind)
        about = {"server": self.version, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        file = self._writer.file = RecordingFile(about | {"command": COMMAND})
        for source in polled:
            await source.poll(time.monotonic() + POLL_SECONDS)
            if not isinstance(source, RecordingMonitor):
                info = source.connection.server_info
                file.server_info = {key: info[key] for key in _INFO_KEPT if key in info}
        await asyncio.to_thread(file.save, place.path)
        print(f"{place.path.relative_to(FOLDER)}: {len(file.exchanges)} requests", flush=True)

    async def close(self) -> None:
        for source in self._opened:
            await source.close()


def _access(servers: Sequence[NatsServer], login: Login) -> NatsAccess:
    return NatsAccess(tuple(server.url for server in servers), login.user, login.password)


async def record_standalone(version: str) -> None:
    async with NatsServer(version, options()) as server:
        recorders = [Recorder(version, kind, [server]) for kind in SOURCES]
        async with (
            connected(server) as client,
            connected(server, OTHER) as other,
            standalone(client, other, version),
        ):
            for recorder in recorders:
                source = recorder.open([server])
                # The second poll of a source sends fewer requests than its first.
                await recorder.record("standalone", source, source)
        for recorder in recorders:
            await recorder.close()


async def record_cluster(version: str) -> None:
    """All three servers, then without the one that holds the only copy of some assets."""
    async with NatsCluster(3, version, options()) as cluster:
        recorders = [Recorder(version, kind, cluster.nodes) for kind in SOURCES]
        async with clustered(cluster) as alone:
            alive = [node for node in cluster.nodes if node.name != alone]
            sources = [recorder.open(alive) for recorder in recorders]
            for recorder, source in zip(recorders, sources, strict=True):
                await recorder.record("cluster", source)
        await lose(cluster, alone)
        for recorder, source in zip(recorders, sources, strict=True):
            await recorder.record("one-down", source, recorder.open(alive))
        for recorder in recorders:
            await recorder.close()


async def record(versions: Sequence[str]) -> None:
    for version in versions:
        await record_standalone(version)
        if version in (OLDEST, NEWEST):
            await record_cluster(version)


def main(versions: Sequence[str]) -> int:
    unknown = [version for version in versions if version not in VERSIONS]
    if unknown:
        print(f"no server {unknown[0]}, only {', '.join(VERSIONS)}", file=sys.stderr)
        return 2
    asyncio.run(record(versions or VERSIONS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
