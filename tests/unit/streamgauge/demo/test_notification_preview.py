"""The demo's phone: what it shows of what Alertmanager sends, and what it knows to fire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from streamgauge.demo.web.notification_preview import MESSAGES_KEPT, NotificationPreview
from streamgauge.demo.web.pages import phone_page, start_page

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
    phone = NotificationPreview()
    phone.take_message("page", slack("PAGE: <b>", "What to do: http://127.0.0.1/x?a=1&b"), NOW)
    phone.take_message("ticket", slack("Over: it", color="good"), NOW)
    page = phone_page(phone)
    assert page.index("Over: it") < page.index("PAGE: &lt;b&gt;")
    assert '<a href="http://127.0.0.1/x?a=1&amp;b">' in page
    assert 'class="note over"' in page
    assert 'class="note page"' in page


def test_what_fires_is_told_by_the_newest_word_of_each_group() -> None:
    phone = NotificationPreview()
    held = alert("ConsumerAckPendingFull", "critical", stream="PAYMENTS", consumer="stuck")
    doubled = alert("PublishesNotStored", stream="SIGNUPS")
    phone.take_facts(facts("a", ("firing", doubled)))
    phone.take_facts(facts("b", ("firing", held)))
    assert phone.firing() == [held, doubled]
    phone.take_facts(facts("b", ("resolved", held)))
    assert phone.firing() == [doubled]


def test_an_alert_on_another_asset_does_not_tell_of_a_failure() -> None:
    phone = NotificationPreview()
    name = "ConsumerRedeliveryHigh"
    phone.take_facts(facts("a", ("firing", alert(name, stream="TICKER", consumer="screen"))))
    assert phone.tells_of((name,), "TICKER > screen") == [f"JetStream{name}"]
    assert phone.tells_of((name,), "SHIPMENTS > late") == []
    assert phone.tells_of(("ConsumerNakLoop",), "TICKER > screen") == []


def test_an_alert_of_a_server_tells_of_its_failure_whatever_the_place() -> None:
    phone = NotificationPreview()
    phone.take_facts(facts("a", ("firing", alert("ServerClockOffset", server="n1"))))
    assert phone.tells_of(("ServerClockOffset",), "the first server")


def test_old_messages_are_forgotten_and_counted() -> None:
    phone = NotificationPreview()
    for number in range(MESSAGES_KEPT + 3):
        phone.take_message("ticket", slack(f"number {number}."), NOW)
    assert (len(phone.messages), phone.forgotten) == (MESSAGES_KEPT, 3)
    page = phone_page(phone)
    assert "3 older ones are forgotten" in page
    assert "number 2." not in page


def test_a_quiet_phone_says_so_and_a_start_page_without_failures_stands() -> None:
    assert "Nothing yet" in phone_page(NotificationPreview())
    assert "What to break" in start_page([], [])
