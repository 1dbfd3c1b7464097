// Nothing: its target parses the headers that all tests share.
