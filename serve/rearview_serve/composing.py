"""The parts of a trusted write path, put together the same way in every process: from a data folder and arguments."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from rearview_pipelines.errors import BrokenLedger, Unavailable
from rearview_pipelines.ledger.ledger import Ledger, LedgerReader, Witness
from rearview_pipelines.lifecycle.jobs import Handler, JobRunner, Jobs, Progress
from rearview_pipelines.lifecycle.keeping import Resign, Restorer, RestoreSnapshot, TakeSnapshot
from rearview_pipelines.lifecycle.migrate import Migrate, Migrations, ModelSource, taken_up
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.lifecycle.purge import Purge, PurgeNotes, Reindex
from rearview_pipelines.lifecycle.schedule import Ended, Schedule, Timetable
from rearview_pipelines.lifecycle.snapshots import Snapshots
from rearview_pipelines.lifecycle.sweep import Owner as SweepOwner
from rearview_pipelines.lifecycle.sweep import Sweep
from rearview_pipelines.models.chat import OpenAIChat
from rearview_pipelines.models.chat_options import ChatOptions
from rearview_pipelines.models.following import follow_model
from rearview_pipelines.ports import Clock, Embedder, ObjectStore
from rearview_pipelines.privacy.policy import read_policy
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.reflect.model import ModelSummarizer
from rearview_pipelines.reflect.pipeline import LessonPort, Reflect
from rearview_pipelines.reflect.results import Results
from rearview_pipelines.service import SystemClock, Trust
from rearview_pipelines.session_service import Summarizer
from rearview_pipelines.sessions.summary import Extractive
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.sessions.working import WorkingMemory
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.rewriting import Rewriter
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.stores.tiers import TieredIndex
from rearview_pipelines.write.handouts import Handouts
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.usage import Usage
from rearview_pipelines.write.writer import Writer

log = logging.getLogger(__name__)
AGAIN_SECONDS = 5.0
"""Between two attempts to find out what was left to do."""
OBJECTS = "objects"
"""Folder of cold memory, ledger and transcripts, below the data folder."""


class Owner(SweepOwner, Restorer, LessonPort, Protocol):
    """The writer, as far as jobs ask it for changes; here or behind a deployment handle."""


class TrustArguments(Protocol):
    """Settings or application arguments, as far as they say how the write path is guarded."""

    @property
    def privacy(self) -> str: ...
    @property
    def privacy_actions(self) -> dict[str, str]: ...
    @property
    def privacy_threshold(self) -> float: ...
    @property
    def privacy_patterns(self) -> tuple[dict[str, str], ...]: ...
    @property
    def secrets(self) -> str: ...
    @property
    def poison_threshold(self) -> float: ...
    @property
    def quota(self) -> int | None: ...


@dataclass(frozen=True)
class Guards:
    """What a process has of a store's guards. `witness` lies beside the keys, off the object store."""

    keys: KeyStore
    objects: ObjectStore
    scrubber: Scrubber
    witness: Witness
    transcripts: Transcripts
    working: WorkingMemory
    results: Results

    def jobs(self, clock: Clock) -> Jobs:
        return Jobs(self.objects, clock)


def opened_objects(data: Path, s3: S3Options | None) -> ObjectStore:
    """Where objects are kept: a bucket, or the folder below the data folder. Nothing connects yet."""
    if s3 is None:
        return FolderStore(data / OBJECTS)
    from rearview_pipelines.stores.s3 import S3Store  # boto3 takes .3 s to import, which a laptop need not pay

    return S3Store(s3)


def guards(
    data: Path, arguments: TrustArguments, s3: S3Options | None, lifecycle: Lifecycle, *, lazily: bool = False
) -> Guards:
    """`s3` of None: objects lie below the data folder.

    Raises SetupError for keys or a policy that cannot be used, naming the setting.

    `lazily`: what finds personal data is loaded when it is first needed, unless it needs a model that may be missing.
    """
    kept = timedelta(days=lifecycle.transcripts)
    keys = KeyStore(data)
    objects = opened_objects(data, s3)
    policy = read_policy(
        preset=arguments.privacy,
        actions=arguments.privacy_actions,
        threshold=arguments.privacy_threshold,
        patterns=arguments.privacy_patterns,
        secrets=arguments.secrets,
    )
    scrubber = Scrubber(policy, keys)
    if not lazily or policy.needs_names:
        scrubber.warm()
    return Guards(
        keys,
        objects,
        scrubber,
        Witness(data / "witness.json"),
        Transcripts(objects, keys, kept),
        WorkingMemory(objects, keys, lifecycle.idle),
        Results(objects, keys),
    )


def cold_tier(parts: Guards, reader: LedgerReader) -> ColdStore:
    """The cold tier as a process sees it that follows the ledger by `reader`."""
    return ColdStore(parts.objects, parts.keys, lambda: reader.head)


@dataclass(frozen=True)
class Store:
    """An opened index: the store itself, and the writer's cache over it."""

    milvus: MilvusIndex
    hot: HotIndex
    uri: str
    token: str
    seconds: float


async def opened_writer(
    parts: Guards,
    store: Store,
    embedder: Embedder,
    clock: Clock,
    arguments: TrustArguments,
    lifecycle: Lifecycle,
    chat: ChatOptions | None = None,
    timetable: Timetable | None = None,
    models: ModelSource | None = None,
    elsewhere: Mapping[str, Handler] | None = None,
) -> tuple[Writer, Ledger]:
    """The one writer, with its ledger read, what was handed out lately remembered, and its jobs gone on with.

    `timetable` of None: nothing begins by the clock. `models` of None: it never moves to another model. `elsewhere`:
    who does the work of some kinds in the place of this process.
    """
    ledger = Ledger(parts.objects, parts.keys, parts.witness, clock.now)
    cold = cold_tier(parts, ledger)
    handouts = Handouts(parts.objects)
    await handouts.load(clock.now())
    tools = Tools(
        TieredIndex(store.hot, cold),
        embedder,
        parts.keys,
        clock,
        ledger,
        parts.scrubber,
        handouts,
        Usage(parts.objects),
        cold,
        quota=arguments.quota,
        poison_threshold=arguments.poison_threshold,
        working=lifecycle.idle,
    )
    writer = Writer(tools, parts.transcripts, parts.working)
    writer.rewriter = Rewriter(store.milvus, store.hot, store.uri, store.token, store.seconds)
    writer.purging = PurgeNotes(parts.objects)
    writer.results = parts.results
    writer.ended = Ended(parts.objects)
    writer.snapshots = Snapshots(parts.objects, parts.keys)
    shop = Shop(writer, store.hot, cold, ledger, parts, clock, lifecycle, chat)
    own = shop.handlers() | {"purge": shop.purge(writer, writer.purging), "reindex": Reindex(writer)}
    own["resign"] = Resign(writer, tools.index, parts.keys)
    if models is not None:
        migrations = Migrations(parts.objects)
        migrate = Migrate(writer, store.hot, store.milvus, ledger, migrations, models)
        own |= {"migrate": migrate, "purge": shop.purge(writer, writer.purging, migrate.let_go)}
        await follow_model(embedder, store.milvus.model)
        await taken_up(migrations, writer, models, store.milvus.generation)
    writer.runner = JobRunner(parts.jobs(clock), own | dict(elsewhere or {}))
    writer.runner.beside(_go_on(writer.runner, writer.purging, ledger))
    if timetable is not None:
        due = Schedule(writer, writer.runner.jobs, writer.ended, parts.objects, tools.index, ledger, clock, timetable)
        writer.runner.beside(due.run())
    return writer, ledger


async def _go_on(runner: JobRunner, purging: PurgeNotes, ledger: Ledger) -> None:
    """Take up what an earlier life of this process left, once the stores answer."""
    while True:
        try:
            await ledger.open()
            await runner.resume()
            for tenant in await purging.left(ledger.head):  # noted, and then the process died
                await runner.joined(tenant, "purge")
            return
        except Unavailable as error:
            log.warning("what was left to do is not known yet: %s", error.detail)
            await asyncio.sleep(AGAIN_SECONDS)
        except BrokenLedger as error:
            log.error("no job is gone on with: %s", error.detail)
            return


@dataclass(frozen=True)
class Shop:
    """What jobs work with, in whichever process they run."""

    owner: Owner
    hot: HotIndex
    cold: ColdStore
    reader: LedgerReader
    parts: Guards
    clock: Clock
    lifecycle: Lifecycle
    chat: ChatOptions | None = None

    def handlers(self) -> dict[str, Handler]:
        """The kinds that may run beside the writer or in a process of their own."""
        snapshots, objects = Snapshots(self.parts.objects, self.parts.keys), self.parts.objects
        return {
            "sweep": Sweep(
                self.owner,
                self.hot,
                self.cold,
                self.reader,
                snapshots,
                self.parts.jobs(self.clock),
                objects,
                self.clock,
                self.lifecycle,
                {"transcripts_removed": self.parts.transcripts, "sessions_removed": self.parts.working},
            ),
            "snapshot": TakeSnapshot(self.hot, self.cold, self.reader, snapshots, self.clock, self.lifecycle.snapshots),
            "restore": RestoreSnapshot(self.owner, snapshots),
            "reflect": self.reflect(),
        }

    def reflect(self) -> Handler:
        model = OpenAIChat(self.chat) if self.chat is not None else None
        tiers, parts = TieredIndex(self.hot, self.cold), self.parts
        return Reflect(self.owner, tiers, self.reader, parts.transcripts, parts.results, self.clock, model)

    def purge(
        self, owner: Writer, notes: PurgeNotes, finish: Callable[[Progress], Awaitable[None]] | None = None
    ) -> Handler:
        snapshots = Snapshots(self.parts.objects, self.parts.keys)
        return Purge(notes, owner, self.cold, snapshots, self.reader, self.parts.jobs(self.clock), finish)


def summarizer_of(chat: ChatOptions | None) -> Summarizer:
    """By the language model, or extractive where there is none."""
    return ModelSummarizer(OpenAIChat(chat)) if chat is not None else Extractive()


def trust(parts: Guards, reader: LedgerReader | None = None) -> Trust:
    """For a service; `reader`: the writer's own ledger where it is in this process, else one that follows it."""
    follows = reader or LedgerReader(parts.objects, parts.keys, parts.witness)
    jobs = parts.jobs(SystemClock())
    return Trust(parts.keys, follows, parts.scrubber, parts.transcripts, jobs, parts.working, parts.results)
