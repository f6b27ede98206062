"""Runs `streamgauge audit` in this process and parses its output."""

import asyncio
import io
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any
from unittest import mock

from support.nats.servers import APP, Login, NatsCluster, NatsServer

from exporter.audit.command.main import main
from exporter.audit.registry import all_checks

Found = tuple[str, str, str]  # check, stream or server or account, consumer


@dataclass(frozen=True)
class AuditRun:
    code: int
    printed: str
    complaints: str

    @cached_property
    def system(self) -> dict[str, Any]:
        assert self.printed, self.complaints
        (system,) = json.loads(self.printed)["systems"]
        found: dict[str, Any] = system
        return found

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.system["findings"]
        return found

    @cached_property
    def found(self) -> frozenset[Found]:
        return frozenset(
            (one["check"], one["stream"] or one["server"] or one["account"], one["consumer"])
            for one in self.findings
        )

    def evidence(self, check: str, name: str, consumer: str = "") -> str:
        wanted = (check, name, consumer)
        for one in self.findings:
            name_of = one["stream"] or one["server"] or one["account"]
            if (one["check"], name_of, one["consumer"]) == wanted:
                return str(one["evidence"])
        raise AssertionError(f"{wanted} is not among {sorted(self.found)}")

    def about(self, check: str) -> frozenset[str]:
        return frozenset(name for code, name, _ in self.found if code == check)

    @property
    def broken(self) -> list[str]:
        """Checks that raised an exception."""
        return [one["check"] for one in self.system["not_evaluated"] if one["broken"]]


async def audit(
    where: NatsServer | NatsCluster | str,
    login: Login | None = APP,
    *flags: str,
    source: str = "account",
    polled: asyncio.Event | None = None,
) -> AuditRun:
    """Runs the command in a thread, because it starts its own event loop.

    `polled` is set between the first poll and the second.
    """
    argv = ["--source", source, "--format", "json", *flags]
    argv += [part for url in _urls(where, source) for part in ("--nats", url)]
    secrets = {}
    if login is not None and source != "monitor":
        argv += ["--user", login.user]
        secrets["STREAMGAUGE_PASSWORD"] = login.password
    loop = asyncio.get_running_loop()

    def progress(text: str) -> None:
        if polled is not None and "polling again" in text:
            loop.call_soon_threadsafe(polled.set)

    with mock.patch("exporter.audit.command.main._progress", progress):
        return await asyncio.to_thread(_run, argv, secrets)


def _urls(where: NatsServer | NatsCluster | str, source: str) -> list[str]:
    if isinstance(where, str):
        return [where]
    nodes = where.nodes if isinstance(where, NatsCluster) else [where]
    return [node.monitor_url if source == "monitor" else node.url for node in nodes]


def _run(argv: list[str], secrets: dict[str, str]) -> AuditRun:
    all_checks()  # import all checks before an event loop runs
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, secrets), redirect_stdout(out), redirect_stderr(err):
        code = main(argv)
    return AuditRun(code, out.getvalue(), err.getvalue())


@contextmanager
def lowered(numbers: dict[str, dict[str, float]]) -> Iterator[None]:
    """Replaces constants of checks, by code, that a short test cannot reach."""
    with ExitStack() as patches:
        for code, values in numbers.items():
            check = import_module(f"exporter.audit.checks.{code.replace('-', '_')}")
            for name, value in values.items():
                patches.enter_context(mock.patch.object(check, name, value))
        yield
