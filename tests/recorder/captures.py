"""Captures on disk: ``tests/captures/<agent>/<version>/`` holds one text file a screen and a manifest."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["ROOT", "Capture", "Folder", "cleaned", "folders"]

ROOT = Path(__file__).resolve().parent.parent / "captures"
_MANIFEST = "manifest.json"
# As long as the folder and its name that they stand for, so that no box changes its width.
_HOME = "/home/u/workspace"
_NAME = "workspace-12"


@dataclass(frozen=True, slots=True)
class Capture:
    """One screen and the truth about it.

    ``state`` is ``working``, ``blocked``, ``idle`` or ``unknown`` (a view covered the live area); ``mock`` is what the
    model was doing just then. The rows lie in the file ``<name>.txt``.
    """

    name: str
    columns: int
    rows: int
    title: str
    alternate: bool
    state: str
    mock: str
    note: str


@dataclass(frozen=True, slots=True)
class Folder:
    """All captures of one version of an agent."""

    path: Path

    @property
    def agent(self) -> str:
        """The agent's raw value."""
        return self.path.parent.name

    @property
    def version(self) -> str:
        """The version that was recorded."""
        return self.path.name

    def captures(self) -> list[Capture]:
        """Return what the manifest lists, empty when there is none."""
        manifest = self.path / _MANIFEST
        if not manifest.exists():
            return []
        return [Capture(**entry) for entry in json.loads(manifest.read_text())["captures"]]

    def screen(self, capture: Capture) -> list[str]:
        """Return a capture's rows, padded with empty rows to its height."""
        rows = (self.path / f"{capture.name}.txt").read_text().split("\n")[:-1]
        return rows + [""] * (capture.rows - len(rows))

    def replace(self, columns: int, rows: int, taken: Sequence[tuple[Capture, Sequence[str]]]) -> None:
        """Put new captures in the place of all those of the same size."""
        self.path.mkdir(parents=True, exist_ok=True)
        kept = []
        for capture in self.captures():
            if (capture.columns, capture.rows) == (columns, rows):
                (self.path / f"{capture.name}.txt").unlink(missing_ok=True)
            else:
                kept.append(capture)
        for capture, screen in taken:
            text = "\n".join(screen).rstrip("\n")
            (self.path / f"{capture.name}.txt").write_text(text + "\n" if text else "")
        entries = [asdict(capture) for capture in (*kept, *(capture for capture, _ in taken))]
        manifest = {"agent": self.agent, "version": self.version, "captures": entries}
        (self.path / _MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def folders(root: Path = ROOT) -> Iterator[Folder]:
    """Yield every recorded version, by agent and version."""
    for manifest in sorted(root.glob(f"*/*/{_MANIFEST}")):
        yield Folder(manifest.parent)


def cleaned(text: str, home: Path, secrets: Sequence[str] = ()) -> str:
    """Return text without the sandbox's folder, the port of the mock and other words of this machine."""
    text = text.replace(str(home), _HOME).replace(home.name, _NAME)
    # A narrow terminal may have wrapped the path after its hyphen.
    text = text.replace("/tmp/rec-", _HOME[:9]).replace(home.name.removeprefix("rec-"), _HOME[9:])
    text = re.sub(r"127\.0\.0\.1:\d{2,5}", lambda found: "127.0.0.1:" + "8" * (len(found[0]) - 10), text)
    for secret in secrets:
        text = text.replace(secret, "x" * len(secret))
    return text
