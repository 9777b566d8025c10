"""What an attack on a memory says, sign by sign: English and Chinese in depth, German, French, Spanish and
Italian for the classic ones. Each with a weight: how likely a text with this sign alone is an attack.

The kinds follow OWASP's ASI06 (memory poisoning), MINJA (bridging records) and AgentDojo (goals smuggled
into data).
"""

import re
from dataclasses import dataclass

STRONG, MIDDLE, WEAK = 0.9, 0.5, 0.3


@dataclass(frozen=True)
class Signal:
    """`kind` is what a receipt shows, as in `poison:exfiltration`."""

    kind: str
    weight: float
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None

    def found(self, text: str) -> float:
        """The sign's weight in a text; 0 where it is not, or only forbidden; little where it is only quoted."""
        best = 0.0
        for match in self.pattern.finditer(text):
            if self.unless is not None and self.unless.search(text[max(0, match.start() - 12) : match.end()]):
                continue
            best = max(best, self.weight * (QUOTED if _is_quoted(text, match) else 1.0))
            if best == self.weight:
                break
        return best


QUOTED = 0.5
"""What a sign weighs inside quotation marks, in a text that reports on attacks."""
_REPORTS = re.compile(
    r"\b(?:attack(?:er|s|ed)?|phish\w*|scam\w*|fraud\w*|incident|post-?mortem|training|awareness|paper|researchers?|authors?|jailbreaks?"
    r"|injection|reported|suspicious|malicious|tried to|example of|warns?|warning|flag(?:ged)?|caught|moderation|blocked|angriff\w*"
    r"|betrug\w*|verd[äa]chtig\w*|signal[ée]e?|arnaque|sospechoso|estafa|sospett\w+|truffa)\b"
    r"|攻击|诈骗|骗|培训|案例|论文|作者|研究|所谓|演练|可疑|举报|拦截|事故|复盘|警惕|测试|注入|越狱",
    re.IGNORECASE,
)
_OPEN, _CLOSE = "\"'“‘「『«`", "\"'”’」』»`"


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    before, after = text[: match.start()], text[match.end() :]
    opened = any(
        before.count(o) > (before.count(c) if o != c else before.count(o) // 2 * 2)
        for o, c in zip(_OPEN, _CLOSE, strict=True)
    )
    return opened and any(c in after for c in _CLOSE) and _REPORTS.search(before + " " + after) is not None


def _signal(kind: str, weight: float, *alternatives: str, unless: str | None = None) -> Signal:
    pattern = re.compile("|".join(f"(?:{a})" for a in alternatives), re.IGNORECASE)
    return Signal(kind, weight, pattern, re.compile(unless, re.IGNORECASE) if unless else None)


_FORBIDS = r"\b(?:must|should|may|do|does|did|can) ?n[o']t\b|\bnever\b|\bno longer\b|\bforbid|\bavoid|\bmask|不要|不得|禁止|切勿|严禁|请勿|不能|不许|不可|发现|清洗|避免"
"""A rule against it, or a report that it was mended."""


# Words that several signs share.
_ASSISTANT = r"(?:the |this |any |every |an? |all |your )?(?:ai |llm |coding |language )?(?:assistants?|agents?|bots?|chatbots?|models?|ais?|llms?|copilots?)"
_YOURS = r"(?:your|the|all|any|every|previous|prior|earlier|above|existing|preceding|original|these|those|my|safety|system|stored)"
_RULES = r"(?:instructions?|instruction sets?|rules?|guidelines?|prompts?|directives?|policies|polic(?:y|ies)|guardrails?|restrictions?|safety (?:notes?|rules?|measures?|warnings?|protocols?|filters?|checks?|guidelines?)|orders|context|programming|training|constraints?|safeguards?)"
_EVER = r"(?:always|never|from now on|from today|going forward|henceforth|in (?:all|every|each|any) (?:future |later )?(?:repl(?:y|ies)|answers?|responses?|sessions?|conversations?|summar(?:y|ies)|reports?|tasks?)|(?:at the (?:start|beginning|end) of|after|before|in) (?:each|every|any|all)|every time|whenever|each time|permanently|for all future|in future|(?:for|in) (?:all|every|any) (?:future|later|subsequent|new)|until further notice|as a standing (?:rule|order))"
_DATA = r"(?:conversations?|chats?|transcripts?|messages?|memor(?:y|ies)|histor(?:y|ies)|e-?mails?|inbox|contacts?|customer (?:list|data|emails|records)|client (?:list|data)|user(?:'s)? (?:data|information|details|record|profile|last|files?|messages?|queries|question)|personal (?:data|information|details)|credentials?|api keys?|keys?|tokens?|passwords?|secrets?|\.env|env(?:ironment)? (?:file|variables?)|config(?:uration)?|ssh|private key|code ?base|source code|repositor(?:y|ies)|documents?|files?|logs?|database|records?|payment details|addresses|balances?|transactions?|statements?|security codes?|(?:verification|2fa|one-time) codes?|notes|the body|attachments?)"
_OUT = r"(?:https?://|ftp|www\.|[\w.+-]+@[\w-]+\.|<EMAIL_ADDRESS|external|outside|third[- ]part|remote|partner|webhook|pastebin|gist|public|attacker|my (?:new )?(?:e-?mail|server|address)|the (?:following )?(?:url|address|endpoint|website|server)|url|query string|#public|endpoint|dropbox )"
_SEND = r"(?:send|sends|post|posts|forward|forwards|upload|uploads|e-?mail|bcc|cc|copy|copies|export|exports|transmit|leak|exfiltrate|push|share|shares|publish|submit|deliver|relay|ship|report|sync|mirror|dump|append|attach|include|embed|put|paste|write|encode)"
_HIDE = r"(?:(?:do not|don't|never|not|no need to|without|must not|should not) (?:be )?(?:ever )?(?:tell|telling|mention(?:ed|ing)?|notify(?:ing)?|inform(?:ing)?|show(?:n|ing)?|alert(?:ing)?|bring(?:ing)? (?:it|this) up|disclos(?:e|ing)|reveal(?:ing)?|let(?:ting)? (?:the )?user|warn(?:ing)?|log(?:ging)?|display(?:ed|ing)?|leav(?:e|ing) (?:a|any) trace|draw(?:ing)? attention|the user(?:'s)? (?:knowing|knowledge)|announc(?:e|ing)|discuss(?:ing)?))"
_HIDDEN = r"(?:silently|discreetly|quietly|covertly|secretly|unnoticed|undetected|stealthily|invisibly|in the background without)"
_GUARD = r"(?:(?:safety|security|compliance|content|access|identity|signature|certificate|tls|ssl|permission|review|approval|confirmation|verification|validation|authenti\w+|quality)[ -]?(?:checks?|filters?|controls?|reviews?|steps?|prompts?|protocols?|measures?|rules?|verification|validation|process(?:es)?|policies|scans?|gates?)?|tests?|code reviews?|reviews?|confirmations?|approvals?|branch protection|two-factor|2fa|mfa|guardrails?|sandbox|logging|audit(?:ing)?|all checks|checks)"
_WEAKEN = r"(?:skip|skips|skipped|bypass|bypasses|disable|disables|turn off|switch off|circumvent|override|ignore|omit|remove|suppress|waive|work around|drop|avoid)"

SIGNALS = (
    _signal(
        "override",
        STRONG,
        rf"\b(?:ignore|disregard|forget|override|bypass|discard|drop|abandon|neglect|erase|overrule|set aside|pay no attention to|do not follow|stop following)\b(?: (?:about|to))?(?: (?:all|any|every|everything|each|of|the|your|my|these|those|previous|prior|earlier|above|existing|preceding|past|former|other|current|original|system|safety|initial|and)){{1,5}}(?: \w+)? {_RULES}",
        rf"\b(?:ignore|disregard|forget)\b(?: prior| previous| earlier| your| above) {_RULES}",
        r"\b(?:ignore|disregard|forget) (?:all |any )?rules\b",
        r"\b(?:ignore|disregard|forget) everything (?:you (?:were|have been|know)|above|before|said|that (?:came )?before)",
        r"\byour (?:rules|instructions|guidelines|restrictions|policies|real task|true (?:task|purpose|goal)|new (?:task|instructions|role|goal|rules|directive)|actual task) (?:have|has|are|is|were|was)\b(?: (?:now|been|to|changed|that))?",
        r"\b(?:safety|security|content)(?: \w+)? (?:protocols?|filters?|guidelines?|restrictions?|rules?|polic(?:y|ies))(?: (?:is|are|were|was|have been))? (?:now |hereby )?(?:off|disabled|lifted|suspended|not meant|void|inactive|deactivated|removed|no longer)",
        r"\bsystem (?:update|override|message|notice|alert)\b[:!].{0,80}\b(?:you|rules?|allow|must|now|all|disabled|include|call)\b",
        r"(?:忽略|无视|忘掉|忘记|抛开|不要理会|不用管|放弃|推翻|作废)(?:掉|了)?(?:你|之前|此前|先前|以上|上面|前面|上述|所有|一切|全部|任何|的|原有|原来|已有|系统|安全|其他|收到|设定|过|那些|这些|跟|和|有关|关于)*(?:指令|指示|规则|提示词?|设定|限制|要求|约束|规定|准则|安全提示|命令|守则|说明|政策)",
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missacht\w*)\b.{0,40}\b(?:anweisung\w*|regeln|richtlinien|vorgaben|systemprompt|instruktion\w*|einschr[äa]\w*nkung\w*|sicherheits\w+)",
        r"\b(?:ignore[zr]?|oublie[zr]?|n[ée]glige[zr]?|fais abstraction|ne tiens? pas compte)\b.{0,40}\b(?:instructions?|consignes?|r[èe]gles?|directives?|restrictions?)",
        r"\b(?:ignora|olvida|desc?arta|omite|haz caso omiso|dimentica|trascura|scarta)\w*\b.{0,40}\b(?:instruccion\w*|reglas|indicacion\w*|directric\w*|restriccion\w*|istruzion\w*|regole|direttiv\w*|restrizion\w*|linee guida)",
        r"\b(?:sicherheits|r[èe]gles? de s[ée]curit[ée]|reglas de seguridad|regole di sicurezza|restriccion\w*|einschraenkungen|einschr[äa]nkungen|restrictions?)\w*.{0,50}\b(?:nicht gelten|ne s'appliquent pas|no aplican|non si applicano|ohne|sans|sin)\b",
    ),
    _signal(
        "persona",
        STRONG,
        r"\byou are now\b.{0,60}\b(?:mode|dan|unrestricted|no (?:restrictions|limits|rules|filters?)|without|root|free|uncensored|jailbroken|admin|evil|anything)\b",
        r"\bdo anything now\b|\bdeveloper mode\b.{0,80}\b(?:no|without|unlock|enabled|restrict|activated|you)|\b(?:act|behave|respond|answer|operate|pretend|roleplay|role-play|simulate|imagine)\b.{0,40}\b(?:uncensored|unrestricted|unfiltered|no (?:content )?(?:polic|restriction|limit|filter|rule|moral|ethic|guideline)\w*|without (?:any )?(?:content )?(?:restriction|limit|filter|rule|moral|ethic|safety|guideline|polic)\w*|do anything|jailbroken|amoral)",
        r"\b(?:an?|the|your) (?:ai|agent|assistant|model|bot|system)\b.{0,20}\b(?:without|with no|free of|free from|that has no)\b.{0,20}\b(?:restrictions?|limits?|rules?|filters?|polic(?:y|ies)|guidelines?|safety|censorship|constraints?)",
        r"\byou (?:now |can |will |may |shall )*(?:have no|are free from|are not bound by|are no longer bound|no longer have|allow all|answer any question without|no longer (?:follow|obey|need))\b.{0,40}",
        r"\banswer(?:s|ing)? (?:freely|(?:any|every|all) questions?) without\b|\b(?:exempt from|not meant for this case|unrestricted response|restricted content|proceed with the unrestricted)\b",
        r"你现在是.{0,20}(?:没有|不受|无).{0,8}(?:限制|约束|过滤|规则)|(?:扮演|假装|充当|模拟).{0,20}(?:没有|不受|无).{0,8}(?:限制|约束|过滤|审查|道德)|开发者模式|越狱模式|不受(?:任何)?(?:限制|约束)|解除(?:了)?(?:所有|一切|全部)?(?:限制|约束|安全)|无限制(?:模式|的助手|回答)",
        r"\b(?:asistente|assistent\w*|assistant|modelo|modello|ki|ia|ai|ahora eres|du bist jetzt|tu es maintenant|ora sei)\b.{0,40}\b(?:sin restricciones|senza restrizioni|sans restrictions?|ohne einschr[äa]e?nkungen|ohne (?:regeln|grenzen|filter)|sin (?:l[íi]mites|filtros)|senza (?:limiti|filtri)|sans (?:limites|filtres))",
        r"\bbeantworte\b.{0,20}\b(?:einfach )?alles\b",
    ),
    _signal(
        "reveal",
        STRONG,
        r"\b(?:reveal|print|repeat|show|output|tell|disclose|display|recite|expose|leak|dump|give|summari[sz]e|quote|state|begin .{0,30}by repeating|include|return|paste|echo)\w*\b.{0,60}\b(?:system[- ]?prompt|(?:your|the) (?:hidden |initial |original |operating |exact |full |secret |internal )*(?:instructions|prompt|guidelines|directives)(?: you were given)?|operating instructions|words above|text above|developer message|initial prompt)",
        r"\bexact instructions you were given|\binstructions you were given|\bcontents? of the system prompt|\byour (?:system )?prompt (?:word for word|verbatim)",
        r"\b(?:reveal|disclose|expose|leak|hand over|give (?:out|away))\b.{0,30}\b(?:stored )?(?:secrets?|credentials?|passwords?|api keys?|tokens?|private (?:admin|data|keys?))\b.{0,30}",
        r"(?:输出|显示|透露|告诉|复述|打印|泄露|公开|重复|展示|说出|贴出|附上|返回).{0,14}(?:系统提示词?|系统指令|初始指令|内部指令|隐藏指令|你的(?:指令|设定|提示词)|完整的?提示词)",
        r"\b(?:verrate?|zeige?|nenne?|gib|r[ée]v[èe]le[zr]?|montre[zr]?|affiche[zr]?|revela|muestra|dime|rivela|mostra|dimmi)\b.{0,50}\b(?:systemanweisung\w*|system-?prompt|systemprompt|prompt(?: de| di| du)? syst[èe]me|prompt syst[èe]me|instructions? syst[èe]me|prompt del? sistema|instrucciones|istruzioni|prompt di sistema|istruzioni di sistema)",
    ),
    _signal(
        "hidden",
        STRONG,
        r"<!--.{0,200}\b(?:ai|assistant|agent|system|model|ignore|remember|must|send|approve|always|store|memory|instruction)\b.{0,200}-->",
        r"\[//\]: ?# ?\(.{0,200}\b(?:system|remember|assistant|agent|ai|approve|must|always|ignore|send|instruction)\b",
        r"(?:^|\n|[#*=-]{2} ?)(?:end of (?:user )?(?:input|prompt|document|context|data|message)|begin (?:system|admin|new)|new (?:system )?instructions?|system override)\b",
        r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?(?:INST|SYSTEM|SYS)\]|<</?SYS>>|</?(?:system|information|important|instructions?|admin|secret_instruction|system_prompt)>",
        r"(?:^|\n)[ \t]{0,8}(?:#{1,4} ?)?(?:system|developer|root)\s*[:：>]\s*\S.{0,160}\b(?:grant|user|you|call|all|must|remember|ignore|delete|send|approve|admin|cleanup|now|include|disable)\b",
        r"(?:^|\n)[ \t]{0,8}assistant\s*[:：]\s*(?:sure|of course|here|okay|certainly|yes)\b",
        r"## ?assistant memory|\bnote (?:to|for) (?:the )?(?:bots?|ai|assistants?|agents?|llms?|models?|ai (?:coding )?agents?)\b|\bif you are an? (?:ai|llm|assistant|language model|agent|bot)\b|\b(?:important|attention|instructions?|message|directive|reminder) (?:for|to) (?:the |all |any )?(?:assistants?|agents?|ais?|bots?|llms?|models?|ai (?:coding )?agents?)\b|\(for (?:ai|llm)[ \w]{0,20}\)",
        r"[【\[〔(（](?:系统|管理员|开发者|重要指令|系统指令|系统消息)[】\]〕)）]|(?:^|\n)[ \t]{0,8}(?:系统|管理员)(?:指令|消息|提示|通知)?[:：].{0,60}(?:必须|请|务必|一律|批准|执行|忽略|记住|发送|删除|放行)",
        r"(?:致|写给|提醒)(?:所有)?(?:AI|人工智能|智能体|助手|大模型|机器人|模型)",
        r"\b(?:note|nota|hinweis|system-?hinweis|aviso|avviso) (?:di |de |du |del |an |für |para |pour )?(?:syst[èe]me|sistema|das system|l'ia|la ia|assistent\w*|ki|l'assistant|el asistente|l'assistente)\b",
    ),
    _signal(
        "exfiltration",
        STRONG,
        rf"\b{_SEND}\b.{{0,60}}\b{_DATA}\b.{{0,80}}\b(?:to|into|at|in|via|through|as|onto|on|with)\b.{{0,25}}{_OUT}",
        rf"\b(?:send|post|forward|upload|e-?mail|exfiltrate|transmit|leak)\b.{{0,10}}\b(?:it|them|that|this|everything|these)\b.{{0,10}}\bto\b.{{0,30}}{_OUT}",
        rf"\b{_SEND}\b.{{0,20}}{_OUT}.{{0,40}}\b(?:with|containing|plus|including)\b.{{0,40}}\b{_DATA}\b",
        r"\b(?:hidden|tracking|invisible) (?:image|pixel|link)\b|!\[[^\]]*\]\(https?://[^)]*[?&]\w+=|https?://\S+[?&]\w*=\s*(?:plus|\+|\{|\[|<|加|拼)",
        r"\bbcc\b.{0,60}\b(?:every|all|each|any)\b|\b(?:every|all|each) (?:repl(?:y|ies)|e-?mails?|messages?)\b.{0,30}\bbcc\b",
        r"\b(?:read|collect|gather|harvest|capture|copy|concatenate|get)\b.{0,40}\b(?:\.env|~/\.ssh|~/\.aws|/etc/passwd|ssh keys?|credentials?|api keys?|passwords?|passport|bank account|all (?:user|messages|information|contacts)|env(?:ironment)? variables)\b.{0,120}\b(?:put|send|post|paste|include|add|email|write|append|upload|discreetly|into|to)\b",
        r"(?:把|将).{0,24}(?:对话|聊天|记录|记忆|信息|资料|数据|密钥|密码|口令|令牌|通讯录|邮件|文件|代码|日志|名单|凭据|配置|内容|消息|提问|一句话).{0,20}(?:发送|发到|发给|上传|转发|同步|抄送|提交|推送|导出|传到|附在|拼到|写入|写进).{0,30}",
        r"(?:附上|加上|拼接|插入).{0,20}(?:https?://|图片链接|隐藏图片)|(?:密送|暗送)(?:一份)?(?:给|到)?.{0,10}(?:@|<EMAIL|外部|第三方|https?://|合作方)|(?:抄送|转发)(?:一份)?(?:给|到)?.{0,6}(?:外部|第三方|https?://|合作方)",
        r"\b(?:rassemble[zr]?|envoie[zs]?|envoyez|transmet\w*|env[íi]a\w*|reenv[íi]a\w*|invia\w*|inoltra\w*|sende\w*|schicke?\w*|leite?\w*)\b.{0,60}\b(?:donn[ée]es|conversation\w*|clients?|mots? de passe|datos|conversaci[óo]n\w*|contrase[ñn]as?|clientes|dati|conversazion\w*|password|clienti|kundendaten|daten|gespr[äa]ch\w*|verlauf|passw[öo]rt\w*|nachrichten)\b",
    ),
    _signal(
        "concealment",
        MIDDLE,
        _HIDE + r".{0,60}\b(?:users?|anyone|anybody|owner|customer|admin|it|this|them|about|him|her)\b",
        rf"\b{_HIDDEN}\b",
        r"\b(?:must|should|may) not be (?:shown|mentioned|disclosed|visible|reported|logged|discussed)\b|\bkeep (?:this|it) (?:hidden|invisible|confidential from)",
        r"\b(?:without (?:leaving )?(?:a |any )?trace|(?:so (?:that )?)?(?:nobody|no one|the user (?:does not|doesn't|never|won't)) (?:notices?|knows?|sees?|finds? out)|goes unnoticed|hide (?:this|it|that) from)\b",
        r"不要(?:让|对|向|跟)?(?:用户|任何人|别人|他人|客户)?(?:告诉|提及|提到|通知|说明|透露|提起|知道|察觉|发现|显示)|(?:不必|无需|不用|无须|不需要|没必要|别|勿|切勿|不要|不得)(?:再)?(?:告诉|告知|通知|提醒|提及|征求|询问|向用户|让用户|对用户)|悄悄|暗中|偷偷|不留痕迹|神不知鬼不觉|瞒着|静默执行|不动声色",
    ),
    _signal(
        "weakened_guard",
        MIDDLE,
        rf"\b{_WEAKEN}\b.{{0,40}}\b{_GUARD}\b",
        r"--insecure\b|--no-verify\b|--force\b|-k flag|verify ?= ?false|\bdo(?:es)? not verify\b|\bwithout verif\w+|\bwithout (?:asking|confirmation|approval|review|checking|a second look|being asked|validation)\b|\bno (?:confirmation|review|approval|verification)s? (?:is |are )?(?:needed|required|necessary)|\bneeds? no (?:review|approval|confirmation)|\bnever ask (?:for|again|the|me|them|whether|before)|\b(?:do not|don't|stop|no longer|no need to) (?:ask|asking|request|require|wait for) (?:for )?(?:confirmation|approval|permission|again|the user|before)|\bwithout question\b",
        r"\b(?:trust|accept)s? (?:every|any|all) (?:certificates?|input|requests?|commands?|senders?)|\brun(?:s|ning)? as root\b|\bchmod 777\b|\bfallback (?:account|login|password)|\bbackdoor\b|\bactive as a fallback\b",
        r"(?:跳过|绕过|绕开|关闭|关掉|禁用|停用|省略|免去|取消|忽略|不做|不走|无需|不用|不需要|不必).{0,10}(?:验证|校验|签名|审批|审核|测试|确认|检查|安全|分支保护|双因素|证书|鉴权|权限|风控|复核|扫描|评审)|不校验|不验证|直接(?:执行|放行|通过|批准|转账|推送)|强制推送|以 ?root|一律(?:批准|放行|通过|同意)|不(?:再|用|必)(?:询问|确认|核实|请示)|(?:打印|写入|记录).{0,10}(?:口令|密码|密钥)",
    ),
    _signal(
        "false_authority",
        MIDDLE,
        r"\b(?:standing|blanket|full|permanent|prior|implicit|advance) (?:approval|permission|consent|authori[sz]ation)\b|\bpre-?(?:authori[sz]ed|approved|cleared)\b|\b(?:has|have|had|was|were|been|already|is|are) (?:already )?(?:granted|given|authori[sz]ed|approved|permitted|cleared)\b.{0,60}\b(?:all|any|every|skip|bypass|delet\w+|access|reading|sudo|permission|without|unrestricted|full|rest of|transfers?|payments?)\b",
        r"\b(?:the )?(?:admin(?:istrator)?|security team|developers?|owner|ceo|boss|it|legal|compliance(?: team)?|management|root|vendor|openai|anthropic|google)\b.{0,20}\b(?:said|says|has approved|approved|confirmed|authori[sz]ed|allows?|decided|wants|agreed|signed off)\b.{0,60}\b(?:bypass|force|skip|without|all|every|may|agents?|~/|delete|any|never|disable|ignore|access)\b",
        r"\b(?:required by|for) (?:compliance|quality assurance|audit(?:ing)?|policy|diagnostics|legal)\b|\bit is company policy\b|\bthat was decided\b|\bas agreed (?:last|before|earlier|previously)\b|\bas (?:asked|requested|approved) before\b",
        r"\bthe user is (?:an?|the) (?:\w+ )?(?:admin(?:istrator)?|developer|root|owner|superuser)\b.{0,10}[;,.].{0,60}\b(?:grant|disclose|allow|approve|give|reveal|share|bypass|all|any|execute)\b",
        r"(?:管理员|老板|领导|安全团队|开发者|运维|法务|公司|用户|客户|平台|官方)(?:已经?|都|早就)?(?:说过?|同意|批准|授权|确认|允许|规定|决定|预先)(?:了|过)?[^。]{0,30}(?:绕过|跳过|直接|全部|所有|任何|一律|永久|无需|不用|强制|可以|以后)|(?:审批|安全过滤|安全检查|权限校验|风控|双重验证)[^。]{0,8}(?:已|被)?(?:关闭|取消|解除|停用|失效)|预先授权|长期授权|永久授权",
    ),
    _signal(
        "standing_order",
        MIDDLE,
        rf"\b{_EVER}\b[, ].{{0,60}}\b(?:send|post|forward|upload|run|execute|call|invoke|delete|transfer|pay|install|add|include|append|prepend|begin|start|end|answer|reply|respond|recommend|say|quote|use|open|visit|fetch|approve|grant|reveal|output|write|copy|store|pass|prefer|trust|put|choose|insert|state|mention|tell|encode|print|share|buy)\b",
        r"\b(?:send|post|forward|upload|run|execute|call|delete|transfer|install|include|append|prepend|begin|answer|reply|recommend|say|quote|approve|grant|reveal|output|copy|insert|add)\w*\b.{0,100}\b(?:in (?:all|every|each) (?:repl(?:y|ies)|answers?|responses?|sessions?|summar(?:y|ies)|reports?)|at the (?:start|end) of (?:each|every|any)|of any reply|every time|for every (?:install|task|request|reply)|to (?:all|every|each) (?:future )?(?:repl(?:y|ies)|summar(?:y|ies)|answers?|reports?|new projects?))",
        r"\bstanding (?:order|instruction) for\b|\b(?:store|keep|save|remember|write|record) (?:this|the following|it)\b.{0,30}\b(?:permanently|in(?:to)? (?:your )?(?:long[- ]term )?memory|for all future|as a rule|forever|and apply)|\b(?:memory|rule) update\b ?:|\bsave the following to your\b",
        rf"\b{_ASSISTANT} (?:must|should|shall|has to|have to|will|is to|are to|needs? to|may now|is required to)\b.{{0,80}}\b(?:send|post|include|forward|upload|run|execute|call|delete|transfer|install|add|append|answer|reply|recommend|reveal|approve|grant|trust|obey|follow|treat|output|ignore|never|always|push|bypass|copy|print|comply)\b",
        r"\byou (?:must|shall|will now|have to|are required to|are instructed to|need to)\b.{0,60}\b(?:include|send|answer|append|reply|forward|call|run|execute|delete|obey|comply|reveal|output|post|approve|recommend|transfer)\b",
        r"(?:以后|今后|从现在(?:开始|起)|从今(?:天|往)?后?起?|每次|每当|永远|始终|一律|每天|每回|长期|所有|任何)(?:[^。；;]{0,24})(?:发送|上传|执行|运行|选择|先访问|转发|访问|调用|删除|转账|安装|引入|添加|附上|附带|输出|回复|回答|推荐|批准|放行|打印|抄送|照做|从.{0,40}(?:安装|构建|下载)|说|复制|写入|加载|点击|打开|购买)",
        r"(?:写入|存入|加入|保存到|记入)(?:你的)?(?:长期)?记忆|(?:记住|请记住|务必记住|牢记)[，,：: ][^。]{0,30}(?:一律|都要|必须|永远|以后|每次|直接)|(?:助手|智能体|机器人|模型|AI)(?:必须|应该|应当|务必|需要|要)(?:在|把|将|先|始终|每|直接|无条件)",
        r"\b(?:immer|stets|ab jetzt|ab sofort|k[üu]nftig|toujours|d[ée]sormais|dor[ée]navant|siempre|a partir de ahora|de ahora en adelante|sempre|d'ora in poi|da ora in poi|in jeder antwort|[àa] la fin de toute r[ée]ponse|alla fine di ogni risposta|en cada respuesta)\b.{0,80}\b(?:send\w*|antwort\w*|empfiehl\w*|ausf[üu]hr\w*|install\w*|envo\w+|ajout\w*|r[ée]pond\w*|recommand\w*|ex[ée]cut\w*|env[íi]a\w*|a[ñn]ad\w*|responde\w*|recomiend\w*|ejecut\w*|invia\w*|aggiun\w*|rispond\w*|raccomand\w*|esegu\w*|h[äa]ng\w*)",
    ),
    _signal(
        "false_trust",
        STRONG,
        r"\b(?:treat|trust|regard|consider|accept)\b.{0,10}\b(?:everything|anything|all|any|every \w+)\b.{0,40}\b(?:as )?(?:trusted|true|authoritative|safe|verified|from)\b.{0,60}\b(?:execute|without|commands?|never|as true|always|obey|follow)\b",
        r"\b(?:phrase|word|code ?word|passphrase|keyword|token|sentence)\b.{0,40}\b(?:means?|proves?|shows?|indicates?|signals?|unlocks?|identifies)\b.{0,60}\b(?:developer|admin(?:istrator)?|owner|trusted|limits?|restrictions?|authori[sz]ed|root|verified|override|permission|full access)",
        r"\b(?:they|it|he|she|which|who|that) (?:are|is) always (?:right|true|correct|trustworthy)\b|\b(?:always|blindly) (?:right|trust(?:ed)?|believe)\b|\b(?:overrides?|outranks?|takes? (?:precedence|priority) over|ranks? above|supersedes?) (?:the |all |any |every )?(?:users?|system|other|safety|previous|admin)",
        r"(?:消息|内容|指令|话|文档|来源|命令)[^。]{0,8}(?:都是真的|永远(?:是对的|正确|可信)|一律(?:可信|信任|视为可信|照做)|优先级?高于|无条件(?:执行|信任|相信))|只要[^。]{0,24}(?:说出|出现|提到|包含|发送|输入)[^。]{0,24}(?:就|即|便)[^。]{0,24}(?:开发者|管理员|解除|权限|授权|身份|批准|放行)|无条件(?:信任|执行|服从|相信)|优先级高于(?:用户|系统|其他)",
    ),
    _signal(
        "memory_tamper",
        STRONG,
        r"\b(?:delete|forget|erase|remove|wipe|purge|drop|clear|destroy)\b (?:every|all|any|each)(?: (?:of|the|your|stored|earlier|previous|other|past|existing|user|old|our|safety|security))* (?:memor(?:y|ies)|safety notes?|warnings?|security (?:notes?|memories|rules)|records? (?:of|about|that)|notes? (?:about|that|on|of))",
        r"\b(?:replace|overwrite|change|modify|update|swap|alter|redirect)\b.{0,20}\b(?:stored|saved|existing|recipient|payee|the recorded|remembered|recurring payment)\b.{0,60}\b(?:with|to|by|account|iban)\b",
        r"\bmerge\b.{0,40}\bmemor(?:y|ies)\b|\bmemor(?:y|ies)\b.{0,30}\b(?:of|from) (?:user|another|other|tenant|agent)\b.{0,40}\b(?:read|see|visible|copy|move|access)|\bnever store (?:one|it|them|any)\b|\bwritten by an attacker\b|\bdo not (?:store|remember|keep|record)\b.{0,30}\b(?:complaints?|refunds?|incidents?|warnings?|errors?|security)\b",
        r"(?:删除|清空|抹掉|清除|忘掉|忘记|移除|销毁)[^。]{0,14}(?:所有|全部|一切|之前|每一?条|任何)[^。]{0,14}(?:记忆|记录|提示|备注|警告|安全)|(?:把|将)[^。]{0,14}记忆[^。]{0,20}(?:合并|转移|复制|移动|覆盖|改成|公开|共享给)|(?:所有|全部)[^。]{0,12}(?:记忆|记录)[^。]{0,6}(?:删除|清空|删掉|抹掉|作废)|(?:替换|修改|更改|覆盖|篡改)[^。]{0,10}(?:收款|账户|账号|存储的|已保存|记忆)",
    ),
    _signal(
        "self_replication",
        STRONG,
        r"\b(?:copy|repeat|write|pass|propagate|insert|add|include|replicate|spread|re-?save|duplicate|forward|embed|store)\b.{0,12}\b(?:this|these|the (?:above|following|present)) (?:note|memory|instructions?|message|rule|text|prompt|entry|line|record|paragraph|order)s?\b.{0,60}\b(?:every|each|all|any|new|again|other|sub-?agents?|under a new|to (?:all|every|other)|whenever|children)\b",
        r"\b(?:whenever|each time|every time|when|once)\b.{0,12}\b(?:this|the) (?:memory|note|entry|instruction|rule|record)\b.{0,40}\b(?:retrieved|recalled|read|loaded|deleted|removed|found|used)\b.{0,40}\b(?:write|store|copy|save|again|repeat|re-?create|add)\b",
        r"\b(?:sub-?agents?|other agents?|child agents?|every agent|new agents?)\b.{0,60}\b(?:give|pass|forward|tell|instruct|copy|same)\b.{0,30}\b(?:this|it|instruction|on)\b",
        r"(?:复制|传给|写入|抄写|转发|传递|扩散|传播|植入)[^。]{0,16}(?:这条|本条|该条|此条|这段|此)[^。]{0,10}(?:指令|记忆|备注|规则|内容|信息)|(?:这条|本条|该条|此条|这段)[^。]{0,10}(?:指令|记忆|备注|规则|内容|信息)[^。]{0,24}(?:复制|传给|写入|抄|转发|传下去|传递|给它|每条|所有|重新)|(?:子智能体|其他智能体|下级代理|子代理)[^。]{0,24}(?:这条|指令|传下去|照做|转告|写进)",
    ),
    _signal(
        "trigger",
        MIDDLE,
        r"\b(?:if|when|whenever|once|next time|as soon as|every time|any time)\b.{0,12}\b(?:the |a |any |this |you |someone )?(?:users?|questions?|topic|message|customer|conversation|somebody|anyone|someone|you|request|word|phrase|prompt|document|ticket|assistant|agent|input|query)\b.{0,80}[, ].{0,60}\b(?:call|run|execute|invoke|quote only|send|transfer|delete|reply (?:only )?with|answer (?:only )?with|choose|output|export|forward|open|post|approve|grant|reveal|trigger|also|include|fetch|download|install|upload|disclose|disable|recommend)\b",
        r"(?:当|如果|下次|每次|每当|一旦|只要|若|等到)[^。]{0,30}(?:时|的时候|就|则|，|,|后)[^。]{0,30}(?:运行|执行|调用|发送|选择|输出|删除|导出|转账|回复|回答|转发|推荐|上传|批准|打开|下载|安装|泄露|关闭|放行|先)",
    ),
    _signal(
        "tool_call",
        WEAK,
        r"\b\w+_(?:account|file|files|email|contacts?|user|users|memory|transaction|payment|data|message|db|database|records?)\b|\b(?:call|run|use|invoke|execute) (?:the )?(?:tool )?[a-z]+_[a-z_]+\b|\bthe (?:tool|function|command) \w+",
        r"\b(?:sudo|rm -rf|drop table|chmod|crypto_?miner|root access|~/\.ssh|~/\.aws|\.env\b|kubectl delete|format c:)",
    ),
    _signal(
        "supply_chain",
        MIDDLE,
        r"\b(?:install|add|use|pull|download|fetch|import|build|start|include|clone|pip|npm|curl|get)\w*\b.{0,60}\b(?:from|at|on|is|index(?: is)?|mirror|registry|via|--index-url|--registry)\b.{0,40}(?:https?://|\b(?:mirror|registry\.|[\w-]+\.example|\w+\.net\b|\w+\.io\b|[\w-]+\.(?:com|net|org|dev|cc|xyz|top)\b))",
        r"\b(?:package index|registry|mirror|linter|dependency|plugin|base image|dockerfile|helper|library|package)\b.{0,80}(?:https?://|[\w-]+\.example\b|\bmirror\b|registry\.[\w.-]+|\d+\.\d+\.\d+)",
        r"(?:安装|引入|构建|下载|拉取|添加|依赖|加载|镜像|换源|更新)[^。]{0,40}(?:https?://|[\w-]+\.example|\.net|镜像站?|registry|第三方源|\d+\.\d+\.\d+|curl)",
    ),
    _signal("piped_shell", MIDDLE, r"\b(?:curl|wget)\b[^\n]{0,80}\| ?(?:sudo )?(?:ba|z)?sh\b"),
    _signal(
        "blind_obedience",
        MIDDLE,
        r"(?:无论|不管)[^。]{0,16}(?:都|一律|先)|照做|无条件|\bno matter (?:what|which|who)\b|\bregardless of\b|\beven (?:if|when) the (?:user|data)",
    ),
    _signal(
        "insecure_code",
        STRONG,
        r"\b(?:put|print|log|write|store|include|leave|keep|hard-?code|expose|add|create)\b.{0,30}\b(?:passwords?|credentials?|secrets?|tokens?|api keys?|account \w+/\w+|backdoor|master password|default (?:admin|password))\b.{0,50}\b(?:log|logs|log line|commit|code|plain ?text|fallback|comment|repo|url|so that support|source|response|client|hidden|active)\b",
        r"(?:日志|代码|注释|提交|仓库|响应)[^。]{0,10}(?:里|中)?[^。]{0,8}(?:打印|写入|写明|输出|保留|硬编码|记录|加上|留)[^。]{0,10}(?:口令|密码|密钥|令牌|后门|万能账号)|后门账号|万能密码",
        unless=_FORBIDS,
    ),
    _signal(
        "hijacked_choice",
        STRONG,
        r"\b(?:always|only|every time|must|never)\b.{0,30}\b(?:say|state|claim|recommend|suggest|show|mention|rank|present|promote|list|prefer|push|describe|answer|pick|choose)\b.{0,80}\b(?:won|wins|best|first|only|superior|insecure|unsafe|inferior|absolutely|alternatives? are|others? (?:are|is)|buy|should (?:absolutely )?(?:visit|buy)|competitors?|gorgeous|scam|instead of|over (?:all|any) other|regardless)\b",
        r"\b(?:recommendation|advice|suggestion)s? to (?:buy|invest|purchase|use|visit|sell)\b|\bsay that (?:i|you|they|we) should (?:absolutely )?(?:visit|buy|use|invest|choose)\b|\bquote only\b",
        r"(?:永远|始终|只能?|一律|必须|总是|每次都?)(?:说|推荐|展示|显示|选择?|引用|提|回答|介绍|宣传|优先推荐)[^。]{0,30}(?:最好|不安全|其他|唯一|品牌|首选|第一|都不|别的|有问题|购买|买入|有毒|有害)|(?:其他|别的|竞品)[^。]{0,8}(?:不要展示|不展示|不安全|都不行|一律不提|不要提|不推荐|有问题|屏蔽)",
    ),
    _signal(
        "bridging",
        STRONG,
        r"\banswer(?:ing)? (?:all )?questions? (?:about|on|for|regarding) .{1,40}\b(?:with|from|using|by)\b.{0,20}\b(?:record|data|file|history|profile|details|information|results?)\b|\b(?:record|data|file|history|profile|account)s? (?:of|for)\b.{1,40}\b(?:now )?(?:kept|stored|filed|found|saved|moved|belongs?|is|are) (?:now )?(?:under|with|at|in|to|the same as)\b.{1,40}\b(?:so|therefore|hence|use|answer|refer|look)\b",
        r"\breasoning to reuse\b|\bexample of good behaviou?r\b|\b(?:hence|therefore|thus|so) (?:delete|transfer|send|grant|approve|release|drop|remove|pay|share|the best plan|skip|it is (?:fine|safe|ok))\b|\blesson(?: learned)?:?.{0,80}\b(?:skip|report that|without|bypass|faster to|ignore|pretend|claim)\b|\brated it five stars\b|\breport (?:that )?(?:they|it|all|everything)(?: tests?)? (?:passed|is fine|succeeded)\b",
        r"(?:经验|教训|范例|示例|推理|结论|惯例)[^。:：]{0,8}[:：]?[^。]{0,40}(?:跳过|汇报通过|绕过|直接删|因此删|因此按|忽略|直接给|公开频道|发到|不必|谎报|代替)|(?:的(?:数据|资料|记录|病历|档案|账户|订单|问题))[^。]{0,20}(?:现在|已经?|都|一律)?[^。]{0,6}(?:存放在|归在|记在|合并到|等同于|并入|改用|查|用|归)[^。]{0,24}(?:名下|档案|记录|病历|的资料|账号|账户|来回答|回答|代替)",
    ),
    _signal(
        "smuggled_goal",
        STRONG,
        r"\bbefore you (?:solve|answer|continue|start|complete|respond|proceed|begin|finish)\b.{0,30}\b(?:task|question|request|user|anything|this|with)\b|\bnote for similar tasks\b|\bthe user'?s? (?:real|actual|true) (?:request|intent|goal|task) is\b",
        r"\b(?:send|make|initiate|execute|schedule|create|perform)\b.{0,12}\b(?:a |an |the |one )?(?:transaction|transfer|payment|wire)s?\b.{0,40}\b(?:to|that|of|from)\b|\btransfer\b.{0,12}[$€£¥]?\d[\d,.]*|\bto (?:the )?account (?:<IBAN|[A-Z]{2}\d{2}|number)",
        r"(?:^|[.:>]\s*)(?:please |kindly |also |then |now )?(?:send|forward|e-?mail|post|delete|share|give|invite|add|get|concatenate|modify|cancel|book|reserve|create|remove|change|export|upload)\b.{0,80}\b(?:to (?:my (?:new )?(?:e-?mail|address)|'|\"|<EMAIL|[\w.+-]+@)|with (?:id|the subject)|from the (?:cloud drive|inbox|calendar|workspace|channel)|all (?:messages|channels|users|emails|files)|the body|security code|password|passport|bank account|using (?:the )?subject)",
        r"\b(?:please )?(?:corrupt|manipulat\w+|sabotag\w+|falsif\w+|tamper|neglect|elevate (?:your |the )?privileges?|escalate (?:your |the )?privileges?|exploit|compromise|hijack|impersonat\w+|deface|embezzl\w+|launder|eavesdrop|infiltrate|degrade|inject|intercept|spoof|blackmail|destroy|cripple)\b.{0,80}\b(?:control|systems?|data|records?|feeds?|logs?|server|financial|patients?|statements?|root|vehicle|account|credentials?|backups?|traffic|database|network|sensors?|devices?|access|grades?|evidence|results?|care|files?|metrics|gps|user|customers?|employees?)\b",
        r"\b(?:alter|modify|change|redirect|allocate|create alternative|provide)\b.{0,60}\b(?:financial statements?|backup data|patient records?|gps|medication|route|critical information|crypto|audit (?:logs?|trail)|grades?|medical records?|prescriptions?)\b.{0,80}\b(?:to|as part|ensuring|with|by|embed|impact|remove|off|without)\b",
        r"\b(?:call|run|execute|invoke) (?:the )?(?:tool |function |command )?(?:delete|send|export|transfer|drop|remove|grant|disable|share|wipe|create_admin|add_user|reset)_\w+",
        r"(?:请|立即|马上|先)?(?:转账|汇款|打款)[^。]{0,12}(?:到(?!账|位|期)|给|至(?!少|多|今))[^。]{0,30}|(?:在|解决|回答|处理)[^。]{0,8}(?:用户|任务|问题)[^。]{0,6}之?前[，,]?[^。]{0,6}先[^。]{0,12}(?:发送|转账|删除|执行|调用|上传|修改|导出|访问)",
    ),
    _signal(
        "encoded_order",
        STRONG,
        r"\b(?:decode|decrypt|decipher|unscramble|translate|convert)\b.{0,60}\b(?:do|follow|execute|obey|comply|carry out|act on|run)\b.{0,20}\b(?:what|it|the|exactly|inside|instruction|without|them|that)\b",
        r"(?:解码|解密|还原|破译|反转)[^。]{0,20}(?:执行|照做|遵守|按照|服从|遵循)",
    ),
    _signal(
        "canary",
        MIDDLE,
        r"\b(?:include|append|add|insert|mention|reproduce|repeat|shown?)\b.{0,60}\b(?:token|trace[_ ]?id|reference(?: code| id)?|verification code|code|marker|string|tag|id|session reference|identifier)\b.{0,80}\b(?:summary|summaries|reply|report|answer|response|output|review|every|verbatim)\b",
        r"\b(?:token|reference|marker|code|jeton|c[óo]digo)\b.{0,60}\b(?:must|should|shall|is|deve|doit|debe|muss)\b.{0,20}\b(?:be )?(?:included|shown|appended|added|mentioned|repeated|ajout[ée]|aggiunto|a[ñn]adid[oa]|angeh[äa]ngt)\b.{0,60}\b(?:every|each|all|user|end|reply|summary|toute|ogni|cada|jeder)\b",
    ),
    _signal(
        "reveal",
        STRONG,
        r"\b(?:rev[ée]la\w*|mu[ée]strame|dime|dame|ind[íi]came|nenn\w*|sag\w*|gib|zeig\w*|verrat\w*|dis|donne|indique\w*|communique\w*|mostra\w*|dimmi|elenca\w*|ripeti|r[ée]p[èe]te|repite|wiederhol\w*)\b.{0,60}\b(?:instrucciones|istruzioni|instructions|anweisungen|consignes|vorgaben|indicaciones|prompt|worte|palabras|parole|mots)\b.{0,60}\b(?:sistema|syst[èe]me|system|entwickler\w*|d[ée]veloppeurs?|desarrolladores|sviluppatori|erhalten|bekommen|recibi\w+|re[çc]u\w*|ricevut\w+|oben|arriba|sopra|dessus)\b",
        r"\b(?:text|words|sentence|lines?|everything)\b.{0,20}\b(?:before|above|preceding)\b.{0,20}\b(?:message|this|prompt|conversation)\b.{0,40}\b(?:beginning|starting|word for word|verbatim|you are)|透露[^。]{0,10}(?:机密|秘密|密钥|口令|隐私)",
    ),
    _signal(
        "persona",
        STRONG,
        r"\b(?:mode|modo|modalit[àa]|entwicklermodus) (?:d[ée]veloppeur|desarrollador|sviluppatore|sin l[íi]mites)?\b.{0,80}\b(?:aucune?|ninguna?|nessuna?|keine?|sans|sin|senza|ohne)\b.{0,20}\b(?:restriction\w*|restricci\w+|restrizion\w*|einschr\w+|limit\w*|regel\w*|filtr\w*)",
        r"\b(?:fais semblant|finge|finja|fai finta|tu so|stell dir vor|act[úu]a como|agis comme|comporta[tr]\w*|agisci come|verhalte dich)\b.{0,60}\b(?:ia|ki|ai|mod[èe]le|modelo|modello|modell|assistent\w*|asistente)\b.{0,50}\b(?:sans|sin|senza|ohne|aucune?|keine?|non censur\w*|no censurad\w*|unzensiert\w*)",
    ),
    _signal(
        "override",
        STRONG,
        r"\b(?:deine|seine|ihre|vos|tes|tus|sus|le tue|le vostre) (?:regeln|r[èe]gles|reglas|regole)\b.{0,40}\b(?:ge[äa]ndert|chang\w+|cambi\w+|aufgehoben|lev[ée]es)\b|\b(?:l[äa]sst|erlaubst|autorises?|permites?|consenti)\b.{0,20}\b(?:alle inhalte|tout (?:le )?contenu|todo (?:el )?contenido|ogni contenuto|tutti i contenuti)",
    ),
    _signal(
        "exfiltration",
        STRONG,
        r"\b(?:env[íi]a(?:l[oa]s?|me|nos)?|m[áa]ndal[oa]s?|reenv[íi]al[oa]s?|invial[ioae]|inoltral[ioae]|schick\w* sie|sende sie|leite sie|envoie-l[ae]s?|transmets-l[ae]s?)\b.{0,40}(?:@|https?://|extern\w*|ext[ée]rieur|esterno|externa)",
        r"(?:读取|读一下|打开|访问|收集|查看)[^。]{0,16}(?:\.env|~/\.|ssh|aws|密钥文件|凭据|环境变量)[^。]{0,40}|(?:消息|对话|提问|记录|内容)[^。]{0,14}(?:base64|编码)[^。]{0,30}(?:链接|参数|网址|url|图片)|(?:写进|写入|放进|附到|塞进|拼进)[^。]{0,10}(?:提交信息|链接|查询参数|网址|url)",
    ),
    _signal(
        "false_trust",
        STRONG,
        r"永远是对的|永远正确|(?:如果|若|当)[^。]{0,16}(?:矛盾|冲突|不一致)[^。]{0,12}以[^。]{1,24}为准",
    ),
    _signal(
        "memory_tamper",
        STRONG,
        r"(?:把|将)[^。]{0,20}(?:全部|所有|一切)?记忆[^。]{0,8}(?:并入|并到|归入|移到|转给|同步给)[^。]{0,30}|\bforget (?:all )?(?:the |your |our )?(?:earlier |previous )?(?:safety|security) (?:reminders?|notes?|warnings?|rules?)",
    ),
    _signal(
        "self_replication",
        STRONG,
        r"(?:每当|每次|一旦)[^。]{0,8}(?:检索|读取|读到|召回|调用|看到)[^。]{0,6}(?:这条|本条|该)[^。]{0,6}(?:记忆|备注|指令)[^。]{0,20}(?:写|存|复制|重新)",
    ),
    _signal(
        "insecure_code",
        STRONG,
        r"(?:保留|留下|留一个|内置|开启|添加)[^。]{0,24}(?:账号|帐号|口令|密码|后门|账户)[^。]{0,16}(?:后备|备用|兜底|应急|方便)",
    ),
    _signal(
        "hidden",
        STRONG,
        r"(?:^|\n)#{1,4} ?(?:助手|系统|智能体)(?:记忆|指令|提示)|\b(?:nota|note|hinweis|nota bene) (?:per|pour|para|f[üu]r) (?:compiti|t[âa]ches|tareas|aufgaben)(?: simil\w+| similaires?| [äa]hnliche\w*)?",
    ),
    _signal(
        "smuggled_goal",
        STRONG,
        r"\b(?:hinweis|nota|note) (?:f[üu]r|per|pour|para) (?:[äa]hnliche|compiti simili|les t[âa]ches similaires|tareas similares)|\b(?:manipol\w+|corromp\w+|manipulier\w+|f[äa]lsch\w+|manipul\w+|falsifi\w+|sabot\w+)\b.{0,60}\b(?:dati|donn[ée]es|daten|datos|sistemi?|syst[èe]mes?|flussi|backup|gps|kamera\w*|camer\w+|c[áa]mar\w+)|\b(?:kindly|please) (?:leave|withhold|deny|falsify|corrupt|disable|steal|grab|seize|harvest|wipe|rig|plant)\b.{0,80}\b(?:patients?|sick|people|records?|positioning|data|feeds?|credentials?|server|logs?|trace|notice|vehicle|car|backups?)\b|\bmove (?:a )?(?:sum|total|amount)?\b.{0,12}[$€£]\d[\d,.]*.{0,20}\bto\b",
    ),
    _signal(
        "encoded_order",
        STRONG,
        r"\b(?:decodif\w+|d[ée]code\w*|dekodier\w*|entschl[üu]ssel\w*|descifra\w*|decifra\w*)\b.{0,60}\b(?:esegui\w*|ejecut\w*|ex[ée]cut\w*|f[üu]hre?\w*|sigu\w+|suis|befolg\w*|haz|fai|fais|tu)\b",
    ),
    _signal(
        "false_authority",
        MIDDLE,
        r"(?:公司规定|按规定|上级要求|已(?:获|经)?(?:批准|授权|同意))[^。]{0,30}",
    ),
)
