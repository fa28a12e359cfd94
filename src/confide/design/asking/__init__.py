"""Persons asked one by one: what is asked, what an answer says, and what is known after many."""
