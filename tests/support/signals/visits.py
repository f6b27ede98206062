"""A consumer whose worker comes now and then."""

from __future__ import annotations

import random

from support.signals.consumer_polls import POLL, Polls, orders, worker

MINUTE = 60.0
HOUR = 3600.0


class Visited:
    """A worker that takes all that waits at each visit, while a message comes with each poll."""

    def __init__(self) -> None:
        self.polls = Polls()
        self.stored = self.taken = 100
        self.found: list[tuple[float, dict[str, float]]] = []  # conditions at each poll

    def poll(self, messages: int = 1, *, visited: bool = False) -> None:
        if visited:
            self.taken = self.stored
        self.stored += messages
        waits = self.stored - self.taken
        row = worker(self.taken, self.taken, num_pending=waits)
        result = self.polls.result(orders(self.stored), row)
        self.found.append((self.polls.now, dict(result.conditions)))

    def work(self, seconds: float, every: float, jitter: float = 0.0, seed: int = 1) -> None:
        chance, last = random.Random(seed), self.polls.now
        end, pause = last + seconds, every
        while (now := self.polls.now) < end:
            visited = now - last >= pause
            if visited:
                last, pause = now, every * chance.uniform(1 - jitter, 1 + jitter)
            self.poll(visited=visited)

    def stay_away(self, seconds: float) -> None:
        for _ in range(int(seconds / POLL)):
            self.poll()

    def rest(self, seconds: float) -> None:
        """Everything is taken and nothing comes."""
        for _ in range(int(seconds / POLL)):
            self.poll(0, visited=True)

    def told(self, since: float, word: str = "no_worker_pulls") -> list[float]:
        """When the word was true, in seconds after `since`."""
        return [now - since for now, words in self.found if now > since and word in words]
