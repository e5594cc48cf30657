"""Bytes to active screen, side channels, answers and keyboard encoding."""
