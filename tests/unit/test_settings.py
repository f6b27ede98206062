"""The settings loader: what it builds, and the exact line it says of each mistake."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.serving.durations import format_duration, parse_duration
from streamgauge.serving.settings import (
    REQUIRED,
    Duration,
    InvalidSettingError,
    Secret,
    SettingsError,
    Size,
    build,
    environment_overrides,
    load_yaml,
    merge,
    read_secret,
    setting,
)
from streamgauge.serving.settings_reference import render_reference
from streamgauge.serving.sizes import format_size, parse_size


class Source(Enum):
    ACCOUNT = "account"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str = setting(REQUIRED, "Name of the system.")
    source: Source = setting(Source.ACCOUNT, "How to ask.")
    interval: Duration = setting(15.0, "Time between polls.", minimum=1.0, maximum=3600.0)
    urls: tuple[str, ...] = setting((), "Where the servers are.")
    password: Secret | None = setting(None, "Password.", secret=True)
    pin: str = setting("", "A secret that is plain text.", secret=True)

    def __post_init__(self) -> None:
        if self.password and not self.urls:
            raise InvalidSettingError("is missing beside a password", "urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    level: Literal["debug", "info"] = setting("info", "How much | to say.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    listen: str = setting("0.0.0.0:7778", "Address.")
    systems: tuple[System, ...] = setting((), "What to watch.")
    logs: Logs = setting(Logs(), "Logs.")
    most: int = setting(10, "A ceiling.")
    share: float = setting(0.5, "A share.")
    loud: bool = setting(False, "A switch.")
    folder: Path | None = setting(None, "A folder.")
    streams: re.Pattern[str] = setting(re.compile(".*"), "Which streams.")
    buffer: Size = setting(1 << 26, "A buffer.")
    headers: Mapping[str, str] = setting({}, "Headers.", key="X-Headers")


COMPLETE = """
listen: 127.0.0.1:1
systems:
  - name: "no"
    source: system
    interval: 1m30s
    urls: [nats://a, nats://b]
    password: hunter2
logs: {level: debug}
most: 7
share: 1
loud: true
folder: some/where
streams: "^ORDERS"
buffer: 64KiB
X-Headers: {a: b}
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "streamgauge.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder: Path, text: str | bytes) -> Example:
    path = write(folder, text)
    return build(Example, load_yaml(path), path.name)


def test_every_kind_of_value_is_converted_to_its_annotation(tmp_path: Path) -> None:
    settings = load(tmp_path, COMPLETE)

    assert settings == Example(
        listen="127.0.0.1:1",
        systems=(
            System(
                name="no",
                source=Source.SYSTEM,
                interval=90.0,
                urls=("nats://a", "nats://b"),
                password=Secret("hunter2"),
            ),
        ),
        logs=Logs(level="debug"),
        most=7,
        share=1.0,
        loud=True,
        folder=Path("some/where"),
        streams=re.compile("^ORDERS"),
        buffer=65536,
        headers={"a": "b"},
    )


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_gives_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Example()


def test_words_keep_their_meaning_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a: no\nb: on\nc: 1:30\nd: 010\ne: 2026-11-16\nf: .inf\ng: 1_000\n")

    assert load_yaml(path) == {
        "a": "no",
        "b": "on",
        "c": "1:30",
        "d": "010",
        "e": "2026-11-16",
        "f": ".inf",
        "g": "1_000",
    }


def test_numbers_truths_and_nothing_are_recognised(tmp_path: Path) -> None:
    path = write(tmp_path, "a: -3\nb: 2.5\nc: 1e3\nd: TRUE\ne: ~\nf:\ng: +.5\n")

    found = load_yaml(path)

    assert found == {"a": -3, "b": 2.5, "c": 1000.0, "d": True, "e": None, "f": None, "g": 0.5}


def test_a_merge_key_may_be_overridden(tmp_path: Path) -> None:
    text = "systems:\n  - &base {name: a, interval: 20s}\n  - {<<: *base, name: b}\n"

    first, second = load(tmp_path, text).systems

    assert (first.name, first.interval) == ("a", 20.0)
    assert (second.name, second.interval) == ("b", 20.0)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbfmost: 3\n").most == 3


ONE_SYSTEM = "systems:\n  - name: a\n    "

MISTAKES = {
    "bad duration": (
        ONE_SYSTEM + "interval: 5 parsecs",
        'systems[0].interval: "5 parsecs" is not a duration (write it like 15s or 1m30s)',
    ),
    "bare number as duration": (
        ONE_SYSTEM + "interval: 15",
        "systems[0].interval: 15 is not a duration (write it like 15s or 1m30s)",
    ),
    "duration below the least": (
        ONE_SYSTEM + "interval: 10ms",
        'systems[0].interval: "10ms" is too small (at least 1s)',
    ),
    "duration above the most": (
        ONE_SYSTEM + "interval: 2h",
        'systems[0].interval: "2h" is too large (at most 1h)',
    ),
    "bad size": ("buffer: 64", "buffer: 64 is not a size (write it like 64MiB or 512KiB)"),
    "unknown key, near": ("lisen: x", "lisen: unknown key (did you mean listen?)"),
    "unknown key, far": (
        "logs: {zzz: 1}",
        "logs.zzz: unknown key (known: level)",
    ),
    "unknown key in a list": (
        ONE_SYSTEM + "intervall: 5s",
        "systems[0].intervall: unknown key (did you mean interval?)",
    ),
    "missing": ("systems: [{urls: []}]", "systems[0].name: is missing, and it has no default"),
    "no value": ("listen:", "listen: has no value (leave the key out to get its default)"),
    "no value in a list": (
        ONE_SYSTEM + "urls: [a, ~]",
        "systems[0].urls[1]: has no value (leave the key out to get its default)",
    ),
    "number for text": ("listen: 7778", "listen: 7778 is not text (put it in quotes)"),
    "list for text": ("listen: [a]", "listen: a list is not text"),
    "text for a number": ('most: "7"', 'most: "7" is not a whole number'),
    "fraction for a whole number": ("most: 1.5", "most: 1.5 is not a whole number"),
    "truth for a whole number": ("most: true", "most: true is not a whole number"),
    "number too big": ("share: 1e999", "share: Infinity is not a number"),
    "word for a truth": ("loud: yes", 'loud: "yes" is not true or false'),
    "empty path": ('folder: ""', 'folder: "" is not a path'),
    "bad regular expression": (
        'streams: "(a"',
        'streams: "(a" is not a regular expression: missing ), unterminated subpattern'
        " at position 0",
    ),
    "bad choice of an enum": (
        ONE_SYSTEM + "source: magic",
        'systems[0].source: "magic" is not one of account, system',
    ),
    "bad choice of a literal": (
        "logs: {level: loud}",
        'logs.level: "loud" is not one of debug, info',
    ),
    "text for a list": (
        ONE_SYSTEM + "urls: nats://a",
        'systems[0].urls: "nats://a" is not a list (write each item on a line after a dash)',
    ),
    "text for a section": ("logs: x", 'logs: "x" is not a mapping (write it as key: value)'),
    "text for a mapping": (
        "X-Headers: x",
        'X-Headers: "x" is not a mapping (write it as key: value)',
    ),
    "wrong value in a mapping": (
        "X-Headers: {a: 1}",
        "X-Headers.a: 1 is not text (put it in quotes)",
    ),
    "two settings that disagree": (
        ONE_SYSTEM + "password: hunter2",
        "systems[0].urls: is missing beside a password",
    ),
    "wrong kind of secret": (
        ONE_SYSTEM + "password: 12345",
        "systems[0].password: the value (not shown) is not text (put it in quotes)",
    ),
    "wrong kind of text that is secret": (
        ONE_SYSTEM + "pin: 12345",
        "systems[0].pin: the value (not shown) is not text (put it in quotes)",
    ),
    "long value, cut": (
        f"loud: {'x' * 100}",
        f'loud: "{"x" * 58}… is not true or false',
    ),
    "value of several lines": (
        'loud: "a\\nb\\e[31m"',
        'loud: "a\\nb\\u001b[31m" is not true or false',
    ),
    "key twice": (
        "systems:\n  - name: a\n    urls: []\n    name: b\n",
        "systems[0].name: is given twice (line 2 and line 4)",
    ),
    "key that is no text": ("7: x", "line 1: the key 7 is not text (put it in quotes)"),
    "key that is a list": (
        "logs:\n  ? [a]\n  : b",
        "logs: line 2: the key here is not text (put it in quotes)",
    ),
    "list at the top": ("- a\n- b", "a list is not a mapping (write it as key: value)"),
    "text at the top": ("hello", '"hello" is not a mapping (write it as key: value)'),
    "syntax": ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
    "unclosed list": (
        "a: [1,\nb: 2",
        "line 2, column 5: expected ',' or ']', but got '<stream end>'",
    ),
    "tab": ("logs:\n\tlevel: info", "line 2, column 1: a tab, where YAML takes only spaces"),
    "two documents": (
        "a: 1\n---\nb: 2",
        "line 2, column 1: expected a single document in the stream but found another document",
    ),
    "tag": (
        "a: !!python/object:os.system x",
        "line 1, column 4: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like a tag": (
        ONE_SYSTEM + "password: !hunter2",
        "line 3, column 15: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like a tag with a handle": (
        ONE_SYSTEM + "password: !hunter!2",
        "line 3, column 15: a tag that is not known (put text that begins with ! in quotes)",
    ),
    "secret that looks like an alias": (
        ONE_SYSTEM + "password: *hunter2",
        "line 3, column 15: an alias without an anchor (put text that begins with * in quotes)",
    ),
    "secret that looks like an anchor": (
        "a: &hunter2 x\n" + ONE_SYSTEM + "password: &hunter2 x",
        "line 4, column 15: an anchor for the second time (put text that begins with & in quotes)",
    ),
    "value that holds itself": (
        "logs: &a {b: *a}",
        "line 1, column 7: found unconstructable recursive node",
    ),
    "value nested without end": ("a: " + "[" * 5000, "is nested too deeply"),
    "control character": ("a: 1\nb: \x00", "line 2: control character U+0000"),
    "not UTF-8": (b"a: \xff", "is not UTF-8 text (byte 4)"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_in_one_exact_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    path = Path("streamgauge.yml")

    with pytest.raises(SettingsError) as caught:
        build(Example, load_yaml(path), path)

    assert str(caught.value) == f"streamgauge.yml: {message}"


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "none.yml"

    with pytest.raises(SettingsError) as caught:
        load_yaml(missing)
    with pytest.raises(SettingsError) as caught_folder:
        load_yaml(tmp_path)

    assert str(caught.value) == f"{missing}: cannot be read: No such file or directory"
    assert str(caught_folder.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_an_error_carries_its_parts() -> None:
    with pytest.raises(SettingsError) as caught:
        build(Example, {"most": "x"}, "a.yml")

    parts = (caught.value.file, caught.value.key, caught.value.reason)
    assert parts == ("a.yml", "most", '"x" is not a whole number')


YAML_PIECES = [*"ab:-[]{}#&*!|>'\"%@`\t\n ,0.~<?\\", "\n  - ", ": ", "true", "1e9", "<<: *a", "&a "]
KEYS = ["systems", "name", "interval", "urls", "logs", "level", "most", "streams", "X-Headers"]


@hypothesis.settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(YAML_PIECES + KEYS)).map("".join)))
def test_no_text_in_a_file_gives_anything_but_settings_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    message = "one line"
    try:
        load(tmp_path_factory.getbasetemp(), text)
    except SettingsError as error:
        message = str(error)

    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("2d", 172800.0),
        ("1w", 604800.0),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("1h500ms", 3600.5),
    ],
)
def test_a_duration_is_read(written: str, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "15", 15, "s", "-1s", "30s1m", "1s1s", "1 s", "1S", " 1s", "1e3s", "٣s", None]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(written)


@hypothesis.settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**14))
def test_a_duration_reads_back_as_it_was_written(milliseconds: int) -> None:
    seconds = milliseconds / 1000

    assert round(parse_duration(format_duration(seconds)) * 1000) == milliseconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("64MiB", 64 << 20), ("1.5GiB", 3 << 29), ("10MB", 10**7), ("512B", 512), ("1 KiB", 1024)],
)
def test_a_size_is_read(written: str, size: int) -> None:
    assert parse_size(written) == size


@hypothesis.settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_a_size_reads_back_as_it_was_written(size: int) -> None:
    assert parse_size(format_size(size)) == size


def test_the_later_mapping_wins_key_by_key() -> None:
    file = {"a": 1, "logs": {"level": "info", "format": "text"}, "list": [1, 2]}
    flags = {"logs": {"level": "debug"}, "list": [3]}

    merged = merge(file, flags)

    assert merged == {"a": 1, "logs": {"level": "debug", "format": "text"}, "list": [3]}
    assert file["logs"] == {"level": "info", "format": "text"}


def test_variables_override_settings_of_the_top_and_one_level_below() -> None:
    environ = {
        "STREAMGAUGE_LISTEN": "127.0.0.1:9",
        "STREAMGAUGE_MOST": "3",
        "STREAMGAUGE_SHARE": "0.25",
        "STREAMGAUGE_LOUD": "true",
        "STREAMGAUGE_FOLDER": "x",
        "STREAMGAUGE_BUFFER": "1MiB",
        "STREAMGAUGE_LOGS__LEVEL": "debug",
        "STREAMGAUGE_CONFIG": "read elsewhere",
        "PATH": "/bin",
    }

    overrides = environment_overrides(Example, environ, other={"STREAMGAUGE_CONFIG"})

    assert build(Example, overrides, "x") == Example(
        listen="127.0.0.1:9",
        most=3,
        share=0.25,
        loud=True,
        folder=Path("x"),
        buffer=1 << 20,
        logs=Logs(level="debug"),
    )


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("LISTN", "x", "unknown variable (did you mean STREAMGAUGE_LISTEN?)"),
        ("MOST", "many", '"many" is not a whole number'),
        ("LOUD", "1", '"1" is not true or false'),
        ("BUFFER", "9", '"9" is not a size (write it like 64MiB or 512KiB)'),
        ("LOGS__LEVEL", "x", '"x" is not one of debug, info'),
        ("LISTEN", "", "is empty (unset it to get the default)"),
        ("SYSTEMS", "a,b", "holds more than one value: write it in the file"),
        ("X_HEADERS", "a", "holds more than one value: write it in the file"),
    ],
)
def test_a_wrong_variable_is_named(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        environment_overrides(Example, {f"STREAMGAUGE_{name}": text})

    assert str(caught.value) == f"environment: STREAMGAUGE_{name}: {reason}"


def test_the_variables_of_a_kubernetes_service_are_nobodys_mistake() -> None:
    links = {
        "STREAMGAUGE_SERVICE_HOST": "10.0.0.1",
        "STREAMGAUGE_SERVICE_PORT": "7778",
        "STREAMGAUGE_SERVICE_PORT_HTTP_METRICS": "7778",
        "STREAMGAUGE_PORT": "tcp://10.0.0.1:7778",
        "STREAMGAUGE_PORT_7778_TCP": "tcp://10.0.0.1:7778",
        "STREAMGAUGE_PORT_7778_TCP_ADDR": "10.0.0.1",
        "STREAMGAUGE_EXPORTER_SERVICE_HOST": "10.0.0.1",
        "STREAMGAUGE_EXPORTER_PORT": "tcp://10.0.0.1:7778",
    }

    assert environment_overrides(Example, links) == {}


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        ("hunter2", "hunter2"),
        ("hunter2\n", "hunter2"),
        ("a\r\n", "a"),
        ("a\n\n", "a\n"),
        (" a", " a"),
    ],
)
def test_a_secret_file_loses_one_newline(tmp_path: Path, content: str, secret: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content.encode())

    assert read_secret(path) == secret


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty, a secret was expected"),
        (b"\n", "is empty, a secret was expected"),
        (b"\xff", "is not UTF-8 text"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_useless_secret_file_is_an_error(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError) as caught:
        read_secret(path)

    assert str(caught.value) == f"{path}: {reason}"


def test_a_secret_shows_itself_only_when_asked() -> None:
    system = System(name="a", urls=("x",), password=Secret("hunter2"), pin="hunter2")
    secret = system.password
    assert secret is not None

    seen = f"{system!r} {secret} {secret!r} {secret:>20} {[secret]}"

    assert "hunter2" not in seen
    assert seen.count("********") == 4
    assert secret.reveal() == "hunter2"
    assert secret == Secret("hunter2")
    assert secret != Secret("hunter3")
    with pytest.raises(TypeError, match="not written anywhere"):
        pickle.dumps(secret)


def test_the_reference_lists_every_key_with_type_default_and_meaning() -> None:
    assert render_reference(Example) == (
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `listen` | text | `0.0.0.0:7778` | Address. |\n"
        "| `systems` | list of section | `[]` | What to watch. |\n"
        "| `logs` | section |  | Logs. |\n"
        "| `most` | whole number | `10` | A ceiling. |\n"
        "| `share` | number | `0.5` | A share. |\n"
        "| `loud` | true or false | `false` | A switch. |\n"
        "| `folder` | path |  | A folder. |\n"
        "| `streams` | regular expression | `.*` | Which streams. |\n"
        "| `buffer` | size | `64MiB` | A buffer. |\n"
        "| `X-Headers` | mapping of text | `{}` | Headers. |\n"
        "\n### `systems[]`\n\n"
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `systems[].name` | text | required | Name of the system. |\n"
        "| `systems[].source` | `account` or `system` | `account` | How to ask. |\n"
        "| `systems[].interval` | duration | `15s` | Time between polls. |\n"
        "| `systems[].urls` | list of text | `[]` | Where the servers are. |\n"
        "| `systems[].password` | secret text |  | Password. |\n"
        "| `systems[].pin` | text | (not shown) | A secret that is plain text. |\n"
        "\n### `logs`\n\n"
        "| key | type | default | meaning |\n"
        "|---|---|---|---|\n"
        "| `logs.level` | `debug` or `info` | `info` | How much \\| to say. |"
    )


def test_an_annotation_that_nobody_can_read_is_a_mistake_of_the_program() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wrong:
        when: complex = setting(1j, "A complex number.")

    Wrong.__annotations__["when"] = complex
    with pytest.raises(TypeError, match="cannot be annotated"):
        build(Wrong, {"when": 1}, "x")
