"""Fits the polynomials of csrc/kernels/elementwise.inc; prints their coefficients and the error of the fit.

Run: python oracle/fit_polynomials.py   (needs mpmath, which the `oracle` extra brings). The error of the compiled f32
functions is held by tests/cpp/test_kernels.cpp.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def chebyshev_nodes(low: float, high: float, count: int) -> list[mp.mpf]:
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def fit_exp(degree: int) -> list[float]:
    """exp(r) = 1 + r + r²·p(r) on |r| <= ln2/2; relative error is what matters, and exp is near 1 there."""
    half = mp.log(2) / 2 * mp.mpf("1.001")
    nodes = chebyshev_nodes(-half, half, 60)
    count = degree - 1
    rows = mp.matrix([[r ** (i + 2) / mp.exp(r) for i in range(count)] for r in nodes])
    target = mp.matrix([(mp.exp(r) - 1 - r) / mp.exp(r) for r in nodes])
    return [float(np.float32(c)) for c in mp.lu_solve(rows, target)]


def fit_erf(p_degree: int, q_degree: int, limit: float) -> tuple[list[float], list[float]]:
    """erf(x) = x·P(x²)/Q(x²) on |x| <= limit, Q(0) = 1: linear least squares, reweighted by the last denominator."""
    nodes = chebyshev_nodes(mp.mpf("1e-6"), mp.mpf(limit), 240)
    weight = [mp.mpf(1)] * len(nodes)
    for _ in range(12):
        rows, target = [], []
        for x, w in zip(nodes, weight, strict=True):
            s, y = x * x, mp.erf(x)
            rows.append([w * x * s**i for i in range(p_degree + 1)] + [-w * y * s**i for i in range(1, q_degree + 1)])
            target.append(w * y)
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix(target))
        p, q = list(solution[: p_degree + 1]), [mp.mpf(1), *solution[p_degree + 1 :]]
        weight = [1 / mp.polyval(q[::-1], x * x) for x in nodes]
    return [float(np.float32(c)) for c in p], [float(np.float32(c)) for c in q]


def main() -> None:
    exp = fit_exp(6)
    half = float(mp.log(2) / 2)
    worst = max(
        abs((1 + r + r * r * mp.polyval(exp[::-1], r)) / mp.exp(r) - 1)
        for r in map(mp.mpf, np.linspace(-half, half, 4001))
    )
    print("exp(r) = 1 + r + r^2*(c0 + c1*r + …):", [f"{c:.9g}f" for c in exp], f"fit error {float(worst):.2g}")
    limit = 3.92
    p, q = fit_erf(6, 5, limit)
    worst = max(
        abs(x * mp.polyval(p[::-1], x * x) / mp.polyval(q[::-1], x * x) - mp.erf(x))
        for x in map(mp.mpf, np.linspace(0, limit, 4001))
    )
    print("erf P:", [f"{c:.9g}f" for c in p])
    print("erf Q:", [f"{c:.9g}f" for c in q], f"fit error {float(worst):.2g}, erfc(limit) {float(mp.erfc(limit)):.2g}")


if __name__ == "__main__":
    main()
