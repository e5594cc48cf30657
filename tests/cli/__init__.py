"""Tests of the prowl command."""
