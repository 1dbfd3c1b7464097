"""How likely each p is, given when tasks of a phase began and ended: one density at a time, in plain Python.

If s tasks do s^p together, a task would have taken V alone, the integral of s(t)^(p - 1) while s(t) ran.
"""

import math

GRID = [0.25 + 0.05 * k for k in range(16)]
# From half a step of 1.6 below .004 to half a step above 1.8, in logarithms evenly.
SCATTERS = [0.004 * 1.6 ** (k / 6.0 - 5.0 / 12.0) for k in range(84)]
WEIGHTS = {"constant": 0.5, "jumps": 0.3, "walks": 0.1, "climbs": 0.1}


def alone(begin, end, p, spans):
    """Seconds alone; ``spans``: (from, to, how many ran)."""
    return sum(
        (min(to, end) - max(since, begin)) * ran ** (p - 1.0)
        for since, to, ran in spans
        if min(to, end) > max(since, begin)
    )


def normal(value, mean, variance):
    return math.exp(-0.5 * (value - mean) ** 2 / variance) / math.sqrt(2.0 * math.pi * variance)


def in_order(tasks):
    """By when they began; those that began at once, of which short ones ended first, by a step through them."""
    groups = {}
    for begin, end in sorted(tasks):
        groups.setdefault(begin, []).append((begin, end))
    found = []
    for own in groups.values():
        step = int(0.618 * len(own)) + 1
        while math.gcd(step, len(own)) != 1:
            step += 1
        found += [own[k * step % len(own)] for k in range(len(own))]
    return found


def line(values, scatter, climb):
    """A level that climbs by N(0, climb^2) from first to last; flat in its height. By sums of squares."""
    n, square = len(values), scatter**2
    places = [k / n for k in range(n)]
    # The slope has no observations at the first place, whose height is flat: a regression with a ridge there.
    mean_x, mean_y = sum(places) / n, sum(values) / n
    sxx = sum((x - mean_x) ** 2 for x in places)
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in zip(places, values, strict=True))
    syy = sum((y - mean_y) ** 2 for y in values)
    log = -0.5 * (n - 1) * math.log(2.0 * math.pi * square) - 0.5 * math.log(n)
    if climb == 0.0:
        return log - 0.5 * syy / square
    left = syy - sxy**2 * climb**2 / (square + climb**2 * sxx)
    return log - 0.5 * math.log1p(climb**2 * sxx / square) - 0.5 * left / square


def jumps(values, scatter, walk):
    """A level that jumps before a task by N(0, 1.5^2); both branches become one normal."""
    chance = max(0.03, 0.5 / len(values))
    mean, variance, log = values[0], scatter**2, 0.0
    for value in values[1:]:
        branches = []
        for part, more in ((1.0 - chance, 0.0), (chance, 1.5**2)):
            own = variance + walk**2 + more
            gain = own / (own + scatter**2)
            density = normal(value, mean, own + scatter**2)
            branches.append((part * density, mean + gain * (value - mean), own * (1.0 - gain)))
        total = sum(branch[0] for branch in branches)
        log += math.log(total)
        before = [(weight / total, at, own) for weight, at, own in branches]
        mean = sum(weight * at for weight, at, _ in before)
        variance = sum(weight * (own + (at - mean) ** 2) for weight, at, own in before)
    return log


def by_model(tasks, spans, p):
    """Logarithms of the likelihood of p by models; ``tasks``: (begin, end)."""
    density, values = 0.0, []
    for begin, end in in_order(tasks):
        own = math.log(alone(begin, end, p, spans))
        ran = next(ran for since, to, ran in spans if since < end <= to)
        density += (p - 1.0) * math.log(ran) - own
        values.append(own)
    models = {
        "constant": lambda s: line(values, s, 0.0),
        "jumps": lambda s: jumps(values, s, 0.0),
        "walks": lambda s: jumps(values, s, 0.15 * s),
        "climbs": lambda s: line(values, s, 2.0),
    }
    found = {}
    for name, model in models.items():
        logs = [model(s) for s in SCATTERS]
        most = max(logs)
        found[name] = (
            density + most + math.log(sum(math.exp(x - most) for x in logs) / len(SCATTERS))
        )
    return found


def prior(one=0.5, mean=0.85, deviation=0.2):
    bell = [math.exp(-0.5 * ((p - mean) / deviation) ** 2) for p in GRID]
    found = [(1.0 - one) * b / sum(bell) for b in bell]
    found[-1] += one
    return found


def posterior(phases, before=None):
    """Mean and deviation of p after phases ``(tasks, spans)``, in the order in which they ended."""
    logs = [math.log(chance) for chance in before or prior()]
    counts = [{name: 4.0 * weight for name, weight in WEIGHTS.items()} for _ in GRID]
    for tasks, spans in phases:
        for g, p in enumerate(GRID):
            found = by_model(tasks, spans, p)
            most = max(found.values())
            parts = {name: counts[g][name] * math.exp(found[name] - most) for name in found}
            logs[g] += most + math.log(sum(parts.values()) / sum(counts[g].values()))
            for name, part in parts.items():
                counts[g][name] += part / sum(parts.values())
    most = max(logs)
    chances = [math.exp(log - most) for log in logs]
    mean = sum(c * p for c, p in zip(chances, GRID, strict=True)) / sum(chances)
    square = sum(c * p * p for c, p in zip(chances, GRID, strict=True)) / sum(chances)
    return mean, math.sqrt(max(0.0, square - mean * mean))
