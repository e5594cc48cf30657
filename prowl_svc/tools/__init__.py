"""Commands that run without a service; the CLI finds them by entry points."""
