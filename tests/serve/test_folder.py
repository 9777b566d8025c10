"""A data folder has one owner, and a dead owner is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from rearview_pipelines.errors import SetupError
from rearview_serve import folder

HOLD = """
import sys, time
from pathlib import Path
from rearview_serve import folder
path = Path(sys.argv[1])
with folder.owned(path):
    folder.announce(path, "http://127.0.0.1:1")
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_owner_is_refused_with_the_name_and_the_setting(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert folder.running(tmp_path) == folder.Running(holder.pid, "http://127.0.0.1:1")
        with (
            pytest.raises(SetupError, match=f"(?s){tmp_path}.*{holder.pid}.*REARVIEW_DATA"),
            folder.owned(tmp_path, 0.1),
        ):
            pass
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout:
            holder.stdout.close()
    assert folder.running(tmp_path) is None  # the note is still there, its writer is not
    with folder.owned(tmp_path, 1):
        folder.announce(tmp_path, "http://127.0.0.1:2")
        folder.withdraw(tmp_path)
        assert folder.running(tmp_path) is None


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="REARVIEW_DATA"), folder.owned(tmp_path / "file" / "data"):
        pass
