"""Where a bucket is; apart from the store, so that settings are read without boto3."""

from dataclasses import dataclass


@dataclass(frozen=True)
class S3Options:
    """Where a bucket is and how it is reached. Empty credentials: boto3 looks for them in its usual places.

    prefix       put before every key, without a slash at its end; empty for none
    encryption   header of what is written: "" for the bucket's own, AES256, aws:kms, or aws:kms:KEY
    ca           file with the certificate authorities of the endpoint; empty for the system's
    retries      how often a call is tried again; seconds: of one connection or answer; pool: connections kept
    """

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    path_style: bool = True
    access_key: str = ""
    secret_key: str = ""
    encryption: str = ""
    ca: str = ""
    retries: int = 3
    seconds: float = 10.0
    pool: int = 16

    def __repr__(self) -> str:
        return f"S3Options(bucket={self.bucket!r}, prefix={self.prefix!r}, endpoint={self.endpoint!r})"
