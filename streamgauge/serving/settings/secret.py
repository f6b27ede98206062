"""Passwords and keys that never appear in a repr, log line or error message."""

from __future__ import annotations

import hmac
from pathlib import Path

from streamgauge.serving.settings.errors import SettingsError

_MASK = "********"


class Secret:
    """Text that only `reveal()` returns.

    Not a subclass of str: joining or serialising it would expose the text.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def __str__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return format(_MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a Secret cannot be serialised")


def read_secret(path: Path) -> str:
    """The content of a secret file without its last newline."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(str(path), "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(str(path), "", "is not UTF-8 text") from error
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise SettingsError(str(path), "", "is empty, a secret was expected")
    return secret
