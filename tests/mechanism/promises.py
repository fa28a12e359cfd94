"""What calibrated noise really promises, in mpmath: the laws themselves, at the floats that were calibrated.

Nothing here shares a formula with the calibrations but the definition of a promise. `holds` answers for one law.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp

from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP


def exactly(number: float | Fraction) -> mp.mpf:
    number = Fraction(number)
    return mp.mpf(number.numerator) / mp.mpf(number.denominator)


def digits_for(privacy: Privacy) -> int:
    """Enough digits for differences of the smallest parameter squared."""
    smallest = min(abs(value) for value in vars(privacy).values())
    return 60 + 3 * max(0, int(-mp.log10(exactly(smallest))))


def at_most(spent: mp.mpf, promised: float) -> bool:
    return bool(spent <= exactly(promised))


def laplace(privacy: Privacy, r: Fraction) -> bool:
    """Laplace noise under a shift by r scales."""
    r = exactly(r)
    match privacy:
        case PureDP(epsilon=epsilon):
            return at_most(r, epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            # ∫_{−∞}^{x} (p − e^ε q), x where the loss is ε, by pieces: left of 0, then up to x
            e = exactly(epsilon)
            if r <= e:
                return True
            x = (r - e) / 2
            left = mp.mpf(1) / 2 - mp.exp(e - r) / 2
            middle = (1 - mp.exp(-x)) / 2 - mp.exp(e - r) * (mp.exp(x) - 1) / 2
            return at_most(left + middle, delta)
        case ZCDP(rho=rho):
            # order 1 and orders above: ∫ p (p/q)^t by pieces
            spent = r + mp.exp(-r) - 1
            for t in map(mp.mpf, ("0.001", "0.1", "1", "30", "1000")):
                moment = mp.exp(t * r) / 2 + mp.exp(-t * r - r) / 2
                moment += mp.exp(t * r) * (1 - mp.exp(-(2 * t + 1) * r)) / (2 * (2 * t + 1))
                spent = max(spent, mp.log(moment) / (t * (1 + t)))
            return at_most(spent, rho)
        case GDP(mu=mu):
            # level Φ̄(μ/2) at the symmetric threshold: the Laplace tail at r/2 must not be below it
            return bool(mp.exp(-r / 2) >= mp.erfc(exactly(mu) / (2 * mp.sqrt(2))))
    raise AssertionError


def gaussian(privacy: Privacy, mu: Fraction) -> bool:
    """Gaussian noise under a shift by μ standard deviations."""
    m = exactly(mu)
    match privacy:
        case GDP(mu=promised):
            return at_most(m, promised)
        case ZCDP(rho=rho):
            return at_most(m * m / 2, rho)
        case ApproxDP(epsilon=epsilon, delta=delta):
            e = exactly(epsilon)

            def upper(x: mp.mpf) -> mp.mpf:
                return mp.erfc(x / mp.sqrt(2)) / 2

            return at_most(upper(e / m - m / 2) - mp.exp(e) * upper(e / m + m / 2), delta)
    raise AssertionError


def discrete_laplace(privacy: Privacy, k: int, r: Fraction) -> bool:
    """P(j) ∝ e^{−r|j|} under a shift by k steps."""
    r = exactly(r)
    p, norm = mp.exp(-r), mp.tanh(r / 2)

    def tail(j: int) -> mp.mpf:  # P(V ≥ j)
        return p**j / (1 + p) if j > 0 else 1 - p ** (1 - j) / (1 + p)

    match privacy:
        case PureDP(epsilon=epsilon):
            return at_most(k * r, epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            e = exactly(epsilon)
            # the best event is a tail {V ≥ j} against {V ≥ j + k}; convex in j away from the best, so look around it
            centre = -mp.floor((k - e / r) / 2)
            found = [
                tail(int(j)) - mp.exp(e) * tail(int(j) + k) for j in (centre - 2, centre - 1, centre, centre + 1, 0, 1)
            ]
            return at_most(max(found), delta)
        case ZCDP(rho=rho):
            # E[loss] = r·E(|V − k| − |V|): k below 0, k − 2j between, −k above
            if k > 1000:
                return at_most(r * (k - (1 - p**k) / mp.sinh(r)), rho)
            return at_most(r * (k * tail(1) + k * norm + sum_of_powers(p, k) * norm - k * tail(k + 1)), rho)
        case GDP(mu=mu):
            worst = max(
                quantile(tail(j)) + quantile(tail(k + 1 - j))
                for j in {max(1, (k + 1) // 2 + d) for d in (-1, 0, 1)} | {1}
            )
            return bool(worst <= exactly(mu))
    raise AssertionError


def sum_of_powers(p: mp.mpf, k: int) -> mp.mpf:
    """Σ_{j=1}^{k} (k − 2j)·p^j."""
    return mp.fsum((k - 2 * j) * p**j for j in range(1, k + 1))


def quantile(tail: mp.mpf) -> mp.mpf:
    """Φ̄⁻¹ of a tail."""
    if tail > mp.mpf("1e-30"):
        return mp.sqrt(2) * mp.erfinv(1 - 2 * tail)
    guess = mp.sqrt(-2 * mp.log(tail))
    return mp.findroot(lambda x: mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - mp.log(tail), guess)


def discrete_gaussian(privacy: Privacy, k: int, s: Fraction) -> bool:
    """P(j) ∝ e^{−j²/2s²} under a shift by k steps, summed until nothing is left."""
    s = exactly(s)

    def mass(j: int) -> mp.mpf:
        return mp.exp(-(mp.mpf(j) ** 2) / (2 * s * s))

    def total(first: int) -> mp.mpf:  # Σ_{j ≥ first}, by its own decay
        parts, j = [], first
        while True:
            parts.append(mass(j))
            if j > 0 and parts[-1] < max(parts) * mp.mpf(10) ** -mp.mp.dps:
                return mp.fsum(parts)
            j += 1

    norm = 2 * total(1) + 1
    match privacy:
        case ZCDP(rho=rho):
            return at_most(mp.mpf(k) ** 2 / (2 * s * s), rho)
        case ApproxDP(epsilon=epsilon, delta=delta):
            e = exactly(epsilon)
            first = int(mp.floor(e * s * s / k - mp.mpf(k) / 2)) + 1
            return at_most((total(first) - mp.exp(e) * total(first + k)) / norm, delta)
        case GDP(mu=mu):
            reach = int(4 * s * s) + 3 * k + 10
            tails = [total(reach) / norm]
            for j in range(reach - 1, 0, -1):
                tails.append(tails[-1] + mass(j) / norm)
            upper = [quantile(tail) for tail in reversed(tails)]  # g(1), g(2), …
            g = [-x for x in reversed(upper)] + upper
            return bool(max(b - a for a, b in zip(g, g[k:], strict=False)) <= exactly(mu))
    raise AssertionError


def response(privacy: Privacy, k: int, keep: float) -> bool:
    """The true answer of k with probability `keep`, each other one with (1 − keep)/(k − 1)."""
    truth, lie = Fraction(keep), (1 - Fraction(keep)) / (k - 1)
    p, q = exactly(truth), exactly(lie)
    match privacy:
        case PureDP(epsilon=epsilon):
            return at_most(abs(mp.log(p / q)), epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            e = mp.exp(exactly(epsilon))
            return at_most(max(p - e * q, q - e * p), delta)
        case ZCDP(rho=rho):
            rest = (k - 2) * q
            spent = (p - q) * mp.log(p / q)
            orders = [mp.mpf(10) ** (mp.mpf(i) / 10) for i in range(-40, 41)]
            # and those around one over the log-ratio, where many answers have their worst
            if p != q:
                orders += [mp.mpf(10) ** (mp.mpf(i) / 50) / abs(mp.log(p / q)) for i in range(-100, 101)]
            for t in orders:
                moment = p ** (1 + t) * q**-t + q ** (1 + t) * p**-t + rest
                spent = max(spent, mp.log(moment) / (t * (1 + t)))
            return at_most(spent, rho)
        case GDP(mu=mu):
            high, low = (p, q) if p > q else (q, p)
            return bool(quantile(low) - quantile(high) <= exactly(mu))
    raise AssertionError


def smooth_laplace(privacy: ApproxDP, alpha: float, beta: float) -> bool:
    """Laplace noise of scales 1 and e^λ, |λ| ≤ β, a shift of α of the smaller apart: δ from the sets themselves."""
    e, a = exactly(privacy.epsilon), exactly(alpha)

    def spent(dilation: mp.mpf) -> mp.mpf:
        b = mp.exp(dilation)
        d = a * min(mp.mpf(1), b)

        def loss(x: mp.mpf) -> mp.mpf:
            return dilation - abs(x) + abs(x - d) / b

        def mass(left: mp.mpf | None, right: mp.mpf | None, centre: mp.mpf, scale: mp.mpf) -> mp.mpf:
            """Of a Laplace law on an interval, None for no end; from the tail that it lies in."""
            low = None if left is None else (left - centre) / scale
            high = None if right is None else (right - centre) / scale
            if low is not None and low >= 0:
                return (mp.exp(-low) - (0 if high is None else mp.exp(-high))) / 2
            if high is not None and high <= 0:
                return (mp.exp(high) - (0 if low is None else mp.exp(low))) / 2
            return 1 - (0 if low is None else mp.exp(low) / 2) - (0 if high is None else mp.exp(-high) / 2)

        def excess(left: mp.mpf | None, right: mp.mpf | None) -> mp.mpf:
            return mass(left, right, mp.mpf(0), mp.mpf(1)) - mp.exp(e) * mass(left, right, d, b)

        # the loss is linear between −∞, 0, d, ∞: its crossings of ε cut the line into intervals of one sign
        cuts = [mp.mpf(0), d]
        for slope, low, high in ((1 - 1 / b, None, 0), (-1 - 1 / b, 0, d), (-1 + 1 / b, d, None)):
            anchor = mp.mpf(0) if high == 0 else d
            if slope != 0:
                x = anchor + (e - loss(anchor)) / slope
                if (low is None or x > low) and (high is None or x < high):
                    cuts.append(x)
        cuts = sorted(set(cuts))
        edges = [None, *cuts, None]
        return mp.fsum(max(mp.mpf(0), excess(edges[i], edges[i + 1])) for i in range(len(edges) - 1))

    shares = [mp.mpf(i) / 20 for i in range(-20, 21)]
    return at_most(max(spent(share * exactly(beta)) for share in shares), privacy.delta)


def smooth_cauchy(privacy: PureDP, alpha: float, beta: float) -> bool:
    """The largest log-ratio of two Cauchy densities is log of the larger eigenvalue of a matrix of determinant 1."""
    a, promised = exactly(alpha), exactly(privacy.epsilon)
    for share in range(21):
        b = mp.exp(exactly(beta) * share / 20)
        half_trace = (1 + b * b + (a * min(1, b)) ** 2) / (2 * b)
        if mp.log(half_trace + mp.sqrt(half_trace**2 - 1)) > promised:
            return False
    return True
