"""The one model of a knowledge base: asked for, checked, recorded."""
