"""Snapshots: taken, kept, restored to the same store and to another; refused when they are not what was written."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rearview_pipelines.lifecycle.snapshots import Snapshots
from rearview_pipelines.requests import ForgetRequest, ListRequest
from rearview_pipelines.stores.s3 import S3Store
from rearview_pipelines.stores.s3_options import S3Options
from tests.rig import ADMIN, Rig, opened, traces, unpacked
from tests.s3_server import client

TEXTS = tuple(f"Fact {n}: the widget of line {n} weighs {n * 3} grams." for n in range(30))


async def listed(rig: Rig) -> set[str]:
    memories, _ = await rig.service.list_memories(ADMIN, ListRequest(limit=500))
    return {m.text for m in memories}


async def test_a_snapshot_is_restored_to_another_store_with_the_same_keys(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    async with opened(one) as rig:
        ids = await rig.write(*TEXTS)
        await rig.writer.archive("default", ids[:5])
        await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[7],)))
        taken = await rig.run("snapshot")
        assert (taken.status, taken.detail["memories"]) == ("done", 29)
    two.mkdir()
    shutil.copy(one / "keys.json", two / "keys.json")
    shutil.copytree(one / "objects" / "snapshots", two / "objects" / "snapshots")
    async with opened(two) as rig:
        job = await rig.run("restore")
        assert job.status == "done", job.detail
        assert (job.detail["restored"], job.detail["tombstones"]) == (29, 1)
        assert await listed(rig) == set(TEXTS) - {TEXTS[7]}
        assert (await rig.service.verify(ADMIN))["ok"]
        again = await rig.run("restore")
        assert again.detail.get("restored", 0) == 0
        assert len(await listed(rig)) == 29


async def test_a_lost_index_is_put_back_and_what_came_later_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(*TEXTS)
        await rig.run("snapshot")
        await rig.service.patch(ADMIN, ids[0], {"tags": ["later"]})
        await rig.milvus.remove("default", ids[10:20])
    async with opened(tmp_path) as rig:
        assert len((await rig.service.verify(ADMIN))["findings"]) == 10
        job = await rig.run("restore")
        assert {k: job.detail[k] for k in ("put_back", "newer", "there")} == {"put_back": 10, "newer": 1, "there": 19}
        assert (await rig.service.verify(ADMIN))["ok"]
        assert (await rig.service.get(ADMIN, ids[0])).tags == ("later",)


async def test_seven_are_kept_and_a_half_one_is_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write(*TEXTS[:3])
        for _ in range(9):
            rig.clock.forward(days=1)
            await rig.run("snapshot")
        snapshots = Snapshots(rig.objects, rig.writer._tools.keys)
        names = await snapshots.names("default")
        assert len(names) == 7
        half = f"{names[-1][:-6]}ffffff"
        key = (await rig.objects.keys("snapshots/"))[0]
        await rig.objects.put(f"{key.rpartition('/')[0].rpartition('/')[0]}/{half}/part-000001.snap", b"{}\n")
        rig.clock.forward(days=1)
        await rig.run("snapshot")
        assert len(await snapshots.names("default", whole=False)) == 7


@pytest.mark.parametrize("how", ["cut", "altered", "missing", "other keys", "another version", "no such"])
async def test_what_is_not_a_snapshot_of_ours_restores_nothing(tmp_path: Path, how: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    async with opened(one) as rig:
        await rig.write(*TEXTS)
        await rig.run("snapshot")
    two.mkdir()
    if how != "other keys":
        shutil.copy(one / "keys.json", two / "keys.json")
    shutil.copytree(one / "objects" / "snapshots", two / "objects" / "snapshots")
    [part] = two.rglob("part-*.snap")
    [manifest] = two.rglob("manifest.snap")
    raw = part.read_bytes()
    if how == "cut":
        part.write_bytes(raw[: len(raw) // 2])
    elif how == "altered":
        part.write_bytes(raw.replace(b'"kid"', b'"kId"'))
    elif how == "missing":
        part.unlink()
    elif how == "another version":
        head, _, frame = manifest.read_bytes().partition(b"\n")
        manifest.write_bytes(json.dumps(json.loads(head) | {"format": 99}).encode() + b"\n" + frame)
    async with opened(two) as rig:
        job = await rig.run("restore", snapshot="20200101T000000Z-abcdef" if how == "no such" else "latest")
        assert job.status == "failed"
        assert {
            "cut": "not as it was written",
            "altered": "not as it was written",
            "missing": "is missing",
            "other keys": "a key that this store has not",
            "another version": "another version",
            "no such": "no such snapshot",
        }[how] in job.detail["error"]
        assert await listed(rig) == set()


async def test_snapshots_and_purge_on_a_bucket(tmp_path: Path, versioned: S3Options) -> None:
    async with opened(tmp_path, s3=versioned) as rig:
        ids = await rig.write("The codename is Zanzibarquokka.", *TEXTS)
        await rig.writer.archive("default", ids[:4])
        await rig.run("snapshot")
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[0],)))
        job = await rig.ended(report.purge.job or "")
        assert job.status == "done", job.detail
        assert (await rig.service.verify(ADMIN))["ok"]
    store, seen = S3Store(versioned), client(versioned)
    assert await store.keys("snapshots/")
    pages = seen.get_paginator("list_object_versions").paginate(Bucket=versioned.bucket, Prefix=versioned.prefix)
    versions = [v for page in pages for v in page.get("Versions", ())]
    assert len(versions) > 7
    for version in versions:
        raw = seen.get_object(Bucket=versioned.bucket, Key=version["Key"], VersionId=version["VersionId"])[
            "Body"
        ].read()
        assert not any(b"Zanzibarquokka" in content for content in (raw, *unpacked(raw))), version["Key"]
    assert traces(tmp_path, ["Zanzibarquokka"]) == []


async def test_a_lock_keeps_bytes_and_the_report_says_until_when(tmp_path: Path, locked: S3Options) -> None:
    async with opened(tmp_path, s3=locked) as rig:
        [id_] = await rig.write("The codename is Zanzibarquokka.")
        await rig.run("snapshot")
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
        [part] = [key for key in await rig.objects.keys("snapshots/") if "part-" in key]
        client(locked).put_object_retention(
            Bucket=locked.bucket,
            Key=f"{locked.prefix}/{part}",
            Retention={"Mode": "COMPLIANCE", "RetainUntilDate": until},
        )
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(id_,)))
        job = await rig.ended(report.purge.job or "")
        assert (job.status, job.detail["kept_until"]) == ("done", {"objects": until.isoformat()})
