"""One module a command: ``register`` adds its parser, ``run`` does it."""
