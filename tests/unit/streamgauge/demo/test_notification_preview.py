"""The notification preview: the messages that Alertmanager sent, and the alerts that fire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from streamgauge.demo.web.notification_preview import MAX_MESSAGES_SHOWN, NotificationPreview
from streamgauge.demo.web.pages import preview_page, start_page

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def slack(title: str, text: str = "", color: str = "danger") -> dict[str, Any]:
    return {"attachments": [{"title": title, "text": text, "color": color}]}


def facts(group: str, *alerts: tuple[str, dict[str, str]]) -> dict[str, Any]:
    return {
        "groupKey": group,
        "alerts": [{"status": status, "labels": labels} for status, labels in alerts],
    }


def alert(name: str, severity: str = "warning", **labels: str) -> dict[str, str]:
    return {"alertname": f"JetStream{name}", "severity": severity, **labels}


def test_a_message_is_shown_newest_first_escaped_and_with_links_to_follow() -> None:
    preview = NotificationPreview()
    preview.add_message("page", slack("PAGE: <b>", "What to do: http://127.0.0.1/x?a=1&b"), NOW)
    preview.add_message("ticket", slack("Over: it", color="good"), NOW)
    page = preview_page(preview)
    assert page.index("Over: it") < page.index("PAGE: &lt;b&gt;")
    assert '<a href="http://127.0.0.1/x?a=1&amp;b">' in page
    assert 'class="note resolved"' in page
    assert 'class="note page"' in page


def test_the_newest_webhook_of_each_group_wins() -> None:
    preview = NotificationPreview()
    held = alert("ConsumerAckPendingFull", "critical", stream="PAYMENTS", consumer="stuck")
    doubled = alert("PublishesNotStored", stream="SIGNUPS")
    preview.update_alerts(facts("a", ("firing", doubled)))
    preview.update_alerts(facts("b", ("firing", held)))
    assert preview.firing() == [held, doubled]
    preview.update_alerts(facts("b", ("resolved", held)))
    assert preview.firing() == [doubled]


def test_an_alert_on_another_asset_does_not_belong_to_the_fault() -> None:
    preview = NotificationPreview()
    name = "ConsumerRedeliveryHigh"
    preview.update_alerts(facts("a", ("firing", alert(name, stream="TICKER", consumer="screen"))))
    assert preview.firing_alerts((name,), "TICKER > screen") == [f"JetStream{name}"]
    assert preview.firing_alerts((name,), "SHIPMENTS > late") == []
    assert preview.firing_alerts(("ConsumerNakLoop",), "TICKER > screen") == []


def test_an_alert_of_a_server_belongs_to_its_fault_whatever_the_place() -> None:
    preview = NotificationPreview()
    preview.update_alerts(facts("a", ("firing", alert("ServerClockOffset", server="n1"))))
    assert preview.firing_alerts(("ServerClockOffset",), "the first server")


def test_old_messages_are_dropped_and_counted() -> None:
    preview = NotificationPreview()
    for number in range(MAX_MESSAGES_SHOWN + 3):
        preview.add_message("ticket", slack(f"number {number}."), NOW)
    assert (len(preview.messages), preview.dropped) == (MAX_MESSAGES_SHOWN, 3)
    page = preview_page(preview)
    assert "3 older ones are dropped" in page
    assert "number 2." not in page


def test_an_empty_preview_and_a_start_page_without_faults_are_rendered() -> None:
    assert "No notification yet" in preview_page(NotificationPreview())
    assert "Faults" in start_page([], [])
