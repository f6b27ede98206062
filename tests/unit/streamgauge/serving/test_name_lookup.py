"""Names that are looked up for long hold up no other work of the loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from streamgauge.serving.name_lookup import NameLookupLoop


class Resolver:
    """Responds when it is told to."""

    def __init__(self) -> None:
        self.respond = threading.Event()
        self.error: OSError | None = None
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, *_: int) -> list[Any]:
        self.asked.append(host)
        self.respond.wait()
        if self.error is not None:
            raise self.error
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.respond.set()


def run(work: Any) -> Any:
    with asyncio.Runner(loop_factory=NameLookupLoop) as runner:
        return runner.run(work)


def test_a_name_is_looked_up_once_at_a_time(resolver: Resolver) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await loop.getaddrinfo("slow.example", 4222)
        waiting = asyncio.create_task(loop.getaddrinfo("slow.example", 4222))
        await asyncio.sleep(0)
        resolver.respond.set()
        [(*_, address)] = await waiting
        assert address == ("127.0.0.1", 4222)
        assert resolver.asked == ["slow.example"]
        await loop.getaddrinfo("slow.example", 4222)
        assert resolver.asked == ["slow.example"] * 2

    run(work())


def test_threads_of_the_loop_stay_free_and_its_end_does_not_wait(resolver: Resolver) -> None:
    async def work() -> int:
        loop = asyncio.get_running_loop()
        lookups = [
            asyncio.create_task(loop.getaddrinfo(f"n{number}.example", 4222))
            for number in range(50)
        ]
        await asyncio.sleep(0)
        answer = await asyncio.to_thread(lambda: 7)
        for each in lookups:
            each.cancel()
        return answer

    assert run(work()) == 7
    assert not resolver.respond.is_set()


@pytest.mark.parametrize("error", [socket.gaierror(socket.EAI_NONAME, "unknown"), OSError("x")])
def test_an_error_reaches_who_asked(resolver: Resolver, error: OSError) -> None:
    resolver.error = error
    resolver.respond.set()

    async def work() -> None:
        with pytest.raises(type(error)):
            await asyncio.get_running_loop().getaddrinfo("nowhere.example", 4222)

    run(work())


def test_a_name_that_cannot_be_encoded_is_unknown() -> None:
    async def work() -> None:
        with pytest.raises(socket.gaierror):
            await asyncio.get_running_loop().getaddrinfo("a" * 70 + ".example", 4222)

    run(work())
