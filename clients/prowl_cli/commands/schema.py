"""``prowl schema``: the JSON Schema of every envelope."""

import argparse
from importlib.resources import files

from prowl_cli import parser

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    parser.add(
        commands,
        "schema",
        "print the JSON Schema (2020-12) of all envelopes",
        run,
        examples="prowl schema > prowl.schema.json",
        json=False,
        service=False,
    )


def run(args: argparse.Namespace) -> None:
    """Print the schema."""
    print(files("prowl_cli.schemas").joinpath("envelopes.json").read_text("utf-8"), end="")
