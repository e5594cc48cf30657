"""Generated from the public contract; see proto/."""
