"""Words that say little about what somebody wants to know.

In a store of twenty facts every word is rare, so rarity alone takes "good morning" for a question about the
morning meeting. These lists are the prior that the corpus cannot give yet: what small talk, requests and
Chinese grammar are made of. They are used for relevance only; the search itself keeps every word, and in a
large store rarity does most of the work.

Written for this purpose, not taken from a frequency list: nouns that name a subject are left out however
frequent they are ("house", "money", "会议").
"""

from __future__ import annotations

from ctxrepo.text.analyzer import stem, stop_terms

STOP = 0.08
WORD = 0.2
BROAD = 0.5
CHARACTER = 0.15

_ENGLISH = """
able abort absolutely accept accepted actual actually add adorable advice afraid afternoon again agree agreed aha
ahead ai alone alright also always amazing annoyed annoying answer anybody anymore anyone anything anyway anywhere
apologies apology appreciate appreciated asap ask asked assistant away awesome awful aww back bad basically beautiful
because become begin believe best better big bit boo bored boring bot bother bots bravo brb brilliant bring bro buddy
bummer bunch busy bye call calm cancel capable care careful carry catch certain certainly chance change chat chatbot
cheer cheerful cheers chill clear clearly close cold come command complete completely confused congrats congratulation
congratulations consider continue conversation conversations cool copy correct could course crazy curious cute damn
dang darn dear decide definitely delete different difficult doin doing dude duh early easy eh either else end enjoy
enough especially even evening every everybody everyone everything everywhere exactly example excellent excited
exciting exhausted exit explain extra fab fact fair familiar fantastic far fast favor favorite favourite feel feeling
felt few figure fine finish finished first folks follow forget forgot forward free friend fun funniest funny further
fyi general get give given glad gm go god goes going gone gonna good goodbye gorgeous gosh got gotcha gotta grateful
gratitude great greeting greetings guess guy guys haha hahaha half hang happen happened happy hard hear heard heck
hell hello help helped helpful hey hi hilarious hiya hm hmm hold honest honestly hooray hope hot how howdy however
huge huh hungry hurry idea idk imagine imo important impossible impressive incredible indeed instead interested
interesting introduce jeez job joke jokes joking just keep kidding kind kinda know known kudos last late later laugh
lazy lead learn least leave left legit less let level like likely little lmao lol long longer look lost lot love
lovely luck lucky madam main make many mate matter maybe mean meant meet meh mention merry message mhm mind mine
minute miss mistake moment more morning most move much nah name nap near nearly neat need neither never nevermind new
news next nice night nobody none nope normal noted nothing now np number nvm obviously odd often oh ok okay old omg
once one oof oops open opinion order original otherwise ouch owe pal pardon part particular patience pause peace
perfect perfectly person phew please pleasure pls plus plz point poor possible possibly prefer pretty probably problem
proceed promise pronounce props proud provide put question quick quickly quiet quit quite rain raining rather read
ready real really reason recall recommend relax remember repeat rephrase reply respond response rest restart result
retry right robot rock rofl roger round run sad said same save say second see seem seen send sense serious seriously
set several shall share show shut sick sigh silly similar simple simpler simply since sincere sing sir sleep sleepy
slow slower small smart smile snow someone something sometimes somewhere soon sorry sort sound speak speaking special
specify speech start started state stay step still stop story straight strange stuff stunning stupid sucks suggest
suggestion sunny super superb suppose supposed sure surprise sweet ta take taken talk talking tbh teach tell terrible
test thank thankful thanking thanks that thing think thought thousand thx time tired today together told tomorrow
tonight too total totally tough true truly trust try turn two ty type ugh uh um umm understand understood
unfortunately use used useful usual usually various very vibe vibes view wait wake wanna want watch way weather week
weekend weird welcome well whatever whenever wherever whoa whole why will wish wonder wonderful wondering word work
worked worry worse worst worth would wow write wrong wtf ya yay yeah year yep yes yesterday yet yikes yippee yo yup yw
"""

_BROAD_ENGLISH = """
act action activity age area born boss case city class command company condition consider country couple created
culture current data date death design designer detail development direction earth effect effort either event
existence experience eye face family female field form friday game gender goal group hair hand head health hobby home
hour house human individual industry info information intelligence item language large law level life line list live
lives living male man material men method model moment monday money month mood name nation nature opportunity option
organization own page pass people person personal pet place plan possibility power present price private process
product program programmed project public purpose quality rate reality region regular relationship responsible result
role room rule saturday schedule school science search sentence service side sign site situation skill society source
space speech speed spend stage state station status store strong structure student study style subject success summary
sunday system table task team term text thinking thursday title topic town track trade travel trip trivia truth
tuesday type types unit value version visit voice walk war water wednesday wish woman women world writing years young
zone
"""

_CHARACTERS = (
    "的了着过吗呢吧啊呀嘛哦哈嗯呵哎唉哇噢喔啦咯么什怎谁这那哪个些我们你您他她它俺咱是在有和与跟及或就都也还又很太挺最更不没无别"
    "要会能可以应该得想把被让给对向从到于为因所而但如果若则虽然之其此某每各几多少请帮说讲告诉知觉看听一下点上里中来去做用好再已经"
    "先后前时候间今明昨天早晚号行样种件次两二三起些许只仅才刚总共全部呗喽嘿哼"
)
_WORDS = """
你好 您好 大家 各位 谢谢 多谢 感谢 辛苦 早安 早上 上午 中午 下午 晚上 晚安 再见 拜拜 今天 明天 昨天 后天 现在
刚才 马上 时候 时间 天气 继续 接着 开始 结束 完成 搞定 可以 可能 能够 应该 必须 需要 希望 愿意 知道 明白 了解
理解 懂了 收到 好的 好吧 不错 没事 没关 关系 问题 意思 觉得 认为 感觉 喜欢 讨厌 帮我 帮忙 帮助 麻烦 推荐 建议
介绍 解释 告诉 说明 回答 名字 东西 事情 地方 怎么 怎样 怎么样 什么 为什么 多少 哪里 哪个 哪些 这个 那个 这样
那样 这些 那些 自己 我们 你们 他们 快乐 开心 高兴 愉快 周末 祝你 恭喜 加油 厉害 真棒 太好 完美 漂亮 优秀 哈哈
呵呵 嘿嘿 真的 假的 当然 其实 其他 别的 还有 没有 不是 不会 不要 不用 不能 不行 对的 是的 没错 正确 错误 重新
再次 一次 一遍 一个 一下 一点 一些 有点 有些 非常 特别 比较 简单 容易 困难 太难 太慢 太快 太多 无聊 累了 困了
睡觉 休息 吃饭 笑话 故事 唱歌 首歌 聊天 想想 随便 决定 等等 等一 稍等 稍后 以后 之前 之后 最近 好久 不见 回来
回头 出去 对不 不起 抱歉 打扰 客气 关照 如何 是否 有没 能不 可不
"""

_COMMON: dict[str, float] = {}


def commonness(term: str) -> float:
    """How much a term counts as evidence of a subject: 1 for most, down to 0.08 for stop words.

    Args:
        term: as `analyzer.query_terms` gives it; a Chinese word is known by its bigrams.
    """
    if not _COMMON:
        _COMMON.update((stem(word), BROAD) for word in _BROAD_ENGLISH.split())
        _COMMON.update((stem(word), WORD) for word in _ENGLISH.split())
        _COMMON.update((word[at : at + 2], WORD) for word in _WORDS.split() for at in range(len(word) - 1))
        _COMMON.update((char, CHARACTER) for char in _CHARACTERS)
        _COMMON.update((term, STOP) for term in stop_terms())
    return _COMMON.get(term, 1.0)
