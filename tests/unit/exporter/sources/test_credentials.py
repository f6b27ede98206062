"""Credentials of a NATS connection, read from their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.sources.transport.credentials import NatsAccess
from streamgauge.serving.settings.loader import SettingsError


@pytest.mark.parametrize("text", ["hunter2", "SU", "S" * 58])
def test_a_file_without_an_nkey_seed_is_a_configuration_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "seed"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        NatsAccess(("nats://127.0.0.1",), nkey_seed_file=file).connect_options()
    assert str(caught.value) == f"{file}: is not an nkey seed"
