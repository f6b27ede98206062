"""States of streams or of consumers, bounded: any client can send events about invented names. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=tuple[str, ...])
State = TypeVar("State")

# States of names that no poll has reported: new ones, or invented.
MOST_UNKNOWN = 10_000
# States of names that polls have reported, and no longer do although they are partial.
MOST_ABSENT = 10_000
_LONGEST_NAME = 255  # as the server allows
_PORTION = 5_000  # states to check before other tasks run


@dataclass(slots=True)
class BoundedStates(Generic[Key, State]):
    make: Callable[[], State]
    is_permanent: Callable[[Key], bool] = lambda _: False
    states: dict[Key, State] = field(default_factory=dict)
    dropped: int = 0  # events about more unknown names than are kept
    forgotten: int = 0  # states of known names, more than are kept while polls are partial
    _known: set[Key] = field(default_factory=set)  # those of `states` that a poll has reported
    _absent: dict[Key, None] = field(default_factory=dict)  # from the last polls, longest first

    def of(self, key: Key) -> State | None:
        """None: the event is dropped, and counted as such."""
        if (found := self.states.get(key)) is not None:
            return found
        unknown = len(self.states) - len(self._known)
        if unknown >= MOST_UNKNOWN or max(map(len, key)) > _LONGEST_NAME:
            self.dropped += 1
            return None
        return self.states.setdefault(key, self.make())

    def forget_absent(self, is_named: Callable[[Key], bool], *, complete: bool) -> Iterator[None]:
        """Removes what is absent from two polls in a row.

        One is not enough: a stream may be younger than the poll. A partial poll removes only what no
        poll has ever reported, and what is absent longest beyond a bound: a stream may stay unreadable
        for ever while its consumers come and go. Yields after each portion, so that other tasks can run.
        """
        absent: dict[Key, None] = {}
        longest_first = [key for key in self._absent if key in self.states]
        others = [key for key in self.states if key not in self._absent]
        for number, key in enumerate(longest_first + others, start=1):
            if is_named(key):
                self._known.add(key)
            elif key not in self._absent:
                absent[key] = None
            elif (complete or key not in self._known) and not self.is_permanent(key):
                self.pop(key)
            else:
                absent[key] = None
            if number % _PORTION == 0:
                yield
        self._absent = absent
        yield from self._forget_longest_absent()

    def _forget_longest_absent(self) -> Iterator[None]:
        kept = [key for key in self._absent if key in self._known and not self.is_permanent(key)]
        for number, key in enumerate(kept[:-MOST_ABSENT], start=1):
            self.pop(key)
            del self._absent[key]
            self.forgotten += 1
            if number % _PORTION == 0:
                yield

    def pop(self, key: Key) -> State:
        self._known.discard(key)
        return self.states.pop(key)


def named_in(
    names: Container[tuple[str, ...]], shown: Callable[[str], str]
) -> Callable[[tuple[str, ...]], bool]:
    """`shown`: the name of an account in the polls."""
    return lambda key: (shown(key[0]), *key[1:]) in names
