"""Settings of what is off by default: names are checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exporter.settings.config import SystemSettings
from exporter.settings.opt_in import (
    CountedStreamSettings,
    MetadataSettings,
    SubjectCountSettings,
)
from streamgauge.serving.settings.loader import InvalidSettingError

ORDERS = CountedStreamSettings(name="ORDERS")
MANY = tuple(CountedStreamSettings(name=f"S{number}") for number in range(21))


@pytest.mark.parametrize(
    ("made", "key"),
    [
        (lambda: MetadataSettings(keys=("a", "a")), "keys[1]"),
        (lambda: MetadataSettings(keys=("",)), "keys[0]"),
        (lambda: MetadataSettings(keys=tuple(f"k{n}" for n in range(21))), "keys"),
        (lambda: CountedStreamSettings(name=""), "name"),
        (lambda: CountedStreamSettings(name="A.B"), "name"),
        (lambda: CountedStreamSettings(name="A", filter="a..b"), "filter"),
        (lambda: CountedStreamSettings(name="A", filter="a.>.b"), "filter"),
        (lambda: SubjectCountSettings(streams=(ORDERS, ORDERS)), "streams[1].name"),
        (lambda: SubjectCountSettings(streams=MANY), "streams"),
        (
            lambda: SystemSettings(
                source="system", subject_counts=SubjectCountSettings(streams=(ORDERS,))
            ),
            "subject_counts.streams",
        ),
    ],
)
def test_a_wrong_name_is_refused_with_its_key(made: Callable[[], object], key: str) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        made()
    assert caught.value.key == key


@pytest.mark.parametrize("subject", [">", "orders.>", "orders.*.new", "orders.eu", "$KV.a.b"])
def test_subjects_with_and_without_wildcards_are_filters(subject: str) -> None:
    assert CountedStreamSettings(name="A", filter=subject).filter == subject
