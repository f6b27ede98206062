"""`streamgauge archive inspect|verify|import|export|compact`: the tools beside the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from archive.progress import ConsoleProgress
from archive.tables.manifest_store import ManifestError
from archive.tables.storage import StorageError
from archive.tools.archive_view import ArchiveMissingError
from archive.tools.command_line import TOOLS, parser
from archive.tools.errors import ToolError
from archive.wal.errors import WalError
from streamgauge.serving.log_escape import one_line

_INPUT_ERRORS = (ToolError, ArchiveMissingError, ManifestError, StorageError, WalError)


def main(argv: Sequence[str]) -> int:
    """0 when all is well, 1 when a check found something, 2 when it could not be done."""
    try:
        words = parser().parse_args(argv)
        code: int = import_module(TOOLS[words.command].module).run(words, ConsoleProgress())
    except _INPUT_ERRORS as error:
        sys.stderr.write(f"streamgauge: {one_line(str(error))}\n")
        return 2
    except BrokenPipeError:
        # Whoever read it has seen enough; without this Python would complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
