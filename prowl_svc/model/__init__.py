"""The words that every room shares: frozen values without behaviour that touches the world."""
