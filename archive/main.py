"""`streamgauge archive`: starts the server or one of the tools."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import uvloop

from archive.http.auth import Access, BearerTokens
from archive.serve import Archive
from archive.settings.options import Options, read_options
from archive.tables.storage import StorageError
from archive.wal.errors import WalError
from streamgauge.serving.logs import configure_logs
from streamgauge.serving.settings.loader import SettingsError
from streamgauge.serving.web.live_config import LiveWebConfig


def main(argv: Sequence[str]) -> int:
    if argv and not argv[0].startswith("-"):
        from archive.tools.cli import main as tools

        return tools(argv)
    try:
        return _serve(read_options(argv, os.environ))
    except (SettingsError, WalError, StorageError) as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _serve(options: Options) -> int:
    settings = options.load()
    configure_logs(settings.log.format, settings.log.level)
    web_config = LiveWebConfig(settings.web.config_file)
    access = Access(web_config, BearerTokens(settings.bearer_tokens))
    archive = Archive(options, settings, access)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(archive.run())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
