"""The contract of an object store, on a folder, on a real S3 server, and on the fake that stands for them."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rearview_pipelines.errors import SetupError, Unavailable
from rearview_pipelines.ports import AlreadyThere, ObjectStore
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.stores.s3 import S3Store
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.testing import ObjectStoreInMemory
from tests.s3_server import KEY, SECRET, client


@pytest.fixture(params=["folder", "s3", "versioned", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    if request.param == "folder":
        yield FolderStore(tmp_path / "objects")
    elif request.param == "memory":
        yield ObjectStoreInMemory()
    else:
        yield S3Store(request.getfixturevalue("bucket" if request.param == "s3" else "versioned"))


async def test_what_is_put_is_got_listed_and_deleted(store: ObjectStore) -> None:
    await store.check()
    assert await store.get("a/b") is None
    assert await store.keys("a/") == []
    await store.put("a/b", b"1")
    await store.put("a/c", b"2")
    await store.put("ab/d", b"3")
    assert await store.put("a/b", b"4") is None
    assert await store.get("a/b") == b"4"
    assert await store.keys("a/") == ["a/b", "a/c"]
    assert await store.delete("a/b") is None
    await store.delete("a/b")
    assert await store.get("a/b") is None
    assert await store.keys("a/") == ["a/c"]


async def test_more_keys_than_a_server_lists_at_once(bucket: S3Options) -> None:
    store = S3Store(bucket)
    names = [f"many/{n:04d}" for n in range(1100)]
    for start in range(0, len(names), 16):
        await asyncio.gather(*(store.put(name, b"") for name in names[start : start + 16]))
    assert await store.keys("many/") == names


async def test_a_slice_is_read_alone(store: ObjectStore) -> None:
    await store.put("a/b", b"0123456789")
    assert await store.slice("a/b", 2, 3) == b"234"
    assert await store.slice("a/b", 8, 5) == b"89"
    assert await store.slice("a/b", 20, 5) == b""
    assert await store.slice("a/b", 2, 0) == b""
    assert await store.slice("a/c", 0, 1) is None


async def test_of_many_who_want_to_be_first_one_is(store: ObjectStore) -> None:
    async def first(n: int) -> bool:
        try:
            await store.put("x/first", str(n).encode(), new=True)
        except AlreadyThere:
            return False
        return True

    assert sum(await asyncio.gather(*(first(n) for n in range(20)))) == 1


@pytest.mark.parametrize("key", ["../up", "a//b", "/a", "a/", "", "a/../b", ".hidden", "a\x00"])
async def test_a_key_is_a_path_of_plain_segments(store: ObjectStore, key: str) -> None:
    if not isinstance(store, ObjectStoreInMemory):
        with pytest.raises(ValueError, match="not a key"):
            await store.put(key, b"")


async def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable):
        await FolderStore(tmp_path / "file").put("a/b", b"1")
    assert not list(tmp_path.glob("**/*.tmp"))


async def test_no_older_version_is_left_behind(versioned: S3Options) -> None:
    store, seen = S3Store(versioned), client(versioned)
    await store.put("a/b", b"first words")
    await store.put("a/b", b"second words")
    listed = seen.list_object_versions(Bucket=versioned.bucket, Prefix=f"{versioned.prefix}/a/b")
    assert len(listed["Versions"]) == 1
    await store.delete("a/b")
    listed = seen.list_object_versions(Bucket=versioned.bucket, Prefix=f"{versioned.prefix}/a/b")
    assert not listed.get("Versions")
    assert not listed.get("DeleteMarkers")


async def test_what_a_lock_holds_is_said_with_its_time(locked: S3Options) -> None:
    store, seen = S3Store(locked), client(locked)
    await store.put("a/b", b"held words")
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    seen.put_object_retention(
        Bucket=locked.bucket,
        Key=f"{locked.prefix}/a/b",
        Retention={"Mode": "COMPLIANCE", "RetainUntilDate": until},
    )
    assert await store.put("a/b", b"other words") == until
    assert await store.get("a/b") == b"other words"
    assert await store.delete("a/b") == until
    assert await store.get("a/b") is None


async def test_a_bucket_that_is_not_there_or_denies_is_named(bucket: S3Options) -> None:
    def other(**changes: str) -> S3Store:
        return S3Store(S3Options(**{**vars(bucket), "retries": 0, **changes}))

    with pytest.raises(SetupError, match="does not exist"):
        await other(bucket="nowhere").check()
    with pytest.raises(SetupError, match="denies"):
        await other(access_key="weak", secret_key="weaksecret").check()
    with pytest.raises(Unavailable, match="denies"):
        await other(access_key="weak", secret_key="weaksecret").put("a/b", b"1")
    with pytest.raises(Unavailable, match="denies"):
        await other(secret_key="wrong").get("a/b")
    with pytest.raises(Unavailable, match="does not answer"):
        await other(endpoint="http://127.0.0.1:9").get("a/b")


async def test_a_server_that_hangs_is_given_up_on(bucket: S3Options) -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        options = S3Options(**{**vars(bucket), "endpoint": f"http://127.0.0.1:{port}", "retries": 0, "seconds": 0.3})
        with pytest.raises(Unavailable, match="does not answer"):
            await S3Store(options).get("a/b")


def test_no_credential_is_shown(bucket: S3Options) -> None:
    assert SECRET not in repr(bucket)
    assert KEY not in repr(S3Options("b", access_key=KEY, secret_key=SECRET))
