"""Who says that a person looks at a pane (providers.md §5); an unknown view counts as none."""

from collections.abc import Callable

from prowl_svc.decision.display import viewed

__all__ = ["VIEWER_LIMIT", "Viewers"]

VIEWER_LIMIT = 64


class Viewers:
    """The claims of one pane's viewers.

    A host's claim holds for ``timeout`` seconds unless it is repeated; that of an attached terminal until it leaves.
    """

    def __init__(self, clock: Callable[[], float], timeout: float) -> None:
        self._clock = clock
        self._timeout = timeout
        self._claims: dict[str, tuple[bool, float]] = {}

    def claim(self, viewer: str, is_viewed: bool, *, lasting: bool = False) -> None:
        """Take a viewer's word; the oldest claim goes when there are too many."""
        self._claims.pop(viewer, None)
        self._claims[viewer] = (is_viewed, float("inf") if lasting else self._clock() + self._timeout)
        while len(self._claims) > VIEWER_LIMIT:
            del self._claims[next(iter(self._claims))]

    def leave(self, viewer: str) -> None:
        """Forget a viewer."""
        self._claims.pop(viewer, None)

    @property
    def viewed(self) -> bool:
        """Whether anybody looks at the pane now."""
        now = self._clock()
        return viewed(claim for claim, until in self._claims.values() if until > now)
