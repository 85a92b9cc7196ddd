"""The words by which the clauses of Chinese, Japanese and Korean are read.

In these scripts, the verb stands behind the option, and its ending shows what is said of it.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "WIDE_APART",
    "WIDE_BUT",
    "WIDE_CORRECTIONS",
    "WIDE_ENDINGS",
    "WIDE_JOINERS",
    "WIDE_LIMITS",
    "WIDE_NOUNS",
    "WIDE_OPINIONS",
    "WIDE_OWNERS",
    "WIDE_PRAISE",
    "WIDE_PURPOSES",
]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


WIDE_PRAISE: Final = _words(
    """是正确的 是正确答案 是对的 是正解 是最合适
    是最合理 是最理想 是首选 最合理 最理想 更合适 更适合 更合理 更理想 最佳 がいい が良い がよい
    が一番 が最も適しています が最も適切 が最善 が最良 がふさわしい にします にする に決めます に決めました に一票
    を推薦します を推薦する を支持します を提案します を選びました を選択しました を選択いたします
    を選択させていただきます を推薦いたします を推奨いたします だと思います だと考えます 을_추천 를_추천 을_지지
    를_지지 이_최선 가_최선 이_최고 가_최고 이_최적 가_최적 이_가장_좋 가_가장_좋 이_제일_좋 가_제일_좋 이_더_좋
    가_더_좋 이_가장_적합 가_가장_적합"""
)
"""Further words directly behind a choice."""

WIDE_ENDINGS: Final = _words(
    """です だ である でしょう べきです べきだ べきである べきだと思います つもりです ことにします ことにしました
    ことをお勧めします ことをおすすめします ことを勧めます ことを推奨します ことを提案します のがいいです
    のが良いです のがよいです のが最善です のが最適です のが一番です のが妥当です のが賢明です のがベストです
    のがいい のが良い のがよい のが最善 のが最適 のが一番 のが妥当 のが賢明 べき 方がいいです 方が良いです 합니다
    했습니다 한다 했다 할게요 하겠습니다 하겠어요 하겠다 하였습니다 해요 했어요 할래요 하자 합시다 드립니다
    겠습니다 겠어요 겠다 하고_싶습니다 해야_합니다 해야_한다 해야_해요 하기로_했습니다 하기로_결정했습니다
    하기로_하겠습니다 하도록_하겠습니다 할_것입니다 할_것을_추천합니다 할_것을_제안합니다 하는_것을_추천합니다
    하는_것을_제안합니다 하는_것이_좋습니다 하는_것이_가장_좋습니다 하는_것이_더_좋습니다 하는_것이_좋겠습니다
    하는_것이_최선입니다 하는_것이_낫습니다 하는_것이_바람직합니다 하는_것이_합리적입니다 하는_것이_적절합니다
    하는_것이_맞습니다 하는_것이_옳습니다 하는_게_좋습니다 하는_게_좋겠습니다 하는_게_낫습니다 하는_편이_좋습니다
    하는_편이_낫습니다 입니다 이다 이에요 예요 습니다 아요"""
)
"""Endings of a verb or an adjective that choose or praise."""

WIDE_OPINIONS: Final = _words(
    """と思います と思う と思っています だと思います だと思う だと思っています と考えます と考える と考えています
    だと考えます だと考える だと考えています と判断します と判断しました だと判断します と信じます と信じています
    だと信じています と確信しています だと確信しています と言えます だと言えます といえます 고_생각합니다
    고_생각해요 고_생각한다 고_판단합니다 고_봅니다 고_믿습니다 고_확신합니다 이라고_생각합니다 이라고_생각해요
    이라고_생각한다 이라고_판단합니다 이라고_봅니다 이라고_믿습니다 이라고_확신합니다 라고_생각합니다
    라고_생각해요 라고_판단합니다 라고_봅니다 라고_믿습니다 라고_확신합니다 다고_생각합니다 다고_생각해요
    다고_판단합니다 다고_봅니다 다고_믿습니다 다고_확신합니다"""
)
"""Ends of a clause that make its statement the author's opinion."""

WIDE_NOUNS: Final = _words(
    """选择 選擇 选项 選項 方案 答案 城市 地点 地點 地方 候选 候选地 办法 做法 结果 举办地 主办城市 会议地点 建议
    决定 選択 選択肢 候補 候補地 場所 都市 開催地 会場 答え 回答 解答 案 町 街 선택 선택지 답 답변 정답 곳 도시
    장소 개최지 후보 대안 방안"""
)
"""Nouns for what is chosen, behind praise such as *the best*."""

WIDE_BUT: Final = _words("""但是 但 可是 不过 然而 只是 却 ただし しかし だが けれど でも 하지만 그러나 다만 그런데""")
"""Words behind a statement that limit it."""

WIDE_JOINERS: Final = _words(
    """和 与 與 跟 及 以及 还有 同 或 或者 或是 还是 抑或 并且 其次是 其次 然后 再是 と か や とか も または 又は
    もしくは あるいは 或いは および 及び ならびに 並びに そして それと それから 次に 次が など 와 과 이나 나 하고
    랑 이랑 및 또는 혹은 아니면 그리고 다음 다음으로"""
)
"""Words that join two options."""

WIDE_APART: Final = _words(
    """不是 不如 而非 相比 比起 相较 非 所以 因此 因为 但 中 里 の中 のうち 중에서 중에 중_ じゃなく でなく より
    比べ 比較 対して 代わり よりは ので から けど けれど だが ですが ため なく くて 아니라 아닌 보다 비해 대신
    말고 やめて 避けて 지만 니까 므로 때문에 는데 면서 어서 아서 해서 워서 려서 니_ 저는 나는 제가 私は 私が 僕は"""
)
"""Words between two options, of which only the second one is meant."""

WIDE_LIMITS: Final = _words(
    """方面 角度 的话 春天 夏天 秋天 冬天 春季 夏季 秋季 冬季 对学生 对游客 如果 要是 倘若 假如 只要 虽然 有时
    なら であれば れば としたら とすれば だったら 場合 理論上 仮に 이라면 라면 다면 한다면 경우 만약"""
)
"""Words before a judgement that limit it to one side or one case."""

WIDE_OWNERS: Final = _words(
    """我 本人 笔者 因此 所以 故 综上 应 應 建议 推荐 推薦 决定 最终 最后 投 支持 剩下 答案 结论 倾向"""
)
"""Words before a Chinese choice that show that it is the author's own choice."""

WIDE_PURPOSES: Final = _words("作为 為 为 来 來 以 举办 举行 舉行 开会 进行")
"""Words behind a choice in Chinese that say for what it is made."""

WIDE_CORRECTIONS: Final = _words("因为 因為 由于 是因为 理由是 原因是 而不是 而非 而不")
"""Words behind a choice in Chinese that begin a reason, or name what is not chosen."""
