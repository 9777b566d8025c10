"""Is something said to be so? A question, a plan, a condition, hearsay or a change that did not happen is not. Pure.

`Should Sara move from Bergen to Oslo?` leaves it where she lives.
"""

import re

_OPEN = re.compile(
    r"[?？]\s*$"
    r"|^(?:should|shall|does|do|did|is|are|was|were|will|would|can|could|has|have|why|when|where|who|what|which|how)\b.*\?"
    r"|\b(?:if|unless|whether|suppose|assuming|in case|were to|as though|as if)\b"
    r"|\b(?:might|(?<!\d )(?<!of )(?<!in )(?<!by )(?<!on )(?<!the )(?<!until )(?<!since )may(?= [a-z])(?! (?:at|on|and|to|from|until|\d)))\b"
    r"|\b(?:could|would|should|ought to|shall|will|won't|going to|gonna|about to|to be decided)\b"
    r"|\b(?:maybe|perhaps|possibly|probably|likely|unlikely|supposedly|allegedly|apparently|reportedly|rumou?r(?:s|ed)?|hypothetically)\b"
    r"|\b(?:thinks?|thought|is thinking|are thinking|thinking (?:about|of)|believes?|believed|guess(?:es|ed)|assum(?:es|ed)|suspect(?:s|ed)"
    r"|claim(?:ed|s that|s to)|says|said|heard|hears|told|wonder(?:s|ed|ing)|doubt(?:s|ed)|dream(?:s|ed|t) of|jok(?:ed|es|ing)|pretend(?:s|ed|ing))\b"
    r"|\b(?:consider(?:s|ed|ing)|plans? to|planned to|planning to|wants? (?:to|that)|wanted to|hop(?:es|ed|ing) (?:to|that|for)|wish(?:es|ed) (?:to|that)"
    r"|intend(?:s|ed)?|propos(?:es|ed|ing)|suggest(?:s|ed|ing)|discuss(?:es|ed|ing)|debat(?:es|ed|ing)|ask(?:s|ed|ing) (?:to|for|whether|if)"
    r"|tr(?:ies|ied|ying) to|looking (?:at|into)|evaluating|offer(?:s|ed) to|agreed to|refus(?:es|ed|ing))\b"
    r"|(?:吗|么|呢)\s*[？?。]?\s*$|是否|要不要|能不能|可不可以|该不该|如果|要是|假如|倘若|万一|除非"
    r"|打算|考虑(?!到)|可能|也许|或许|大概|计划(?![会书表])|想要|(?<![理思感])想(?=[从在搬换改去把])|希望|建议(?!书)|提议|据说|听说|传言|应该|准备(?!金)"
    r"|觉得|认为|以为|怀疑|声称|说他|说她|讨论(?![会组区])|将要?(?=[从在搬换改])|会不会"
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
