"""Per-pane multicast stream with bounded queues."""
