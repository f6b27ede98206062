"""An event loop whose name lookups do not hold up anything else."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import Any


class NameLookupLoop(asyncio.SelectorEventLoop):
    """Each name is looked up in a thread of its own, once at a time.

    A resolver may need minutes to fail. In the threads of the loop such lookups would leave none for polls and
    scrapes, and the end of the process would wait for them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lookups: dict[tuple[Any, ...], asyncio.Future[Any]] = {}

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002  as asyncio names it
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        key = (host, port, family, type, proto, flags)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = self.create_future()
            lookup.add_done_callback(lambda _: self._lookups.pop(key))
            threading.Thread(target=self._look_up, args=(key, lookup), daemon=True).start()
        return await asyncio.shield(lookup)

    def _look_up(self, key: tuple[Any, ...], lookup: asyncio.Future[Any]) -> None:
        found: Any = None
        failed: OSError | None = None
        try:
            found = socket.getaddrinfo(*key)
        except OSError as error:
            failed = error
        except UnicodeError as error:  # a label that is empty or too long
            failed = socket.gaierror(socket.EAI_NONAME, f"{error}")

        def end() -> None:
            if failed is None:
                lookup.set_result(found)
            else:
                lookup.set_exception(failed)
                lookup.exception()  # perhaps none waits for it any more

        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.call_soon_threadsafe(end)
