"""Reading and writing what people hand us: sizes, errors, CSV, JSON, files that appear whole."""
