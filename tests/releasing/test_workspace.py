"""The folder of noisy tables: private, of one process, and gone with it, however it ends."""

import os
import signal
import subprocess
import sys
import textwrap

CODE = textwrap.dedent(
    """
    import os, sys
    from confide.releasing.readers.workspace import workspace
    folder = workspace()
    assert workspace() == folder and (folder.stat().st_mode & 0o777) == 0o700
    (folder / "records.parquet").write_text("noisy")
    child = os.fork()
    if child == 0:
        assert workspace() != folder
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(folder, flush=True)
    sys.stdin.read()
    """
)


def start(folder):
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    return process, process.stdout.readline().strip()


def test_a_killed_process_leaves_nothing_to_the_next_and_a_living_one_keeps_its_own(tmp_path):
    killed, left = start(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert os.path.exists(f"{left}/records.parquet")  # noqa: PTH110
    living, kept = start(tmp_path)
    assert not os.path.exists(left)  # noqa: PTH110
    another, _ = start(tmp_path)
    assert os.path.exists(f"{kept}/records.parquet")  # noqa: PTH110
    for process in (living, another):
        process.communicate("")
        assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
    killed.stdin.close()
    killed.stdout.close()
