"""WeChat and QQ ids, where a word says that they are ones."""

from rearview_pipelines.privacy.recognizers.base import Recognizer

_IS = r"(?:[ :=\"'(]|号码?|账号|帐号|id|是|为|改成|换成|了|[：])*"
_NAME = r"[A-Za-z][-_A-Za-z0-9]{5,19}(?![-_A-Za-z0-9])"

WECHAT = (
    rf"(?:微信|薇信|V信|(?<![A-Za-z])(?:wechat|weixin|vx|wx)(?![A-Za-z_])){_IS}\K(?=[-_A-Za-z0-9]*[-_0-9]){_NAME}",
    rf"(?:微信号|微信id|wechat ?id|weixin ?id)(?:[ :=\"'(是为]|[：])*\K{_NAME}",
    r"(?<![0-9A-Za-z_])wxid_[A-Za-z0-9]{6,20}(?![0-9A-Za-z])",
)
QQ = (r"(?<![A-Za-z])QQ(?:[ :=\"'(]|群|号码?|账号|帐号|是|为|加|[：])*\K[1-9]\d{4,10}(?![0-9A-Za-z])",)


def recognizers() -> tuple[Recognizer, ...]:
    return (Recognizer("WECHAT_ID", WECHAT), Recognizer("QQ_ID", QQ))
