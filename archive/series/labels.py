"""The canonical label set of a series: validated, sorted, without the replica label.

A series that breaks a rule is refused alone; the rest of its request is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, NoReturn

from archive.settings.limits import Limits
from streamgauge.serving.log_escape import one_line

NAME: Final = "__name__"
_SHOWN: Final = 120
_SHOWN_LABELS: Final = 20

Label = tuple[str, str]
Labels = tuple[Label, ...]


class RefusedError(Exception):
    """A series, sample or message cannot be stored; the text names the broken rule."""


class Identity(NamedTuple):
    labels: Labels
    replica: str


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The rules of a label set; `replica` is the label to remove, or empty."""

    max_labels: int
    max_bytes: int
    replica: str

    @classmethod
    def of(cls, limits: Limits, replica: str) -> LabelRules:
        return cls(limits.labels, limits.label_bytes, replica)

    def identify(self, given: Sequence[Label]) -> Identity:
        """The canonical labels. Sorts them, because some senders do not."""
        if len(given) > self.max_labels:
            raise RefusedError(f"more than {self.max_labels} labels")
        named = dict(given)
        if len(named) != len(given):
            raise RefusedError("a label is given twice")
        if "" in named:
            raise RefusedError("a label without a name")
        replica = named.pop(self.replica, "") if self.replica else ""
        if not named.get(NAME):
            raise RefusedError("no metric name")
        if "" in named.values():
            # In Prometheus' data model an empty label is the same as no label.
            named = {name: value for name, value in named.items() if value}
        labels = tuple(sorted(named.items()))
        if len("".join(chain.from_iterable(labels))) > self.max_bytes:
            raise RefusedError(f"more than {self.max_bytes} characters of labels")
        return Identity(labels, replica)


def read_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        not_utf_8()


def not_utf_8() -> NoReturn:
    raise RefusedError("a text that is not UTF-8") from None


def shown(labels: Sequence[Label]) -> str:
    """The series for a log or error message: one line, truncated."""
    first = labels[:_SHOWN_LABELS]
    metric = next((value for name, value in first if name == NAME), "")
    rest = ",".join(f'{name}="{value}"' for name, value in first if name != NAME)
    text = one_line(f"{metric}{{{rest}}}")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
