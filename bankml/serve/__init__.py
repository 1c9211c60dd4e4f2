"""HTTP: Ollama's and OpenAI's addresses over one encoder."""
