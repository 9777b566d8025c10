"""What says nothing that a later session could use, and what does: in English and Chinese."""

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{a})" for a in alternatives), re.IGNORECASE)


EMPTY = {
    "greeting": _any(
        r"^(?:hi|hello|hey|heya|hiya|howdy|yo|good (?:morning|afternoon|evening|day)|greetings|welcome(?: back)?|morning|evening)\b(?: (?:there|again|all|everyone|team|folks|and welcome(?: back)?|mate|buddy|claude|assistant|bot|quick one[^,.]*))*$",
        r"^(?:how are you|how's it going|what's up|nice to (?:meet|see|hear from) you|long time no see|are you (?:there|around|awake)|you there|hope you're (?:well|doing well))\b.{0,30}$",
        r"^(?:what|how|who) (?:would you like|do you want|can i|may i|could i|should we)\b.{0,60}(?:today|help|assist|work on|do for you).{0,20}$",
        r"^(?:你好|您好|嗨|哈喽|hello|早|早上好|早安|上午好|下午好|晚上好|晚安|在吗|在么|在不在|有人吗|好久不见|很高兴.{0,12}(?:您|你|服务|见)|欢迎(?:回来)?|大家好|嘿)+[呀啊哦哈～~]*.{0,6}$",
    ),
    "thanks": _any(
        r"^.{0,24}\b(?:3q|thanks a (?:bunch|lot|million|ton))\b.{0,40}$",
        r"\b(?:you're very welcome|thanks?|thank you|thx|ty|tysm|cheers|appreciate(?:d)?|grateful|much obliged|you've been|you're (?:the best|a (?:star|legend|lifesaver|life saver))|lifesaver|have a (?:lovely|nice|good|great)|take care|bye|goodbye|see you|see ya|good night|talk (?:soon|later))\b.{0,110}$",
        r"(?:谢谢|多谢|感谢|谢啦|谢了|辛苦|麻烦(?:你|您)了|太好了|帮大忙|拜拜|再见|回头见|下次聊|不好意思).{0,24}$",
    ),
    "acknowledgement": _any(
        r"^(?:ok(?:ay)?|k|kk|got it|gotcha|understood|noted|sure|sure thing|right|alright|all right|fine|cool|great|perfect|nice|awesome|excellent|good|sounds good|makes sense|fair enough|will do|roger|copy that|yes|yep|yeah|yup|no|nope|nah|done|agreed|exactly|indeed|i see|that works|works for me|carry on|go ahead|go on|continue|very well|good point|true|of course|absolutely|no problem|no worries|np|you're welcome|my pleasure|lgtm|looks good|success|succeeded|passed|true|null|none|0)(?: (?:then|to me|thanks|mate|so far|please|enough|with that|now|it|for now))*$",
        r"^(?:嗯+|哦+|噢+|好+的?|好吧|好呀|好嘞|行|行吧|行的|可以|可以的|没问题|没事|收到|明白了?|了解了?|知道了?|懂了|是的?|对的?|没错|不是|不用了?|当然|成|成功|完成|ok|继续|同意|不客气|应该的|太棒了|真棒|厉害|不错)+[啦呀哈哦嘞了的吧～~]*$",
    ),
    "filler": _any(
        r"^(?:hm+|um+|uh+|er+|ah+|oh+|wow|lol|lmao|haha+|hehe+|ugh|meh|whoa|huh|yikes|omg|rofl|interesting|hmm+ interesting|well|so|anyway|whatever|never ?mind|forget it|just a (?:sec|second|moment|minute)|one (?:sec|second|moment|minute)|hold on|hang on|wait|brb|let me (?:think|see|check|look)|let's see|thinking|loading|please wait|working on it)\b.{0,40}$",
        r"\b(?:let me know|feel free|happy to (?:help|go|assist|walk|explain)|glad (?:to|i could)|(?:is|if) there(?:'s| is)? anything else|anything else i can|how (?:can|may|else can) i (?:help|assist)|i'm here (?:to help|if)|don't hesitate|hope (?:this|that) helps|i(?:'ll| will| am going to|'m going to| can)\b(?: now| go| quickly| just| also| then| first)* (?:look|check|take|start|get|do|try|work|have|go|see|dig|be right back|sort|investigate|review|search|read|run|think|begin|fetch|pull|draft|prepare|put together|walk|help|explain)|let me\b|i'd be (?:happy|glad)|great (?:question|point)|that's a (?:great|good|fair|interesting)|i (?:completely |totally |fully )?understand (?:how|where|that|your|completely)|i'm sorry to hear|sorry (?:to hear|about|for)|i apologi[sz]e|there are many things to consider|every situation is different|take (?:your time|a careful look)|at whatever pace|whenever you're ready|step by step)\b",
        r"^(?:嗯*[…\.]*让我(?:想|看|查|考虑)|(?:好的?，?)?我(?:现在|想想|看看|查一下|来看|这就|马上|先|再)(?:去|来|就)?.{0,14}$|稍等|请稍(?:等|候)|等一下|等等|哈+|呵+|嘿嘿|哎|唉|啊|哇|额|呃|随便|无所谓|算了|没什么|正在.{0,14}|加载中|处理中|进度)",
        r"(?:还有(?:什么|其他|别的).{0,12}(?:帮|需要)|很乐意|随时(?:告诉|联系|找)我|请问(?:还)?(?:有|需要)|希望.{0,8}(?:对您|对你|能|有)帮助?|非常(?:理解|抱歉)|请您?放心|感到抱歉|给您带来不便|好问题|理解您的)",
        r"^(?:\[?[=>#▓░█.\s-]{3,}|downloading|uploading|fetching|building|compiling|installing|progress|step \d+|进度).{0,60}\d{1,3} ?%|^\W*\d{1,3} ?%\W*$",
    ),
    "smalltalk": _any(
        r"\b(?:lol|lmao|haha+)\b.{0,20}$|\b(?:mondays?|fridays?)\b[!. ]*$|^(?:nice weather|what a (?:day|week|morning)|such a|rain again|so (?:hot|cold|tired|bored)|i'm (?:so )?(?:tired|bored|sleepy|hungry)|(?:can't|cannot) wait|happy (?:friday|monday|new year|birthday|holidays)|tgif|makes you want|wish it was|same here|me too|how (?:funny|nice|lovely|cute)|riveting|just kidding|never mind me)\b.{0,70}$",
        r"\b(?:time flies|doesn't it|isn't it|don't they|do have their own kind|ha,|no rest for|story of my life|tell me about it)\b.{0,40}$|真羡慕|不用睡觉|你们ai",
        r"^(?:哈哈|笑死|今天天气|好(?:累|困|饿|热|冷|无聊|烦|开心)|又是.{0,12}(?:一天|周一|班)|不想(?:上班|起床|动)|周[一五]了?|终于.{0,6}(?:周末|下班)|开玩笑|真(?:逗|有意思)|吃了吗|摸鱼).{0,16}$|不想上班",
    ),
}
"""Kinds of sentence that carry nothing."""

QUESTION = _any(
    r"[?？]\s*$",
    r"^(?:so |and |but |then |ok(?:ay)? |well |also |pls |please |hey |hi )*(?:what|which|who|whom|whose|when|where|why|how|is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|might|has|have|had|isn't|aren't|don't|doesn't|won't|any (?:idea|chance|thoughts))\b(?!.*(?:,|;| - ).*\b(?:i|we|my|our)\b)",
    r"\b(?:i (?:was |am |'m )?wonder(?:ing)?|i'd like to know|i want to know|do you (?:know|happen|think)|you wouldn't happen|could you tell|can you tell|curious (?:if|whether|about|how)|not sure (?:if|whether|how|what)|any idea)\b",
    r"(?:吗|呢|么|嘛)[？?。…\s]*$|^(?:请问|想问|想知道|问一下|问下|咨询|能不能|可不可以|是不是|有没有|为什么|为啥|怎么|如何|什么|哪|谁|几|多少|啥|咋)|(?:怎么(?:办|做|弄|样|回事|用)|哪个(?:好|更|比较)|有啥区别|什么区别|是什么|多少钱|几点|要等几天|哪里|有什么)[^，。]{0,12}$|想知道|好奇|^也就是说.{0,40}(?:咯|喽|吧|么)$",
)
REQUEST = _any(
    r"^(?:remind me (?:what|how|who)|来(?:几|三|两|一|个|点|段|句|首)|给(?:我)?来)",
    r"^(?:ok(?:ay)? |now |then |and |so |also |just |pls |please |kindly |could you |can you |would you |will you |go and |let's |try to |help me )*(?:run|show|open|close|read|re-?read|scroll|try|retry|check|look|fix|make|shorten|rewrite|rephrase|summari[sz]e|translate|explain|write|draft|list|give|send|find|search|print|delete|remove|undo|redo|repeat|continue|go|take|tell|add|change|rename|move|copy|paste|format|sort|compare|calculate|compute|convert|generate|create|build|deploy|restart|stop|start|wait|help|edit|update|review|test|commit|push|merge|book|order|pick|put|turn|set|play|do)\b(?!.{0,60}\b(?:always|never|from now on|every time|in future|prefer|going forward|at most|as a rule|at all)\b)",
    r"^(?:先|再|请|麻烦|帮我|帮忙|给我|替我|把|将|快|赶紧|继续|重新|能帮我|可以帮我|你|您)?(?:帮我|帮忙|给我|把|将)?.{0,14}(?:看看|看一下|看下|查一下|查查|改一下|翻译?成|翻一下|写一[个份篇段]|跑一遍|重跑|再试|发我|列一下|总结一下|解释一下|打开|删掉|复制|生成|检查一下|算一下|重写|缩短|展示|试试)[^，。]{0,16}$",
)
PREFERENCE = _any(
    r"\b(?:i|we|he|she|they|user)(?:'d| would)? (?:really |much |strongly |rather |do )*(?:prefer|like|love|enjoy|hate|dislike|can't stand|cannot stand|loathe|favou?r|want|need|insist|rather)\b",
    r"\b(?:always|never|from now on|going forward|every time|in future|by default|at most|no more than|as a rule|whenever)\b",
    r"\b(?:stop|please don't|don't|do not|quit|no) \w+ing\b|\b(?:don't|do not) (?:use|send|call|put|add|book|schedule|give|show|write|include|ping|email)\b|\bcall me\b|\bonly (?:email|text|window|aisle|in|by|the)\b|\b(?:order|use|send|book|give|get|buy|keep) .{2,40}\bfrom now on\b|\bfavou?rite\b",
    r"(?:以后|今后|从现在起?|每次|一律|总是|永远|默认|别再|不要再|别给|不要(?:用|给|发|订|放|加)|只(?:住|用|喝|吃|要|接受|看|坐|买|订)|不(?:吃|喝|喜欢|爱|想要|接受|习惯)|喜欢|偏好|更爱|讨厌|最爱|受不了|习惯(?:用|在|喝|先)|宁愿|叫我|称呼我|记得备注)",
)
DECISION = _any(
    r"\b(?:we(?:'ll| will| are going to|'re going to)?|i(?:'ll| will|'m| am)?|team|they)\b.{0,24}\b(?:go(?:ing)? with|decid\w+|chose|choose|picked|settled|agreed|voted|keeping|switch\w*|drop\w*|postpon\w*|sticking|opt\w*|cancel\w*|freez\w*|adopt\w*|move to|moving to|retire)\b",
    r"\b(?:decided|agreed|final(?:ly)? (?:call|answer|decision)|it's settled|let's (?:go with|use|keep|drop|stick|do|postpone|ship)|going with|is out|are out|approved|rejected|signed off|frozen|the plan is|conclusion)\b",
    r"(?:决定|定了|敲定|定下|最终(?:方案|选|定)|就(?:用|选|按|这么|走|定)|那就|选了|确定|改(?:去|用|成|为)|不(?:上|用|做|去|搞)了?|采用|一致同意|通过了|拍板|商量(?:下来|好|了)|投票|达成|推迟到|取消)",
)
OUTCOME = _any(
    r"\b(?:fixed|solved|resolved|works? now|working now|worked|succeeded|success(?:fully)?|passed|passes|completed|finished|done|deployed|released|shipped|merged|booked|confirmed|paid|landed|refunded|delivered|installed|migrated|restored|closed|made no diff\w*|didn't (?:help|work|fix)|did not (?:help|work|fix)|no (?:effect|difference|luck)|still (?:fails|broken|goes|happens|slow|crash\w*)|turned out|it was the|caused by|that did it|cleared|went (?:away|through|live|well)|helped|reverted|rolled back|(?:is|are|now|went|goes) live)\b",
    r"(?:修好|解决|搞定|好了|成功|通过了|完成|上线|部署(?:好|完|成)|发布|退款到|到账|没(?:有)?(?:效果|用|反应)|无效|还是(?:不行|报错|失败|慢)|原来是|原因是|结果是|恢复|清掉|消失了|生效|已(?:支付|预订|发货|签收|合并|回滚|完成|提交)|搬完|跑通|没变化)",
)
ERROR = _any(
    r"\b(?:error|exception|traceback|fail(?:ed|s|ure|ing)?|crash(?:ed|es|ing)?|panic|fatal|denied|refused|rejected|timed? ?out|timeout|unreachable|not found|no such|cannot|can't (?:connect|open|log|find|load|start)|unable to|invalid|expired|corrupt\w*|oom\w*|out of memory|segfault|exit(?:ed)? (?:code |status |with )*[1-9]\d*|code [1-9]\d*|http [45]\d\d|[45]\d\d (?:error|bad|internal|forbidden|unauthorized|not)|stack ?trace|broken|throws?|throwing|stopped with|warn(?:ing)?|leak\w*)\b|\w+Error\b|\w+Exception\b|\b[A-Z0-9]+_TIMEOUT\b",
    r"(?:报错|错误|异常|失败|崩溃|崩了|挂了|超时|拒绝|不可用|找不到|无法|打不开|连不上|登不上|闪退|卡死|退出码|缺少|重复|被打回|中止|宕机|内存溢出|(?<![\d$￥¥€.,])(?:404|500|502|503)(?![\d元块]|\.\d)|进不去|用不了|提示[“\"])",
)
FACT = _any(
    r"\b(?:i|we|he|she|they|it|user|team|there|this|that|[a-z]+)(?:'m|'re|'s|'ve)?\b.{0,30}\b(?:am|is|are|was|were|has|have|had|live[sd]?|work(?:s|ed)?|take[sn]?|took|use[sd]?|run[s]?|need[s]?|own[s]?|move[d]?|start(?:s|ed)?|leave[s]?|left|listen[s]?|report(?:s)?|cost[s]?|weigh[s]?|speak[s]?|study|studies|stud(?:y|ied)|grew|born|married|allergic|called|named|located|based|expires?|due|belongs?|writes?|holds?|lasts?|reboots?|consists?|contains?|supports?|requires?|drives?|teach(?:es)?|plays?|eats?|drinks?|sleeps?|got|bought|sold|joined|manages?|leads?|switched|renewed|signed|scheduled|planned|flies|fly|arrives?|departs?)\b",
    r"\b(?:allergic|allergy|vegan|vegetarian|diabetic|pregnant|deadline|birthday|anniversary|address|phone|budget|salary|rent|version|port|branch|renewal|appointment)\b",
    r"(?:我|我们|他|她|它|用户|公司|团队|家里|孩子|女儿|儿子|老婆|老公|爸|妈|项目|系统|服务|机房|客户|领导|组长|这个|那边|咱们?|老[周王李张]|一共).{0,24}(?:是|在|有|叫|住|用|搬|调|吃|喝|过敏|上学|毕业|工作|负责|养|买|卖|部署|跑|走|付|租|得了|患|岁|出生|参加|换|报|属于|姓|每(?:天|周|月|年))|过敏|忌口|生日|到期|截止|版本|端口|地址|预算|型号|\d+(?:台|家|个|人|岁|元|块|万|号|点|天|次|GB|核)",
)
CHANGED = _any(
    r"\b(?:no longer|not any ?more|changed|moved|switched|outdated|instead|actually|since|but|besides|also|now|wrong|not (?:true|right)|these days|gone off)\b",
    r"(?:不对|不是|换了|改了|早就?换|现在|已经|不再|另外|而且|但是?|不过|其实|还有|调去|搬)",
)
"""A turn that corrects what it was told, or adds to it, is no echo."""
PROGRESS = _any(
    r"^(?:\[?[=>#▓░█.\s-]{3,}|(?:downloading|uploading|fetching|building|compiling|installing|running|processing|loading|waiting|queued|progress|step|正在|进度|编译中|下载中|处理中|加载中).{0,60}(?:\d{1,3} ?%|\d+ ?(?:/|of) ?\d+|\.\.\.|…|中)?.{0,24}$)",
    r"^\W*\d{1,3} ?%\W*$|^\[\d+/\d+\] .{0,40}(?:\.\.\.|中)|\b(?:page|step|chunk|batch) \d+ ?(?:/|of) ?\d+\b",
)
GENERAL = _any(
    r"\b(?:means that|is when|refers to|in general|generally|typically|usually|for example|for instance|such as|is called|are called|it is worth|keep in mind|you can|you could|you might|you may|one can|the browser|plants?|a rule of thumb|think of it as)\b",
    r"(?:所谓|就是把|是指|一般(?:来说|建议|而言)?|通常|例如|比如|就像|并不是|建议(?:您|你)?|您?可以(?:试|先|考虑)|原理是|意味着|的意思是)",
)
"""An explanation of how the world is; not what happened here."""
OURS = _any(
    r"\b(?:your|our|we|i(?:'ve| have)? (?:checked|found|fixed|booked|moved|changed|created|updated|deployed|merged|sent|added|looked|ran|tested|removed)|the (?:repo|project|service|build|deploy\w*|migration|order|booking|account|server|cluster|branch|ticket|invoice))\b",
    r"(?:你|您|咱|我们|我(?:已|查|看|发现|修|改)|项目|仓库|服务|订单|账号|服务器|集群|分支|线上|方案)",
)
