"""What a child writes lands in a file that is rotated by size."""

import subprocess
from pathlib import Path

from rearview_serve.log_pipe import rotating_pipe


def test_lines_of_a_child_are_kept_and_rotated(tmp_path: Path) -> None:
    path = tmp_path / "child.log"
    with rotating_pipe(path, max_bytes=2_000, files=2) as sink:
        subprocess.run(["seq", "1", "200"], stdout=sink, check=True)
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == ["child.log", "child.log.1", "child.log.2"]
    assert all(f.stat().st_size <= 2_000 for f in files)
    assert path.read_text().splitlines()[-1].endswith(" 200")
