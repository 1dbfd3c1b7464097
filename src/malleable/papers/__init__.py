"""Figures and tables of the five papers beside the papers' own numbers."""
