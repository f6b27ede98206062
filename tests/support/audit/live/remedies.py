"""Runs the command of a remedy with the nats CLI, or sends the same change to the JetStream API."""

import asyncio
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from support.audit.live.assets import SECOND, change, change_consumer
from support.nats.cli_commands import nats_cli
from support.nats.servers import APP, NatsServer
from support.recordings.scenario import Api

from exporter.sources.decoding.owner_thresholds import duration_seconds

Value = Callable[[str], Any]


def nanoseconds(text: str) -> int:
    found = duration_seconds(text)
    assert found is not None, text
    return int(found * SECOND)


def size(text: str) -> int:
    units = {"GB": 10**9, "MB": 10**6, "KB": 10**3}
    return int(text[:-2]) * units[text[-2:]] if text[-2:] in units else int(text)


_STREAM: Final[dict[str, tuple[str, Value]]] = {
    "--max-age": ("max_age", nanoseconds),
    "--dupe-window": ("duplicate_window", nanoseconds),
    "--max-bytes": ("max_bytes", size),
    "--max-msgs": ("max_msgs", int),
    "--max-consumers": ("max_consumers", int),
    "--discard": ("discard", str),
    "--compression": ("compression", str),
    "--retention": ("retention", str),
    "--replicas": ("num_replicas", int),
}
_STREAM_SWITCHES: Final = {"--ack": {"no_ack": False}, "--allow-direct": {"allow_direct": True}}
_CONSUMER: Final[dict[str, tuple[str, Value]]] = {
    "--max-deliver": ("max_deliver", int),
    "--max-pending": ("max_ack_pending", int),
    "--wait": ("ack_wait", nanoseconds),
    "--inactive-threshold": ("inactive_threshold", nanoseconds),
    "--sample": ("sample_freq", str),
}


@cache
def nats_program() -> str | None:
    """The nats CLI, if it has the version that the commands are written for."""
    found = shutil.which("nats")
    if found is None:
        return None
    result = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return found if nats_cli().version in f"{result.stdout}{result.stderr}" else None


async def apply(server: NatsServer, api: Api, command: str) -> None:
    program = await asyncio.to_thread(nats_program)
    if program is not None:
        await _by_program(program, server, command)
    else:
        await _by_api(api, shlex.split(command)[1:])


async def _by_program(program: str, server: NatsServer, command: str) -> None:
    words, cli = shlex.split(command)[1:], await asyncio.to_thread(nats_cli)
    login = ("--server", server.url, "--user", APP.user, "--password", APP.password)
    # Without --force the CLI asks for confirmation.
    force = ("--force",) if cli.complaint([*words, "--force"]) is None else ()
    process = await asyncio.create_subprocess_exec(
        program, *words, *force, *login,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    result, _ = await process.communicate()
    assert process.returncode == 0, f"{command}: {result.decode()}"


async def _by_api(api: Api, words: list[str]) -> None:
    match words:
        case ["stream", "edit", name, *flags]:
            await change(api, name, **_changes(flags, _STREAM))
        case ["stream", "add", name, "--subjects", subject, *flags]:
            rest = [flag for flag in flags if flag != "--defaults"]
            await api.stream(name, subjects=[subject], **_changes(rest, _STREAM))
        case ["consumer", "edit", stream, name, *flags]:
            await change_consumer(api, stream, name, **_changes(flags, _CONSUMER))
        case ["consumer", "copy", stream, name, _, "--ephemeral", *flags]:
            # The CLI keeps the name, so the copy replaces the consumer.
            await change_consumer(api, stream, name, **_changes(flags, _CONSUMER))
        case ["consumer", "resume", stream, name]:
            await api.request(f"CONSUMER.PAUSE.{stream}.{name}", {})
        case ["kv", "edit", bucket, "--marker-ttl", age]:
            marker = {"subject_delete_marker_ttl": nanoseconds(age), "allow_msg_ttl": True}
            await change(api, f"KV_{bucket}", **marker)
        case _:
            raise AssertionError(f"unknown command, add it here: {words}")


def _changes(flags: list[str], known: dict[str, tuple[str, Value]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    words = iter(flags)
    for flag in words:
        if flag in _STREAM_SWITCHES:
            found |= _STREAM_SWITCHES[flag]
        elif flag == "--backoff":
            found["backoff"] = _linear(words)
        else:
            key, read = known[flag]
            found[key] = read(next(words))
    return found


def _linear(words: Any) -> list[int]:
    """--backoff linear --backoff-steps N --backoff-min A --backoff-max B, in this order."""
    assert next(words) == "linear"
    values = {next(words): next(words) for _ in range(3)}
    steps = int(values["--backoff-steps"])
    low, high = nanoseconds(values["--backoff-min"]), nanoseconds(values["--backoff-max"])
    return [low + (high - low) * step // (steps - 1) for step in range(steps)]
