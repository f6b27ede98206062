"""A real Alertmanager for tests, on a free port; Debian's looks for its texts in /usr/share."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from streamgauge.demo.child import Child
from streamgauge.demo.fetching import ProgramMissingError
from streamgauge.demo.ports import free_ports
from streamgauge.demo.programs import alertmanager
from streamgauge.demo.readiness import wait_until_ready

_TEXTS = Path("share/prometheus/alertmanager/default.tmpl")


@cache
def command() -> tuple[str, ...]:
    """Alertmanager, where need be with the share/ that it was unpacked with instead of /usr/share."""
    program = alertmanager()
    if program is None:
        raise ProgramMissingError("alertmanager: not available")
    usr = program.parent.parent
    if not (usr / _TEXTS).is_file() or (Path("/usr") / _TEXTS).is_file():
        return (str(program),)
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "true"], check=False).returncode
    ):
        raise ProgramMissingError(
            "alertmanager: its texts are not installed, and unshare is barred"
        )
    mounted = f'mount --bind "{usr}/share" /usr/share && exec "$@"'
    return ("unshare", "-rm", "sh", "-c", mounted, "alertmanager", str(program))


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
        *await asyncio.to_thread(command),
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
