"""The program `confide`.

It is a package of its own, beside the library, so that `confide --help` and wrong command lines are answered at once:
importing anything inside `confide` loads JAX. Modules here import the library where a command uses it.
"""

from confide_cli.program import main, run

__all__ = ["main", "run"]
