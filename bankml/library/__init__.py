"""A knowledge base in one file: its model, its documents, and finding in them."""
