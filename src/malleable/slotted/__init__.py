"""Map and reduce tasks in slots of time: table, epoch, simulation and its theory."""
