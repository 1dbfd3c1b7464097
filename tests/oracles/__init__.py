"""Slow, obvious, independent answers that the tests compare the package with.

Nothing here imports the package. Inputs are plain lists or NumPy arrays; times are seconds, work is
slot-seconds, job indices are 0-based.
"""
