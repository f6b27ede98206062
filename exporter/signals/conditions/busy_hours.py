"""Whether a consumer got deliveries nearly all day: without workers it is then down, not waiting for
its schedule."""

from __future__ import annotations

from msgspec import Struct

from exporter.tempo import scaled

_SECONDS = scaled(1800.0)
_DAY = 48
# Of half a day less is not known: a new nightly job would count as busy.
_LEAST = 24
_ONE_DAY = (1 << _DAY) - 1


class BusyHours(Struct, gc=False):
    """The half hours of a day with deliveries, as bits; the lowest is the newest."""

    newest: int
    # Above the bits of all half hours that were watched stands one more, which is set.
    bits: int = 0b10

    @classmethod
    def since(cls, now: float) -> BusyHours:
        return cls(int(now // _SECONDS))

    def note_delivery(self, now: float) -> None:
        number = int(now // _SECONDS)
        if number > self.newest:
            self.bits, self.newest = self._until(number), number
        self.bits |= 1

    def share(self, at: float) -> float:
        """Of the half hours of the day before; 0 as long as too few were watched."""
        bits = self._until(int(at // _SECONDS))
        watched = bits.bit_length() - 1
        if watched < _LEAST:
            return 0.0
        return (bits ^ (1 << watched)).bit_count() / watched

    def _until(self, number: int) -> int:
        """The bits with `number` as the newest."""
        passed = min(max(number - self.newest, 0), _DAY)
        bits = self.bits << passed
        if bits > _ONE_DAY:
            return bits & _ONE_DAY | 1 << _DAY
        return bits
