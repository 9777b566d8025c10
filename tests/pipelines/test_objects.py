"""The contract of an object store, on the folder and on the fake that stands for it."""

import asyncio
from pathlib import Path

import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ports import AlreadyThere, ObjectStore
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.testing import ObjectStoreInMemory


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return FolderStore(tmp_path / "objects") if request.param == "folder" else ObjectStoreInMemory()


async def test_what_is_put_is_got_listed_and_deleted(store: ObjectStore) -> None:
    assert await store.get("a/b") is None
    await store.put("a/b", b"1")
    await store.put("a/c", b"2")
    await store.put("d", b"3")
    await store.put("a/b", b"4")
    assert await store.get("a/b") == b"4"
    assert await store.keys("a/") == ["a/b", "a/c"]
    await store.delete("a/b")
    await store.delete("a/b")
    assert await store.keys("a/") == ["a/c"]


async def test_of_many_who_want_to_be_first_one_is(store: ObjectStore) -> None:
    async def first(n: int) -> bool:
        try:
            await store.put("x/first", str(n).encode(), new=True)
        except AlreadyThere:
            return False
        return True

    assert sum(await asyncio.gather(*(first(n) for n in range(20)))) == 1


@pytest.mark.parametrize("key", ["../up", "a//b", "/a", "a/", "", "a/../b", ".hidden", "a\x00"])
async def test_a_key_is_a_path_of_plain_segments(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        await FolderStore(tmp_path).put(key, b"")


async def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable):
        await FolderStore(tmp_path / "file").put("a/b", b"1")
    assert not list(tmp_path.glob("**/*.tmp"))
