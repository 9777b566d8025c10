"""A key is rotated and revoked while memories lie in every place: nothing is lost, nothing is under the old one."""

from pathlib import Path

from rearview_pipelines.requests import ObserveRequest, TranscriptRequest
from rearview_pipelines.stores.packing import about
from tests.rig import ADMIN, opened


async def test_rotation_and_revocation_reach_every_place(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write("A hot fact.", "A cold fact.", "Another fact.")
        await rig.writer.archive("default", ids[1:2])
        turn = {"role": "user", "text": "I live in Leeds."}
        await rig.service.observe(ADMIN, ObserveRequest.model_validate({"session": "s", "turns": [turn]}))
        await rig.run("snapshot")
        old = rig.service.keys(ADMIN)[0]["kid"]
        await rig.service.rotate_key(ADMIN)
        await rig.service.settled()
        job = await rig.run("resign")
        assert job.status == "done", job.detail
        await rig.service.revoke_key(ADMIN, str(old))
    async with opened(tmp_path, rig.clock) as rig:
        assert (await rig.service.verify(ADMIN))["ok"]
        for id_ in ids:
            assert (await rig.service.get(ADMIN, id_)).signature.kid != old
        assert (await rig.service.transcript(ADMIN, TranscriptRequest(session="s"))).turns
        restored = await rig.run("restore")
        assert (restored.status, restored.detail.get("altered")) == ("done", None), restored.detail
        for top in ("cold", "snapshots"):
            for key in await rig.objects.keys(f"{top}/"):
                assert about(await rig.objects.get(key) or b"")["kid"] != old, key
