"""`study` and `pilot`: simulated releases and their posteriors."""
