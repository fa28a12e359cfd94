"""Which data sets are neighbours, between which a guarantee holds."""

#: one record is replaced by another, and the number of records is public; one is added or removed, and it is private
REPLACE, ADD_REMOVE = NEIGHBOURS = ("replace-one", "add-remove")
