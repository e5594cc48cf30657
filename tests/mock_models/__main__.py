"""``python -m tests.mock_models PORT [PROJECT]``: run the mock in the foreground."""

import asyncio
import sys
from pathlib import Path

from tests.mock_models.server import MockServer


async def _serve(port: int, project: Path) -> None:
    async with MockServer(project, port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0, Path(*sys.argv[2:3])))
