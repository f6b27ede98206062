"""Free ports of this machine, for servers that must keep theirs over a restart."""

import random
import socket
from typing import Final

# Below the range from which the kernel takes the ports of outgoing connections (32768 and up on
# Linux): otherwise a client could be given a server's port while that server restarts.
LOWEST: Final = 15000
HIGHEST: Final = 32000


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago; whoever listens must still be ready to retry."""
    found: set[int] = set()
    while len(found) < count:
        port = random.randint(LOWEST, HIGHEST)
        if port not in found and is_free(port):
            found.add(port)
    return list(found)
