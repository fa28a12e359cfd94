"""`python -m confide`: the program `confide`."""

from __future__ import annotations

from confide_cli import main

if __name__ == "__main__":
    main()
