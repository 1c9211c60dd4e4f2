"""What a person should hear while a model is made ready. The library only logs it; commands show it on stderr."""

import logging

log = logging.getLogger(__name__)


def optimising(name: str) -> None:
    """Told once: what is made is kept, and later loads have nothing to tell."""
    log.info("Optimising model %s for bankml's engine (one-time)…", name)


def tell(sentence: str) -> None:
    """A sentence that the user of a model should know."""
    log.info("%s", sentence)
