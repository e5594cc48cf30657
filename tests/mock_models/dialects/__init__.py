"""The protocols that CLIs speak to a model; each module reads a request and speaks an answer."""
