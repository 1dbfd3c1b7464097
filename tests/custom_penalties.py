"""Custom penalties for the tests: functions at the top level of a module, so that they pickle."""

import math

import numpy as np

MOST = 4096
DUE = np.random.default_rng(5).integers(1, 400, MOST) / 4.0
WEIGHT = np.random.default_rng(6).integers(1, 9, MOST) / 1.0


def tardiness(job, completion):
    """w max(0, C - d), with d and w of the job's number."""
    return WEIGHT[job] * max(0.0, completion - DUE[job])


def squared(job, completion):
    """w C^2: rises steadily, and never as a line."""
    return WEIGHT[job] * completion * abs(completion)


def strict(job, completion):
    """Nothing up to d, infinite after it."""
    return 0.0 if completion <= DUE[job] else math.inf
