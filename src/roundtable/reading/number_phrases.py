"""Words of several languages before and behind numbers: of bounds, of ranges, and those that are no units."""

from __future__ import annotations

from typing import Final

__all__ = ["BOUNDS", "BOUNDS_BEHIND", "NOT_UNITS", "RANGES"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


RANGES: Final = _words("to until through or bis oder à al ou a o tot of ya_da veya lub do или до 或 至 到 또는 أو या")
"""Words between the ends of a range, or between two numbers of which one is meant."""

BOUNDS: Final = _words(
    """at_least at_most at_the_most at_the_least no_more_than no_less_than no_fewer_than more_than less_than fewer_than
    greater_than higher_than lower_than larger_than smaller_than bigger_than over under above below beyond within
    up_to upwards_of north_of south_of in_excess_of exceeding exceeds exceed surpassing as_many_as as_much_as as_few_as
    as_little_as as_high_as as_low_as starting_at starting_from starts_at until till minimum_of maximum_of capped_at
    limited_to not between from
    mindestens höchstens mehr_als weniger_als größer_als kleiner_als höher_als niedriger_als über unter oberhalb_von
    unterhalb_von bis_zu bis ab innerhalb_von wenigstens zwischen nicht
    au_moins au_plus plus_de moins_de plus_que moins_que supérieur_à inférieur_à supérieure_à inférieure_à au_maximum
    au_minimum jusqu'à jusqu'a à_partir_de dès au-delà_de au-dessus_de en_dessous_de entre pas
    al_menos como_máximo como_mínimo por_lo_menos a_lo_sumo más_de menos_de más_que menos_que mayor_que menor_que
    mayor_de menor_de superior_a inferior_a por_encima_de por_debajo_de hasta a_partir_de desde máximo_de mínimo_de
    máximo mínimo
    almeno al_massimo come_minimo al_minimo più_di meno_di maggiore_di minore_di superiore_a inferiore_a fino_a
    a_partire_da oltre sopra sotto massimo minimo
    pelo_menos ao_menos no_máximo no_mínimo mais_de menos_de mais_do_que menos_do_que maior_que menor_que maior_do_que
    menor_do_que acima_de abaixo_de até
    minstens hoogstens ten_minste ten_hoogste op_zijn_minst meer_dan minder_dan groter_dan kleiner_dan hoger_dan
    lager_dan maximaal minimaal tot vanaf boven boven_de onder onder_de ruim tussen niet
    co_najmniej najwyżej co_najwyżej przynajmniej ponad powyżej poniżej więcej_niż mniej_niż większe_niż mniejsze_niż
    maksymalnie minimalnie maksimum nie
    не_менее не_более не_больше не_меньше более менее больше меньше более_чем менее_чем больше_чем меньше_чем свыше
    выше ниже минимум максимум по_меньшей_мере до от начиная_с не
    en_az en_fazla en_çok azami asgari maksimum
    至少 最多 超过 超過 多于 多於 少于 少於 大于 大於 小于 小於 高于 高於 低于 低於 不足 不是 不到 未满 至多
    最少 起码 最高 最低 高达 高達
    多达 多達 逾 少なくとも 多くとも 多くて せいぜい 最大 最小 최소 최대 적어도 많아야 기껏해야 최고 최저
    على_الأقل على_الأكثر أكثر_من أقل_من أكبر_من أصغر_من ما_يصل_إلى لا_يقل_عن لا_يزيد_عن يزيد_عن يقل_عن لا_يتجاوز
    حتى فوق تحت دون بين
    कम_से_कम से_अधिक अधिकतम न्यूनतम ज़्यादा_से_ज़्यादा ज्यादा_से_ज्यादा अधिक_से_अधिक
    hơn ít_hơn nhiều_hơn dưới trên tối_đa tối_thiểu ít_nhất nhiều_nhất không_quá lên_đến"""
)
"""Words before a number that is only a bound, an end of a range, or not meant."""

BOUNDS_BEHIND: Final = _words(
    """or_more or_less or_fewer or_above or_below or_over or_under or_higher or_lower or_greater or_larger or_smaller
    or_older or_younger or_better or_later or_earlier or_longer or_up or_upwards and_up and_upwards and_above and_below
    and_over and_under and_higher and_lower and_older and_younger and_counting upwards onwards if_not_more if_not_less
    max maximum minimum maximal minimal tops at_most at_least at_best at_the_most at_the_least at_the_very_least
    at_minimum at_maximum at_a_minimum
    oder_mehr oder_weniger oder_höher oder_niedriger oder_darüber oder_darunter oder_älter oder_jünger und_mehr
    und_darüber und_darunter und_höher und_älter aufwärts abwärts höchstens mindestens wenigstens
    ou_plus ou_moins ou_davantage et_plus et_moins et_au-delà au_plus au_moins au_maximum au_minimum
    o_más o_menos y_más o_superior o_inferior en_adelante para_arriba como_máximo como_mínimo no_máximo a_lo_sumo
    por_lo_menos al_menos máximo mínimo
    o_più o_meno e_più e_oltre in_su in_giù o_superiore o_inferiore al_massimo al_minimo come_minimo almeno massimo
    minimo
    ou_mais ou_menos e_mais ou_superior ou_inferior no_mínimo pelo_menos ao_menos para_cima em_diante
    of_meer of_minder of_hoger of_lager of_ouder of_jonger en_meer en_hoger en_ouder maximaal minimaal minstens
    hoogstens ten_minste ten_hoogste op_zijn_minst
    lub_więcej lub_mniej albo_więcej albo_mniej i_więcej i_mniej wzwyż co_najmniej co_najwyżej przynajmniej
    maksymalnie minimalnie maksimum
    или_более или_больше или_менее или_меньше или_выше или_ниже и_более и_больше и_менее и_меньше и_выше и_ниже
    минимум максимум не_более не_менее как_минимум как_максимум
    以上 以下 以内 以內 之内 之內 未满 未滿 或更多 或更少 及以上 及以下 封顶 起步
    未満 を超 超え を上回 を下回 を切 より多 より少
    より大 より小 より高 より低 より上 より下
    足らず まで 이상 이하 미만 초과 이내 까지 부터 보다 이_넘 가_넘 를_넘 을_넘
    넘게 أو_أكثر أو_أقل فأكثر فأقل فما_فوق فما_دون على_الأقل على_الأكثر كحد_أقصى كحد_أدنى
    से_अधिक से_कम से_ज़्यादा से_ज्यादा से_ऊपर से_नीचे से_बड़ा से_बड़ी से_छोटा से_छोटी या_अधिक या_कम या_उससे तक
    trở_lên trở_xuống hoặc_hơn"""
)
"""Words behind a number, or behind its unit, that make it a bound."""

NOT_UNITS: Final = _words(
    "and or but because since so as is are was were x times to of not which und oder weil et ou y o e en i и"
)
"""Words behind a number that are not its unit."""
