"""Settings of what costs series or requests: off until names are given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, InvalidSettingError, setting

MAX_KEYS = 20
MAX_COUNTED_STREAMS = 20
_KEY = re.compile(r"[!-~]{1,128}")
_STREAM_NAME = re.compile(r"[^\s.*>/\\]+")
_FILTER = re.compile(r"[^\s.*>]+|\*|>")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataSettings:
    keys: tuple[str, ...] = setting(
        (),
        "Metadata keys to export, at most 20: stream_metadata_info and consumer_metadata_info have one series for each key that an asset sets. Any user who may create a stream or consumer chooses the values.",
    )
    max_series: int = setting(
        10_000,
        "Most such series of the system; the others are dropped and counted in metadata_dropped_values.",
        minimum=1,
    )

    def __post_init__(self) -> None:
        _refuse_too_many(self.keys, MAX_KEYS, "keys")
        _refuse_repeated(self.keys, "keys[{}]")
        for place, key in enumerate(self.keys):
            if not _KEY.fullmatch(key):
                reason = f'"{key}" is not a metadata key of at most 128 printable characters'
                raise InvalidSettingError(reason, f"keys[{place}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedStreamSettings:
    name: str = setting("", "Name of the stream.")
    filter: str = setting(">", "Subjects to count, with wildcards. Default: all.")
    top: int = setting(
        20,
        "How many subjects get a series: those with the most messages.",
        minimum=1,
        maximum=1000,
    )

    def __post_init__(self) -> None:
        if not _STREAM_NAME.fullmatch(self.name):
            raise InvalidSettingError(f'"{self.name}" is not the name of a stream', "name")
        tokens = self.filter.split(".")
        if not all(map(_FILTER.fullmatch, tokens)) or ">" in tokens[:-1]:
            raise InvalidSettingError(f'"{self.filter}" is not a subject', "filter")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCountSettings:
    streams: tuple[CountedStreamSettings, ...] = setting(
        (),
        "Streams, at most 20, whose messages are counted by subject: stream_subject_messages. With the system or monitor source they belong to the account of events.account.",
    )
    interval: Duration = setting(60.0, "Time between two rounds of such counts.", minimum=10)
    max_subjects: int = setting(
        10_000,
        "Most subjects that one response may name: the server counts them while publishers wait. A stream with more subjects is skipped, unless its filter has no wildcard; it shows as request_skipped.",
        minimum=1,
        maximum=100_000,
    )

    def __post_init__(self) -> None:
        _refuse_too_many(self.streams, MAX_COUNTED_STREAMS, "streams")
        _refuse_repeated([each.name for each in self.streams], "streams[{}].name")


def _refuse_too_many(given: tuple[object, ...], most: int, key: str) -> None:
    if len(given) > most:
        raise InvalidSettingError(f"has {len(given)} entries, at most {most} are allowed", key)


def _refuse_repeated(names: Iterable[str], key: str) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            raise InvalidSettingError(f'"{name}" is given twice', key.format(place))
        seen.add(name)
