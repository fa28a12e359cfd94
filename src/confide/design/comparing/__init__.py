"""`compare`: several channels side by side."""
