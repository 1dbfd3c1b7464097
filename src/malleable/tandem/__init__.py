"""The model *tandem*: jobs with a map and a shuffle phase that overlap; table, epoch and simulation."""
