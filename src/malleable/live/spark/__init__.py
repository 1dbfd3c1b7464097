"""Jobs of a Spark context, governed: neither started nor ended here."""
