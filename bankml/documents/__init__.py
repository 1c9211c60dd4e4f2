"""Documents: which files they are, the text that is in them, and its passages."""
