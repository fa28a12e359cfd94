"""Routes for order statistics, and for those whose noise depends on the records next to them."""
