"""The person at the end of the line: a webhook that keeps every notification and can be waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from streamgauge.demo.processes.ports import free_ports

DEADLINE_SECONDS: Final = 140.0  # below the limit of a test, so that the failure says why
WATCHDOG: Final = "JetStreamWatchdog"
_FIRING: Final = "firing"

Labels = Mapping[str, str]
Key = frozenset[tuple[str, str]]


def key_of(labels: Labels) -> Key:
    return frozenset(labels.items())


def spoken(key: Key) -> str:
    labels = dict(key)
    name = labels.pop("alertname", "?")
    return f"{name}{{{', '.join(f'{k}={v}' for k, v in sorted(labels.items()))}}}"


@dataclass(frozen=True)
class Post:
    """One notification: a group of alerts as it was sent."""

    receiver: str
    group: str
    firing: frozenset[Key]
    resolved: frozenset[Key]
    texts: tuple[str, ...]  # every annotation of every alert
    links: frozenset[str]  # to runbooks and pages
    at: float  # seconds since the inbox was opened

    def __str__(self) -> str:
        changes = [f"+{spoken(each)}" for each in self.firing]
        changes += [f"-{spoken(each)}" for each in self.resolved]
        return f"{self.at:6.1f} s {self.receiver}: {' '.join(sorted(changes))}"


@dataclass
class Inbox:
    """All notifications in the order in which they came. The watchdog's are kept apart."""

    posts: list[Post] = field(default_factory=list)
    watchdogs: int = 0
    patience: float = DEADLINE_SECONDS
    opened: float = field(default_factory=time.monotonic)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def receive(self, request: web.Request) -> web.Response:
        post = _post(await request.json(), self.now)
        async with self._news:
            if post.receiver == "watchdog":
                self.watchdogs += 1
            else:
                self.posts.append(post)
            self._news.notify_all()
        return web.Response()

    @property
    def now(self) -> float:
        """On the clock of its posts."""
        return time.monotonic() - self.opened

    def is_resolved(self, labels: Labels) -> bool:
        return any(key_of(labels) in post.resolved for post in self.posts)

    async def until_firing(self, labels: Labels) -> Post:
        return await self._until(key_of(labels), "does not arrive", resolved=False)

    async def until_resolved(self, labels: Labels) -> Post:
        return await self._until(key_of(labels), "does not resolve", resolved=True)

    async def until_watched(self) -> None:
        """Waits for the watchdog alert: notifications work end to end."""
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(lambda: self.watchdogs > 0)

    def notification_count(self, labels: Labels) -> int:
        """How many notifications said that it fires. A change of one alert repeats its whole group;
        that does not count for the alerts that fired before."""
        key, times = key_of(labels), 0
        before: dict[str, frozenset[Key]] = {}
        for post in self.posts:
            known = before.get(post.group, frozenset())
            repeated = post.firing == known and not post.resolved
            times += key in post.firing and (key not in known or repeated)
            before[post.group] = post.firing
        return times

    def receivers_of(self, labels: Labels) -> set[str]:
        return {post.receiver for post in self.posts if key_of(labels) in post.firing}

    def fired(self, *receivers: str) -> set[Key]:
        return {key for post in self.posts if post.receiver in receivers for key in post.firing}

    def links(self) -> set[str]:
        return {link for post in self.posts for link in post.links}

    async def _until(self, key: Key, otherwise: str, *, resolved: bool) -> Post:
        def found() -> Post | None:
            return next(
                (p for p in self.posts if key in (p.resolved if resolved else p.firing)), None
            )

        try:
            async with asyncio.timeout(self.patience), self._news:
                await self._news.wait_for(lambda: found() is not None)
        except TimeoutError:
            came = "\n".join(str(post) for post in self.posts) or "nothing"
            raise AssertionError(f"{spoken(key)} {otherwise}; what came:\n{came}") from None
        post = found()
        assert post is not None
        return post


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Inbox, str]]:
    """An inbox and the address to post to."""
    inbox, port = Inbox(), free_ports(1)[0]
    app = web.Application()
    app.router.add_post("/", inbox.receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield inbox, f"http://127.0.0.1:{port}/"
    finally:
        await runner.cleanup()


def _post(body: Mapping[str, Any], at: float) -> Post:
    alerts = body["alerts"]
    return Post(
        receiver=body["receiver"],
        group=body["groupKey"],
        firing=frozenset(_with_status(alerts, firing=True)),
        resolved=frozenset(_with_status(alerts, firing=False)),
        texts=tuple(text for alert in alerts for text in alert["annotations"].values()),
        links=frozenset(
            alert["annotations"][name]
            for alert in alerts
            for name in ("runbook_url", "dashboard_url")
        ),
        at=at,
    )


def _with_status(alerts: Iterable[Mapping[str, Any]], *, firing: bool) -> Iterable[Key]:
    return (key_of(a["labels"]) for a in alerts if (a["status"] == _FIRING) is firing)
