"""Secrets from files: reading, errors, and no output of their text."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from support.example_settings import System

from streamgauge.serving.settings.loader import Secret, SettingsError, read_secret


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


def test_only_reveal_returns_a_secret() -> None:
    system = System(name="a", urls=("x",), password=Secret("hunter2"), pin="hunter2")
    secret = system.password
    assert secret is not None

    seen = f"{system!r} {secret} {secret!r} {secret:>20} {[secret]}"

    assert "hunter2" not in seen
    assert seen.count("********") == 4
    assert secret.reveal() == "hunter2"
    assert secret == Secret("hunter2")
    assert secret != Secret("hunter3")
    with pytest.raises(TypeError, match="cannot be serialised"):
        pickle.dumps(secret)
