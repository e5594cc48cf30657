"""One adapter per kind of case file; each imports the part it drives only when it runs."""
