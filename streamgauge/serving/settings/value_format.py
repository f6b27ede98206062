"""How a value with a notation of its own is written in a settings file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Written:
    """Goes into `Annotated[type, Written(...)]`.

    `read` gets what the file holds and raises ValueError when it is not such a value;
    `show` gives back the notation; `hint` tells the author how to write it.
    """

    name: str
    hint: str
    read: Callable[[object], Any]
    show: Callable[[Any], str] = str
