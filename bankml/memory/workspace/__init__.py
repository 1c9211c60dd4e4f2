"""Linked repositories: stores of one profile that answer current queries together."""
