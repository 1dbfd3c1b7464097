"""Reading and writing files of users: sizes, errors, CSV, JSON, and files that appear as a whole."""
