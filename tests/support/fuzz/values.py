"""Random changes of a JSON value and of bytes."""

from __future__ import annotations

import random
from typing import Any, Final

ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, -(2**63), 2**63, 2**64 - 1, 10**400, 0.5, -1e308, "", "x", "é\0\n<b>",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "2026-01-01T00:00:00", "9999-12-31T23:59:59-23:59",
    [], {}, [[]], {"name": 1}, "9" * 400,
)  # fmt: skip


def altered_value(value: Any, chance: random.Random) -> Any:
    """A copy in which one place is replaced, removed, renamed or repeated."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        how = chance.random()
        if how < 0.7:
            return value | {key: altered_value(value[key], chance)}
        rest = {name: inner for name, inner in value.items() if name != key}
        return rest if how < 0.9 else rest | {key[::-1]: value[key]}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.8:
            return [*value[:at], altered_value(value[at], chance), *value[at + 1 :]]
        return [*value, value[at]] if chance.random() < 0.5 else value[:at]
    return chance.choice(ODD)


def altered_bytes(data: bytes, chance: random.Random) -> bytes:
    """Up to three bytes are changed, removed or inserted, or the end is cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        at = chance.randrange(len(changed) + 1)
        how = chance.randrange(5)
        if how == 0 and at < len(changed):
            changed[at] = chance.randrange(256)
        elif how == 1 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            del changed[at : at + chance.randint(1, 6)]
        elif how == 3:
            changed[at:at] = chance.randbytes(chance.randint(1, 6))
        else:
            del changed[at:]
    return bytes(changed)
