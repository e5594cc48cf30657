"""The prowl command."""
