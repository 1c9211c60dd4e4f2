"""A function in a new process: what it finds there, and the memory there, is its own."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def alone(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What it returns, or raises; both it and its arguments are pickled."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()
