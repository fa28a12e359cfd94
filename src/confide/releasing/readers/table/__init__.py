"""What is asked for of a table: which of its columns, and how their cells are to be read."""
