"""Logs: one line per record, quoted fields, each state once."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.serving.log_escape import one_line
from streamgauge.serving.log_format import JsonFormatter, TextFormatter
from streamgauge.serving.logs import StateLog, configure_logs, event

log = logging.getLogger("exporter.polling.loop")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in ("nats", "asyncio", "aiohttp", "aiohttp.access")]
    before = root.handlers[:], root.level, [(each.level, each.disabled) for each in named]
    yield
    root.handlers[:], root.level = before[0], before[1]
    for each, (level, disabled) in zip(named, before[2], strict=True):
        each.setLevel(level)
        each.disabled = disabled


def logged(format: str = "text", level: str = "info") -> io.StringIO:  # noqa: A002
    stream = io.StringIO()
    configure_logs(format, level, stream=stream)
    return stream


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("exporter.polling.loop", logging.INFO, "", 0, "%s", (message,), None)
    made.created = 1794814184.123
    made.fields = fields
    return made


def text_of(message: str, **fields: object) -> str:
    return TextFormatter(tracebacks=False).format(record(message, **fields))


def test_a_text_line_has_time_level_logger_message_and_fields() -> None:
    line = text_of("poll done", system="nats", streams=3, seconds=0.25, partial=False, cap=None)

    assert line == (
        "2026-11-16T07:29:44.123Z INFO  exporter.polling.loop  poll done"
        " system=nats streams=3 seconds=0.25 partial=false cap=null"
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("", '""'),
        ("a=b", '"a=b"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("C:\\x", '"C:\\\\x"'),
        ("a\nb\tc", '"a\\nb\\tc"'),
        ("\x1b[31m", '"\\x1b[31m"'),
        ("\u2028", '"\\u2028"'),
        ("grün", "grün"),
        (ValueError("no such stream"), '"ValueError: no such stream"'),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_field_is_quoted_when_it_needs_to_be(value: object, written: str) -> None:
    assert text_of("m", key=value).endswith(f"  m key={written}")


def test_a_json_line_has_the_same_parts() -> None:
    line = JsonFormatter(tracebacks=False).format(
        record("poll\ndone", streams=3, ratio=float("nan"), error=ValueError("x"), path=None)
    )

    assert json.loads(line) == {
        "ts": "2026-11-16T07:29:44.123Z",
        "level": "INFO",
        "logger": "exporter.polling.loop",
        "msg": "poll\ndone",
        "fields": {"streams": 3, "ratio": "nan", "error": "ValueError: x", "path": None},
    }


@hypothesis.settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_whatever_is_logged_is_one_printable_line(message: str, key: str, value: str) -> None:
    made = record(message)
    made.fields = {key: value}

    text = TextFormatter(tracebacks=False).format(made)
    machine = JsonFormatter(tracebacks=False).format(made)

    assert text.isprintable()
    assert machine.isprintable()
    assert json.loads(machine)["msg"] == message
    assert json.loads(machine)["fields"] == {key: value}


def test_characters_beyond_the_basic_plane_are_escaped_too() -> None:
    assert one_line("a\U000e0001b") == "a\\U000e0001b"


def test_levels_have_short_names() -> None:
    stream = logged(level="debug")

    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL):
        event(log, level, "m")

    levels = [line[25:30] for line in stream.getvalue().splitlines()]
    assert levels == ["DEBUG", "INFO ", "WARN ", "ERROR", "FATAL"]


def test_records_below_the_level_are_left_out() -> None:
    stream = logged(level="warning")

    event(log, logging.INFO, "quiet")
    event(log, logging.WARNING, "loud")

    assert [line.split()[-1] for line in stream.getvalue().splitlines()] == ["loud"]


def fail_with_a_traceback() -> None:
    streams: dict[str, int] = {}
    try:
        streams["stream\nname"] += 1
    except KeyError:
        log.exception("poll failed")


def test_an_exception_is_logged_with_type_and_message() -> None:
    stream = logged()

    fail_with_a_traceback()

    (line,) = stream.getvalue().splitlines()
    assert line.endswith("""  poll failed error="KeyError: 'stream\\\\nname'\"""")


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_traceback_comes_only_at_debug_level_and_in_the_same_line(format: str) -> None:  # noqa: A002
    quiet = logged(format, "info")
    fail_with_a_traceback()
    talkative = logged(format, "debug")
    fail_with_a_traceback()

    assert "Traceback" not in quiet.getvalue()
    (line,) = talkative.getvalue().splitlines()
    assert "Traceback (most recent call last):\\n" in line
    assert "in fail_with_a_traceback" in line


def test_an_exception_in_a_field_brings_its_traceback_at_debug_level() -> None:
    stream = logged(level="debug")
    try:
        int("gone")
    except ValueError as error:
        event(log, logging.ERROR, "read failed", error=error)

    (line,) = stream.getvalue().splitlines()
    assert 'read failed error="ValueError: invalid literal' in line
    assert ' traceback="Traceback (most' in line


def test_a_percent_sign_in_a_message_is_only_that() -> None:
    stream = logged()

    event(log, logging.INFO, "100% of %s", level="a field may have any name", message="too")

    assert stream.getvalue().endswith(
        '  100% of %s level="a field may have any name" message=too\n'
    )


def test_logs_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()

    event(log, logging.INFO, "hello")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("  hello\n")
    assert sys.stderr is not sys.stdout


def test_configuring_again_replaces_the_first_and_nothing_else() -> None:
    others = io.StringIO()
    foreign = logging.StreamHandler(others)
    logging.getLogger().addHandler(foreign)
    first = logged()
    second = logged("json")

    event(log, logging.INFO, "once")

    assert first.getvalue() == ""
    assert json.loads(second.getvalue())["msg"] == "once"
    assert others.getvalue() == "once\n"


def test_the_libraries_are_quiet_and_there_is_no_access_log() -> None:
    stream = logged(level="debug")

    logging.getLogger("nats.aio.client").info("connected")
    logging.getLogger("nats.aio.client").warning("slow consumer")
    logging.getLogger("aiohttp.access").error("GET /metrics")

    (line,) = stream.getvalue().splitlines()
    assert line.endswith("WARN  nats.aio.client  slow consumer")


def test_a_wrong_format_or_level_is_refused() -> None:
    with pytest.raises(ValueError, match="xml"):
        configure_logs("xml", "info")
    with pytest.raises(ValueError, match="loud"):
        configure_logs("text", "loud")


def test_a_state_is_logged_only_when_it_changes() -> None:
    stream = logged()
    states = StateLog(log)

    written = [
        states.report("a", "up", logging.INFO, "a is up"),
        states.report("a", "up", logging.INFO, "a is up"),
        states.report("b", "up", logging.INFO, "b is up"),
        states.report("a", "down", logging.ERROR, "a is down", reason="timeout"),
        states.report("a", "down", logging.ERROR, "a is down", reason="timeout"),
        states.report("a", "up", logging.INFO, "a is up again"),
    ]

    assert written == [True, False, True, True, False, True]
    assert [line.split("  ")[-1] for line in stream.getvalue().splitlines()] == [
        "a is up",
        "b is up",
        "a is down reason=timeout",
        "a is up again",
    ]


def test_an_empty_state_is_logged_the_first_time() -> None:
    logged()

    assert StateLog(log).report("a", None, logging.INFO, "no state yet") is True


def test_an_expired_key_starts_again() -> None:
    logged()
    states = StateLog(log)
    states.report("a", "up", logging.INFO, "a is up")

    states.forget("a")

    assert states.report("a", "up", logging.INFO, "a is up") is True
