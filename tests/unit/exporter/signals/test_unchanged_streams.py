"""A stream whose row is the same object gives the view that a comparison of its values gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.exporter.models import NOW, at, stream, stream_config

from exporter.signals.state import StreamState

CONFIGS = (
    stream_config(max_age_seconds=60.0, max_bytes=None, max_messages=20),
    stream_config(discard="new", max_messages=15),
    stream_config(retention="workqueue"),
)
# What happens between two polls: nothing, messages stored, removed at the front, deleted, purged.
STEPS = st.sampled_from(["same", "same", "same", "store", "remove", "delete", "purge", "config"])


# Polls a second apart are within the skew of replicas.
@given(st.lists(STEPS, max_size=20), st.sampled_from(CONFIGS), st.sampled_from([1.0, 15.0]))
def test_the_shortcut_of_an_unchanged_stream_changes_nothing(
    steps: list[str], config: object, interval: float
) -> None:
    row = stream(config=config, messages=10, bytes=500, first_seq=1, last_seq=10,
                 first_time=at(NOW - 70), last_time=at(NOW), last_stored=at(NOW))  # fmt: skip
    kept, compared = StreamState(row), StreamState(replace(row))
    for number, step in enumerate(steps, 1):
        now = NOW + interval * number
        if step == "store":
            row = replace(row, messages=row.messages + 3, last_seq=row.last_seq + 3,
                          last_time=at(now), last_stored=at(now))  # fmt: skip
        elif step == "remove" and row.messages > 2:
            row = replace(row, messages=row.messages - 2, first_seq=row.first_seq + 2)
        elif step == "delete" and row.messages > 2:
            row = replace(row, messages=row.messages - 1)
        elif step == "purge":
            row = replace(row, messages=0, first_seq=row.last_seq + 1)
        elif step == "config":
            row = replace(row, config=replace(row.config, subjects=(f"orders.{number}",)))
        # A copy is another object with the same values: it is always compared.
        seen, expected = kept.observe(row, now), compared.observe(replace(row), now)
        assert seen == replace(expected, times=seen.times, row=row)
        assert seen.times == expected.times
        assert kept.events == compared.events


def test_what_limits_removed_is_forgotten_after_the_skew_of_replicas() -> None:
    config = stream_config(max_messages=10)
    full = stream(config=config, messages=10, first_seq=1, last_seq=10, last_time=at(NOW))
    later = replace(full, first_seq=4, last_seq=13, last_time=at(NOW + 1))
    state = StreamState(full)
    state.observe(full, NOW)
    removed = [state.observe(later, NOW + second).by_limits for second in range(1, 9)]
    assert removed == [3, 3, 3, 3, 3, 3, 0, 0]
