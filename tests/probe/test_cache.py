"""The cache per process group."""

from prowl_svc.probe.cache import LIFETIME, PURGE_ABOVE, GroupCache


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lifetime_is_strict() -> None:
    """A value is served while it is younger than 0.75 s, and not at exactly that age."""
    clock = Clock()
    cache: GroupCache[str] = GroupCache(clock)
    cache.put(7, "claude")
    clock.now += 0.749
    assert ("claude",) == cache.get(7)
    clock.now = 100.0 + LIFETIME
    assert None is cache.get(7)


def test_nothing_is_a_value() -> None:
    """ "No job" is kept like any other answer, and another group is another key."""
    cache: GroupCache[str] = GroupCache(Clock())
    cache.put(7, None)
    assert (None,) == cache.get(7)
    assert None is cache.get(8)


def test_age_counts_from_the_reading() -> None:
    """A value read a while ago lives only for the rest of its time."""
    clock = Clock()
    cache: GroupCache[str] = GroupCache(clock)
    cache.put(7, "claude", read_at=clock.now - 0.5)
    clock.now += 0.25
    assert None is cache.get(7)


def test_purge_above_64_entries() -> None:
    """Expired entries go when more than 64 are held, and only then."""
    clock = Clock()
    cache: GroupCache[str] = GroupCache(clock)
    for group in range(PURGE_ABOVE):
        cache.put(group, None)
    clock.now += 1
    assert PURGE_ABOVE == len(cache)
    cache.put(1000, "codex")
    assert 1 == len(cache)
    assert ("codex",) == cache.get(1000)


def test_many_live_groups_are_not_sifted_with_every_insert() -> None:
    """After a purge that left many, the next one waits until there are twice as many; the last value stays known."""
    clock = Clock()
    cache: GroupCache[str] = GroupCache(clock)
    for group in range(PURGE_ABOVE + 1):
        cache.put(group, "claude")
    clock.now += LIFETIME
    for group in range(PURGE_ABOVE + 1, 2 * PURGE_ABOVE + 2):
        cache.put(group, "codex")
    assert "claude" == cache.last(0)
    assert None is cache.get(0)
    cache.put(1000, "codex")
    assert None is cache.last(0)
    assert PURGE_ABOVE + 2 == len(cache)
