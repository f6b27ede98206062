"""Grafana for the demo, from a program on PATH or by a container engine."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.demo.pipeline.services import running
from streamgauge.demo.processes.child import STREAMGAUGE, Child
from streamgauge.demo.processes.program_cache import ProgramMissingError, run

IMAGE: Final = "docker.io/grafana/grafana:13.0.0"
HOW: Final = (
    "Install grafana, or podman or docker, and start the demo with --grafana. Or in your own: add "
    "this Prometheus as a data source, and import what streamgauge dashboards render writes."
)
DATASOURCE: Final = """\
apiVersion: 1
datasources:
  - name: Streamgauge demo
    uid: streamgauge-demo
    type: prometheus
    access: proxy
    url: {prometheus}
    isDefault: true
    jsonData: {{timeInterval: 2s}}
"""
BOARDS: Final = """\
apiVersion: 1
providers:
  - name: streamgauge
    folder: Streamgauge
    type: file
    options: {{path: {boards}}}
"""


@dataclass(frozen=True)
class Engine:
    """How Grafana is started here."""

    program: Path
    container: bool

    def command(self, settings: dict[str, str], folder: Path) -> list[str]:
        if self.container:
            given = [word for name, text in settings.items() for word in ("-e", f"{name}={text}")]
            mount = ["-v", f"{folder}:{folder}"]
            words = ["run", "--rm", "--network", "host", "--user", f"{os.getuid()}:{os.getgid()}"]
            if self.program.name == "podman":
                words.append("--userns=keep-id")  # without root, our id is root inside
            return [str(self.program), *words, *mount, *given, IMAGE]
        given = [f"{name}={text}" for name, text in settings.items()]
        return ["env", *given, *self._server()]

    def _server(self) -> list[str]:
        # The pages are beside the program or under /usr/share.
        homes = (self.program.resolve().parent.parent, Path("/usr/share/grafana"))
        home = next((each for each in homes if (each / "public").is_dir()), homes[-1])
        words = ["server"] if self.program.name == "grafana" else []
        return [str(self.program), *words, "--homepath", str(home)]


def find_engine(*, containers: bool = True) -> Engine | None:
    """A program on PATH, else a container engine: its image is a download of hundreds of MB."""
    for name in ("grafana", "grafana-server"):
        if found := shutil.which(name):
            return Engine(Path(found), container=False)
    for name in ("podman", "docker") if containers else ():
        if (found := shutil.which(name)) and _is_running(found):
            return Engine(Path(found), container=True)
    return None


def _is_running(engine: str) -> bool:
    """Whether its daemon runs; the command alone is not enough."""
    try:
        run([engine, "info"], what=engine)
    except ProgramMissingError:
        return False
    return True


@asynccontextmanager
async def grafana(engine: Engine, folder: Path, port: int, prometheus: str) -> AsyncIterator[Child]:
    """With our dashboards and the demo's Prometheus; anonymous access is enabled."""
    home = folder / "grafana"
    await asyncio.to_thread(_provision, home, prometheus)
    settings = {
        "GF_SERVER_HTTP_ADDR": "127.0.0.1",
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_PATHS_DATA": str(home / "data"),
        "GF_PATHS_LOGS": str(home / "logs"),
        "GF_PATHS_PROVISIONING": str(home / "provisioning"),
        "GF_AUTH_ANONYMOUS_ENABLED": "true",
        "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
    }
    command = engine.command(settings, home)
    ready = f"http://127.0.0.1:{port}/api/health"
    async with running("grafana", folder, command, ready) as child:
        yield child


def _provision(home: Path, prometheus: str) -> None:
    boards = home / "boards"
    for name in ("data", "logs", "provisioning/datasources", "provisioning/dashboards"):
        (home / name).mkdir(parents=True)
    run([*STREAMGAUGE, "dashboards", "render", "--out", str(boards)], what="boards")
    provisioning = home / "provisioning"
    (provisioning / "datasources" / "demo.yml").write_text(DATASOURCE.format(prometheus=prometheus))
    (provisioning / "dashboards" / "demo.yml").write_text(BOARDS.format(boards=boards))
