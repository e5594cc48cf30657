"""Changes every recorded and drawn screen in ways that must not change what is read, and tells where they do.

Run it as ``python -m tests.screens.metamorphic --rounds N [--agent NAME] [--only CHANGE] [--seed S] [--show N]``; the
suite makes the same changes for a bounded number of screens (``test_metamorphic.py``).
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from prowl_svc.model.state import Detection
from prowl_svc.screens.classify import classify
from tests.screens.anatomy import Screen
from tests.screens.changes import CHANGES, Change
from tests.screens.material import agent_of, screens

__all__ = ["Failure", "check", "run"]


@dataclass(frozen=True)
class Failure:
    """A changed screen that is read as something else."""

    change: str
    screen: Screen
    seen: Detection


def check(screen: Screen, change: Change, random: Random, depth: int = 1) -> Failure | bool:
    """Return False where the change does not apply, True where the answer stays, else the failure.

    With a ``depth`` above 1, that many less one further changes are made, of those that apply.
    """
    changed = change(screen, random)
    if changed is None:
        return False
    for further in random.choices(CHANGES, k=depth - 1):
        changed = further(changed, random) or changed
    seen = classify(agent_of(changed), changed.rows, changed.title)
    return True if seen.state.value == screen.state else Failure(change.__name__, changed, seen)


def run(
    rounds: int, seed: int, agent: str = "", only: str = "", depth: int = 1
) -> Iterator[tuple[Screen, str, Failure | None]]:
    """Yield every screen with every change that applies to it, ``rounds`` times."""
    for number in range(rounds):
        random = Random(seed + number)
        for screen in screens():
            if agent and screen.family != agent:
                continue
            for change in CHANGES:
                if only and change.__name__ != only:
                    continue
                found = check(screen, change, random, depth)
                if found is not False:
                    yield screen, change.__name__, None if found is True else found


def main() -> int:
    """Run, print the failures and a table of changes by agents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--agent", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--depth", type=int, default=1, help="how many changes are made one after the other")
    parser.add_argument("--show", type=int, default=0, help="print the rows of this many failures")
    parser.add_argument("--names", action="store_true", help="name every failure")
    arguments = parser.parse_args()
    tried: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for screen, name, failure in run(
        arguments.rounds, arguments.seed, arguments.agent, arguments.only, arguments.depth
    ):
        tried[screen.family, name] += 1
        if failure is None:
            continue
        failed[screen.family, name] += 1
        if arguments.names or failed.total() <= arguments.show:
            seen = failure.seen
            print(f"{name}: {screen.name}: {screen.state} ({screen.reason}) read as {seen.state} ({seen.reason})")
        if failed.total() <= arguments.show:
            print("\n".join(f"   |{row}" for row in failure.screen.rows), f"\n   title {failure.screen.title!r}")
    families = sorted({family for family, _ in tried})
    for change in CHANGES:
        name = change.__name__
        cells = [f"{family} {failed[family, name]}/{tried[family, name]}" for family in families if tried[family, name]]
        wrong, total = (sum(counted[family, name] for family in families) for counted in (failed, tried))
        print(f"{name:20} {wrong}/{total}  " + "  ".join(cells))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
