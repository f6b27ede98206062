"""`streamgauge archive inspect|verify|import|export|compact`: the command line tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from archive.progress import ConsoleProgress
from archive.tables.storage import StorageError
from archive.tools.archive_view import ArchiveMissingError
from archive.tools.command_line import TOOLS, parser
from archive.tools.errors import ToolError
from archive.wal.errors import WalError
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.settings.errors import SettingsError
from streamgauge.serving.settings.flags import parse_arguments

_INPUT_ERRORS = (SettingsError, ToolError, ArchiveMissingError, StorageError, WalError)


def main(argv: Sequence[str]) -> int:
    """Returns 0 on success, 1 when a check found faults, 2 on an error."""
    try:
        args = parse_arguments(argv, parser())
        code: int = import_module(TOOLS[args.command].module).run(args, ConsoleProgress())
    except _INPUT_ERRORS as error:
        sys.stderr.write(f"streamgauge: {one_line(str(error))}\n")
        return 2
    except BrokenPipeError:
        # The reader closed the pipe; without this Python reports an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
