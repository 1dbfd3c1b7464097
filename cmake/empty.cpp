// A library needs a source of its own; the core's objects are all of the rest.
