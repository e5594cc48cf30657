"""Screen to (state, rule id): one file per agent over shared region helpers (detection.md §2)."""
