"""Which filters let every message of a stream pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exporter.models import consumer_config, stream_config

from exporter.signals.loss.coverage import covers, sees_everything


@pytest.mark.parametrize(
    ("filters", "subjects", "expected"),
    [
        ((), ("orders.>",), True),
        ((), (), True),
        ((">",), ("orders.>", "jobs"), True),
        (("orders.>",), ("orders.>",), True),
        (("orders.*",), ("orders.>",), False),
        (("orders.eu",), ("orders.>",), False),
        (("orders.eu", "orders.us"), ("orders.us", "orders.eu"), True),
        (("orders.eu",), ("orders.eu", "orders.us"), False),
        ((">",), (), True),
        (("orders.>",), (), False),  # a mirror: its subjects are not known here
    ],
)
def test_a_consumer_sees_everything(
    filters: tuple[str, ...], subjects: tuple[str, ...], *, expected: bool
) -> None:
    config = consumer_config(filters=filters)
    assert sees_everything(config, stream_config(subjects=subjects)) is expected


def test_of_an_unknown_configuration_nothing_is_known() -> None:
    assert not sees_everything(None, stream_config())
    assert not sees_everything(consumer_config(filters=("a",)), None)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.b", "a.*", False),
        ("a.*", "a.*", True),
        ("a.*", "a.>", False),
        ("a.>", "a.*.c", True),
        ("a.>", "a", False),
        (">", "a", True),
        ("a.b.c", "a.b", False),
        ("a.b", "a.b.c", False),
        ("*.b", "a.b", True),
        ("*", ">", False),
    ],
)
def test_one_subject_covers_another(wide: str, narrow: str, *, expected: bool) -> None:
    assert covers(wide, narrow) is expected


word = st.sampled_from(["a", "b", "c"])
literal = st.lists(word, min_size=1, max_size=4).map(".".join)
pattern = st.tuples(
    st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3), st.booleans()
).map(lambda made: ".".join(made[0]) + (".>" if made[1] else ""))


@given(pattern, pattern, literal)
def test_whatever_matches_the_covered_one_matches_the_covering_one(
    wide: str, narrow: str, subject: str
) -> None:
    if covers(wide, narrow) and covers(narrow, subject):
        assert covers(wide, subject)
