"""A knowledge base as JSON lines, and back."""
