"""A store of N facts, the same on every machine, for every benchmark.

The text is made here and not taken from a public set, because those may not be shipped and end below
10,000 entries. What matters for cost is kept lifelike: Chinese, English and mixed facts of 15 to 60 words,
word frequencies after Zipf (a few words in half of all facts, a long tail in one each), folders of at most
1,000 files, a handful of projects and agents, sessions of eight turns, some facts superseded or expired.

A corpus is built once per machine under the system's temporary folder; the key covers this file's text, so
that a changed generator never meets an old corpus. The cached tree is for reading only: a benchmark that
writes takes a `copy_of` it.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import tempfile
from bisect import bisect
from itertools import accumulate
from pathlib import Path

FOLDER_LIMIT = 1_000
PROJECTS = ("*", "github.com/acme/shop", "github.com/acme/billing", "github.com/me/notes", "local/garden")
PROJECT_WEIGHTS = (20, 40, 20, 15, 5)
AGENTS = ("*", "claude-code", "codex")
AGENT_WEIGHTS = (60, 30, 10)
KINDS = ("fact", "preference", "decision", "experience", "correction", "rule")

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ENGLISH = """
the to a of and in is for on with we that use when it not from by as at this be or after before must
test build deploy release branch merge review index cache query table column schema migration server client token
session request response header payload retry timeout queue worker thread lock file folder path config setting
default value error warning log metric dashboard alert release notes customer invoice payment refund currency tax
order cart product price discount warehouse shipping address phone email meeting calendar holiday travel flight
hotel train dinner lunch coffee tea allergy doctor garden tomato bicycle guitar piano novel movie museum language
python typescript rust docker kubernetes postgres redis kafka git linux editor terminal keyboard font theme dark
light fast slow small large daily weekly monthly monday friday morning evening spring summer autumn winter
"""
_CHINESE = """
的 我 是 在 不 了 要 用 和 每 先 后 再 请 把 对 里 都 会 让 测试 构建 部署 发布 分支 合并 评审 索引 缓存
查询 数据库 字段 迁移 服务器 客户端 令牌 会话 请求 响应 重试 超时 队列 线程 文件 目录 路径 配置 默认 错误
日志 指标 告警 客户 发票 付款 退款 货币 税率 订单 购物车 商品 价格 折扣 仓库 物流 地址 电话 邮箱 会议
日历 假期 出差 航班 酒店 火车 晚餐 午饭 咖啡 茶 过敏 医生 花园 番茄 自行车 吉他 钢琴 小说 电影 博物馆
语言 辣菜 海鲜 香菜 编辑器 终端 键盘 字体 主题 深色 浅色 每天 每周 每月 周一 周五 早上 晚上 春天 夏天
秋天 冬天
"""
_SYLLABLES = "ba be bo da de di do fa fe fi ga go ha he ka ke ki ko la le li lo ma me mi mo na ne ni no pa pe po ra"
_HAN = "山水云风林石金木火土日月星辰江河湖海东西南北高低长短新旧青红白黑明暗安平和顺文武书画琴棋诗酒花鸟鱼虫马牛羊"


class _Zipf:
    """Draws from a list with probability 1 / (rank + 3)."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._sums = list(accumulate(1 / (rank + 3) for rank in range(len(words))))

    def draw(self, source: random.Random) -> str:
        return self._words[bisect(self._sums, source.random() * self._sums[-1])]


def _vocabulary(source: random.Random) -> tuple[_Zipf, _Zipf]:
    syllables = _SYLLABLES.split()
    latin = list(dict.fromkeys(_ENGLISH.split()))
    latin += list(dict.fromkeys("".join(source.choices(syllables, k=source.randint(2, 4))) for _ in range(20_000)))
    han = list(dict.fromkeys(_CHINESE.split()))
    han += list(dict.fromkeys("".join(source.choices(_HAN, k=source.randint(2, 3))) for _ in range(15_000)))
    return _Zipf(latin), _Zipf(han)


def _sentence(source: random.Random, latin: _Zipf, han: _Zipf) -> str:
    style = source.random()
    if style < 0.4:
        return " ".join(latin.draw(source) for _ in range(source.randint(10, 40))).capitalize() + "."
    words = [han.draw(source) for _ in range(source.randint(8, 30))]
    if style > 0.8:
        for place in range(0, len(words), 4):
            words[place] = f" {latin.draw(source)} "
    for place in range(6, len(words), 7):
        words[place] += "，"
    return "".join(words).strip() + "。"


def _fact(number: int, source: random.Random, text: str) -> tuple[str, str]:
    ident = "01" + "".join(source.choices(_CROCKFORD, k=24))
    created = f"20{19 + number % 7}-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:00:00Z"
    lines = [
        f"id: {ident}",
        f"kind: {KINDS[number % len(KINDS)]}",
        "status: superseded" if number % 40 == 7 else "status: active",
        f"created: {created}",
        f"updated: {created}",
        f'project: "{source.choices(PROJECTS, PROJECT_WEIGHTS)[0]}"',
        f'agent: "{source.choices(AGENTS, AGENT_WEIGHTS)[0]}"',
        f"importance: {source.randint(1, 9) / 10}",
        "confidence: 0.8",
        f"session: s{number // 8:06}",
        f"turn: {number % 8}",
        "source: claude-code",
    ]
    if number % 25 == 3:
        lines.append("valid_until: 2021-01-01")
    header = "\n".join(lines)
    return f"fact-{number:06}-{ident[-6:].lower()}.md", f"---\n{header}\n---\n{text}\n"


def facts(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """(path inside a private memory store, whole file text) of `count` facts, always the same ones."""
    source = random.Random(seed)
    latin, han = _vocabulary(source)
    made = []
    for number in range(count):
        name, text = _fact(number, source, _sentence(source, latin, han))
        folder = f"20{19 + number // FOLDER_LIMIT // 12:02}-{1 + number // FOLDER_LIMIT % 12:02}"
        made.append((f"facts/{folder}/{name}", text))
    return made


def queries(count: int, seed: int = 11) -> list[str]:
    """Prompts of 3 to 12 words over the same vocabulary: Chinese, English and mixed."""
    source = random.Random(7)
    latin, han = _vocabulary(source)
    source = random.Random(seed)
    made = []
    for number in range(count):
        length = source.randint(3, 12)
        if number % 3 == 0:
            made.append(" ".join(latin.draw(source) for _ in range(length)))
        elif number % 3 == 1:
            made.append("".join(han.draw(source) for _ in range(length)))
        else:
            made.append("".join(han.draw(source) for _ in range(length)) + " " + latin.draw(source))
    return made


def memory_store(count: int) -> Path:
    """Root of a cached private memory store with `count` facts, for reading only.

    The files are an hour old, so that no scan takes them for freshly written.
    """
    key = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    root = Path(tempfile.gettempdir()) / f"ctxrepo-corpus-{key}-{count}"
    if root.is_dir():
        return root
    building = Path(tempfile.mkdtemp(prefix="ctxrepo-corpus-"))
    folders = set()
    for path, text in facts(count):
        target = building / path
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        target.write_text(text, encoding="utf-8")
        stat = target.stat()
        os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns - 3_600 * 10**9))
    try:
        building.rename(root)
    except OSError:
        shutil.rmtree(building)  # somebody else was faster
    return root


def copy_of(count: int, target: Path) -> Path:
    """A copy of `memory_store(count)` at `target` that may be written to; times of modification are kept."""
    shutil.copytree(memory_store(count), target, dirs_exist_ok=True)
    return target
