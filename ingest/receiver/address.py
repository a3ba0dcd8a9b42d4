"""Where the receiver listens.

Owns what "host:port" means. Refuses an address that is taken, before anything else has started.
"""

import socket
from dataclasses import dataclass

from ingest.errors import ConfigurationError, LedgerError

BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class Address:
    """A host (a name, an IPv4 or an IPv6 address) and a port; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def parse_address(text: str) -> Address:
    """The address of "127.0.0.1:4318", "[::1]:4318", ":4318" (every interface) or "4318".

    Raises `ConfigurationError` for another form.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host = "127.0.0.1"
    if not port.isdecimal() or int(port) > 65_535 or (":" in host and not host.startswith("[")):
        raise ConfigurationError(f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:4318")
    return Address(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - ":4318" asks for it


def listening_socket(address: Address) -> socket.socket:
    """A socket that listens on `address`; raises `LedgerError` where none can."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise LedgerError(
            f"the address {address} cannot be listened on: {error.strerror or error}; choose "
            "another with --http"
        ) from error
    return listener
