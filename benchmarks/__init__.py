"""How fast Confide is beside what a user would otherwise run: `python -m benchmarks`; see README.md here."""
