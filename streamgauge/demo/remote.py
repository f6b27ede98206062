"""`streamgauge demo break|heal|faults`: talks to the demo that runs on this machine."""

import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamgauge.demo.cast import KINDS
from streamgauge.demo.text import say

ANSWER_SECONDS = 60.0


class NoDemoError(Exception):
    """One line: there is no demo to talk to, or it refused."""


def _note() -> Path:
    return Path(tempfile.gettempdir()) / f"streamgauge-demo-{os.getuid()}.json"


@contextmanager
def findable(address: str) -> Iterator[None]:
    """While it lasts, break and heal find the demo. Of two demos the later one is found."""
    note = _note()
    note.write_text(json.dumps({"address": address, "pid": os.getpid()}), encoding="utf-8")
    try:
        yield
    finally:
        if note.exists() and json.loads(note.read_text("utf-8")).get("pid") == os.getpid():
            note.unlink()


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
    try:
        address = json.loads(_note().read_text(encoding="utf-8"))["address"]
    except FileNotFoundError as error:
        raise NoDemoError("no demo runs here; start one with `streamgauge demo`") from error
    request = urllib.request.Request(f"{address}{path}", method="POST")  # noqa: S310 (our own address)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310
            told: dict[str, object] = json.load(answer)
            return told
    except urllib.error.HTTPError as error:
        raise NoDemoError(error.read().decode().strip()) from error
    except OSError as error:
        raise NoDemoError(f"the demo at {address} does not answer: {error}") from error
