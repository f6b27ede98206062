"""A real Alertmanager for tests, on a free port; Debian's expects its templates in /usr/share."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from streamgauge.demo.pipeline.alerting import alertmanager_command
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import alertmanager
from streamgauge.demo.processes.readiness import wait_until_ready


@cache
def amtool() -> Path:
    program = alertmanager()
    found = shutil.which("amtool") or (program and program.parent / "amtool")
    if found is None or not Path(found).is_file():
        raise ProgramMissingError("amtool: not available")
    return Path(found)


@asynccontextmanager
async def running(configuration: Path, folder: Path) -> AsyncIterator[str]:
    """Its address, once it is ready."""
    port = free_ports(1)[0]
    child = Child("alertmanager", folder / "alertmanager.log")
    await child.start(
        *await asyncio.to_thread(alertmanager_command),
        f"--config.file={configuration}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    )
    try:
        address = f"http://127.0.0.1:{port}"
        await wait_until_ready(child, f"{address}/-/ready")
        yield address
    finally:
        await child.stop()
