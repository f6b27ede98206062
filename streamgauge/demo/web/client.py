"""`streamgauge demo break|heal|faults`: sends requests to the demo on this machine."""

import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streamgauge.demo.console import print_line
from streamgauge.demo.faults.registry import KINDS

REQUEST_TIMEOUT_SECONDS = 60.0


class NoDemoError(Exception):
    """One line: no demo runs, or it refused the request."""


def _addresses() -> Path:
    """The directory with the addresses of running demos, writable by this user only."""
    folder = Path(tempfile.gettempdir()) / f"streamgauge-demos-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise NoDemoError(f"{folder} belongs to another user")
    return folder


@contextmanager
def advertised(address: str) -> Iterator[None]:
    """Meanwhile break and heal find the demo. Of several demos they find the latest."""
    file = _addresses() / f"{time.time_ns()}-{os.getpid()}"
    file.write_text(address, encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        with suppress(OSError):  # another demo still runs
            file.parent.rmdir()


def switch_faults(what: str, names: list[str]) -> int:
    """`what` is break or heal; prints what to expect of each fault."""
    for name in names:
        response = _post(f"/{what}/{name}")
        if what == "break":
            print_line(sys.stdout, f"{name}: {response['what']}")
            print_line(
                sys.stdout, f"  look at {response['place']}; expect the alert {_either(response)}"
            )
        else:
            print_line(sys.stdout, f"{name}: healed: {response['remedy']}")
    return 0


def list_faults() -> int:
    width = max(len(kind.name) for kind in KINDS)
    for kind in KINDS:
        print_line(sys.stdout, f"{kind.name:<{width}}  {kind.what}")
        three = " (needs --nodes 3)" if kind.needs_cluster else ""
        print_line(sys.stdout, f"{'':<{width}}  {kind.place}: {' or '.join(kind.alerts)}{three}")
    return 0


def _either(response: dict[str, object]) -> str:
    alerts = response["alerts"]
    return " or ".join(map(str, alerts)) if isinstance(alerts, list) else str(alerts)


def _post(path: str) -> dict[str, object]:
    files = sorted(_addresses().iterdir(), reverse=True)
    if not files:
        with suppress(OSError):
            _addresses().rmdir()
        raise NoDemoError("no demo runs here; start one with `streamgauge demo`")
    address = files[0].read_text(encoding="utf-8")
    request = urllib.request.Request(f"{address}{path}", method="POST")  # noqa: S310 (our own address)
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_SECONDS) as body:  # noqa: S310
            response: dict[str, object] = json.load(body)
            return response
    except urllib.error.HTTPError as error:
        with error:  # closes the response
            raise NoDemoError(error.read().decode().strip()) from error
    except OSError as error:
        raise NoDemoError(f"the demo at {address} does not respond: {error}") from error
