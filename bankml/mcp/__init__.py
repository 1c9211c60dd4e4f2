"""The memory and the knowledge base of one store, as tools that agents call over the Model Context Protocol."""
