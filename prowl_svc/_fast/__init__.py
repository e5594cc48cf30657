"""Compiled hot paths, each with an interpreted twin or a reference."""
