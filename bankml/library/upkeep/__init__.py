"""A store that is there: embedded anew, counted, examined."""
