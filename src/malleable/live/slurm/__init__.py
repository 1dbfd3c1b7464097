"""Job arrays in a Slurm's own queue, governed: neither started nor ended here."""
