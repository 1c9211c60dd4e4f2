"""Documents: which files they are, the text that is in them, and its passages."""

from bankml.documents.chunk import Chunk
from bankml.documents.chunking import CHUNKER, OVERLAP, SIZE, chunks
from bankml.documents.estimate import estimate
from bankml.documents.extract import EXTRACTOR, extract
from bankml.documents.extracted import Block, Extracted
from bankml.documents.source import Failure, Source
from bankml.documents.sources import sources
from bankml.documents.walk import Options

__all__ = [
    "CHUNKER",
    "EXTRACTOR",
    "OVERLAP",
    "SIZE",
    "Block",
    "Chunk",
    "Extracted",
    "Failure",
    "Options",
    "Source",
    "chunks",
    "estimate",
    "extract",
    "sources",
]
