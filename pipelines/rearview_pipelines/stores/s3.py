"""The object store of a cluster: a bucket, through boto3. The same contract as a folder, tested by the same tests.

Overwriting or deleting leaves no older version behind where the bucket keeps versions: what is forgotten is gone.
What an object lock holds stays, and the caller is told until when.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from rearview_pipelines.errors import SetupError, Unavailable
from rearview_pipelines.ports import AlreadyThere
from rearview_pipelines.stores.keys import checked
from rearview_pipelines.stores.s3_options import S3Options

_Result = TypeVar("_Result")
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})
_DENIED = frozenset({"AccessDenied", "403", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch"})
_FULL = frozenset({"507", "InsufficientStorage", "QuotaExceeded", "EntityTooLarge"})
_TAKEN = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
_FOR_A_PLACE = "set REARVIEW_S3_BUCKET to a bucket that exists"
NULL = "null"
"""What a version is called that was written while a bucket's versioning was suspended."""
FOREVER = datetime.max.replace(tzinfo=UTC)
"""Until when a legal hold keeps an object: nobody knows."""


class S3Store:
    """`ObjectStore` over a bucket. Nothing connects before the first call."""

    def __init__(self, options: S3Options) -> None:
        self._options = options
        self._prefix = f"{options.prefix.strip('/')}/" if options.prefix.strip("/") else ""
        self._made: Any = None
        self._keeps_versions: bool | None = None

    async def check(self) -> None:
        """Raises SetupError for a bucket that is not there or denies us, Unavailable if nothing answers."""
        await asyncio.to_thread(self._check)

    async def put(
        self,
        key: str,
        data: bytes,
        *,
        new: bool = False,
        fleeting: bool = False,  # noqa: ARG002  every write is durable here
    ) -> datetime | None:
        return await self._run(self._put, self._key(key), data, new)

    async def get(self, key: str) -> bytes | None:
        return await self._run(self._get, self._key(key), None)

    async def slice(self, key: str, start: int, length: int) -> bytes | None:
        if length <= 0:
            return b""
        return await self._run(self._get, self._key(key), f"bytes={start}-{start + length - 1}")

    async def keys(self, prefix: str) -> list[str]:
        return await self._run(self._list, self._key(prefix.rstrip("/")) + "/")

    async def delete(self, key: str) -> datetime | None:
        return await self._run(self._delete, self._key(key))

    def _key(self, key: str) -> str:
        return self._prefix + checked(key)

    @property
    def _client(self) -> Any:
        if self._made is None:
            o = self._options
            self._made = boto3.session.Session().client(
                "s3",
                endpoint_url=o.endpoint or None,
                region_name=o.region or "us-east-1",  # boto3 wants one, servers of one's own ignore it
                aws_access_key_id=o.access_key or None,
                aws_secret_access_key=o.secret_key or None,
                verify=o.ca or None,
                config=Config(
                    s3={"addressing_style": "path" if o.path_style else "virtual"},
                    retries={"max_attempts": o.retries + 1, "mode": "standard"},
                    connect_timeout=o.seconds,
                    read_timeout=o.seconds,
                    max_pool_connections=o.pool,
                    # Checksums that only AWS knows are sent where they are asked for.
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                ),
            )
        return self._made

    async def _run(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        def run() -> _Result:
            with _translated():
                return work(*arguments)

        return await asyncio.to_thread(run)

    def _check(self) -> None:
        where = f"the bucket {self._options.bucket}"
        try:
            self._client.head_bucket(Bucket=self._options.bucket)
        except ClientError as error:
            if _code(error) in _MISSING:
                raise SetupError(f"{where} does not exist; {_FOR_A_PLACE}") from error
            if _code(error) in _DENIED:
                raise SetupError(f"{where} denies access; check REARVIEW_S3_ACCESS_KEY and its policy") from error
            raise Unavailable(f"{where} does not answer as it should: {_code(error)}") from error
        except (BotoCoreError, ValueError) as error:
            raise Unavailable(f"{where} does not answer: {type(error).__name__}") from error

    def _put(self, key: str, data: bytes, new: bool) -> datetime | None:
        condition: dict[str, Any] = {"IfNoneMatch": "*"} if new else {}
        try:
            answer = self._client.put_object(
                Bucket=self._options.bucket, Key=key, Body=data, **condition, **self._encrypted()
            )
        except ClientError as error:
            if new and _code(error) in _TAKEN:
                if self._get(key, None) == data:
                    return None  # our own, of which the answer was lost
                raise AlreadyThere(key.rpartition("/")[2]) from error
            raise
        return None if new else self._drop_versions(key, keep=answer.get("VersionId") or NULL)

    def _encrypted(self) -> Mapping[str, str]:
        kind = self._options.encryption
        if kind.startswith("aws:kms:"):
            return {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": kind.removeprefix("aws:kms:")}
        return {"ServerSideEncryption": kind} if kind else {}

    def _get(self, key: str, range_: str | None) -> bytes | None:
        asked = {"Range": range_} if range_ else {}
        try:
            answer = self._client.get_object(Bucket=self._options.bucket, Key=key, **asked)
            body: bytes = answer["Body"].read()
        except ClientError as error:
            if _code(error) in _MISSING:
                return None
            if _code(error) in ("InvalidRange", "416"):
                return b""
            raise
        return body

    def _list(self, prefix: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._options.bucket, Prefix=prefix)
        found = [item["Key"] for page in pages for item in page.get("Contents", ())]
        return sorted(key[len(self._prefix) :] for key in found)

    def _delete(self, key: str) -> datetime | None:
        if self._versions_kept():
            return self._drop_versions(key, keep=None)
        self._client.delete_object(Bucket=self._options.bucket, Key=key)
        return None

    def _versions_kept(self) -> bool:
        if self._keeps_versions is None:
            answer = self._client.get_bucket_versioning(Bucket=self._options.bucket)
            self._keeps_versions = bool(answer.get("Status"))  # suspended ones keep what they had
        return self._keeps_versions

    def _drop_versions(self, key: str, keep: str | None) -> datetime | None:
        """Remove every version of an object but one; answers until when a lock holds the last of those that stay."""
        if not self._versions_kept():
            return None
        until: datetime | None = None
        for version in list(self._versions(key)):
            if version == keep:
                continue
            try:
                self._client.delete_object(Bucket=self._options.bucket, Key=key, VersionId=version)
            except ClientError:
                held = self._held_until(key, version)
                if held is None:
                    raise
                until = max(until or held, held)
        if until is not None and keep is None:  # what stays is not the current one
            self._client.delete_object(Bucket=self._options.bucket, Key=key)
        return until

    def _versions(self, key: str) -> Iterator[str]:
        pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self._options.bucket, Prefix=key)
        for page in pages:
            for item in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                if item["Key"] == key:
                    yield item["VersionId"]

    def _held_until(self, key: str, version: str) -> datetime | None:
        """Until when a lock holds a version; None if none does."""
        where = {"Bucket": self._options.bucket, "Key": key, "VersionId": version}
        try:
            hold = self._client.get_object_legal_hold(**where)["LegalHold"]["Status"]
            if hold == "ON":
                return FOREVER
        except (ClientError, KeyError):
            hold = "OFF"  # a bucket without locks says so with an error
        try:
            until: datetime = self._client.get_object_retention(**where)["Retention"]["RetainUntilDate"]
        except (ClientError, KeyError):
            return None
        return until


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def _translated() -> Iterator[None]:
    """Our own errors, without the library's text: it may hold keys and addresses."""
    try:
        yield
    except ClientError as error:
        code = _code(error)
        if code in _DENIED:
            raise Unavailable("the object store denies access; check its credentials and policy") from error
        if code in _FULL:
            raise Unavailable("the object store is full") from error
        if code == "NoSuchBucket":
            raise Unavailable(f"the bucket is not there; {_FOR_A_PLACE}") from error
        raise Unavailable(f"the object store did not answer as it should: {code}") from error
    except (BotoCoreError, OSError) as error:
        raise Unavailable(f"the object store does not answer: {type(error).__name__}") from error
