"""Class matching by all vertices, and the adaptive scheduler's choice by looking at every job."""

from itertools import combinations

import numpy as np

EAGER = {
    "grouped": True, "by_slots": True, "fallback": True, "threshold": 0.2, "memory": 3600.0,
    "max_wait": 3600.0, "patience": 10.0,
}  # fmt: skip
"""Options of `malleable.AdaptiveLiteral` with which no slot idles, and programs are solved seldom."""


def growth_by_vertices(alpha, mu):
    """The largest lambda over all basic solutions of the adaptive scheduler's linear program."""
    classes, nodes = mu.shape
    shares = classes * nodes
    rows = classes + nodes
    # sum_j mu delta - alpha lambda - surplus = 0; sum_i delta + slack = 1.
    columns = np.zeros((rows, shares + 1 + rows))
    for i in range(classes):
        for j in range(nodes):
            columns[i, i * nodes + j] = mu[i, j]
            columns[classes + j, i * nodes + j] = 1.0
        columns[i, shares] = -alpha[i]
        columns[i, shares + 1 + i] = -1.0
    for j in range(nodes):
        columns[classes + j, shares + 1 + classes + j] = 1.0
    right = np.append(np.zeros(classes), np.ones(nodes))
    bases = np.array(list(combinations(range(columns.shape[1]), rows)))
    matrices = columns[:, bases].transpose(1, 0, 2)
    regular = np.abs(np.linalg.det(matrices)) > 1e-9
    bases, matrices = bases[regular], matrices[regular]
    found = np.linalg.solve(matrices, np.broadcast_to(right[:, None], (len(bases), rows, 1)))[
        ..., 0
    ]
    feasible = (found >= -1e-9).all(axis=1)
    lam = np.where(bases == shares, found, 0.0).sum(axis=1)
    return float(lam[feasible].max())


def growth_of_two(alpha, mu):
    """The same for two classes by duality: the least of a convex function with known corners."""
    first, second = mu[0] / alpha[0], mu[1] / alpha[1]
    corners = [0.0, 1.0, *(b / (a + b) for a, b in zip(first, second, strict=True) if a + b > 0)]
    return min(float(np.maximum(t * first, (1 - t) * second).sum()) for t in corners)


def chosen_job(jobs, users, first, second, fallback):
    """Which job a free slot gets.

    ``jobs``: (number, user, class, waiting tasks) in the order of arrival; ``users``: (minimum,
    priority, running); ``first``, ``second``: classes suggested by the two matchings.
    """

    def ask(minimum, allowed):
        best = None
        for user, (least, priority, running) in enumerate(users):
            own = [
                number
                for number, owner, group, waiting in jobs
                if owner == user and waiting > 0 and (allowed is None or group in allowed)
            ]
            if not own or (minimum and running >= least):
                continue
            value = (least - running) * priority if minimum else -running / priority
            if best is None or value > best[0]:
                best = (value, min(own))
        return None if best is None else best[1]

    questions = [(True, first), (True, None), (False, second), (False, None)]
    if not fallback:
        questions = [(minimum, allowed) for minimum, allowed in questions if allowed is not None]
    for minimum, allowed in questions:
        found = ask(minimum, allowed)
        if found is not None:
            return found
    return None
