"""JSON Schemas of the envelopes."""
