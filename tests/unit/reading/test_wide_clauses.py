"""Clauses of Chinese, Japanese and Korean: what their endings say of an option, and what joins or compares options."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked
from roundtable.reading.wide_clauses import ends_clause, is_beside, is_limited, is_only_topic, is_wide

CITIES = {
    "zh": ("北京", "上海", "广州"),
    "ja": ("東京", "大阪", "京都"),
    "ko": ("서울", "부산", "대구"),
    "latin": ("Lisbon", "Porto", "Faro"),
    "kana": ("リスボン", "ポルト", "ファロ"),
}


def chosen(language: str, text: str) -> str | None:
    """Return the city that a reply certainly chooses."""
    reading = read_reply(text, Asked("choice", CITIES[language]))
    return reading.value if reading.certainty == "certain" and reading.rule != "abstention" else None


@pytest.mark.parametrize(
    "text",
    [
        "上海比北京更好。",
        "上海比北京更好",
        "相比之下,上海比北京更好。",
        "上海明显比北京更好。",
        "上海较北京更好。",
        "上海的条件比北京更好。",
        "上海的条件好,比北京更好。",
        "上海会比广州更合适。",
        "它比北京更好。",
        "上海比**北京**更好。",
        "北京没有上海贵。",
        "上海不比北京差。",
        "上海最好吃的是小笼包。",
        "上海更好玩。",
        "上海更好的是交通。",
        "因此上海更好的是交通。",
        "上海是最好的城市之一。",
        "上海最好的优势是交通。",
        "上海最合适吗",
        "夏天上海更好。",
        "交通方面上海更好。",
        "上海是最好的选择,但太贵。",
        "他认为上海是最好的选择。",
        "我曾认为上海最合适。",
        "我不认为上海最合适。",
        "上海不错,北京一般。",
    ],
)
def test_a_chinese_comparison_or_side_remark_chooses_nothing(text: str) -> None:
    assert chosen("zh", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "选择北京会很贵。",
        "选择北京的话会很贵。",
        "选择北京有风险。",
        "选择北京意味着更高的成本。",
        "选择北京的优势是交通。",
        "选择上海的话更便宜。",
        "选北京会很贵。",
        "选择北京需要更多预算。",
        "选择北京市会很贵。",
        "选择北京这个城市会很贵。",
        "选择北京方案有风险。",
        "选择北京作为会议地点会很贵。",
        "选择北京为时过早。",
        "选择北京以后会后悔。",
        "选择北京并不明智。",
        "选择北京和选择上海一样贵。",
        "选择北京不是好主意。",
        "选择北京,我们会失去灵活性。",
        "选择**北京**会很贵。",
        "因此,选择北京会很贵。",
        "所以选择北京有风险。",
        "我认为选择北京会很贵。",
        "我选择北京会很贵。",
        "选上海就要多花钱。",
        "选择上海可能更好。",
        "选择上海的人会很多。",
        "推荐北京的理由是交通。",
        "推荐上海的话会被批评。",
        "我支持北京的观点。",
        "上海和北京都可以,选择上海会更省钱。",
    ],
)
def test_a_chinese_choice_that_is_only_considered_is_not_made(text: str) -> None:
    assert chosen("zh", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "选择上海。",
        "我选择上海!",
        "我选择“上海”。",
        "我选择上海市。",
        "我选择上海,它更便宜。",
        "我选择上海,我们会省钱。",
        "我们应该选择上海,可以节省成本。",
        "选择上海,因为交通方便。",
        "选择上海作为会议地点。",
        "选择上海这个城市。",
        "选择上海更好。",
        "选择上海是最好的选择。",
        "选择上海是明智的。",
        "所以我选上海吧。",
        "我选择上海的理由是交通。",
        "我选择上海 because it is near.",
        "比起北京,上海更好。",
        "比起北京上海更好。",
        "与北京相比上海更好。",
        "和北京相比,上海更好。",
        "不是北京,而是上海。",
        "广州太热,北京太冷,上海最好。",
        "北京、广州和上海中,上海最好。",
        "在北京、上海和广州中,我认为上海最合适。",
        "我认为上海是最好的选择。",
        "我个人认为上海最合适。",
        "上海是最佳选择,因为交通方便。",
        "上海是首选。",
    ],
)
def test_a_chinese_choice_is_read(text: str) -> None:
    assert chosen("zh", text) == "上海"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "北京与上海都不错。"),
        ("zh", "北京跟上海都不错"),
        ("zh", "北京和上海更好。"),
        ("zh", "北京、上海最好。"),
        ("zh", "北京或上海最合适。"),
        ("zh", "北京还是上海更好还不清楚。"),
        ("zh", "答案是北京与上海。"),
        ("zh", "我选择北京以及上海。"),
        ("latin", "我认为Lisbon和Porto是最好的选择。"),
        ("ja", "東京か大阪です。"),
        ("ja", "東京か**大阪**です。"),
        ("ja", "東京や大阪です。"),
        ("ja", "東京と大阪です。"),
        ("ja", "東京、大阪です。"),
        ("ja", "東京とか大阪です。"),
        ("ja", "東京及び大阪です。"),
        ("ja", "東京、そして大阪です。"),
        ("ja", "東京や、大阪です。"),
        ("ja", "京都か大阪が最適です。"),
        ("ja", "東京に次いで大阪が最適です。"),
        ("ja", "東京と並んで大阪が最適です。"),
        ("ja", "東京も大阪もいいです。"),
        ("ja", "候補は東京、大阪、京都です。"),
        ("ja", "選択肢は東京、大阪、京都です。"),
        ("ja", "東京や大阪を選びます。"),
        ("ja", "したがって東京か大阪です。"),
        ("ja", "答えは東京や大阪です。"),
        ("latin", "Lisbonか Portoです。"),
        ("ko", "서울이나 부산입니다."),
        ("ko", "서울이나 부산을 선택합니다."),
        ("ko", "서울과 부산입니다."),
        ("ko", "서울, 부산입니다."),
        ("ko", "서울하고 부산입니다."),
        ("ko", "서울 및 부산입니다."),
        ("ko", "서울 다음으로 부산입니다."),
        ("ko", "서울이나 **부산**입니다."),
        ("ko", "따라서 서울이나 부산입니다."),
        ("ko", "후보는 서울, 부산, 대구입니다."),
        ("ko", "답은 서울과 부산입니다."),
    ],
)
def test_joined_options_are_not_read_as_the_last_one(language: str, text: str) -> None:
    assert chosen(language, text) is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "東京を選ぶと高くつきます。"),
        ("ja", "東京を選ぶと費用が高くなります。"),
        ("ja", "したがって、東京を選ぶと高くつきます。"),
        ("ja", "大阪を選ぶなら早い方がいい。"),
        ("ja", "大阪を選びますと高くなります。"),
        ("ja", "大阪を選びますが、高いです。"),
        ("ja", "大阪を選ぶのは危険です。"),
        ("ja", "大阪を選ぶ理由はありません。"),
        ("ja", "大阪ですか。"),
        ("ja", "大阪ですが、東京も良いです。"),
        ("ja", "大阪ですから高いです。"),
        ("ja", "大阪が最適な理由は交通です。"),
        ("ja", "大阪が最適とは限らない。"),
        ("ja", "大阪が正しいと言う人もいます。"),
        ("ja", "大阪がベストな季節は春です。"),
        ("ja", "夏なら大阪が最適です。"),
        ("kana", "したがって夏ならポルトが最適です。"),
        ("kana", "したがってポルトを選ぶと高くつきます。"),
        ("ja", "大阪がいいところです。"),
        ("ja", "大阪がいいとは思いません。"),
        ("ja", "大阪が一番安いです。"),
        ("ja", "大阪にすると高くなります。"),
        ("ja", "太郎は大阪を推薦します。"),
        ("ko", "서울을 선택하면 비쌉니다."),
        ("ko", "따라서 서울을 선택하면 비쌉니다."),
        ("ko", "부산을 선택할 이유가 없습니다."),
        ("ko", "부산을 선택하는 것은 위험합니다."),
        ("ko", "부산을 선택하는 것이 위험합니다."),
        ("ko", "부산을 선택하면 저렴합니다."),
        ("ko", "부산을 선택한다면 저렴합니다."),
        ("ko", "부산을 선택한 이유는 바다입니다."),
        ("ko", "부산을 선택하고 싶지 않습니다."),
        ("ko", "부산을 고르면 비쌉니다."),
        ("ko", "부산에 투표할 이유가 없습니다."),
        ("ko", "부산이 정답이라고 하는 사람이 있습니다."),
        ("ko", "부산이 정답일 수도 있습니다."),
        ("ko", "부산입니다만 비쌉니다."),
        ("ko", "부산이 가장 좋은 음식을 제공합니다."),
        ("ko", "날씨는 부산이 가장 좋습니다."),
        ("ko", "부산이 좋은 선택입니다."),
        ("ko", "친구는 부산이 가장 좋다고 생각합니다."),
        ("ko", "부산이 가장 좋습니까?"),
        ("ko", "부산을 추천하는 이유는 바다입니다."),
    ],
)
def test_a_choice_that_is_only_considered_is_not_made(language: str, text: str) -> None:
    assert chosen(language, text) is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "大阪です。"),
        ("ja", "**大阪**です。"),
        ("ja", "大阪を選びます!"),
        ("ja", "「大阪」を選びます。"),
        ("ja", "大阪を選ぶべきだと思います。"),
        ("ja", "大阪を選ぶことにします。"),
        ("ja", "大阪を選ぶのが最善です。"),
        ("ja", "私なら大阪を選びます。"),
        ("ja", "大阪が最適な選択です。"),
        ("ja", "大阪が最適だと思います。"),
        ("ja", "大阪がいいです。"),
        ("ja", "大阪が良いと思います。"),
        ("ja", "大阪がよいでしょう。"),
        ("ja", "大阪にします。"),
        ("ja", "大阪を推薦します。"),
        ("ja", "大阪が一番です。"),
        ("ja", "大阪だと思います。"),
        ("ja", "結論として、大阪が最も適しています。"),
        ("ja", "東京ではなく、大阪です。"),
        ("ja", "東京は高いので大阪です。"),
        ("ja", "東京より大阪が最適です。"),
        ("ja", "東京と比べて大阪が良いです。"),
        ("ja", "東京と京都は高いので、大阪です。"),
        ("ja", "東京、大阪、京都の中で大阪が最適です。"),
        ("ko", "부산입니다."),
        ("ko", "**부산**을 선택합니다."),
        ("ko", "부산을 선택하겠습니다."),
        ("ko", "부산을 선택해야 합니다."),
        ("ko", "부산을 선택하는 것이 좋습니다."),
        ("ko", "부산에 투표합니다."),
        ("ko", "부산이 정답이라고 생각합니다."),
        ("ko", "부산이 가장 좋습니다."),
        ("ko", "저는 부산이 가장 좋다고 생각합니다."),
        ("ko", "부산이 최선의 선택입니다."),
        ("ko", "부산을 추천합니다."),
        ("ko", "서울보다 부산이 더 좋습니다."),
        ("ko", "서울이 아니라 부산입니다."),
        ("ko", "서울은 비싸니 저는 부산을 선택하겠습니다."),
        ("ko", "서울, 부산, 대구 중 부산을 선택합니다."),
        ("ko", "비용을 고려하면 부산입니다."),
    ],
)
def test_a_choice_at_the_end_of_a_clause_is_read(language: str, text: str) -> None:
    assert chosen(language, text) == {"ja": "大阪", "ko": "부산"}[language]


@pytest.mark.parametrize(
    ("text", "is_end"), [("です", True), ("ですか", False), ("", True), ("ですが", False), ("，但是太贵", False)]
)
def test_the_end_of_a_clause_is_found(text: str, is_end: bool) -> None:
    assert ends_clause(text.replace("，", ","), 0, len(text)) is is_end


def test_words_between_two_options_join_or_separate_them() -> None:
    assert is_beside("", "、そして")
    assert is_beside("", "的交通比")
    assert not is_beside("", "ではなく")
    assert not is_beside("相比", ",")


def test_words_that_limit_a_judgement_are_recognized() -> None:
    assert is_limited("交通方面")
    assert is_limited("它比")
    assert not is_limited("与北京相比")
    assert not is_limited("私なら")


@pytest.mark.parametrize("text", ["因此专家们推荐上海。", "因此小明选择上海。", "北京太贵,所以大多数人选上海。"])
def test_a_conclusion_about_the_choice_of_others_is_not_a_choice_of_the_author(text: str) -> None:
    assert chosen("zh", text) is None


@pytest.mark.parametrize(
    "text", ["因此我选择上海。", "综上所述,最终推荐上海。", "北京太贵,所以我选上海。", "因此,上海。"]
)
def test_a_conclusion_of_the_author_is_read(text: str) -> None:
    assert chosen("zh", text) == "上海"


def test_a_verb_of_another_script_is_not_a_topic() -> None:
    assert not is_only_topic("I choose 北京会很贵", 0, 9, 11)
    assert is_wide("北京", 0)
    assert not is_wide("。", 0)
    assert not is_wide("", 0)
