"""Who embeds histories: the engine in this process, or a local Ollama. One interface, chosen once."""

from bankml.embedders.choice import choose
from bankml.embedders.embedder import Embedder
from bankml.embedders.native import NativeEmbedder

__all__ = ["Embedder", "NativeEmbedder", "choose"]
