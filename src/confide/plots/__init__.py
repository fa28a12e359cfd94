"""Pictures. Each has a function that computes what is drawn, which can be tested without drawing."""
