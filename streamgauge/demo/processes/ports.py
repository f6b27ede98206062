"""Free ports of this machine, for servers that keep their port over a restart."""

import random
import socket
from typing import Final

# Below the ephemeral ports of the kernel (32768 and up on Linux): otherwise an outgoing connection
# could take a server's port while that server restarts.
LOWEST: Final = 15000
HIGHEST: Final = 32000


def is_free(port: int) -> bool:
    """Whether a server can listen on it now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ports that are free now. Another process may take one, so be ready to retry."""
    found: set[int] = set()
    while len(found) < count:
        port = random.randint(LOWEST, HIGHEST)
        if port not in found and is_free(port):
            found.add(port)
    return list(found)
