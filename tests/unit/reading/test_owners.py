"""Whose choice a sentence states, in scripts that write the owner directly before the noun, the verb or the option."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.owners import belongs_to_others, is_acted_by_others

CITIES = {
    "zh": ("里斯本", "波尔图"),
    "ja": ("リスボン", "ポルト"),
    "ko": ("리스본", "포르투"),
    "hi": ("लिस्बन", "पोर्टो"),
}


def chosen(language: str, text: str) -> str | None:
    reading = read_answer(text, Asked("choice", CITIES[language]))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "大多数人选择波尔图。"),
        ("zh", "小明的答案是波尔图。"),
        ("zh", "大家的选择是波尔图。"),
        ("zh", "小明选择波尔图。"),
        ("zh", "他的选择是波尔图"),
        ("zh", "张老师推荐波尔图。"),
        ("zh", "有些专家建议选择波尔图。"),
        ("zh", "小红选波尔图"),
        ("zh", "参与者普遍选择波尔图。"),
        ("zh", "题主的答案是波尔图"),
        ("ja", "ポルトを選ぶ人が多いですが、リスボンも良い。"),
        ("ja", "太郎はポルトを選びます。"),
        ("ja", "多くの人がポルトを選びます。"),
        ("ja", "太郎の答えはポルトです。"),
        ("ja", "ポルトを選ぶべきではない。"),
        ("ja", "みんなの選択はポルトです。"),
        ("ja", "ポルトを選ぶ理由はありません。"),
        ("ja", "ポルトを推す声もあります。"),
        ("ko", "민수는 포르투를 선택했습니다."),
        ("ko", "대부분의 사람들은 포르투를 선택합니다."),
        ("ko", "철수의 답은 포르투입니다."),
        ("ko", "대다수의 선택은 포르투입니다."),
        ("hi", "राम का उत्तर पोर्टो है।"),
        ("hi", "ज़्यादातर लोग पोर्टो को चुनते हैं।"),
        ("hi", "राम पोर्टो को चुनता है।"),
    ],
)
def test_choices_of_others_are_not_choices_of_the_author(language: str, text: str) -> None:
    assert chosen(language, text) is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "我选择波尔图。"),
        ("zh", "因此我选择波尔图。"),
        ("zh", "综上所述，选择波尔图。"),
        ("zh", "答案是波尔图。"),
        ("zh", "这道题的答案是波尔图。"),
        ("zh", "最合理的选择是波尔图。"),
        ("zh", "我的最终答案是：波尔图"),
        ("zh", "所以正确答案是波尔图"),
        ("zh", "根据以上分析，我会选择波尔图。"),
        ("zh", "经过考虑后选择波尔图"),
        ("zh", "我仍然选择波尔图"),
        ("zh", "故选波尔图"),
        ("zh", "我最终决定选择波尔图。"),
        ("zh", "我个人更倾向于选择波尔图。"),
        ("zh", "应该选择波尔图"),
        ("zh", "本题答案：波尔图"),
        ("zh", "我认为答案是波尔图"),
        ("zh", "基于以上理由，我强烈推荐选择波尔图。"),
        ("zh", "在这两个选项中，我选波尔图。"),
        ("ja", "私はポルトを選びます。"),
        ("ja", "ポルトを選びます。"),
        ("ja", "答えはポルトです。"),
        ("ja", "海が近いのでポルトを選びます。"),
        ("ja", "よって、正解はポルトです。"),
        ("ja", "最も適切な選択はポルトです。"),
        ("ja", "私の最終的な答えはポルトです。"),
        ("ja", "結論として、ポルトを推します。"),
        ("ja", "以上の理由から、ポルトをお勧めします。"),
        ("ja", "この問題の答えはポルトです。"),
        ("ja", "正解はポルト。"),
        ("ko", "저는 포르투를 선택합니다."),
        ("ko", "정답은 포르투입니다."),
        ("ko", "따라서 답은 포르투입니다."),
        ("ko", "제 선택은 포르투입니다."),
        ("ko", "나의 최종 답변은 포르투입니다."),
        ("ko", "포르투를 선택합니다."),
        ("ko", "가장 합리적인 선택은 포르투입니다."),
        ("ko", "문제의 정답은 포르투입니다."),
        ("hi", "मेरा उत्तर पोर्टो है।"),
        ("hi", "उत्तर: पोर्टो"),
        ("hi", "सही उत्तर पोर्टो है।"),
        ("hi", "मैं पोर्टो को चुनता हूँ।"),
        ("hi", "इस प्रश्न का उत्तर पोर्टो है।"),
    ],
)
def test_the_own_choice_of_the_author_is_read(language: str, text: str) -> None:
    assert chosen(language, text) == CITIES[language][1]


@pytest.mark.parametrize("clause", ["小明的", "大多数人", "ある学生の", "민수의", "राम का", "专家建议"])
def test_words_that_name_another_owner_are_recognized(clause: str) -> None:
    assert belongs_to_others(clause)


@pytest.mark.parametrize(
    "clause", ["", "我的", "因此", "本题的正确", "私の最終的な", "제 최종", "इस प्रश्न का", "So the"]
)
def test_other_words_leave_a_statement_to_its_author(clause: str) -> None:
    assert not belongs_to_others(clause)


def test_the_last_subject_before_an_option_decides_who_chose_it() -> None:
    assert is_acted_by_others("민수는 ")
    assert not is_acted_by_others("표가 비싸니 저는 ")
