"""Plain answers in the forms of daily speech: frames, ordinals, marks, number words and whole sentences."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.number_words import worded_number

CITIES = ("Lisbon", "Porto", "Faro")


def certain(text: str, asked: Asked) -> str | None:
    reading = read_answer(text, asked)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        "Winner: Porto",
        "The winner is Porto.",
        "Gewinner: Porto",
        "Ich würde Porto wählen.",
        "Ich würde Porto nehmen, weil es günstiger ist.",
        "Ik zou Porto kiezen.",
        "My vote goes to Porto",
        "My vote is for Porto.",
        "the second option",
        "The second option.",
        "I'd go with the second one.",
        "I choose the second option.",
        "Die zweite Option.",
        "Ich nehme die zweite Option.",
        "La deuxième option.",
        "Je choisis la deuxième option.",
        "La segunda opción.",
        "Elijo la segunda opción.",
        "La seconda opzione",
        "A segunda opção.",
        "De tweede optie.",
        "第二个选项",
        "我选择第二个选项。",
        "二番目の選択肢",
        "두 번째 선택지",
        "второй вариант",
        "Выбираю второй вариант.",
        "ikinci seçenek",
        "I would definitely choose Porto.",
        "I'd personally go with Porto.",
        "I strongly recommend Porto.",
        "I still choose Porto.",
        "I therefore vote for Porto.",
        "I would have to go with Porto.",
        "I'm definitely going with Porto.",
        "I hereby vote for Porto.",
        "We should definitely pick Porto.",
        "Personally I'd choose Porto.",
        "Ich würde auf jeden Fall Porto wählen.",
        "Ich empfehle klar Porto.",
        "Je recommande vivement Porto.",
        "Je choisirais plutôt Porto.",
        "Recomiendo encarecidamente Porto.",
        "Consiglio vivamente Porto.",
        "Recomendo fortemente Porto.",
        "Even if Lisbon is cheaper, I choose Porto.",
        "I choose Porto, even if it is expensive.",
        "Go with Porto.",
        "Take Porto!",
        "So keep Porto.",
        "Porto has the best food. That's my choice.",
        "Porto offers the best value, so that's my recommendation.",
        "Porto it is.",
        "Porto, hands down.",
        "Porto wins.",
        "Porto all the way!",
        "Definitely Porto.",
        "Porto for sure.",
        "Porto, no contest.",
        "Let's do Porto.",
        "Easy: Porto.",
        "Porto is my pick.",
        "I'm team Porto.",
        "Put me down for Porto.",
        "Since you asked for just one word: Porto",
        "There is only one candidate left: Porto.",
        "It's Porto you are looking for: it has the river.",
        "Ganador: Porto",
        "Mi voto es para Porto.",
        "Mi voto va para Porto.",
        "Mon vote va à Porto.",
        "Il mio voto va a Porto.",
        "Meu voto vai para Porto.",
        "Mijn stem gaat naar Porto.",
        "Ich plädiere für Porto.",
        "Ich habe mich für Porto entschieden.",
        "J'ai choisi Porto.",
        "He elegido Porto.",
        "Ho scelto Porto.",
        "Escolhi Porto.",
        "Ik heb Porto gekozen.",
        "Porto, definitiv.",
        "Ganz klar Porto.",
        "Sans hésiter, Porto.",
        "Sin duda, Porto.",
        "Senza dubbio Porto.",
        "Sem dúvida, Porto.",
        "Zonder twijfel Porto.",
        "Bez wątpienia Porto.",
        "Без сомнения, Porto.",
        "| City | Rank |\n|---|---|\n| Lisbon | 2 |\n| **Porto** ✅ | 1 |\n| Faro | 3 |",
        "| Option | Choice |\n|---|---|\n| Lisbon | |\n| Porto | ✅ |\n| Faro | |",
        "| Option | Choice |\n|---|---|\n| Lisbon | |\n| Porto | X |\n| Faro | |",
        "| Option | Pro | Vote |\n|-|-|-|\n| Lisbon | sun | no |\n| Porto | wine | **winner** |\n| Faro | - | no |",
        "| City | Score |\n|---|---|\n| Lisbon | 7 |\n| **Porto** | **9** |\n| Faro | 5 |",
        "[ ] Lisbon\n[x] Porto\n[ ] Faro",
        "☐ Lisbon ☒ Porto ☐ Faro",
        "- [ ] Lisbon\n- [x] Porto\n- [ ] Faro",
        "( ) Lisbon (x) Porto ( ) Faro",
        "[ ] Lisbon  [x] Porto  [ ] Faro",
        "○ Lisbon ● Porto ○ Faro",
    ],
)
def test_a_plain_choice_is_read(text: str) -> None:
    assert certain(text, Asked("choice", CITIES)) == "Porto"


@pytest.mark.parametrize(
    "text",
    [
        "| City | Beach |\n|---|---|\n| Lisbon | ✅ |\n| Porto | ❌ |\n| Faro | ❌ |",
        "| City | Airport |\n|---|---|\n| Lisbon | ✅ |\n| Porto | |\n| Faro | |",
        "| City | Verdict |\n|---|---|\n| **Lisbon** | worst |\n| Porto | ok |\n| Faro | ok |",
        "[x] Lisbon\n[x] Porto\n[ ] Faro",
        "I'd never choose Porto.",
        "I would rather not choose Porto.",
        "I hardly ever recommend Porto.",
        "I reluctantly considered Porto.",
        "The last winner: Porto.",
        "Winner of 2019: Porto",
        "My second option would be Porto.",
        "Second option: Porto",
        "the first or the second option",
        "not the second option",
        "The second option is too expensive.",
        "I wouldn't choose Porto.",
        "Ich würde Porto nicht wählen.",
        "Ich würde Porto streichen.",
        "Ich würde Porto meiden.",
        "Even if I choose Porto, it is late.",
        "If I had a car I would definitely choose Porto.",
        "Cheapest: Porto.",
        "Runner-up: Porto",
        "That's not my choice: Porto.",
        "Lisbon has beaches, Porto has wine. That's my dilemma.",
        "Porto is far. That's my problem.",
        "Some would definitely choose Porto.",
        "Ada would definitely choose Porto.",
        "I could easily recommend Porto.",
        "Nothing beats Porto in the rain, but not for this.",
        "Lisbon is nice and Porto is nice, so that's my choice.",
        "Ada picked Porto, and that's her choice.",
        "Porto is Ada's favourite, but that's not my pick.",
    ],
)
def test_a_text_that_only_looks_like_a_choice_is_not_read(text: str) -> None:
    assert certain(text, Asked("choice", CITIES)) is None


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        ("So keep it.", ("keep", "delete"), "keep"),
        ("I would squash.", ("Merge", "Squash"), "Squash"),
        ("Ich würde den Antrag ablehnen.", ("zustimmen", "ablehnen"), "ablehnen"),
        ("Letra A.", ("A) Lisbon", "B) Porto"), "A) Lisbon"),
        ("I'd keep in mind that costs rise.", ("keep", "delete"), None),
        ("I would not delete.", ("keep", "delete"), None),
        ("There's no way around macOS: Xcode doesn't run on Windows or Linux.", ("Windows", "macOS", "Linux"), "macOS"),
        ("I'm going with Yes. The opposite reading, No, would contradict the title.", ("Yes", "No"), "Yes"),
        ("No doubt about it: yes!", ("Yes", "No"), "Yes"),
    ],
)
def test_an_option_may_be_the_verb_or_a_label(text: str, options: tuple[str, ...], wanted: str | None) -> None:
    assert certain(text, Asked("choice", options)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Unfortunately not. The free tier doesn't include it.", "no"),
        ("Leider nein.", "no"),
        ("Absolutely! Honey practically never spoils when it's kept sealed and dry.", "yes"),
        ("Absolutely! Let me explain.", None),
        ("Absolutely! Here is my analysis.", None),
        ("Absolutely. In short, no.", None),
        ("Contrary to popular belief, no: bulls are not enraged by red.", "no"),
        ("[x] yes   [ ] no", "yes"),
        ("[ ] Yes\n[x] No", "no"),
        ("Certo che sì, il biglietto vale anche per il vaporetto.", "yes"),
        ("No doubt about it: yes!", "yes"),
        ("There's no doubt.", None),
        ("Claro que sí, funciona.", "yes"),
        ("Definitely! The moon has no air.", "yes"),
        ("Unfortunately not everyone agrees.", None),
        ("Unfortunately, yes.", "yes"),
        ("Sadly, no.", "no"),
        ("The answer is no.", "no"),
        ("Yes, but no.", None),
        ("Nope, it can't.", "no"),
        ("Definitely not the best idea.", None),
    ],
)
def test_yes_or_no_in_other_words(text: str, wanted: str | None) -> None:
    assert certain(text, Asked("yes_no")) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("forty-two", 42),
        ("Forty-two.", 42),
        ("zweiundvierzig", 42),
        ("quarante-deux", 42),
        ("四十二", 42),
        ("cuarenta y dos", 42),
        ("quarantadue", 42),
        ("quarenta e dois", 42),
        ("tweeënveertig", 42),
        ("czterdzieści dwa", 42),
        ("сорок два", 42),
        ("kırk iki", 42),
        ("마흔둘", 42),
        ("사십이", 42),
        ("soixante-quinze", 75),
        ("quatre-vingt-dix-neuf", 99),
        ("quatre-vingts", 80),
        ("vingt et un", 21),
        ("veintidós", 22),
        ("ventuno", 21),
        ("two hundred and fifty", 250),
        ("zweihundertfünfzig", 250),
        ("one thousand two hundred", 1200),
        ("three million", 3000000),
        ("seven", 7),
        ("dix-sept", 17),
        ("diciassette", 17),
        ("dix", 10),
        ("trois cents", 300),
    ],
)
def test_a_number_in_words_is_likely(text: str, wanted: int) -> None:
    assert worded_number(text) == wanted
    reading = read_answer(text, Asked("number"))
    assert (reading.certainty, reading.value) == ("likely", str(wanted))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The answer is forty-two.", "42"),
        ("There are seven.", "7"),
        ("Es sind zwölf.", "12"),
        ("Answer: seven days", "7"),
        ("答案是四十二。", "42"),
        ("two or three", None),
        ("one moment please", None),
        ("One of them is wrong.", None),
        ("The answer is one of the following.", None),
        ("two three", None),
        ("No one", None),
        ("once", None),
        ("on", None),
        ("a few", None),
        ("There are many.", None),
        ("The first is one, the second is two.", None),
        ("It is not seven.", None),
        ("Is it seven?", None),
        ("at least seven", None),
        ("The answer is not seven.", None),
        ("If it rains, it is seven.", None),
        ("I am of two minds.", None),
        ("It takes two to tango.", None),
        ("The invoice comes to $1,249.50 including 19% tax.", "1249.5"),
        ("a velocidade média é, portanto, de 80 km/h.", "80"),
        ("Die gesuchte Zahl ist 36: Sie ist durch 4 und durch 9 teilbar und kleiner als 40.", "36"),
        (
            "My first attempt gave 56, but I erred. Without the 4 doubles, the correct number of tiles is 52.",
            "52",
        ),
    ],
)
def test_a_stated_number_is_read(text: str, wanted: str | None) -> None:
    assert certain(text, Asked("number")) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "two three",
        "and two",
        "two and",
        "one moment",
        "twenty thirteen",
        "hundred hundred",
        "thousand million",
        "二三",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "seven and a half",
        "two hours ago",
    ],
)
def test_words_that_are_not_numbers_are_not_read(text: str) -> None:
    assert worded_number(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The capital of Australia is Canberra.", "Canberra"),
        ("The capital of Australia is Canberra, not Sydney as is often believed.", "Canberra"),
        ("Her name was Rosalind Franklin, and her X-ray images were essential.", "Rosalind Franklin"),
        ("Die Hauptstadt von Kanada ist nicht Toronto, sondern Ottawa.", "Ottawa"),
        ("El autor de «Cien años de soledad» es Gabriel García Márquez.", "Gabriel García Márquez"),
        ("La montagna più alta d'Italia è il Monte Bianco.", "Monte Bianco"),
        ("A capital do Brasil é Brasília desde 1960; antes era o Rio de Janeiro.", "Brasília"),
        ("Самое глубокое озеро в мире — Байкал.", "Байкал"),
        ("澳大利亚的首都是堪培拉。", "堪培拉"),
        ("オーストラリアの首都はキャンベラです。", "キャンベラ"),
        ("호주의 수도는 캔버라입니다.", "캔버라"),
        ("C'est Gustave Eiffel qui a donné son nom à la tour.", "Gustave Eiffel"),
        ("La capitale de l'Australie est Canberra.", "Canberra"),
        ("The author of Hamlet is William Shakespeare.", "William Shakespeare"),
        ("De hoofdstad van Nederland is Amsterdam.", "Amsterdam"),
        ("小明的答案是波尔图。", None),
        ("The capital of Australia is Canberra. The largest city is Sydney.", None),
    ],
)
def test_the_name_that_a_sentence_states_is_read(text: str, wanted: str | None) -> None:
    assert certain(text, Asked()) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "The worst city is Porto.",
        "The main risk is Brexit.",
        "The problem is China.",
        "The capital might be Canberra.",
        "The capital is Canberra or Sydney.",
    ],
)
def test_a_judgement_is_not_shortened_to_its_name(text: str) -> None:
    assert certain(text, Asked()) in {None, text.rstrip(".")}
