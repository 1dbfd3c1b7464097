# `cimport malleable`: everything that the C interface has.
from malleable._core cimport *
