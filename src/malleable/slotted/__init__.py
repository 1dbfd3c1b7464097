"""Map and reduce tasks in slots of time: table, epoch and simulation."""
