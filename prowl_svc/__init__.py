"""The service that knows which coding agent runs in which pane, and what it needs."""
