"""A program that runs its command on a terminal of its own, as ``script`` does."""

import json
import os
import pty

pty.spawn(json.loads(os.environ["RELAYED"]))
