"""`streamgauge demo break|heal|faults`: talks to the demo that runs on this machine."""

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

from streamgauge.demo.console import say
from streamgauge.demo.faults.registry import KINDS

ANSWER_SECONDS = 60.0


class NoDemoError(Exception):
    """One line: there is no demo to talk to, or it refused."""


def _notes() -> Path:
    """A folder that only we may write: whoever else left one there is refused."""
    folder = Path(tempfile.gettempdir()) / f"streamgauge-demos-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise NoDemoError(f"{folder} belongs to somebody else")
    return folder


@contextmanager
def findable(address: str) -> Iterator[None]:
    """While it lasts, break and heal find the demo. Of several demos the latest one is found."""
    note = _notes() / f"{time.time_ns()}-{os.getpid()}"
    note.write_text(address, encoding="utf-8")
    try:
        yield
    finally:
        note.unlink(missing_ok=True)
        with suppress(OSError):  # another demo is still noted there
            note.parent.rmdir()


def turn(what: str, names: list[str]) -> int:
    """`what` is break or heal; each name is told with what to expect."""
    for name in names:
        told = _post(f"/{what}/{name}")
        if what == "break":
            say(sys.stdout, f"{name}: {told['what']}")
            say(sys.stdout, f"  look at {told['place']}; the phone will show {_either(told)}")
        else:
            say(sys.stdout, f"{name}: healed: {told['remedy']}")
    return 0


def list_faults() -> int:
    width = max(len(kind.name) for kind in KINDS)
    for kind in KINDS:
        say(sys.stdout, f"{kind.name:<{width}}  {kind.what}")
        three = " (needs --nodes 3)" if kind.needs_cluster else ""
        say(sys.stdout, f"{'':<{width}}  {kind.place}: {' or '.join(kind.alerts)}{three}")
    return 0


def _either(told: dict[str, object]) -> str:
    alerts = told["alerts"]
    return " or ".join(map(str, alerts)) if isinstance(alerts, list) else str(alerts)


def _post(path: str) -> dict[str, object]:
    notes = sorted(_notes().iterdir(), reverse=True)
    if not notes:
        with suppress(OSError):
            _notes().rmdir()
        raise NoDemoError("no demo runs here; start one with `streamgauge demo`")
    address = notes[0].read_text(encoding="utf-8")
    request = urllib.request.Request(f"{address}{path}", method="POST")  # noqa: S310 (our own address)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:  # noqa: S310
            told: dict[str, object] = json.load(response)
            return told
    except urllib.error.HTTPError as error:
        raise NoDemoError(error.read().decode().strip()) from error
    except OSError as error:
        raise NoDemoError(f"the demo at {address} does not answer: {error}") from error
