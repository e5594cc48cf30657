"""The flows of relayed connections, interpreted: every event is the caller's to handle."""

from selectors import BaseSelector, SelectorKey

__all__ = ["Flows"]


class Flows:
    """Connections whose bytes may be passed on as they come, and the wait for everything else.

    At most ``chunk`` bytes of a connection are passed on at a time. One thread uses it.
    """

    def __init__(self, chunk: int) -> None: ...

    def open(self, client: int, server: int, pidfd: int) -> None:
        """Let bytes pass between two descriptors, both watched for input alone.

        Those of the client pass while the process of ``pidfd`` runs; -1 stands for no such condition. Opening again
        changes the condition.
        """

    def close(self, client: int, server: int) -> None:
        """Leave both descriptors to the caller, as must be before they are closed; closing twice is harmless."""

    def wait(self, selector: BaseSelector, timeout: float | None = None) -> list[tuple[SelectorKey, int, bytes | None]]:
        """Pass bytes on until the caller is needed, or for ``timeout`` seconds at the most.

        Returned are key and events of each descriptor, as by select, and what was read from it but not passed on,
        which is the caller's to deliver before anything else from there.
        """
        return [(key, mask, None) for key, mask in selector.select(timeout)]
