"""`streamgauge archive inspect|verify|import|export|compact`: the command line tools."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from archive.progress import ConsoleProgress
from archive.tables.manifest_store import ManifestError
from archive.tables.storage import StorageError
from archive.tools import compact_command
from archive.tools.archive_view import ArchiveMissingError
from archive.tools.errors import ToolError
from archive.tools.exporting import export_command
from archive.tools.importing import import_command
from archive.tools.inspecting import inspect_command
from archive.tools.verifying import verify_command
from archive.wal.errors import WalError
from streamgauge.serving.log_escape import one_line

COMMANDS = {
    "inspect": (inspect_command, "show days, series, bytes per sample and gaps of an archive"),
    "verify": (verify_command, "check every file, row and statistic of an archive"),
    "import": (import_command, "import samples of a Prometheus server or an OpenMetrics file"),
    "export": (export_command, "export an archive as OpenMetrics text"),
    "compact": (compact_command, "publish the log and merge the files of days now"),
}
_INPUT_ERRORS = (ToolError, ArchiveMissingError, ManifestError, StorageError, WalError)


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line that names the flag."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument (-?-?[\w-]+)(?:/\S+)?: (.*)", message)
        raise ToolError(f"{named[1]}: {named[2]}" if named else message)


def parser() -> argparse.ArgumentParser:
    made = _Parser(prog="streamgauge archive", allow_abbrev=False)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        one = commands.add_parser(name, help=what, description=module.__doc__, allow_abbrev=False)
        module.add_arguments(one)
    return made


def main(argv: Sequence[str]) -> int:
    """Returns 0 on success, 1 when a check found faults, 2 on an error."""
    try:
        args = parser().parse_args(argv)
        code: int = COMMANDS[args.command][0].run(args, ConsoleProgress())
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
