"""Readers: from a file, a table or a database to numbers, without looking at records to decide how to read others."""
