"""An asset whose row could not be decoded is unknown, not down."""

import msgspec
from support.exporter.models import consumer, snapshot, stream
from support.exporter.rendered_series import series_of

from exporter import catalog
from exporter.model import MALFORMED


def names(*rows: object) -> set[str]:
    found = series_of(snapshot(*rows))  # type: ignore[arg-type]
    return {name for name, _ in found}


def test_a_malformed_row_is_not_exported_as_down() -> None:
    unread = msgspec.structs.replace(consumer(), up=False, reason=MALFORMED)
    assert catalog.CONSUMER_UP.name not in names(stream(), unread)
    assert catalog.CONSUMER_VERDICT.name not in names(stream(), unread)
    lost = msgspec.structs.replace(stream(), up=False, reason=MALFORMED)
    assert catalog.STREAM_UP.name not in names(lost)


def test_an_asset_without_a_leader_is_down() -> None:
    down = msgspec.structs.replace(consumer(), up=False, reason="no_leader")
    assert catalog.CONSUMER_UP.name in names(stream(), down)
