"""The hook bridge."""
