"""What jobs remember of a tenant: added to, kept apart by kind and by tenant."""

from pathlib import Path

from rearview_pipelines.lifecycle.notes import Notes
from rearview_pipelines.stores.folder import FolderStore


async def test_notes_are_added_to_and_kept_apart(tmp_path: Path) -> None:
    objects = FolderStore(tmp_path)
    notes = Notes(objects, "sweeps")
    assert await notes.of("t") == {}
    await notes.add("t", {"swept": "1", "merged": "1"})
    await notes.add("t", {"swept": "2"})
    assert await notes.of("t") == {"swept": "2", "merged": "1"}
    assert await notes.of("other") == await Notes(objects, "schedule").of("t") == {}
