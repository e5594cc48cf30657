"""A demonstration on recordings of real agents: ``python -m prowl_svc.demo``."""
