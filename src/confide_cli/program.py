"""Running the program: what is printed when something is wrong, and the exit code.

0: done; 1: one of Confide's own errors, in one line; 2: a command line that cannot be understood; 130: interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from confide_cli.columns import COLUMN_BOUNDS, separated
from confide_cli.speech import spoken
from confide_cli.study import UsageProblem


def main() -> None:
    """The entry point of the program."""
    gc.set_threshold(50_000)  # what a command loads and compiles stays: looking for garbage took a tenth of its time
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit code.

    >>> run(["--version"])
    confide 0.1.0
    0
    """
    try:
        from typer.exceptions import Abort, TyperException
        from typer.main import get_command
    except ModuleNotFoundError:
        return _fail('the command line needs typer and rich; pip install "confide[cli]"', 1)
    from confide_cli.app import app

    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            words = separated(arguments)
            code = get_command(app).main(args=words, prog_name="confide", standalone_mode=False, obj=arguments)
            return code if isinstance(code, int) else 0
        except TyperException as error:
            return _fail(_usage(error, arguments), error.exit_code)
        except UsageProblem as error:
            return _fail(str(error), 2)
        except (KeyboardInterrupt, Abort) as error:
            return _fail(str(error) or "interrupted; nothing more was done", 130)
        except Exception as error:
            return _explain(error)


def _explain(error: Exception) -> int:
    """One line for an error of ours; for any other too, as its text might quote records."""
    from confide.errors import ConfideError

    if isinstance(error, ConfideError):
        return _fail(spoken(str(error)), 1)
    if os.environ.get("CONFIDE_DEBUG"):
        raise error
    return _fail(f"an unexpected error ({type(error).__name__}); set CONFIDE_DEBUG=1 to see where it happened", 1)


def _usage(error: Any, arguments: Sequence[str]) -> str:
    from confide._redaction import redacted

    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "confide"
    told = error.format_message().rstrip(".").replace(COLUMN_BOUNDS, "--bounds")
    for argument in arguments:  # a wrong command line is quoted, and may hold the URL of a database
        for form in (argument, repr(argument)[1:-1]):
            told = told.replace(form, redacted(argument))
    return f"{told}; see {path} --help"


def _fail(text: str, code: int) -> int:
    from confide._redaction import redacted

    print("confide:", redacted(" ".join(text.split())), file=sys.stderr)
    return code


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if not issubclass(category, DeprecationWarning):
        _fail(f"warning: {spoken(str(message))}", 0)
