"""Is it fast? Speed beside llama.cpp and the measured peak (`python -m bench`), memory (`python -m bench.memory`)."""
