"""The pure state machine, display state and schedule arithmetic."""
