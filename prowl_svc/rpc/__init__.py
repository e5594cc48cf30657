"""Thin servicers: decode, call one room, encode."""
