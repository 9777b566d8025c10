"""Credentials of a fixed shape that detect-secrets does not know: issuers' prefixes, key blocks, URLs.

Shapes as the issuers document them.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from rearview_pipelines.privacy.secrets.placeholders import is_placeholder, looks_random
from rearview_pipelines.privacy.spans import Span

_EDGE = r"(?<![0-9A-Za-z_-])"
_PREFIXED = {
    "aws_access_key_id": r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}(?![0-9A-Za-z])",
    "anthropic_key": r"sk-ant-[A-Za-z0-9_-]{20,}",
    "openai_key": r"sk-(?:proj|svcacct|admin|None)?-?[A-Za-z0-9_-]{20,200}T3BlbkFJ[A-Za-z0-9_-]{20,200}|sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}",
    "openrouter_key": r"sk-or-v1-[0-9a-f]{32,}",
    "generic_sk_key": r"sk-[A-Za-z0-9]{32,}(?![0-9A-Za-z])",
    "github_token": r"github_pat_[A-Za-z0-9_]{22,}|gh[pousr]_[A-Za-z0-9]{30,}",
    "gitlab_token": r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{20,}",
    "google_api_key": r"AIza[0-9A-Za-z_-]{30,}",
    "google_oauth_secret": r"GOCSPX-[0-9A-Za-z_-]{20,}",
    "google_oauth_token": r"ya29\.[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}",
    "aliyun_access_key_id": r"LTAI[0-9A-Za-z]{12,26}(?![0-9A-Za-z])",
    "tencent_secret_id": r"AKID[0-9A-Za-z]{13,40}(?![0-9A-Za-z])",
    "volcengine_access_key_id": r"AKLT[0-9A-Za-z_-]{20,60}",
    "huggingface_token": r"hf_[A-Za-z0-9]{30,}",
    "grafana_token": r"gl(?:sa|c)_[A-Za-z0-9+/=_-]{30,}",
    "linear_key": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    "notion_token": r"(?:ntn_|secret_)[A-Za-z0-9]{40,}",
    "digitalocean_token": r"do[opr]_v1_[0-9a-f]{40,}",
    "databricks_token": r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])",
    "vault_token": r"hv[sbr]\.[A-Za-z0-9_-]{20,}|[sb]\.[A-Za-z0-9]{24}(?![0-9A-Za-z])",
    "shopify_token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "age_key": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "docker_token": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    "sentry_token": r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
    "atlassian_token": r"ATATT3[A-Za-z0-9_=-]{40,}|ATCTT3[A-Za-z0-9_=-]{40,}",
    "airtable_token": r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
    "postman_key": r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "pulumi_token": r"pul-[0-9a-f]{40}",
    "rubygems_key": r"rubygems_[0-9a-f]{40,}",
    "crates_token": r"cio[A-Za-z0-9]{32}(?![0-9A-Za-z])",
    "terraform_token": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}",
    "planetscale_token": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}",
    "supabase_key": r"sb(?:p|_secret)_[A-Za-z0-9_]{20,}",
    "figma_token": r"figd_[A-Za-z0-9_-]{20,}",
    "doppler_token": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.]{30,}",
    "newrelic_key": r"NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9_-]{30,}",
    "groq_key": r"gsk_[A-Za-z0-9]{40,}",
    "xai_key": r"xai-[A-Za-z0-9]{40,}",
    "perplexity_key": r"pplx-[A-Za-z0-9]{40,}",
    "replicate_token": r"r8_[A-Za-z0-9]{30,}",
    "heroku_key": r"HRKU-[A-Za-z0-9_-]{30,}",
    "netlify_token": r"nfp_[A-Za-z0-9]{30,}",
    "stripe_key": r"(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{24,}",
    "slack_token": r"xox[abposre](?:\.xox[bp])?-[0-9A-Za-z-]{20,}|xapp-\d-[0-9A-Za-z-]{20,}",
    "facebook_token": r"EAA[A-Za-z0-9]{60,}",
    "azure_client_secret": r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}",
    "npm_token": r"npm_[A-Za-z0-9]{30,}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
}
_TOKENS = {kind: re.compile(_EDGE + f"(?:{shape})") for kind, shape in _PREFIXED.items()}
_FIRST = re.compile(
    r"A[KSBCRI][IRDL]|sk-|gh[pousr]_|github_|gl|AIza|GOCSPX|ya29|1//0|LTAI|hf_|lin_|ntn_|secret_|do[opr]_|dapi|hv[sbr]\.|[sb]\.|shp"
    r"|AGE-|dckr|sntry|AT[AC]TT|pat|PMAK|pul-|ruby|cio|atlasv1|pscale|sb[p_]|figd|dp\.|NR[AI]|gsk_|xai-|pplx|r8_|HRKU|nfp_|k_live|k_test"
    r"|whsec|xox|xapp|EAA|Q~|npm_|eyJ"
)
"""A quick look for any prefix, before fifty patterns are tried."""
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|PuTTY-User-Key-File-\d:.*?(?:Private-MAC: *[0-9a-f]+|\Z)",
    re.DOTALL,
)
_PASSWORD_IN_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://([^\s/:@\"'<>]{0,80}):([^\s/@\"']{1,120})@(?=[^\s@/])", re.IGNORECASE
)
_IN_QUERY = re.compile(
    r"[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|token|access_token|api_?key|apikey|secret|password|auth)="
    r"([A-Za-z0-9%+/=_.~-]{16,})",
    re.IGNORECASE,
)
_ACCOUNT_KEY = re.compile(
    r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{20,})", re.IGNORECASE
)
_BASIC = re.compile(r"\bBasic\s+([A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)
_BEARER = re.compile(r"\b(?:Bearer|Token)\s+([A-Za-z0-9._~+/=-]{20,})", re.IGNORECASE)


_MARKED = re.compile(r"-----BEGIN|PuTTY|://|=|\b(?:Basic|Bearer|Token)\s", re.IGNORECASE)


def find(text: str) -> Iterator[Span]:
    if _FIRST.search(text):
        for kind, pattern in _TOKENS.items():
            for match in pattern.finditer(text):
                if not is_placeholder(match[0]):
                    yield Span(*match.span(), kind)
    if not _MARKED.search(text):
        return
    for match in _KEY_BLOCK.finditer(text):
        yield Span(*match.span(), "private_key")
    for match in _PASSWORD_IN_URL.finditer(text):
        if not is_placeholder(match[2]) and "<" not in match[2]:
            yield Span(*match.span(2), "url_password")
    yield from _judged(_IN_QUERY, text, "url_token", looks_random)
    yield from _judged(_ACCOUNT_KEY, text, "azure_storage_key", looks_random)
    yield from _judged(_BASIC, text, "basic_auth", _is_pair)
    yield from _judged(_BEARER, text, "bearer_token", looks_random)


def _judged(pattern: re.Pattern[str], text: str, kind: str, holds: Callable[[str], bool]) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if holds(match[1]):
            yield Span(*match.span(1), kind)


def _is_pair(encoded: str) -> bool:
    """Whether Basic credentials decode to name and password, and not to the RFC's own example."""
    try:
        pair = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    name, colon, password = pair.partition(":")
    return bool(name and colon and password) and pair.isprintable() and not is_placeholder(password)
