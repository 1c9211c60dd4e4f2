"""How well words, meaning and both together find what is asked for: measured on a real FAQ in ten languages."""
