"""Signals, epochs, waits and dispatch receipts."""
