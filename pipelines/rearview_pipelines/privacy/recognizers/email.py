"""E-mail addresses, spelled-out ones too. Not `git@host:path`, not `package@version`."""

from rearview_pipelines.privacy.recognizers.base import Recognizer

_LOCAL = r"(?<![a-z0-9.+@_-])(?!git@[a-z0-9.-]+:)[a-z0-9\u00c0-\u024f_][a-z0-9\u00c0-\u024f._%+'-]{0,63}"
_LETTERS = r"a-z0-9\u00c0-\u024f"
_DOMAIN = rf"(?:[{_LETTERS}](?:[{_LETTERS}-]{{0,61}}[{_LETTERS}])?\.){{1,8}}(?:[a-z]{{2,24}}|xn--[a-z0-9-]{{2,59}})(?![a-z0-9-])"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"

PATTERNS = (
    rf"{_LOCAL} ?@ ?{_DOMAIN}",
    # Internationalised names of Chinese registries.
    rf"(?:{_LOCAL}|[\u4e00-\u9fff]{{1,10}}(?=@.{{1,40}}邮))@[\u4e00-\u9fffa-z0-9-]{{1,30}}\.(?:公司|中国|中國|网络|網絡|网址|在线|集团|商标|手机)",
    # Spelled out: either sign in brackets, or both in words.
    rf"(?<![a-z0-9.+@_-])[a-z0-9][a-z0-9._%+-]{{0,63}} ?(?:\[ ?at ?\]|\( ?at ?\)|\{{ ?at ?\}}|<at>|#at#|\[ ?@ ?\]|艾特) ?"
    rf"{_LABEL}(?: ?(?:\[ ?dot ?\]|\( ?dot ?\)|\{{ ?dot ?\}}|<dot>|#dot#| dot |\.|点) ?{_LABEL}){{1,6}}",
    rf"(?<![a-z0-9.+@_-])[a-z0-9][a-z0-9._%+-]{{0,63}} at {_LABEL}(?: dot {_LABEL}){{1,5}}(?![a-z0-9])",
)


def recognizer() -> Recognizer:
    return Recognizer("EMAIL_ADDRESS", PATTERNS)
