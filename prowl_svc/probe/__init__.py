"""Foreground job to agent."""
