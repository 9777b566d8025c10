"""Strict preset: Chinese names where a word says that they are ones, addresses, dates of birth.

English names and places are spaCy's (`privacy.names`).
"""

from rearview_pipelines.privacy.recognizers.base import Recognizer

_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗"
    "凤花方俞任袁柳酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄"
    "米贝明臧计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万"
    "支柯昝管卢莫经房裘缪干解应宗丁宣贲邓郁单杭洪包诸左石崔吉钮龚程嵇邢滑裴陆荣翁荀羊於惠甄曲家封芮羿储靳汲邴糜松"
    "井段富巫乌焦巴弓牧隗山谷车侯宓蓬全郗班仰秋仲伊宫宁仇栾暴甘钭厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲"
    "邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍却璩桑桂濮牛寿通边扈燕冀郏浦尚农温别庄"
    "晏柴瞿阎充慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧殳沃利蔚越夔隆师巩厍聂晁勾敖融"
    "冷訾辛阚那简饶空曾毋沙乜养鞠须丰巢关蒯相查后荆红游竺权逯盖益桓公肖覃闫岳"
)
_DOUBLE = "欧阳|司徒|慕容|上官|司马|诸葛|东方|皇甫|尉迟|公孙|令狐|夏侯|长孙|宇文|端木|南宫|百里|东郭|呼延"
_NAME = rf"(?:{_DOUBLE}|[{_SURNAMES}])[\u4e00-\u9fff]{{1,2}}"
_BEFORE = (
    r"(?:姓名|名字|我叫|名叫|叫做|叫|联系人|收件人|收货人|寄件人|患者|病人|客户|司机|车主|户主|户名|开户人|持卡人|房东|租客|乘客"
    r"|旅客|面试者|候选人|报警人|下单人|申请人|负责人|证人|法人|代理人|经办人|监护人|用户名?叫|同事|朋友|室友|老板|邻居"
    r"|母亲|父亲|妈妈|爸爸|妻子|丈夫|老婆|老公|女儿|儿子|哥哥|姐姐|弟弟|妹妹|contact is|name is|乘客|转|请|让|找|给|写|群里|记住：|记住:|受益人|抄送|备注|\"name)"
    r"(?:姓名|名字|叫|是|为|：|:| |\"|“)*"
)
_AFTER = (
    r"(?=(?:先生|女士|小姐|医生|大夫|老师|经理|教授|律师|同学|主任|护士|师傅|总(?![量数共计结])|的(?:生日|电话|手机|微信|QQ|邮箱|地址|住址|身份证"
    r"|护照|卡号|账号|工资卡|车牌)|[，,/|](?:男|女|[0-9+])|说|发的|收[。，,\s]|确认|停用|[（(][A-Za-z0-9]|六月|生于|出生))"
)
_MONTHS = r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
_DATE = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{4} ?年 ?\d{1,2} ?月(?: ?\d{1,2} ?日?)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS},? \d{{4}}|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})(?!\d)"
)
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Close|Court|Ct|Boulevard|Blvd|Way|Place|Pl|Square|Sq|Terrace|Crescent"
    r"|Gardens|Parkway|Pkwy|Highway|Hwy|Row|Mews|Hill|Quay|Walk)"
)

_CITY = r"(?:, (?-i:[A-Z])[A-Za-z'’-]+(?: (?-i:[A-Z])[A-Za-z'’-]+){0,2})"
_ENGLISH = r"(?-i:[A-Z][\w'’-]+(?: [A-Z]\.)?(?: [A-Z][\w'’-]+){1,2})"

NAMES = (
    rf"{_BEFORE}\K{_NAME}",
    rf"{_NAME}{_AFTER}",
    # Where a form of writing says that it is a name; running text is spaCy's.
    rf"(?:\b(?:signed-off-by|reviewed-by|co-authored-by|from|to|cc|author|applicant|full name|name|contact)\"?: ?\"?|user\.name \"?)\K{_ENGLISH}",
    rf"{_ENGLISH}(?= ?<[^<>\s]+@)",
    r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? \K(?-i:[A-Z][\w'’-]+)",
)
ADDRESSES = (
    rf"(?<![\w-])\d{{1,5}}[A-Za-z]? (?:[A-Z][\w'’-]*\.? ){{1,4}}{_STREET}\b\.?(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|#) ?[\w-]+)?"
    rf"(?:{_CITY},? (?:[A-Z]{{2}} \d{{5}}(?:-\d{{4}})?|[A-Z]{{1,2}}\d[A-Z\d]? ?\d[A-Z]{{2}})|{_CITY})?",
    r"(?:[\u4e00-\u9fff]{2,8}(?:省|自治区))?(?:[\u4e00-\u9fff]{2,6}(?:市|自治州))?(?:[\u4e00-\u9fff]{1,6}[区县镇])?"
    r"[\u4e00-\u9fff]{1,8}(?:路|街|道|巷|弄|胡同|里)\d{1,5}号(?:[\u4e00-\u9fff]{0,10}(?:小区|花园|苑|公寓|大厦))?"
    r"(?:\d{1,4}(?:号楼|栋|幢|座|单元|层|楼|室|号|户|-)?){0,5}",
)
BIRTHS = (
    rf"(?:\bborn(?: on)?|\bDOB|\bdate of birth|\bbirth ?da(?:y|te)|出生日期|出生于|生日|生于|出生年月)(?:[ :：,，=\"']|\bis\b|\bwas\b|是|为)*\K{_DATE}",
    rf"{_DATE}(?=[^\n]{{0,2}}(?:出生|生[，,。于]|生人))",
)


def recognizers() -> tuple[Recognizer, ...]:
    return (
        Recognizer("PERSON", NAMES, score=0.7),
        Recognizer("ADDRESS", ADDRESSES, score=0.7),
        Recognizer("DATE_OF_BIRTH", BIRTHS),
    )
