"""IP addresses that can point at somebody: public ones, documentation ranges among them.

Spared: loopback, RFC 1918, unique-local, link-local, unspecified, net masks, well-known public
resolvers, and four-part versions, which only the words around them tell apart.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from rearview_pipelines.privacy.presidio import RecognizerResult
from rearview_pipelines.privacy.recognizers.base import Recognizer

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
V4 = rf"(?<![0-9A-Za-z_.])(?<!\d-)(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z_]|\.\d)"
V6 = r"(?<![0-9A-Za-z_:.])(?:[0-9a-f]{1,4}:){1,7}(?::?[0-9a-f]{1,4}){0,7}:?(?::(?:\d{1,3}\.){3}\d{1,3})?(?![0-9A-Za-z_:])|(?<![0-9A-Za-z_:.])::[0-9a-f][0-9a-f:]{0,36}(?![0-9A-Za-z_:])"
_SPARED = tuple(
    ip_network(n)
    for n in (
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/32",
        "255.0.0.0/8", "::/128", "::1/128", "fc00::/7", "fe80::/10",
        *(f"{a}/32" for a in (
            "8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "149.112.112.112", "208.67.222.222",
            "208.67.220.220", "114.114.114.114", "114.114.115.115", "223.5.5.5", "223.6.6.6", "119.29.29.29",
            "180.76.76.76", "94.140.14.14", "94.140.15.15", "4.2.2.1", "4.2.2.2", "64.6.64.6",
        )),
        *(f"{a}/128" for a in (
            "2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "2606:4700:4700::1001",
            "2620:fe::fe", "2400:3200::1",
        )),
    )
)  # fmt: skip
_VERSION = re.compile(
    r"(?:version|release[sd]?|\bver\b|\bv\.?|upgrad\w*|downgrad\w*|firmware|section|chapter|\bbuilds?\b|\bsdk\b|driver|patch"
    r"|bump\w*|\bpin\w*|semver|changelog|roll\w* back|==|>=|<=|~=|\^|§|版本号?|固件|升级|回退|降级|补丁|章节)"
    r"(?:(?!\bip\b|address|host|server|login|地址|登录)[^.\n。;；]){0,18}\Z",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"[A-Za-z][\w+-]*/\Z")
_CHAINED = re.compile(r"^\s*(?:to|and|or|->|→|,|、|到|至|和|与|升级到|回退到|降到)\s*\Z", re.IGNORECASE)
_AFTER = re.compile(r"^\s*(?:版本|版\b|release\b|version\b|及?以上)", re.IGNORECASE)


class IpRecognizer(Recognizer):
    def __init__(self) -> None:
        super().__init__("IP_ADDRESS", (V4, V6))

    def analyze(
        self, text: str, entities: list[str], nlp_artifacts: Any = None, regex_flags: int | None = None
    ) -> list[RecognizerResult]:
        found = sorted(super().analyze(text, entities, nlp_artifacts, regex_flags), key=lambda r: r.start)
        kept: list[RecognizerResult] = []
        version_end: int | None = None
        for result in found:
            before, value = text[: result.start], text[result.start : result.end]
            if "." in value and ":" not in value:
                chained = version_end is not None and _CHAINED.match(text[version_end : result.start])
                if chained or _is_version(before[-60:], text[result.end : result.end + 12]):
                    version_end = result.end
                    continue
            if _points_at_somebody(value):
                kept.append(result)
        return kept


def _is_version(before: str, after: str) -> bool:
    if before.endswith("//"):
        return False
    product = _PRODUCT.search(before) is not None and "://" not in before
    return product or _VERSION.search(before) is not None or _AFTER.match(after) is not None


def _points_at_somebody(value: str) -> bool:
    if re.fullmatch(r"::1:\d{2,5}", value):  # loopback with its port, which parses as an address
        return False
    address = _address(value)
    if address is None:
        return False
    if isinstance(address, IPv6Address):
        # `a::b` is an address and a way to write code: a real one has a digit and more than two groups' worth.
        if not any(c.isdigit() for c in value) or len(value.replace(":", "")) < 5:
            return False
        address = address.ipv4_mapped or address
    return not any(address in network for network in _SPARED if network.version == address.version)


def _address(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(value)
    except ValueError:
        return None


def recognizer() -> Recognizer:
    return IpRecognizer()
