"""Finding passages by words and by meaning."""
