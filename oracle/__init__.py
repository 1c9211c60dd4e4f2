"""Is it right? The engine's tokens and vectors against everything else that computes them. Run: python -m oracle."""
