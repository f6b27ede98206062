"""The text format of a settings value, such as a duration or a size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """Use it as `Annotated[type, ValueFormat(...)]`.

    `read` converts the value of the file or raises ValueError; `show` is the reverse;
    `hint` is part of the error message.
    """

    name: str
    hint: str
    read: Callable[[object], Any]
    show: Callable[[Any], str] = str
