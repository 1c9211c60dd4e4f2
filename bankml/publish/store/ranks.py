"""How often a passage holds a term, from what PostgreSQL ranks it by: `ts_rank` of one lexeme knows nothing else.

With weights of 1 that is Σ 1/j² of j = 1 … n, over ζ(2), for a lexeme that stands at n positions (PostgreSQL,
src/backend/utils/adt/tsrank.c, calc_rank_or). It is read from the tsvector in the server's C, where unpacking one into
rows takes a hundred times as long. It grows by 1/n², which 32 bits tell apart up to 1,000; a tsvector has at most 256.
"""

from itertools import accumulate, pairwise
from math import pi

from bankml.publish.store.lexemes import POSITIONS

WEIGHTS = [1.0, 1.0, 1.0, 1.0]
_SUMS = [0.0, *accumulate(1 / n**2 for n in range(1, POSITIONS + 2))]
STEPS = [(low + high) / 2 / (pi**2 / 6) for low, high in pairwise(_SUMS)]
"""`width_bucket(ts_rank(WEIGHTS, words, term), STEPS)` is the number of positions: between two of these."""
