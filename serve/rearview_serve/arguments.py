"""The arguments of the Serve application: what the operator writes into a RayService, and `up` passes."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.lifecycle.schedule import Timetable
from rearview_pipelines.models.chat_options import ChatOptions
from rearview_pipelines.stores.s3_options import S3Options


class AppArguments(BaseModel):
    """Typed arguments of `rearview_serve.app:build`; unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    data: str = Field(description="Folder with keys.json and tokens.json.")
    milvus_uri: str = Field(description="http(s)://host:port of Milvus or a Milvus Lite server.")
    milvus_token: str = Field("", repr=False, description="Its credential; empty for none.")
    milvus_timeout: float = Field(10.0, gt=0, description="Seconds one call to it may take.")
    hot_rows: int = Field(20_000, ge=0, description="Rows a recall replica keeps in memory. 0: none.")
    s3: S3Options | None = Field(None, description="Bucket of objects. None: a folder below `data`.")
    embed_folder: str = Field(description="Folder with the embedding model as ONNX.")
    embed_other_folder: str | None = Field(None, description="Folder of a second embedding model. None: one only.")
    models: str = Field("", description="Folder of models written as ONNX: those that a store may move to.")
    rerank_folder: str | None = Field(None, description="Folder with the reranker as ONNX. None: off.")
    late_folder: str | None = Field(None, description="Folder with the late interaction model as ONNX. None: off.")
    fusion: dict[str, dict[str, float]] = Field(default_factory=dict, description="Weights by kind or language.kind.")
    boosts: dict[str, float] = Field(default_factory=dict, description="Boosts by name.")
    cache_seconds: float = Field(300, ge=0, description="Seconds that a ranking is remembered. 0: none is.")
    model_threads: int = Field(1, ge=1, description="Threads of one model run.")
    floor: float = Field(0.2, ge=0, le=1, description="Least score for context and MCP.")
    recall_defaults: dict[str, Any] = Field(
        default_factory=dict, description="top_k, token_budget and deadline_ms of recalls that do not say."
    )
    privacy: str = Field("patterns", description="Preset of personal data: patterns, strict, off.")
    privacy_actions: dict[str, str] = Field(default_factory=dict, description="Entity to action; others: replace.")
    privacy_threshold: float = Field(0.5, description="Least sureness of a find.")
    privacy_patterns: tuple[dict[str, str], ...] = Field((), description="Own patterns: entity, pattern.")
    secrets: str = Field("refuse", description="refuse or redact.")
    poison_threshold: float = Field(0.7, ge=0, le=1, description="Suspicion from which a memory is quarantined.")
    quota: int | None = Field(None, ge=1, description="Memories a tenant. None: no limit.")
    chat: ChatOptions | None = Field(None, description="The language model. None: reflection is extractive.")
    timetable: Timetable | None = Field(None, description="What the writer begins by the clock. None: nothing.")
    lifecycle: Lifecycle = Field(default_factory=Lifecycle, description="How long memories stay hot, and at all.")
    rate_recall: float = Field(500, ge=0, description="Recall requests a second of one principal. 0: no limit.")
    rate_write: float = Field(200, ge=0, description="Write requests a second of one principal. 0: no limit.")
    mcp_seconds: float = Field(3.0, gt=0, description="Seconds after which an MCP call answers anyway.")
    mcp_tools: str = Field("all", description="all or core: which MCP tools are listed.")
    mcp_hosts: tuple[str, ...] = Field((), description="Further Host headers that MCP accepts.")
    max_body: int = Field(16 * 2**20, gt=0, description="Bytes of the largest request body.")

    @property
    def embed_folders(self) -> tuple[Path, Path | None]:
        """Of the embedding model, and of the second one if there is one."""
        return Path(self.embed_folder), Path(self.embed_other_folder) if self.embed_other_folder else None
