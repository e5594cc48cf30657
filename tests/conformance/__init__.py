"""Runs case files with right answers through the parts of the service: ``python -m tests.conformance FOLDER``."""
