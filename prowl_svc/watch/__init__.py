"""The per-pane watcher that drives probe, screens, evidence and decision, and the roster of all panes."""
