"""A study with scripted models: the figures are those that theory gives for what the models do."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from integration.engine_kit import said, seated
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from roundtable import Budget, Roundtable
from roundtable.bench import Question, StudyReport, extract_last, read_questions, run_study
from roundtable.errors import AgentError, ConfigurationError, RoundtableError
from roundtable.exits import ConsensusReached
from roundtable.metrics import jury_bound
from roundtable.providers.scripted import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.testing.suite import runs_beside
from roundtable.types import ChatRequest

pytestmark = pytest.mark.slow

SIZE = 50
AGENTS = ("ada", "bo", "cy")
PRIME = Question(id="p", question="Which is a prime?", gold="97", options=("91", "95", "97"))
QUESTIONS = [Question(id=str(n), question=f"Item {n} of the list: yes or no?", gold="yes") for n in range(SIZE)]


def table_of(reply: Any, **more: Any) -> Roundtable:
    return Roundtable(seated(ScriptedModel(reply), *AGENTS), storage="memory://", analyzer="basic", **more)


def number_of(request: ChatRequest) -> int:
    found = re.search(r"Item (\d+) ", "\n".join(message.content for message in request.messages))
    assert found
    return int(found[1])


def study(reply: Any, questions: Any = QUESTIONS, **more: Any) -> StudyReport:
    async def run() -> StudyReport:
        return await run_study(table_of(reply), questions, **({"resamples": 2000} | more))

    return anyio.run(run)


@pytest.fixture(scope="module")
def world() -> tuple[dict[tuple[str, int], bool], set[int], StudyReport]:
    """Three agents that are right seven times in ten by themselves, and a debate that always mends what it can."""
    draw = Random(11)
    alone = {(agent, number): draw.random() < 0.7 for number in range(SIZE) for agent in AGENTS}
    together = {number for number in range(SIZE) if any(alone[agent, number] for agent in AGENTS)}

    def reply(request: ChatRequest) -> Any:
        number, agent = number_of(request), request.metadata["agent"]
        heard = any("MARK" in message.content for message in request.messages)
        right = number in together if heard else alone[agent, number]
        return said("yes" if right else f"no, {agent}", reasoning="MARK", confidence=0.9 if right else 0.6)

    return alone, together, study(reply)


@pytest.mark.slow
def test_every_arm_answers_every_question_at_the_price_of_the_debate(world: Any) -> None:
    _, _, report = world
    assert [(arm.arm, arm.questions, arm.usage.calls, arm.cost_multiple) for arm in report.arms] == [
        ("single", SIZE, SIZE, 1.0),
        ("collaborative", SIZE, SIZE * 6, 6.0),
        ("self-consistency as collaborative", SIZE, SIZE * 6, 6.0),
        ("independent-vote as collaborative", SIZE, SIZE * 6, 6.0),
    ]


@pytest.mark.slow
def test_accuracies_match_the_models_and_the_theoretical_intervals(world: Any) -> None:
    alone, together, report = world
    single = sum(alone["ada", number] for number in range(SIZE))
    # A wrong vote is split over three wordings, so that one voice in three that is right makes a tie at worst.
    votes = sum(sum(alone[agent, number] for agent in AGENTS) >= 2 for number in range(SIZE))
    wanted = {
        "single": single,
        "collaborative": len(together),
        "self-consistency as collaborative": single,
        "independent-vote as collaborative": votes,
    }
    assert {arm.arm: arm.correct for arm in report.arms} == wanted
    for arm in report.arms:
        assert arm.interval == pytest.approx(proportion_confint(arm.correct, SIZE, method="wilson"), abs=1e-12)
    low, high = report.arm("independent-vote as collaborative").interval
    assert low <= float(jury_bound(3, "0.7").value or 0) <= high
    low, high = report.arm("collaborative").interval
    assert low <= 1 - 0.3**3 <= high
    assert report.arm("single").interval.low <= 0.7 <= report.arm("single").interval.high


@pytest.mark.slow
def test_pairs_are_compared_question_by_question(world: Any) -> None:
    alone, together, report = world
    (pair,) = [one for one in report.pairs if one.baseline == "single"]
    lone = {number for number in range(SIZE) if alone["ada", number]}
    gained, lost = len(together - lone), len(lone - together)
    assert (pair.gained, pair.lost, pair.both_right) == (gained, lost, len(together & lone))
    assert pair.both_right + pair.both_wrong + gained + lost == SIZE
    assert pair.p_value == pytest.approx(mcnemar([[0, lost], [gained, 0]], exact=True).pvalue)
    difference = (gained - lost) / SIZE
    spread = ((gained + lost) / SIZE - difference**2) ** 0.5 / SIZE**0.5
    assert pair.difference == difference
    assert pair.interval == pytest.approx((difference - 1.96 * spread, difference + 1.96 * spread), abs=0.03)
    assert pair.verdict == "better"
    assert report.worth("collaborative") in {"adopt", "conditional"}


def test_confidence_is_measured_against_the_truth(world: Any) -> None:
    alone, _, report = world
    right = sum(alone["ada", number] for number in range(SIZE))
    single = report.arm("single")
    assert single.confidence == pytest.approx((0.9 * right + 0.6 * (SIZE - right)) / SIZE)
    assert single.brier == pytest.approx((0.1**2 * right + 0.6**2 * (SIZE - right)) / SIZE)
    assert single.calibration_error == pytest.approx((0.1 * right + 0.6 * (SIZE - right)) / SIZE)


def test_answers_that_the_debate_corrected_and_broke_are_counted(world: Any) -> None:
    alone, together, report = world
    (moved,) = report.movements
    wrong = [pair for pair, right in alone.items() if not right]
    assert moved.wrong_to_right == sum(number in together for _, number in wrong)
    assert (moved.right_to_wrong, moved.kept_wrong) == (0, sum(number not in together for _, number in wrong))
    assert sum((moved.kept_right, moved.right_to_wrong, moved.wrong_to_right, moved.kept_wrong)) == SIZE * 3


def test_a_report_can_be_shown_as_a_table_a_frame_and_a_page(world: Any) -> None:
    _, _, report = world
    assert len(report.to_records()) == SIZE * 4
    frame = report.to_frame()
    assert frame.groupby("arm")["correct"].mean()["single"] == report.arm("single").accuracy
    page = report.to_markdown()
    assert page == report._repr_markdown_()
    assert "| collaborative | single |" in page
    assert "- collaborative: " in page
    assert StudyReport.from_json(report.to_json()) == report
    with pytest.raises(KeyError, match="the report has no arm 'delphi'; it has: single, collaborative, "):
        report.arm("delphi")
    with pytest.raises(KeyError, match="the study has no mode 'delphi'; it has: collaborative"):
        report.worth("delphi")
    with pytest.raises(KeyError, match="'delphi' with 'single'; it compares: collaborative with single"):
        report.compare("delphi", "single")


@pytest.mark.slow
def test_a_debate_that_makes_answers_worse_is_rejected() -> None:
    def reply(request: ChatRequest) -> Any:
        heard = any("MARK" in message.content for message in request.messages)
        return said("no" if heard else "yes", reasoning="MARK")

    report = study(reply, QUESTIONS[:10], modes=["collaborative", "independent-vote"])
    assert report.worth("collaborative") == "reject"
    (pair,) = [one for one in report.pairs if (one.mode, one.baseline) == ("collaborative", "single")]
    assert (pair.lost, pair.difference, pair.interval) == (10, -1.0, (-1.0, -1.0))
    assert report.movements[0].right_to_wrong == 30
    assert report.worth("independent-vote") == "conditional"
    assert "reject; 0 answers corrected, 30 made wrong" in report.to_markdown()


def test_too_few_questions_give_no_verdict_and_state_how_many_are_needed() -> None:
    def reply(request: ChatRequest) -> Any:
        heard = any("MARK" in message.content for message in request.messages)
        return said("yes" if heard or number_of(request) else "no", reasoning="MARK")

    report = study(reply, QUESTIONS[:5])
    pair = report.pairs[0]
    assert (pair.gained, pair.verdict, pair.questions_needed) == (1, "undecided", 51)
    assert "needs about 51 questions" in report.to_markdown()


def test_options_are_read_from_choices_and_a_single_round_has_no_movement() -> None:
    asked = [Question(id="1", question="Item 1 of two?", gold="4.0", options=("4", "5"))]
    report = study(lambda _: said("it is four", choice="4"), asked, rounds=1, normalise="numeric")
    assert [arm.correct for arm in report.arms] == [1, 1, 1, 1]
    assert report.movements[0].kept_right == 0


def test_an_answer_is_extracted_from_a_position() -> None:
    def extract(text: str) -> str | None:
        found = re.search(r"\d+", text)
        return found[0] if found else None

    asked = [Question(id="1", question="Item 1: 2 + 2?", gold="4")]
    report = study(lambda _: said("It must be 4, I think."), asked, extract=extract)
    assert [arm.correct for arm in report.arms] == [1, 1, 1, 1]
    report = study(lambda _: said("No idea."), asked, extract=extract)
    assert [(arm.correct, arm.unanswered, arm.brier) for arm in report.arms] == [(0, 1, None)] * 4


def test_the_confidence_of_three_equal_confidences_is_in_their_bin() -> None:
    agents = scripted_agents({name: {"position": "yes", "confidence": 0.7} for name in ("ada", "bo", "cy")})

    async def run() -> StudyReport:
        async with Roundtable(agents, storage="memory://", analyzer="declared") as table:
            return await run_study(table, QUESTIONS[:1], resamples=100)

    report = anyio.run(run)
    assert {answer.confidence for answer in report.answers} == {0.7}
    assert {group.low for arm in report.arms for group in report.calibration(arm.arm).bins} == {0.7}


def test_a_question_that_fails_in_one_way_is_left_out_of_all() -> None:
    asked = dict.fromkeys(range(3), 0)

    def reply(request: ChatRequest) -> Any:
        number = number_of(request)
        asked[number] += 1
        # One fails in the debate, one only once its debate of six calls is over.
        if number == 1 or (number == 2 and asked[number] > 6):
            return AgentError("no answer", provider="scripted")
        return said("yes")

    report = study(reply, QUESTIONS[:3])
    assert set(report.failed) == {"1", "2"}
    assert report.arm("single").questions == 1
    assert "- left out: 2 questions" in report.to_markdown()
    with pytest.raises(RoundtableError, match="every question failed"):
        study(lambda _: AgentError("none", provider="scripted"), QUESTIONS[:2])


def failing(fails: Any) -> Any:
    """Return a model whose first agent says yes and whose other agents say no, except in calls that `fails` names."""
    calls: dict[tuple[str, str], int] = {}
    modes = {"ROLE: Solver": "self-consistency", "ROLE: Independent voter": "independent-vote"}

    def reply(request: ChatRequest) -> Any:
        session, agent = request.metadata["session"], request.metadata["agent"]
        mode = next((mode for role, mode in modes.items() if role in request.instructions), "debate")
        calls[session, agent] = calls.get((session, agent), 0) + 1
        if fails(mode, agent, calls[session, agent]):
            return AgentError("no answer", provider="scripted", retryable=False)
        return said("yes" if agent == "ada" else "no")

    return reply


def test_the_single_answer_is_that_of_the_first_agent_even_if_its_first_call_fails() -> None:
    def fails(mode: str, agent: str, call: int) -> bool:
        # The debate costs four calls, the vote asks six times, and five answers are left.
        return (mode, agent) == ("debate", "cy") or (mode, agent, call) == ("independent-vote", "ada", 1)

    report = study(failing(fails), QUESTIONS[:1])
    assert report.answers[0].answers == ("yes",)
    assert [answer.usage.calls for answer in report.answers[2:]] == [report.answers[1].usage.calls] * 2


@pytest.mark.parametrize(
    ("mode", "agents", "why"),
    [
        ("self-consistency", ("ada",), "only 5 of 6 answers of the baseline self-consistency succeeded"),
        ("independent-vote", ("bo",), "only 5 of 6 answers of the baseline independent-vote succeeded"),
        ("independent-vote", ("ada", "bo"), "only 4 of 6 answers of the baseline independent-vote succeeded"),
    ],
)
def test_a_question_whose_baselines_have_fewer_answers_than_their_price_is_left_out(
    mode: str, agents: tuple[str, ...], why: str
) -> None:
    reply = failing(lambda at, agent, call: at == mode and agent in agents and call == 1)
    with pytest.raises(RoundtableError, match=f"'0': {why}"):
        study(reply, QUESTIONS[:1])


def test_a_question_without_an_independent_answer_of_the_first_agent_is_left_out() -> None:
    def fails(mode: str, agent: str, call: int) -> bool:
        return (mode, agent) == ("independent-vote", "ada") or (mode == "debate" and agent != "ada")

    with pytest.raises(RoundtableError, match="'0': all independent answers of the first agent, ada, failed"):
        study(failing(fails), QUESTIONS[:1], rounds=1)


def test_a_second_question_about_an_unclear_answer_counts_as_a_call_in_every_arm() -> None:
    def reply(request: ChatRequest) -> Any:
        return "yes" if len(request.messages) > 2 else "I see it both ways, and it depends."

    two = Question(id="q", question="Item 0 of the list?", gold="yes", options=("yes", "no"))
    report = study(reply, [two], modes=["independent-vote"], rounds=1)
    assert [(arm.arm, arm.usage.calls) for arm in report.arms] == [
        ("single", 2),
        ("independent-vote", 6),
        ("self-consistency as independent-vote", 6),
        ("independent-vote as independent-vote", 6),
    ]


def test_confidences_reach_the_rule_of_every_way() -> None:
    def reply(request: ChatRequest) -> Any:
        right = request.metadata["agent"] == "ada"
        return said("yes" if right else "no", confidence=0.9 if right else 0.3)

    report = study(reply, QUESTIONS[:1], decide="confidence-weighted")
    assert [(arm.arm, arm.correct) for arm in report.arms] == [
        ("single", 1),
        ("collaborative", 1),
        ("self-consistency as collaborative", 1),
        ("independent-vote as collaborative", 1),
    ]


def test_a_council_answers_by_its_chair_and_oxford_by_its_vote() -> None:
    def reply(request: ChatRequest) -> Any:
        text = request.messages[-1].content
        if '"ranking"' in text:
            return {"ranking": re.findall(r"answer of (Answer \d)\)", text), "reasoning": "So."}
        if '"choice"' in text:
            return {"choice": "For", "reasoning": "Moved."}
        return said("For" if "answer of Answer" in text else "Against")

    report = study(reply, [Question(id="1", question="Tea?", gold="for")], modes=["council", "oxford"], rounds=1)
    assert [report.arm(arm).correct for arm in ("single", "council", "oxford")] == [0, 1, 1]
    assert report.answers[1].answers == ("Against", "Against", "Against", "For")


def test_an_unfinished_debate_is_not_counted() -> None:
    with pytest.raises(
        RoundtableError, match="'0': collaborative is partial: the debate has made 4 calls; its budget is 4"
    ):
        study(lambda _: said("yes"), QUESTIONS[:1], budget=Budget(max_calls=4))


@pytest.mark.parametrize("extract", [lambda text: 1 / 0, lambda text: 7], ids=["raises", "no text"])
def test_a_question_on_which_extract_fails_is_left_out(extract: Any) -> None:
    def only_some(text: str) -> Any:
        return extract(text) if "2" in text else text

    report = study(lambda request: said(f"yes {number_of(request)}"), QUESTIONS[1:3], extract=only_some)
    assert list(report.failed) == ["2"]
    assert report.failed["2"].startswith("extract ")
    assert "- left out: 1 question that failed in at least one arm.\n  - 2: extract " in report.to_markdown()
    assert report.arm("single").questions == 1


@pytest.mark.parametrize(
    ("pattern", "text", "answer"),
    [
        ("number", "17 times 24 is 408.", "408"),
        ("number", "It is 1,024.5, not 7/8", "1024.5"),
        ("number", "between 17-24", None),
        ("number", "It is -5 now.", "-5"),
        ("number", "no idea", None),
        (r"answer is (\w+)", "The Answer is A. No: the answer is B!", "B"),
        (r"\b[AB]\b", "a or B", "B"),
        ("(x)?y", "y", None),
    ],
)
def test_an_answer_is_the_number_that_is_stated_or_the_last_match_of_a_pattern(
    pattern: str, text: str, answer: str | None
) -> None:
    assert extract_last(pattern)(text) == answer


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'\\(' is not a regular expression"):
        extract_last("(")


def test_an_early_exit_of_the_debate_does_not_end_the_vote_of_the_baseline() -> None:
    def reply(request: ChatRequest) -> Any:
        heard = any("MARK" in message.content for message in request.messages)
        return said("yes" if heard else f"no, {request.metadata['agent']}", reasoning="MARK")

    report = study(reply, QUESTIONS[:1], rounds=3, exit_when=ConsensusReached(0.9))
    assert [arm.usage.calls for arm in report.arms] == [1, 6, 6, 6]
    agreed = study(lambda _: said("yes"), QUESTIONS[:1], rounds=3, skip_rounds_when=0.9)
    assert [arm.usage.calls for arm in agreed.arms] == [1, 3, 3, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"questions": []}, "at least one question", id="no question"),
        pytest.param({"questions": iter(QUESTIONS)}, "questions must be a list of questions", id="an iterator"),
        pytest.param({"questions": "questions.csv"}, "questions must be a list of questions", id="a file"),
        pytest.param({"questions": [{"id": "1"}]}, r"a Question, not \{'id': '1'\} \(dict\)", id="a plain question"),
        pytest.param({"modes": []}, "at least one mode", id="no mode"),
        pytest.param({"modes": ["delphi", "delphi"]}, "no mode twice", id="twice"),
        pytest.param({"options": ["a"]}, "belong to the questions", id="options"),
        pytest.param({"modes": ["duel"]}, "duel", id="unknown mode"),
        pytest.param({"concurrency": 0}, "at least 1", id="none at a time"),
        pytest.param({"normalise": "fuzzy"}, "fuzzy", id="normalise"),
        pytest.param({"modes": "delphi"}, "modes must be a list", id="a mode for a list"),
        pytest.param({"decide": "judge"}, "decide='judge' cannot be used", id="judges"),
        pytest.param({"concurrency": "4"}, "concurrency must be a whole number, not '4'", id="concurrency"),
        pytest.param({"resamples": 1}, "resamples must be a whole number from 100", id="resamples"),
        pytest.param({"resamples": 100.5}, "resamples must be a whole number from 100", id="half a resample"),
        pytest.param({"seed": "x"}, "seed must be a whole number, not 'x'", id="seed"),
        pytest.param({"extract": "number"}, "extract must be a function that is not async, not 'number'", id="extract"),
        pytest.param({"on_progress": 3}, "on_progress must be a function", id="progress"),
        pytest.param({"questions": QUESTIONS[:1] * 2}, "2 questions of a study have the id '0'", id="ids"),
        pytest.param({"questions": [PRIME], "modes": ["oxford"]}, "takes 2 options, not 3", id="options of a mode"),
        pytest.param(
            {"questions": [PRIME.model_copy(update={"gold": "96"})]},
            "'96' is not one of its options",
            id="no such option",
        ),
    ],
)
async def test_arguments_that_make_no_sense_are_refused(given: dict[str, Any], message: str) -> None:
    table = Roundtable(scripted_agents({"ada": "yes", "bo": "yes"}), storage="memory://")
    with pytest.raises(ConfigurationError, match=message):
        await run_study(table, **({"questions": QUESTIONS[:1]} | given))
    assert await table.sessions() == ()


def test_questions_are_read_from_csv_and_from_lines_of_json(tmp_path: Path) -> None:
    sheet = tmp_path / "q.csv"
    sheet.write_text('\ufefftopic,answer,options,note\n"2 + 2, or so?",4,4 | 5,easy\nWhy?,because,,\n', "utf-8")
    first, second = read_questions(sheet)
    assert (first.id, first.question, first.gold, first.options) == ("1", "2 + 2, or so?", "4", ("4", "5"))
    assert (second.id, second.gold, second.options) == ("2", "because", None)
    lines = tmp_path / "q.jsonl"
    lines.write_text('{"id": 7, "question": "2 + 2?", "gold": 4, "choices": ["4", "5"]}\n\n', "utf-8")
    (only,) = read_questions(str(lines))
    assert (only.id, only.gold, only.options) == ("7", "4", ("4", "5"))


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        pytest.param("q.csv", "Question;Gold;OPTIONS\nA, b?;4;4|5|\n", ("1", "A, b?", "4", ("4", "5")), id="marks"),
        pytest.param("q.tsv", "id\tquestion\tgold\nx\tA, b?\t 4 \n", ("x", "A, b?", "4", None), id="tabulators"),
        pytest.param("q.csv", "question,gold\r\n , \r\n\r\nA?,4,5,6\r\n", ("1", "A?", "4", None), id="empty lines"),
        pytest.param("q.csv", "\r\n\nquestion,gold\nA?,4\n", ("1", "A?", "4", None), id="empty first lines"),
        pytest.param(
            "q.csv", "  \r\n,;,\nquestion,gold\nA?,4\n", ("1", "A?", "4", None), id="first lines of separators"
        ),
        pytest.param("q.csv", 'question,gold\n"A\nb?",4\n', ("1", "A\nb?", "4", None), id="two lines in a cell"),
        pytest.param(
            "q.jsonl", '{"question": "A\u2028b?", "gold": true}', ("1", "A\u2028b?", "true", None), id="a line of JSON"
        ),
        pytest.param(
            "q.jsonl", '{"topic": "A?", "goldAnswer": 5, "options": [4, 5]}', ("1", "A?", "5", ("4", "5")), id="numbers"
        ),
        pytest.param(
            "q.jsonl", '{"topic": "A?", "gold": "5", "options": "4|5"}', ("1", "A?", "5", ("4", "5")), id="one text"
        ),
    ],
)
def test_files_as_other_programs_write_them_are_read(tmp_path: Path, name: str, text: str, asked: Any) -> None:
    (tmp_path / name).write_bytes(text.encode())
    (found,) = read_questions(tmp_path / name)
    assert (found.id, found.question, found.gold, found.options) == asked


def test_a_line_that_names_a_field_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "A?", "gold": 4, "gold": 5}', "utf-8")
    with pytest.raises(ConfigurationError, match="line 1: invalid JSON: the name 'gold' occurs twice in one object"):
        read_questions(tmp_path / "q.jsonl")


def test_a_file_in_another_encoding_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_bytes("question,gold\nCaf\u00e9?,4\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        read_questions(tmp_path / "q.csv")
    assert caught.value.hint == "Save the file in UTF-8."


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("q.csv", "question,gold\n", "contains no question", id="empty"),
        pytest.param("q.csv", "question\nWhy?\n", "line 2: gold", id="no gold"),
        pytest.param("q.csv", "question,gold\n\n,4\n", "line 3: question", id="no question"),
        pytest.param("q.csv", "\n\nquestion,gold\n,4\n", "line 4: question", id="no question after empty lines"),
        pytest.param("q.csv", "id,question,gold\n1,a?,4\n1,b?,5\n", "two questions with the id '1'", id="ids"),
        pytest.param("q.jsonl", "nothing\n", "line 1: invalid JSON", id="no JSON"),
        pytest.param("q.jsonl", "[1]\n", "line 1: not a JSON object", id="no object"),
        pytest.param("q.jsonl", None, "cannot be read: No such file", id="no file"),
        pytest.param("q.jsonl", '{"question": "a?", "gold": NaN}', "line 1: invalid JSON: NaN", id="no number"),
        pytest.param(
            "q.csv", f"question,gold\n{'x' * 200_000},4\n", "is not valid CSV: field larger", id="endless cell"
        ),
        pytest.param("q.csv", 'question,gold\n"a?,4\n', "is not valid CSV: unexpected end", id="open quote"),
        pytest.param("q.csv", "caf\u00e9?,4\n", "contains no question", id="no line of names"),
        pytest.param("q.jsonl", '{"question": "a?", "gold": "4", "options": 4}', "line 1: options", id="no options"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_questions(file)


async def test_a_debate_that_costs_more_than_the_longest_vote_is_not_compared() -> None:
    table = Roundtable(scripted_agents({"ada": "4", "bo": "5"}), storage="memory://", analyzer="basic")
    question = Question(id="1", question="2 + 2?", gold="4", options=("4", "5"))
    with pytest.raises(RoundtableError, match="its dearest debate made 24 calls, as many as 12 rounds") as caught:
        await run_study(table, [question], rounds=10, vote=True, resamples=100)
    assert "ROUNDTABLE_MAX_ROUNDS allows 10" in caught.value.message


@pytest.mark.both_loops
async def test_a_report_is_computed_in_a_thread() -> None:
    table = Roundtable(scripted_agents({"ada": "4", "bo": "5"}), storage="memory://", analyzer="basic")
    question = Question(id="1", question="2 + 2?", gold="4")
    await runs_beside(partial(run_study, table, [question], rounds=1, resamples=300_000))
