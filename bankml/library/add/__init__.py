"""Files into a store, and what is gone out of it."""
