"""What is kept as objects (ledger, transcripts, counters), on a real S3 server."""

from rearview_pipelines.ledger.ledger import Ledger, LedgerReader
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.policy import Policy
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import ForgetRequest, ObserveRequest, RecallRequest, TranscriptRequest
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.stores.s3 import S3Store
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory
from rearview_pipelines.write.handouts import Handouts
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.usage import Usage
from rearview_pipelines.write.writer import Writer


async def test_a_store_whose_objects_are_in_a_bucket(
    bucket: S3Options, ring: KeyRing, clock: FakeClock, admin: Principal
) -> None:
    index, embedder, objects = MemoryIndexInMemory(), HashEmbedder(), S3Store(bucket)
    ledger = Ledger(objects, ring, None, clock.now)
    transcripts = Transcripts(objects, ring)
    tools = Tools(index, embedder, ring, clock, ledger, Scrubber(Policy(), ring), Handouts(objects), Usage(objects))
    writer = Writer(tools, transcripts)
    service = MemoryService(
        writer,
        RecallPipeline(index, embedder, None, ring, clock, ledger),
        index,
        embedder,
        None,
        0.0,
        Trust(ring, ledger, tools.scrubber, transcripts),
        clock,
    )
    turns = [{"role": "user", "text": text} for text in ("I live in Leeds.", "Hello!", "My dog is called Biscuit.")]
    receipts = await service.observe(admin, ObserveRequest(session="s1", turns=turns))
    assert [receipt.status for receipt in receipts] == ["stored", "skipped", "stored"]
    found = await service.recall(admin, RecallRequest(query="What is the dog called?"))
    assert found.memories[0].text == "My dog is called Biscuit."
    page = await service.transcript(admin, TranscriptRequest(session="s1"))
    assert [turn["text"] for turn in page.turns] == [turn["text"] for turn in turns]
    await service.settled()
    await writer.close()

    forgotten = await service.forget(admin, ForgetRequest(session="s1"))
    assert forgotten.forgotten == 2
    follower = LedgerReader(S3Store(bucket), ring)
    await follower.followed()
    assert (follower.head.seq, follower.head.hash) == (ledger.head.seq, ledger.head.hash)
    kept = {key: await objects.get(key) for top in ("ledger", "transcripts", "usage", "recalls") for key in
            await objects.keys(f"{top}/")}  # fmt: skip
    assert len(kept) > 2
    assert not any(b"Biscuit" in (raw or b"") for raw in kept.values())
