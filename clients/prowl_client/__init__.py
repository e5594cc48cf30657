"""The thin Prowl client."""
