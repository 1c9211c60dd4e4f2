"""Records that answer a query: what passes, both arms over the one index, exact identifiers, bounded priors."""
