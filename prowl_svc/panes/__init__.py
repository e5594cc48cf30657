"""Where panes come from, and the registry that names them."""
