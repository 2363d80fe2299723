"""Words whose role in a sentence decides how two facts relate: verbs, changes, mistakes, negation, scope.

Comparing facts needs no understanding of their subject, but it must know which words are grammar.  So this
is a closed list of roles, not of topics: what says that something changed, that something was wrong, which verbs
have one value at a time ("lives in") and which have many ("likes"), and a few everyday words that English and
Chinese name differently.  Everything that is not listed is content and speaks by itself.

A line is `concept: forms`, forms separated by `|`, continued while it ends in one; English forms are stemmed when
read, Chinese ones are matched longest first.  Rejected: WordNet and a Chinese dictionary (tens of megabytes for a
few hundred useful words), and embeddings, which put "staging" and "production" side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ctxrepo.text.analyzer import stem


class Role(NamedTuple):
    """What a form is in its sentence."""

    sort: str  # one of the keys of _TABLES
    concept: str


class Phrase(NamedTuple):
    """An English form."""

    stems: tuple[str, ...]
    form: str
    role: Role


# Verbs with one value at a time: another value is a contradiction.
_SINGLE = """
be: is|are|was|were|be|been|am|'s|是|为|即|equals|means
place: located|live|lives|lived|reside|based|situated|stay at|住在|居住在|位于|坐落于|在|住|住过|lives in|are based in
work: work at|work for|works at|employed|works for|working at|working for|任职|就职|供职|工作|上班
run: run|runs|executed|execute|running|operate|跑|运行|执行
built: built|bundled|compiled|构建|打包|编译
call: call|called|named|name is|叫|称呼|叫做|名叫|名字叫|名为
answer: answer|reply|respond|回答|回复|答复
due: due|due date is|截止
keep: keep|kept|retained|retain|stored for|保留|保存
begin: start|starts|begin|begins|starting|开始|takes place|take place|held|hold|happen|happens|occur|举行|开|召开
listen: listen|listens|listening|监听
count: cost|costs|weigh|lasts|费用|allow up to
return: return|returns|返回
set: set|sets|设为|设置为|设定为|定为|定在|设在
use: use|used|uses|using|follow|follows|adhere to|遵循|遵守|utilize|采用|使用|用|用的是|用的|用了|用过|utilise|
    works with
deploy: deploy|deployed|deploys|部署|部署在|部署到
planned: planned|scheduled|计划|安排
track: at version|版本是
"""

# Verbs with many values: another value is another fact.
_MANY = """
like: like|likes|prefer|prefers|preferred|love|loves|enjoy|fond|favour|favors|favor|喜欢|偏好|偏爱|更喜欢|喜爱|爱|倾向
dislike: dislike|dislikes|hate|hates|讨厌|反感
own: own|owns|owned|responsible|handle|handles|handled|maintain|maintains|maintained|in charge|负责|主管|维护
have: have|has|had|having|有|拥有
know: know|knows|speak|speaks|会说|懂|精通|掌握
learn: learn|learns|learning|study|studies|studying|学|在学|学习|正在学
visit: visit|visited|visits|travelled|went to|去过|到过|拜访
write: write|writes|written|wrote|编写|撰写|写
send: send|sends|sent|deliver|submit|submitted|发|发给|寄|寄给|发送|提交|交|交付|发到
need: need|needs|require|requires|required|需要|必须|须
store: store|stored|stores|存|存放|存储|存在
fear: afraid|fear|fears|怕|害怕
drink: drink|drinks|drinking|drank|喝
eat: eat|eats|ate|eating|吃
buy: buy|buys|bought|purchase|purchased|买|购买
support: support|supports|supported|支持
contain: contain|contains|include|includes|包含|包括
meet: meet|met|meets|communicate|沟通|开会
release: release|released|releases|ship|shipped|发布|上线|发版
review: review|reviews|reviewed|评审|审核
end: end|ends|ended|finish|finished|结束
open: open|opens|开放
close: close|closed|closes|关闭
allow: allow|allows|allowed|允许
block: block|blocks|blocked|forbid|禁止
manage: manage|manages|managed|lead|leads|led|管理|领导
report: report to|reports to|汇报
depend: depend|depends|依赖
move: go|goes|going|pass|join|joined
allergic: allergic|allergy|allergies|过敏
commit: commit|commits|committed
"""

# The new fact says that something is different from now on. After some, the new value follows ("moved to").
_CHANGE = """
now: now|currently|nowadays|from now on|as of|these days|going forward|henceforth|now on|现在|目前|如今|从现在起|
    今后|以后|往后|从今往后|从今天起|从明天起|从下周起|从下个月起|从下月起|从这周起|again
turn: switched to|switch to|changed to|change to|renamed to|renamed|upgraded to|upgraded|downgraded to|
    upgrade to|migrated to|migrated|replaced by|replaced with|raised to|raised|increased to|increased|reduced to|
    reduced|lowered to|lowered|postponed to|postponed|rescheduled to|rescheduled|extended to|extended|shortened|
    switched over to|switched|changed|became|has become|became the|converted to|bumped to|bumped|pushed to|
    brought forward|promoted to|gave up|swapped|transitioned to|ported to|改成|改成了|改为|改用|改到|改在|改由|
    换成|换成了|换到|换为|换了|更换为|更新为|更新到|调整为|调整到|调到|调成|变成|变成了|变为|变更为|升级到|升到|
    升级成|升级为|降级到|降到|降为|提高到|提升到|增加到|减少到|缩短到|涨到|涨至|涨价到|降至|减到|上调到|上调至|
    上调|下调到|下调至|下调|扩大到|缩小到|延长到|推迟到|延期到|提前到|迁到|迁移到|迁至|切换到|切到|转到|转用|
    转为|替换为|替换成|改|换|迁往|跳槽到|转岗到|加入了
move: moved to|moved over to|moved|relocated to|relocated|搬到|搬去|搬家到|搬至|搬去了
replace: replaced|took over from|took over|接替|接替了|取代|取代了|顶替
cease: no longer|not anymore|anymore|any more|any longer|stopped|quit|used to|ceased|dropped|abandoned|retired|
    deprecated|不再|不用了|不再是|停用|停止|戒了|戒掉|弃用|废弃|离职|取消了|已取消|已下线|不做了|不住了|不喝了|
    不吃了
"""

# The new fact says that the old one never was true.
_WRONG = """
wrong: misspoke|got it wrong|got that wrong|my mistake|my bad|wrong|incorrect|mistaken|mistake|typo|
    misunderstanding|misunderstood|misheard|error on my part|correction|not true|untrue|was never|were never|
    have never|has never|had never|is never|never had|never was|never been|never were|never used|never did|
    turns out|it turned out|turned out|inaccurate|false|搞错|弄错|说错|记错|写错|看错|错了|有误|更正|纠正|勘误|
    不对|从来没有|从来没|从没|从未|从来不|并不|并非|并没有|其实没|其实不|其实没有|误会|误解|口误|笔误|打错
"""

_NEGATION = """
not: need not|not|no|never|n't|don't|without|cannot|不|没|没有|不是|别|不要|勿|不能|不会|不可|不得|请勿|切勿|
    无需|不需要|不用|未|neither|nor|avoid|避免
"""

# Not content: who speaks, politeness, articles, light words.
_LIGHT = """
self: you|your|user|users|user's|i|me|my|mine|i'm|i've|the user|用户|我|本人|我的|用户的
we: we|our|us|everyone|我们|咱们|大家
filler: 希望|想要|recently|lately|last month|last week|last year|just now|上个月|上周|去年|最近|刚刚|刚才|前不久|
    家的|先生|女士|your|the|a|an|that|this|there|it|its|please|should|shall|must|will|would|could|may|can|want|
    wants|has to|have to|need to|always|just|also|too|really|very|and|or|of|do|does|did|done|be called|decided|
    decision|decide|point|make sure|our|actually|in fact|all|each|every|any|own|himself|them|their|his|her|been|
    prefers to|kindly|than|的|了|着|吗|呢|吧|请|应该|应当|要|得|会|该|都|也|就|先|时|个|一个|一些|一下|尽量|一律|
    统一|决定|上|里|把|和|与|及|而|而是|其|这|那|之|所|并|并且|以|还|又|很|更|最|点|些|其实|每|本|地|这个|那个|
    过|才|只要|务必|记得|一只|一条|技术栈
"""

_ROLE = """
in: in|inside|into|at|within|在于|里面
on: on|upon
to: to|over|向|给|至|到|towards|比|toward
from: from|从|由于|自
for: for|about|regarding|对|对于|针对|关于
with: with|using|via|through|通过
by: by|由|被
as: as|作为|当作
if: if|when|while|during|如果|当|期间
unless: unless|except|apart from|除了|除非|除外
only: only|仅|只有|只|只能|only for
above: above|more than|at least|minimum of|超过|高于|以上|至少|不少于|大于
below: below|under|less than|at most|up to|低于|以下|至多|最多|不超过|小于|不足
without: without
then: then|再|然后|接着|随后
until: until|till|直到
before: before|prior to|前|之前|以前
after: after|之后|以后的|后
"""

# Where the old value stands that is left behind.
_LEFT = """
left: instead of|rather than|in place of|而不是|代替
"""

_NOUNS = """
database: database|db|databases|数据库|資料庫
production: production|prod|生产环境|线上环境|正式环境|生产
staging: staging|预发环境|预发布环境|预发
testenv: test environment|测试环境
frontend: frontend|front-end|front end|前端
backend: backend|back-end|back end|后端
test: test|tests|testing|测试
unittest: unit test|unit tests|单元测试|单测
deployment: deployment|deployments
branch: branch|分支
darktheme: dark mode|dark theme|深色主题|深色模式|暗色主题|暗色模式|黑暗模式|暗黑模式
lighttheme: light mode|light theme|浅色主题|浅色模式|亮色主题
editor: editor|编辑器
comment: comment|comments|注释
code: code|代码
codecomment: code comment|code comments|代码注释
english: english|英文|英语
chinese: chinese|中文|汉语
french: french|法语
japanese: japanese|日语|日文
german: german|德语
weekly: weekly report|周报
monthly: monthly report|月报
standup: standup|stand-up|daily standup|daily stand-up|早会|晨会|站会
weekmeeting: weekly meeting|周会|周例会|例会
meeting: meeting|meetings|会议
meetingroom: meeting room|会议室
manager: manager|经理|主管领导
projectmanager: project manager|项目经理
owner: owner|负责人|person in charge
budget: budget|预算
limit: limit|上限|cap
timeout: timeout|time-out|超时|超时时间
backup: backup|backups|备份
api: api|接口
port: port|端口
deadline: deadline|截止日期|截止时间|due date|deadlines
version: version|版本
password: password|密码
office: office|办公室
log: log|logs|日志
server: server|servers|服务器
customer: customer|customers|client|clients|客户
invoice: invoice|invoices|发票
contract: contract|合同
releasewindow: release window|发布窗口
phone: phone|telephone|电话|手机|手机号
email: email|e-mail|邮箱|邮件
name: name|名字|姓名
englishname: english name|英文名
coffee: coffee|咖啡
tea: tea|茶
seafood: seafood|海鲜
peanut: peanut|peanuts|花生
spicy: spicy|spicy food|辣|辣菜|辣的
short: short|brief|concise|简短|简洁|精简
vegetarian: vegetarian|素食|素食者|素食主义者|吃素|素食主义
packagemanager: package manager|包管理器
default: default|默认
postgres: postgres|postgresql|pgsql|postgre
wifi: wifi|wi-fi|无线网
language: language|语言
project: project|项目
colour: colour|color|颜色
favourite: favourite|favorite
approval: approval|批准|审批
domain: domain|域名
team: team|团队|公司
moment: time|时间
child: child|children|kid|kids|孩子|小孩
birth: born|birthday|生日|出生
pupil: student|students|学生
doctor: doctor|physician|医生
holiday: holiday|vacation|leave|假期|休假
car: car|automobile|汽车
picture: picture|image|photo|图片|照片
mistake: bug|bugs|defect|缺陷
ticket: ticket|tickets|工单
order: order|orders|订单
employee: employee|employees|staff|员工
salary: salary|wage|工资|薪资
address: address|地址
price: price|价格|单价
login: login|log-in|sign-in|登录
report: report|reports|报告|报表
document: document|documents|docs|文档
ui: ui|user interface|界面
repository: repository|repo|repositories|仓库|代码库
configuration: configuration|config|配置
environment: environment|环境
service: service|services|服务
error: error|errors|报错|错误
everyday: every day|each day|daily|每天|每日
everyweek: every week|each week|weekly|每周|每星期
everyyear: every year|each year|yearly|annually|annual|每年
everymonth: every month|each month|monthly|每月|每个月
"""

_ATTRIBUTES = """
manager projectmanager owner budget limit timeout port deadline version password branch default birth phone
email name englishname colour favourite lead leader president editor domain language address username timezone
zone size length height weight age salary price fee rate model currency format host url path key license status
priority owner contact maintainer minimum maximum capital boss ceo cto title release standup weekmeeting meetingroom
负责人 联系人 地址 金额 价格 税率 时区 格式 尺寸 组长 老板 老师 单价 电话 职位 型号 端口 域名
"""

STRICT = frozenset({"if", "unless", "only", "above", "below", "without", "until", "before", "after"})
"""Words of condition and limit: with another one the same words say something else."""

HELPING = frozenset(
    {"be", "have", "use", "place", "set", "begin", "run", "keep", "call", "drink", "eat", "move", "own"}
)
"""Verbs that add little to another verb: likes to drink, will be kept."""

FREQUENCIES = frozenset({"everyday", "everyweek", "everymonth", "everyyear"})

_LOW = "regular name set stack tech up editor moment day technology team"

OPPOSITES = (
    frozenset({"darktheme", "lighttheme"}),
    frozenset({"english", "chinese"}),
    frozenset({"enabl", "disabl"}),
    frozenset({"tab", "space"}),
    frozenset({"open", "close"}),
    frozenset({"allow", "block"}),
)
"""Concepts of which one excludes the other, whatever the verb."""

_TABLES = {
    "verb": _SINGLE + _MANY,
    "change": _CHANGE,
    "wrong": _WRONG,
    "not": _NEGATION,
    "left": _LEFT,
    "light": _LIGHT,
    "role": _ROLE,
    "noun": _NOUNS,
}


def _lines(table: str) -> Iterator[tuple[str, list[str]]]:
    for line in filter(None, map(str.strip, table.replace("|\n    ", "|").splitlines())):
        concept, _, forms = line.partition(":")
        yield concept.strip(), [form.strip() for form in forms.split("|")]


SINGLE_VERBS = frozenset(concept for concept, _ in _lines(_SINGLE))
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
LOW = frozenset(_LOW.split())


def _read() -> tuple[dict[str, list[Phrase]], dict[str, Role], int]:
    english: dict[str, list[Phrase]] = {}
    chinese: dict[str, Role] = {}
    for sort, table in _TABLES.items():
        for concept, forms in _lines(table):
            for form in forms:
                if form.isascii():
                    words = tuple(stem(word) for word in form.split())
                    english.setdefault(words[0], []).append(Phrase(words, form, Role(sort, concept)))
                else:
                    chinese.setdefault(form, Role(sort, concept))
    for phrases in english.values():
        phrases.sort(key=lambda phrase: -len(phrase.stems))
    return english, chinese, max(map(len, chinese))


ENGLISH, CHINESE, LONGEST = _read()
"""Forms by their first word, longest first; Chinese forms; length of the longest of them."""
