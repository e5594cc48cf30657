"""Tests of the thin clients."""
