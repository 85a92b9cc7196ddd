"""Units of numbers in several languages, for telling apart two units that are both stated."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.folding import fold
from roundtable.reading.numbers import find_numbers

__all__ = ["are_different", "stated_units"]

_UNITS: Final = {
    "percent": "% percent percents procent procenten procentów procenta yüzde процент процента процентов 퍼센트 프로"
    " パーセント",
    "permille": "‰ permille promille",
    "dollar": "$ us$ a$ c$ usd dollar dollars dólares dólar dollari dollaro dolarów dolary dolar доллар доллара"
    " долларов 美元 ドル 달러",
    "cent": "cent cents ¢",
    "euro": "€ eur euro euros евро 欧元 ユーロ 유로",
    "sterling": "£ gbp sterling pound pounds 英镑",
    "yen": "¥ yen 円 엔 日元",
    "yuan": "¥ yuan rmb cny 元 块",
    "rupee": "₹ rs rs. inr rupee rupees रुपये",
    "rouble": "₽ rub rouble roubles ruble rubles рубль рубля рублей",
    "peso": "$ peso pesos",
    "₩": "₩ 원",
    "km": "km kilometer kilometers kilometre kilometres kilomètre kilomètres kilómetro kilómetros chilometri"
    " quilômetros kilometry kilometrów км километр километра километров 公里 千米 キロ 킬로미터",
    "metre": "m meter meters metre metres mètre mètres metro metros metri metrów м метр метра метров 米 メートル 미터",
    "cm": "cm centimeter centimeters centimetre centimetres zentimeter centimètres centímetros см 厘米 センチ",
    "mm": "mm millimeter millimeters millimetre millimetres millimètres milímetros мм 毫米",
    "mile": "mile miles mi meile meilen milla millas miglia mila mijl mijlen миля мили миль 英里 マイル 마일",
    "yard": "yard yards yd",
    "foot": "ft foot feet fuß pied pieds pie pies piedi 英尺",
    "inch": "inch inches zoll pouce pouces pulgada pulgadas pollici 英寸",
    "kg": "kg kilogram kilograms kilogramm kilo kilos кг килограмм килограмма килограммов 公斤 千克 킬로그램",
    "gram": "g gram grams gramm gramme grammes gramo gramos grammi gramas г грамм грамма граммов 克 グラム 그램",
    "mg": "mg milligram milligrams",
    "lb": "lb lbs pound pounds pfund libra libras 磅",
    "ounce": "oz ounce ounces",
    "tonne": "t ton tons tonne tonnes tonnen toneladas тонна тонны тонн 吨",
    "litre": "l liter liters litre litres litro litros litri л литр литра литров 升 リットル 리터",
    "ml": "ml milliliter milliliters millilitre millilitres мл 毫升",
    "gallon": "gallon gallons gal 加仑",
    "second": "s sec second seconds sekunde sekunden seconde secondes segundo segundos secondi secondo seconden"
    " sekund sekundy секунда секунды секунд saniye 秒 초",
    "minute": "m min min. minute minutes minuten minuto minutos minuti minut minuty минута минуты минут dakika 分钟 분",
    "hour": "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur godzin godziny godzina час"
    " часа часов saat 小时 时间 時間 시간",
    "day": "d day days tag tage tagen jour jours día días giorno giorni dia dias dag dagen dzień dni день дня дней gün"
    " 天 日 일",
    "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken tydzień tygodni tygodnie"
    " неделя недели недель hafta 周 週間 주",
    "month": "month months monat monate monaten mois mes meses mese mesi mês maand maanden miesiąc miesięcy miesiące"
    " месяц месяца месяцев 个月 개월",
    "year": "y yr yrs year years jahr jahre jahren ans année années año años anno anni ano anos jaar rok lata lat"
    " год года лет yıl 年 岁 歳 년",
    "celsius": "°c celsius",
    "fahrenheit": "°f fahrenheit",
    "km/h": "km/h kmh kph",
    "mph": "mph",
    "m/s": "m/s",
}
_NAMES: Final = {
    word: frozenset(name for name, words in _UNITS.items() if word in words.split())
    for words in _UNITS.values()
    for word in words.split()
}
_PERCENT: Final = re.compile(
    r"[\s*_`$)}\\]{0,4}(?:%|(?:per ?cent|percentage|prozent|pour ?cent|por ?ciento|por ?cento|per ?cento"
    r"|procent(?:en|ów|a|y)?|процент(?:а|ов|ы)?)(?![^\W\d_])|퍼센트|パーセント|个百分点"
    r"|بالمئة|بالمائة|في المئة|في المائة|प्रतिशत|फीसदी|फ़ीसदी"
    r"|phần trăm)",
    re.IGNORECASE,
)
_PERCENT_BEFORE: Final = re.compile(r"(?:百分之|(?<![^\W\d_])yüzde\s|%\s?)\Z", re.IGNORECASE)
_WORD: Final = re.compile(
    r"[\s*_`$)}\\]{0,4}(?:text\{\s?|mathrm\{\s?)?(?P<unit>°[CF]|[$€£¥₹₽₩¢]|[^\W\d_][^\W\d_/.]*(?:/[^\W\d_]+)?)"
    r"(?P<per>[²³^]|\s?/|\s(?:per|an?|pro|par|por|al|alla|à|per|na|в)(?![^\W\d_]))?"
)
_MOST_BEHIND: Final = 40
_MOST_BEFORE: Final = 8
_MOST_WORDS: Final = 6


def stated_units(text: str, start: int = 0) -> frozenset[str]:
    """Return the units that the word at a number may name; none if the text names no known unit.

    Args:
        text: The text.
        start: Where the number begins.

    Example:
        >>> sorted(stated_units("25 per cent")), sorted(stated_units("$20")), sorted(stated_units("5 miles per hour"))
        (['percent'], ['dollar', 'peso'], [])
    """
    folded = fold(text)
    number = next(find_numbers(folded[start : start + _MOST_BEHIND]), None)
    if number is None:
        words = folded[start:].split("\n")[0].rstrip(" .!*_").casefold().split()
        return _NAMES.get(words[-1], frozenset()) if 1 < len(words) <= _MOST_WORDS else frozenset()
    at = start + number.span[1]
    if _PERCENT.match(folded, at) or _PERCENT_BEFORE.search(folded[max(0, start - _MOST_BEFORE) : start]):
        return frozenset({"percent"})
    if folded[start : start + 1] != "$" or folded[at : at + 1] != "$":
        currency = _NAMES.get(folded[start : start + number.span[1]].rstrip("-+0123456789.,/ ").casefold())
        if currency:
            return currency
    word = _WORD.match(folded, at)
    if word is None or word["per"]:
        return frozenset()
    return _NAMES.get(word["unit"].casefold(), frozenset())


def are_different(one: frozenset[str], other: frozenset[str]) -> bool:
    """Check whether two numbers state units of which none is the same; a number without a unit agrees with each."""
    return bool(one and other) and one.isdisjoint(other)
