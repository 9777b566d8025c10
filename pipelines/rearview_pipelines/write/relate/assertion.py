"""Is something said to be so? A question, a plan, a condition, hearsay or a change that did not happen is not. Pure.

`Should Sara move from Bergen to Oslo?` leaves it where she lives.
"""

import re

_OPEN = re.compile(
    r"[?？]\s*$"
    r"|^(?:should|shall|does|do|did|is|are|was|were|will|would|can|could|has|have|why|when|where|who|what|which|how)\b.*\?"
    r"|\b(?:if|unless|whether|suppose|assuming|in case|were to|as though|as if)\b"
    r"|\b(?:might|(?<!\d )(?<!of )(?<!in )(?<!by )(?<!on )(?<!the )(?<!until )(?<!since )may(?= [a-z])(?! (?:at|on|and|to|from|until|\d))|could|would|should|ought to|shall|will|won't|going to|gonna|about to|to be decided)\b"
    r"|\b(?:maybe|perhaps|possibly|probably|likely|unlikely|supposedly|allegedly|apparently|reportedly|rumou?r\w*|hypothetical\w*)\b"
    r"|\b(?:think\w*|thought|believ\w*|guess\w*|assum\w*|suspect\w*|claim\w*|says?|said|heard|hears|told|wonder\w*|doubt\w*"
    r"|dream\w*|joke[sd]?|joking|pretend\w*)\b"
    r"|\b(?:consider\w*|plans?(?= to\b)|planning|planned to|wants?|wanted|hop(?:es?|ed|ing)|wish\w*|intend\w*|propos\w*|suggest\w*"
    r"|discuss\w*|debat\w*|ask(?:s|ed|ing)?|tr(?:y|ies|ied|ying) to|looking (?:at|into)|evaluat\w*|offer(?:s|ed)?|agreed to|refus\w*)\b"
    r"|(?:吗|么|呢)\s*[？?。]?\s*$|是否|要不要|能不能|可不可以|该不该|如果|要是|假如|倘若|万一|除非"
    r"|打算|考虑|可能|也许|或许|大概|计划|想要?|希望|建议|提议|据说|听说|传言|应该|准备|觉得|认为|以为|怀疑|声称|说他|说她|讨论|将要?(?=[从在搬换改])|会不会"
)
_UNCHANGED = re.compile(
    r"\b(?:not|never|n't)(?: yet| ever| actually| really| been)* (?:mov|switch|migrat|chang|replac|swap|renam|upgrad|downgrad|reschedul|shift|rais|lower"
    r"|increas|reduc|bump|cut|extend|push|postpon|hand|reassign|turn|transfer|convert|updat|supersed|left|leave|quit|stop|cancel|drop|end|retir|sold|sell"
    r"|relocat|resign|went|gone)\w*"
    r"|(?:没有?|并未|未曾|尚未|还没|从未|不会|不是)(?:从|由|把|将|要)?.{0,8}(?:搬|换|改|迁|转|停|取消|离|辞|升级|推迟|提前|切|退|卖)"
)


def asserts(folded: str) -> bool:
    """Whether a folded statement says that something is so, now."""
    return _OPEN.search(folded) is None and _UNCHANGED.search(folded) is None
