"""Screen to (state, rule id), one file per agent."""
