"""What both clients share of observation: the marker of a bridged gap."""

from dataclasses import dataclass

from prowl.v1 import agents_pb2, errors_pb2

from prowl_client.errors import ProwlError

__all__ = ["Gap", "Observed", "bridged"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Events were lost because this observer was too slow, and a new subscription bridged them.

    The next event is a fresh snapshot: the state is right again, but signals in between were lost for good, all of
    them from ``first_lost_revision`` on that came before ``current_revision``.
    """

    first_lost_revision: int
    current_revision: int


Observed = agents_pb2.ObserveEvent | Gap
"""What ``observe`` yields."""


def bridged(error: ProwlError) -> Gap | None:
    """Return the gap when the error is an overflow that a new subscription bridges, else None."""
    if error.code != "BUFFER_OVERFLOW":
        return None
    details = error.details
    if isinstance(details, errors_pb2.OverflowDetails):
        return Gap(details.first_lost_revision, details.current_revision)
    return Gap(0, 0)
