"""Recognise the options of a question in a part of a text: by their text, by their label, or by both."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.reading.folding import fold
from roundtable.reading.phrases import ARTICLES, JOINERS, LABEL_NOUNS, ORDINAL_NOUNS, ORDINALS, words_pattern
from roundtable.reading.wide_phrases import WIDE_JOINERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["FACTORIAL", "Named", "OptionTable", "option_table", "option_texts", "own_labels"]

_LABELLED: Final = re.compile(r"\s*+[(\[]?\s?([^\W\d_]|[0-9]{1,2}|[ivxIVX]{1,4})\s?[)\].:]\)?\s*+(\S.*)", re.DOTALL)
_CIRCLED: Final = re.compile(r"\s*+([\u2460-\u2473\u24b6-\u24e9\u2776-\u277f])\s*+(\S.*)", re.DOTALL)
_SPACED: Final = re.compile(r"\s*+(\w)[ \u3000]++(\S.*)", re.DOTALL)
_LABEL_HEAD: Final = 200
"""Characters of an option in which its own label is looked for."""
_ALPHABETS: Final = (
    "ABCDEFGHIJ",
    "abcdefghij",
    "123456789",
    "АБВГДЕ",
    "абвгде",
    "アイウエオカ",
    "가나다라마바",
    "أبجده",
    "甲乙丙丁戊",
)
"""Series of labels that may stand before an option without a sign."""
_LABEL_ALONE: Final = re.compile(r"[^\W\d_]|[0-9]{1,2}")
_ONE_LETTER_WORDS: Final = frozenset("AIaeiouyzw")
"""Labels that are also words in one of the languages."""
_OPENERS: Final = re.compile(
    r"(?:[\s*_`\"'~#>$]|\\\(|\\\[|\\(?:text|textbf|mathrm|mathbf|mathit|boldsymbol|bf)\s?\{|\{)*+"
)
_ARTICLE: Final = re.compile(rf"(?:{'|'.join(map(re.escape, ARTICLES))})(?:\s++|(?<='))[*_`\"']*+", re.IGNORECASE)
_THE: Final = re.compile(r"\A(?:the|der|die|das|den|dem|le|la|les|el|los|las|il|lo|gli|de|het)\s")
"""An article before the text of an option; no single letter, since it may be a label."""
_NOUN: Final = re.compile(
    rf"(?:{'|'.join(sorted(map(re.escape, LABEL_NOUNS), key=len, reverse=True))})"
    r"(?:\s(?:number|letter|nr\.?|is))?[\s:*_`\"'#-]*+",
    re.IGNORECASE,
)
_EMOJI: Final = re.compile(r"[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f300-\U0001faff]++")
_LABEL_NOUN: Final = re.compile(rf"\A(?:{'|'.join(map(re.escape, LABEL_NOUNS))}) ")
_COMMAND: Final = re.compile(
    r"\\(?:left|right|displaystyle|,|;|!| )()|\\(log|ln|sin|cos|tan|exp|min|max|frac|sqrt|pi|alpha|beta|theta)(?![a-z])"
)
"""Commands of formulas that do not tell options apart."""
_DECORATION: Final = re.compile(r"[()<>\[\]{}|*_`\"'‹›]++")
_JOINED: Final = re.compile(
    rf"[\s*_`\"')\]}}$]*+(?:,\s*+)?(?:{words_pattern((*JOINERS, *WIDE_JOINERS))})[\s*_`\"'(]*+",
    re.IGNORECASE,
)
_COMMA: Final = re.compile(r"[\s*_`\"')\]}$]*+[,、/&+]\s*+")
_BETWEEN: Final = re.compile(r"[\s*_`\"'(\[)\].:,–—-]{0,8}")
_SEPARATOR: Final = re.compile(r"[\s*_`\"']*+(?:[.:)\],;!?。।–—(}$\\]|-|\Z|\n)|\s*+[*_`\"']")
_AFTER_WORD: Final = re.compile(
    r"\s(?:because|since|is|was|has|would|beats|wins|seems|looks|over|versus|vs|with|it is|and|or|but|here|please|pls)"
    r"(?![a-z])|\s?[&+|=<>/]"
)
_OTHER_LABEL: Final = re.compile(r"\s[A-Z0-9](?![^\W_]|['-])")
"""A further letter, as in *A B*."""
_NO_SPACES: Final = "\u2e80"
_LATIN: Final = r"A-Za-z\u00c0-\u024f\u0370-\u052f"
_FOREIGN_LABEL: Final = re.compile(r"(?:\(?[A-Za-z][).:]|[1-9][).])\s++")
_STUCK: Final = re.compile(rf"[{_LATIN}0-9]\Z")
_GOES_ON: Final = (
    r"(?!\s?[%\u2030^\u00b2\u00b3]|!(?!=)|\s?[*\u00d7\u00b7\u00f7+/-]\s?[0-9]"
    r"|\s(?:hundred|thousand|million|billion|trillion|dozen|percent|hundert|tausend|prozent|millionen|milliarden"
    r"|cent|mille|millions|milliards|mil|millones|millón|milioni|milhões|miljoen|percento|por ciento"
    r"|pour cent)(?![a-z])"
    r"|\s?[\u5341\u767e\u5343\u4e07\u4ebf\u842c\u5104])"
)
"""What must not follow a number, because it makes it another one."""
FACTORIAL: Final = re.compile(r"[0-9]\s?!\Z")
"""A number and an exclamation mark, which may be a factorial."""
_TURKISH: Final = r"(?:[dt][iıuü]r|y?[iıuü])(?![^\W\d_])"
"""Endings of Turkish behind an apostrophe, as in *C'dir*."""
_VERBS: Final = frozenset(
    {"go", "opt", "vote", "stick", "settle", "lean", "side", "stay", "move", "come", "back", "look"}
)
_VERB_BEFORE_PREPOSITION: Final = r"(?!\s(?:with|ahead|along|(?<=\bgo\s)for)(?![a-z]))"
"""What an option such as *Go* is not followed by: then it is a verb, as in *I would not go with Python*."""
_NO_BEFORE_NOUN: Final = (
    r"(?!\s(?:doubt|question|reason|reasonable|need|way|longer|more|one|evidence|problem|matter|other|such|real|good)"
    r"(?![a-z]))"
)
"""Nouns behind *no*, which then does not answer."""
_HANGUL: Final = re.compile(r"[\uac00-\ud7a3]")
_SIGN_BEFORE: Final = re.compile(r"[-+\u2212]\Z")
_IN_NUMBER: Final = re.compile(r"[-+]\Z|[0-9][.,:/]\Z")
"""What stands before a digit that is only a part of a number."""
_MOST_SEARCHED: Final = 100
"""Most options that are searched for in a sentence."""
_MOST_COMPILED: Final = 300
"""Most options whose patterns are all compiled."""
_PIECE: Final = re.compile(r"\w+|[^\w\s]")
_MOST_PIECES: Final = 30
"""Most words and signs of an option that is found at the beginning of a text if there are more options."""
_MOST_SPELT: Final = 2_000
"""Longest text of an option that is searched for; a longer one is named by its label, or as a whole text."""


class Named(NamedTuple):
    """The options that a part of a text names at its beginning."""

    options: tuple[str, ...]
    """The option; several if label and text contradict each other."""
    start: int
    """Index of its first character."""
    end: int
    """Index behind its last character."""
    by: str
    """`label`, `text` or `both`."""


class OptionTable:
    """The options of a question, with the ways to write them.

    Args:
        options: The options.
        labels: Labels under which the question listed them, if they are not part of the options.
    """

    def __init__(self, options: Sequence[str], labels: Sequence[str] = ()) -> None:
        self.options: tuple[str, ...] = tuple(options)
        self._places = {option: place for place, option in reversed([*enumerate(self.options)])}
        texts = option_texts(self.options)
        labels = own_labels(self.options) or labels
        self._by_label = dict(zip(labels, self.options, strict=False))
        is_own_label = tuple(labels) == self.options
        self._ignores_case = len({_loose(text) for text in texts}) == len(texts)
        # The longest text comes first, so that "Lisbon airport" is not taken for "Lisbon".
        named = [pair for pair in zip(texts, self.options, strict=True) if len(pair[0]) <= _MOST_SPELT]
        ordered = sorted(named, key=lambda pair: -len(pair[0]))
        flags = re.IGNORECASE if self._ignores_case else 0
        spellings = _spellings([text for text, _ in ordered])
        patterns = [] if is_own_label else [(spellings[text], option) for text, option in ordered]
        self._flags = flags
        # Compiling thousands of patterns takes seconds. Of many options, only those that may begin a text are tried.
        is_few = len(patterns) <= _MOST_COMPILED
        self._texts = [(re.compile(pattern, flags), option) for pattern, option in patterns] if is_few else None
        self._spelt = {option: pattern for pattern, option in patterns}
        self._searched = [
            (re.compile(_bounded(pattern), flags), option) for pattern, option in patterns[:_MOST_SEARCHED]
        ]
        self._label = _label_pattern(tuple(labels))
        self._keys: dict[str, set[str]] = {}
        for text, option in zip((*texts, *self.options), (*self.options, *self.options), strict=True):
            self._keys.setdefault(self._key(text), set()).add(option)
        for label, option in self._by_label.items():
            self._keys.setdefault(label.casefold() if self._ignores_case else label, set()).add(option)
        self._bare_keys: dict[str, set[str]] = {}
        for text, option in zip((*texts, *self.options), (*self.options, *self.options), strict=True):
            self._bare_keys.setdefault(_undecorated(text), set()).add(option)

    def _key(self, text: str) -> str:
        return _loose(text) if self._ignores_case else _tight(text)

    def whole(self, text: str) -> tuple[str, ...]:
        """Return the options that a whole text may be; several if a text is also the label of another option."""
        stripped = text.strip()
        if FACTORIAL.search(stripped):
            return tuple(option for option in self.options if option == stripped)
        found = self._keys.get(self._key(stripped), set())
        if stripped in self._places and len(found) > 1 and stripped not in self._by_label:
            return (stripped,)
        if not found:
            bare = _undecorated(stripped)
            short = _LABEL_NOUN.sub("", bare)
            short = short if short != bare else _THE.sub("", bare)
            found = self._bare_keys.get(bare) or self._bare_keys.get(short) or self._keys.get(short, set())
            found = found if len(found) == 1 else set()
        return tuple(sorted(found, key=self._places.__getitem__))

    def leading(self, text: str, start: int, end: int, *, bare: bool = True) -> Named | None:
        """Return the option that a part of a text begins with.

        Args:
            text: The folded text.
            start: Start of the part.
            end: End of the part.
            bare: Whether a label without brackets or a point counts.
        """
        opener = _OPENERS.match(text, start, end)
        inside = opener.end() if opener else start
        places = [start, inside]
        if article := _ARTICLE.match(text, inside, end):
            places.append(article.end())
        if self._label is None and (foreign := _FOREIGN_LABEL.match(text, inside, end)):
            places.append(foreign.end())  # the question lists no labels, but its writer does
        found = next((named for at in places if (named := self._text_at(text, at, end))), None)
        label = next((named for at in places[1:] if (named := self._label_at(text, at, end, bare=bare))), None)
        if found is None or label is None:
            return (
                found or label or next((named for at in places[1:] if (named := self._ordinal_at(text, at, end))), None)
            )
        if found.options == label.options or found.end > label.end:
            return found
        return Named((*label.options, *found.options), label.start, label.end, "label")

    def _text_at(self, text: str, at: int, end: int) -> Named | None:
        if _is_signed(text, at):
            return None
        for pattern, option in self._beginning(text, at, end) if self._texts is None else self._texts:
            if match := pattern.match(text, at, end):
                return Named((option,), match.start(), match.end(), "text")
        return None

    def _beginning(self, text: str, at: int, end: int) -> Iterator[tuple[re.Pattern[str], str]]:
        """Yield the options, longest first, whose texts are the first words of a part of a text."""
        words = islice(_PIECE.finditer(text, at, min(end, at + _MOST_SPELT)), _MOST_PIECES)
        for stop in reversed([word.end() for word in words]):
            named = filter(self._spelt.__contains__, self._keys.get(self._key(text[at:stop]), ()))
            for option in sorted(named, key=self._places.__getitem__):
                yield re.compile(self._spelt[option], self._flags), option

    def _label_at(self, text: str, at: int, end: int, *, bare: bool) -> Named | None:
        if self._label is None:
            return None
        noun = _NOUN.match(text, at, end)
        match = self._label.match(text, noun.end(), end) if noun is not None else None
        is_named = match is not None
        match = match or self._label.match(text, at, end)
        if match is None or _is_signed(text, match.start()):
            return None
        if match["bare"] and not is_named and not (bare and _stands_alone(text, match, end)):
            return None
        if match["lower"] and not (bare or is_named):
            return None
        option = self._labelled(_written(match))
        behind = _BETWEEN.match(text, match.end(), end)
        follows = behind.end() if behind else match.end()
        body = self._text_at(text, follows, end) if follows < end else None
        if body is None:
            return Named((option,), match.start(), match.end(), "label")
        if body.options[0] == option:
            return Named((option,), match.start(), body.end, "both")
        # "B) Lisbon" where Lisbon is A; but "B, not A" and "B: better than Lisbon" name another option for contrast.
        is_direct = not any(mark in text[match.end() : follows] for mark in ",;\n")
        return Named((option, body.options[0]) if is_direct else (option,), match.start(), match.end(), "label")

    def _ordinal_at(self, text: str, at: int, end: int) -> Named | None:
        """Return the option that is called by its place among the options, as in *the second one*."""
        for place, option in enumerate(self.options[: len(ORDINALS)]):
            if match := _ordinal(place).match(text, at, end):
                between = _BETWEEN.match(text, match.end(), end)
                body = self._text_at(text, between.end() if between else match.end(), end)
                options = (option,) if body is None else tuple(dict.fromkeys((option, *body.options)))
                return Named(options, match.start(), match.end(), "label")
        return None

    def _labelled(self, written: str) -> str:
        if written in self._by_label:
            return self._by_label[written]
        return next(option for label, option in self._by_label.items() if label.casefold() == written.casefold())

    def is_joined(self, text: str, at: int, end: int) -> bool:
        """Check whether *and*, *or* or a comma and a further option follow."""
        joined = _JOINED.match(text, at, end)
        if joined is not None and self.leading(text, joined.end(), end) is not None:
            return True
        comma = _COMMA.match(text, at, end)
        return comma is not None and self.leading(text, comma.end(), end) is not None

    def mentions(self, text: str, start: int, end: int) -> list[Named]:
        """Return all options that a sentence names, in order, without those that are part of a longer one."""
        found: list[Named] = []
        covered = bytearray(max(0, min(end, len(text)) - start) + 1)  # 1 at each character of an option that was found
        for pattern, option in self._searched:
            for match in pattern.finditer(text, start, end):
                if not covered[match.start() - start]:
                    found.append(Named((option,), match.start(), match.end(), "text"))
                    covered[match.start() - start : match.end() - start] = b"\1" * (match.end() - match.start())
        found += [named for named in self._labels_in(text, start, end) if not covered[named.start - start]]
        return _merged(text, sorted(found, key=lambda named: named.start))

    def _labels_in(self, text: str, start: int, end: int) -> Iterator[Named]:
        if self._label is None:
            return
        at = start
        while match := self._label.search(text, at, end):
            at = match.end()
            before = text[max(start, match.start() - 2) : match.start()]
            if _STUCK.search(before) or (match[0][0].isdigit() and _IN_NUMBER.search(before)):
                continue
            if _HANGUL.match(match[0]) and _HANGUL.match(before[-1:]):
                continue  # the last syllable of a word
            noun = _NOUN.match(text, max(start, match.start() - 12), match.start())
            is_named = noun is not None and noun.end() == match.start()
            if match["lower"] or (match["bare"] and not is_named and not _stands_alone(text, match, end)):
                continue
            option = self._labelled(_written(match))
            yield Named((option,), match.start(), match.end(), "label")


def _merged(text: str, mentions: Sequence[Named]) -> list[Named]:
    """Join a label with the text of its option behind it, as in `B) Porto`."""
    merged: list[Named] = []
    for named in mentions:
        last = merged[-1] if merged else None
        if last is not None and last.options == named.options and _BETWEEN.fullmatch(text, last.end, named.start):
            merged[-1] = Named(named.options, last.start, named.end, "both")
        else:
            merged.append(named)
    return merged


def _is_signed(text: str, at: int) -> bool:
    """Check whether a sign stands directly before a number."""
    return text[at : at + 1].isdigit() and _SIGN_BEFORE.search(text, max(0, at - 1), at) is not None


def _stands_alone(text: str, match: re.Match[str], end: int) -> bool:
    """Check that a bare letter is a label, and not the word that it may also be."""
    following = text[match.end() : end]
    if _SEPARATOR.match(following) or _OTHER_LABEL.match(following) or following[:1] >= _NO_SPACES:
        return True
    if match["bare"] in _ONE_LETTER_WORDS:
        return _AFTER_WORD.match(following) is not None or not following[:2].strip().isascii()
    return True


def _written(match: re.Match[str]) -> str:
    """Return the label that a match of the pattern of labels found."""
    written: str = match["enclosed"] or match["signed"] or match["bare"] or match["lower"]
    return written


def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    if not labels:
        return None
    any_label = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    upper = "|".join(
        sorted({re.escape(label.upper()) for label in labels} | set(map(re.escape, labels)), key=lambda x: (-len(x), x))
    )
    lower = "|".join(sorted((re.escape(label) for label in labels if not label.isdigit()), key=len, reverse=True))
    lower = lower or r"(?!)"
    # In brackets or before a sign, the case of a letter doesn't matter: `(b)`, `b)`.
    return re.compile(
        rf"[(\[{{<]\s?(?P<enclosed>(?i:{any_label}))\s?[)\]}}>]|(?P<signed>(?i:{any_label}))\s?(?:\)|[.:](?![0-9]))"
        rf"|(?P<bare>{upper})(?![{_LATIN}0-9_+#°^\u00b2\u00b3]|'(?!{_TURKISH})[{_LATIN}]|[.,:/][0-9])(?:(?<![0-9])|{_GOES_ON})"
        rf"|(?P<lower>(?i:{lower}))(?=[*_`\"']*+(?:[.!,]?\s*+\Z|[.!,]\s))"
    )


@cache
def _ordinal(place: int) -> re.Pattern[str]:
    """Return the pattern of what calls an option by its place; `Second option:` heads another choice."""
    return re.compile(
        rf"(?:{words_pattern(ORDINALS[place])})\s?(?:{words_pattern(ORDINAL_NOUNS)})(?!\s?[:：])", re.IGNORECASE
    )


def own_labels(options: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that are part of the options, such as the letter of `B) Porto`; empty if there are none.

    Example:
        >>> own_labels(["A) Lisbon", "B) Porto"]), own_labels(["Yes", "No"]), own_labels(["A", "B"])
        (('A', 'B'), (), ('A', 'B'))
    """
    for form in (_LABELLED, _CIRCLED, _SPACED):
        parts = [form.fullmatch(fold(option[:_LABEL_HEAD])) for option in options]
        labels = tuple(part[1] for part in parts if part is not None)
        is_series = form is not _SPACED or any(series.startswith("".join(labels)) for series in _ALPHABETS)
        if len(labels) == len(options) > 1 and len({label.casefold() for label in labels}) == len(labels) and is_series:
            return labels
    return tuple(options) if all(_LABEL_ALONE.fullmatch(option) for option in options) else ()


def option_texts(options: Sequence[str]) -> list[str]:
    """Return the texts of options without the labels that are a part of them.

    Example:
        >>> option_texts(["A) Lisbon", "B) Porto"]), option_texts(["A", "B"])
        (['Lisbon', 'Porto'], ['A', 'B'])
    """
    labels = own_labels(options)
    if not labels or labels == tuple(options):
        return list(options)
    return [option[_label_end(option) :].strip() for option in options]


def _label_end(option: str) -> int:
    """Return where the text of an option begins, behind its label."""
    matches = (form.fullmatch(fold(option)) for form in (_LABELLED, _CIRCLED, _SPACED))
    return next((match.start(2) for match in matches if match is not None), 0)


@lru_cache(maxsize=256)
def option_table(options: tuple[str, ...], labels: tuple[str, ...] = ()) -> OptionTable:
    """Return the table of some options; the tables of the last questions are kept."""
    return OptionTable(options, labels)


def _tight(text: str) -> str:
    """Return a key that keeps letter case and brackets."""
    return _compact(" ".join(fold(text).split()))


def _loose(text: str) -> str:
    """Return a key without letter case, outer quotes, emphasis and final points."""
    key = " ".join(_EMOJI.sub("", fold(text)).casefold().split()).strip("\"'`*_ ").rstrip(".!;, 。！।")
    return _compact(key) or " ".join(text.split())


def _undecorated(text: str) -> str:
    """Return a key without letter case, and without brackets, quotes and emphasis anywhere."""
    plain = _COMMAND.sub(lambda match: match[2] or "", fold(text).replace("$", " ")).casefold()
    return " ".join(_DECORATION.sub(" ", plain).split()).rstrip(".,;:! 。！।")


def _compact(key: str) -> str:
    key = re.sub(r"(?<=[0-9]) (?=[%‰°]|[a-z]{1,3}(?![a-z]))", "", key)
    return re.sub(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", "", key)


def _spellings(texts: Sequence[str]) -> dict[str, str]:
    """Return patterns of texts; signs at the end count where only they tell texts apart, as in `n` and `n!`."""
    spellings = {text: _spelling(text) for text in texts}
    counts = Counter(spellings.values())
    return {
        text: pattern if counts[pattern] == 1 else _spelling(text, keeps_end=True)
        for text, pattern in spellings.items()
    }


def _spelling(text: str, *, keeps_end: bool = False) -> str:
    """Return a pattern of a text in which spaces, the point at its end and commas between thousands may differ."""
    folded = " ".join(fold(text).split())
    core = folded if keeps_end else folded.rstrip(".!。") or folded
    pattern = re.escape(core).replace(r"\ ", r"\s++")
    pattern = re.sub(r"(?<=[0-9])(?:\\s\+\+)?(?=(?:\\)?%)", r"\\s?", pattern)
    pattern = re.sub(r"(?<=[0-9])\\s\+\+(?=[A-Za-z]{1,3}(?![A-Za-z]))", r"\\s*+", pattern)
    pattern = re.sub(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", ",?", pattern)
    pattern = re.sub(r"(?<![0-9.,])([0-9]{1,3})([0-9]{3})(?![0-9])", r"\1,?\2", pattern)
    if core.casefold() in _VERBS:
        pattern += _VERB_BEFORE_PREPOSITION
    if core.casefold() == "no":
        pattern += _NO_BEFORE_NOUN
    last = core[-1:]
    if last >= _NO_SPACES:
        return pattern
    if last.isdigit() or len(core) < 3:
        goes_on = _GOES_ON if last.isdigit() else r"(?!\s?[\^\u00b2\u00b3])"
        return rf"{pattern}(?![{_LATIN}0-9_+#^]|['-][{_LATIN}]|[.,:/][0-9]){goes_on}"
    if last.isalnum():
        return rf"{pattern}(?![{_LATIN}0-9_+#]|'s?[{_LATIN}])"
    return pattern + (r"(?![+#'!]|\*[^\W_])" if last in "+#*'!" else "")


def _bounded(pattern: str) -> str:
    in_number = r"(?<![-+])(?<![0-9][.,:/])" if pattern[:1].isdigit() else ""
    return rf"(?<![{_LATIN}0-9_]){in_number}{pattern}"
