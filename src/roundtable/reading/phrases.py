"""The words by which answers are recognised, in the languages that the reader knows.

English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Turkish, Chinese, Japanese, Korean,
Arabic
and Hindi. The page *How answers are read* is made from these lists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ADJECTIVES",
    "ADVERBIALS",
    "ADVERSE",
    "ANSWER_NOUNS",
    "APPROXIMATIONS",
    "ARTICLES",
    "BARE_VERBS",
    "BEFORE_STATEMENTS",
    "CHECKS",
    "CHOICE_VERBS",
    "COMPARISONS",
    "CONCLUDED_ENDINGS",
    "CONCLUSIONS",
    "CONDITIONS",
    "CONTRASTS",
    "DOUBTS",
    "EXCEPTIONS",
    "FIRM_ADVERBS",
    "FIRM_HEADS",
    "FRAMES",
    "FRAME_VERBS",
    "HEDGES",
    "IDIOMS",
    "IMPERATIVES",
    "JOINERS",
    "JUDGEMENTS",
    "LABEL_NOUNS",
    "LEADS",
    "LINKS",
    "LINK_ADVERBS",
    "MISTAKES",
    "MONTHS",
    "NEGATIONS",
    "NOUN_WORDS",
    "OFFERS",
    "ORDINALS",
    "ORDINAL_NOUNS",
    "OTHERS",
    "REASONS",
    "REJECTIONS",
    "REPORTS",
    "RESULT_VERBS",
    "RETRACTIONS",
    "RETRACTION_HEADS",
    "SHORT_LEADS",
    "SPEAKERS",
    "STATES_NOTHING",
    "VERB_ENDINGS",
    "WIDE_ADVERBS",
    "WIDE_LEADS",
    "WIDE_REASON_ENDS",
    "WIDE_SELF",
    "WIDE_SUBJECTS",
    "WIDE_TOPICS",
    "WRONG_NOUNS",
    "words_pattern",
]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


ANSWER_NOUNS: Final = _words(
    """answer choice verdict bottom_line conclusion decision recommendation selection solution result
    position pick vote
    option statement suggestion proposal conclusion overall_winner
    preference rating label classification category sentiment severity präferenz kategorie préférence catégorie
    preferencia categoría preferenza categoria 类别 情感类别 votum antwort lösung entscheidung ergebnis wahl
    empfehlung
    fazit vorschlag richtig korrekt
    réponse choix conclusion décision résultat solution proposition bilan
    respuesta opción elección solución resultado decisión conclusión sugerencia propuesta correcta correcto
    risposta scelta soluzione risultato opzione decisione conclusione proposta suggerimento giusta corretta
    resposta opção escolha solução resultado decisão conclusão sugestão proposta correta correto
    antwoord keuze oplossing resultaat conclusie voorstel
    odpowiedź odpowiedzią wybór wyborem wynik rozwiązanie wniosek propozycja
    ответ выбор вариант решение итог вывод предложение результат
    cevap cevabım yanıt yanıtım seçim seçimim sonuç önerim kararım oyum
    答案 选择 选项 结论 建议 答 答え 提案 回答 回答 正解 解答 結論 選択 정답 답 답변 결론 선택
    الخلاصة الاقتراح الإجابة الجواب إجابتي جوابي اختياري الخيار النتيجة
    उत्तर जवाब निष्कर्ष विकल्प सुझाव
    voto stimme mijn_stem głos голос vote oy 投票 표
    svar svaret slutsats svar konklusion konklusjon odpověď odpovědí výsledek vastaus válasz răspuns răspunsul
    відповідь απάντηση đáp_án câu_trả_lời jawaban jawabannya
    ans stance tl;dr short_version
    winner gewinner sieger gagnant vainqueur ganador ganadora vincitore vincitrice vencedor vencedora winnaar
    zwycięzca
    победитель kazanan 胜者 获胜者 赢家 勝者 승자 الفائز विजेता my_money my_bet
    recommandation recomendación raccomandazione recomendação aanbeveling rekomendacja рекомендация tavsiyem
    review tweet comment tone alternativa_correta 最合适的 最好的 最佳的 最合理的 最推荐的 推荐 推薦 おすすめ 추천"""
)
"""Nouns that name an answer, before a link such as *is* or a colon."""

ADJECTIVES: Final = _words(
    """final correct right best own true finale finaux correcte correct bonne juste correcta definitiva correto correta
    final certa
    corretta giusta esatta definitiva migliore ideale richtige korrekte endgültige juiste poprawna prawidłowa ostateczna
    правильный верный
    окончательный правильная النهائي النهائية الصحيحة الصحيح सही अंतिम
    końcowa końcowy ostateczny"""
)
"""Adjectives that may stand behind the noun."""

ARTICLES: Final = _words(
    """the la le les el los las il lo gli l' die der das den dem de het o os a as un une una uno um uma een ein eine
    einen einer letra lettera lettre to"""
)
"""Articles that may stand before an option."""

LINKS: Final = _words(
    """is_for is_to_use is_to_choose is_to_go_with is_to_adopt is_to_pick is are remains would_be must_be should_be
    will_be has_to_be is_thus is_therefore is_clearly is_indeed is_still
    becomes equals goes_to falls_on is_that_it_is
    ist lautet bleibt wäre sind fällt_auf est reste serait es sería sigue_siendo è rimane sarebbe é seria
    continua_sendo
    blijft luidt brzmi jest pozostaje это остаётся является هي هو है
    是 为 為 应该是 应为 应是 は が 은 는 이 가
    se_porte_sur valt_op recae_en recae_sobre cade_su recai_sobre recai_em pada_na падает_на goes_for
    stays är este adalah là είναι"""
)
"""Words between the noun and the answer."""

CHOICE_VERBS: Final = _words(
    """we_should_choose we_should_pick we_should_go_with let's_go_with let_us_go_with i_go_for i'd_go_for i_would_go_for
    that_corresponds_to this_corresponds_to which_corresponds_to je_vous_conseille_de vous_conseille_de ich_rate_zu
    te_aconsejo le_aconsejo ti_consiglio советую я_советую ich_bleibe_bei_meinem ich_bleibe_bei_meiner
    i_rate_it i_call_it i'm_calling_it i_am_calling_it i_label_it label_it_as i_classify_it_as classify_it_as
    i_choose i_chose i_pick i_picked i_select i_selected i_vote_for i_go_with i_opt_for i_recommend i_stick_with
    i_settle_on i_favor i_favour i_would_choose i_would_pick i_would_select i_would_vote_for i_would_go_with
    i_would_opt_for i_would_recommend i'd_choose i'd_pick i'd_select i'd_vote_for i'd_go_with i'd_opt_for
    i'd_recommend
    i'd_say i_would_say i'll_go_with i'll_choose i'll_pick i_will_go_with i_will_choose i'm_going_with
    i_am_going_with
    i_conclude_that_it_is my_vote_goes_to i_vote we_choose we_select go_with i'll_take i_cast_my_vote_for
    i_prefer i_support i'm_for i_am_for i_switch_to i_now_choose i_now_pick i_now_vote_for i'm_switching_to
    i_am_switching_to i'm_switching_my_answer_to i_switch_my_answer_to i'm_switching_my_vote_to i_switch_my_vote_to
    i_change_my_answer_to i_change_my_vote_to i'm_changing_my_answer_to i_am_changing_my_answer_to
    i_am_changing_my_vote_to i'm_changing_my_vote_to i_stand_by i'm_leaning_towards i_am_leaning_towards
    i'd_prefer i_would_prefer i'm_sticking_with
    i_am_sticking_with i_stand_by_my_choice_of i'm_in_favor_of i'm_in_favour_of
    i_am_in_favor_of i_am_in_favour_of we_should_use i'd_lean_towards i'd_lean_toward i_would_lean_towards
    ich_bevorzuge
    ich_bin_für ich_wechsle_zu je_préfère je_suis_pour je_passe_à prefiero estoy_a_favor_de preferisco
    sono_per prefiro ik_heb_liever i_lean_toward i_lean_towards i_am_voting_for i'm_voting_for i'm_choosing
    i_am_choosing
    ich_wähle ich_nehme ich_stimme_für ich_entscheide_mich_für ich_bleibe_bei ich_empfehle ich_würde_sagen
    ich_tippe_auf
    ich_votiere_für meine_stimme_geht_an wähle_ich nehme_ich empfehle_ich stimme_ich_für entscheide_ich_mich_für
    würde_ich_wählen
    ich_würde_mich würde_ich_mich ich_würde_für würde_ich_für ich_würde_wählen am_besten_ist am_besten_wäre
    je_choisirais je_voterais_pour je_prendrais j'opterais_pour je_recommanderais je_pencherais_pour je_garde
    votaría_por recomendaría me_quedaría_con optaría_por voterei_per consiglierei prenderei opterei_per meglio
    votaria_em recomendaria ficaria_com optaria_por ik_zou_voor ik_zou_gaan_voor  wybrałbym wybrałabym
    я_бы_выбрал я_бы_выбрала jag_väljer jag_röstar_på jag_skulle_välja jeg_vælger jeg_stemmer_på jeg_velger volím
    tôi_chọn saya_memilih
    je_choisis je_vote_pour je_prends j'opte_pour je_recommande je_retiens je_reste_sur je_penche_pour je_dirais
    elijo escojo voto_por opto_por me_quedo_con recomiendo me_inclino_por yo_elegiría elegiría
    scelgo voto_per opto_per consiglio raccomando sceglierei
    escolho voto_em opto_por fico_com recomendo eu_escolheria escolheria
    ik_kies_voor ik_kies kies_ik ik_ga_voor ik_stem_voor ik_zou_kiezen_voor
    wybieram głosuję_za stawiam_na
    я_выбираю выбираю голосую_за я_голосую_за я_голосую голосую рекомендую я_рекомендую мой_голос_за
    我选择 我选 应选 故选 选择 选 我投票给 我支持 أختار اختار أصوت
    i'm_still_for i_am_still_for i'm_still_with i_remain_with i_still_say i'm_still_in_favor_of i'm_still_in_favour_of
    ich_bin_weiterhin_für ich_bin_immer_noch_für je_reste_pour sigo_a_favor_de continuo_a_favor_de ik_blijf_bij
    i_rate_this i_give_it i'd_give_it i_would_give_it i'd_rate_it i_would_rate_it i'd_rate_this changed_my_mind
    odpowiedź_to wybór_to cevabım yanıtım seçimim tercihim oyum önerim kararım 推荐 推薦 我推荐
    i_side_with i_back i_endorse i'd_stick_with i_would_stick_with i'm_going_to_go_with i_am_going_to_go_with
    i_have_to_go_with i'd_have_to_go_with i_will_pick i_will_select i_will_vote_for i_suggest i'd_suggest
    i_would_suggest put_me_down_for put_me_down_as count_me_in_for mark_me_down_as read_my_answer_as take_my_answer_as
    let's_do let's_take let's_choose let's_pick i'm_team there's_no_way_around there_is_no_way_around nothing_beats
    it_can_only_be it_has_to_be it_must_be es_kann_nur il_faut_choisir ce_ne_peut_être_que solo_puede_ser
    può_essere_solo só_pode_ser ich_plädiere_für mein_votum_geht_an mi_voto_va_para mi_voto_es_para mon_vote_va_à
    il_mio_voto_va_a meu_voto_vai_para mijn_stem_gaat_naar oddaję_głos_na
    ich_habe_mich_für j'ai_choisi j'ai_opté_pour he_elegido he_escogido ho_scelto escolhi eu_escolhi
    ik_heb_gekozen_voor wybrałem wybrałam я_выбрал я_выбрала
    i'll_stick_with i_will_stick_with i'll_stay_with i_will_stay_with
    that_leaves leaves_us_with leaving_only it_stays it_remains i_stay_with i'm_staying_with bleibt_nur es_bleibt
    il_reste queda rimane zostaje остаётся 剩下"""
)
"""Words directly before a choice."""

ADVERSE: Final = _words(
    """too not never no nope hardly barely worst worse weakest least terrible awful bad poor weak wrong opposed against
    overkill flawed overpriced risky expensive unlikely unsuitable overrated dangerous useless unfit impossible sadly
    unfortunately alas last second third fourth out removed eliminated eliminate remove avoid ban skip kidding joking
    problems drawbacks flaws weaknesses disadvantages lacks lack misses only_for only_in only_if only_when only_as
    backup pass points votes inferior lowest
    incorrect incorrectly rejected disqualified excluded discarded dismissed invalid untrue refuted unacceptable
    nein ungültig inkorrekt ausgeschlossen verworfen abgelehnt unzutreffend
    faux fausse incorrecte erroné erronée rejeté rejetée exclu exclue incorrecto incorrecta equivocado equivocada
    rechazado rechazada descartado descartada sbagliato sbagliata scorretto scorretta errato errata scartato scartata
    errado errada incorreto incorreta rejeitado rejeitada fout onjuist verkeerd nee afgewezen błędne błędna błędny
    nieprawidłowa nieprawidłowe odrzucone неверно неверный неправильно неправильный ошибочно нет yanlış hayır hatalı
    nicht kein keine nie zu ab letzte letzter letztes zuletzt schlecht falsch leider von_der_liste nur
    trop pas jamais dernier dernière mauvais mauvaise seulement demasiado nunca último última malo mala solo
    troppo mai
    ultimo ultima cattivo male demais mau má apenas te niet nooit laatste slecht zbyt za nie nigdy ostatni слишком не
    никогда последний плохо плохой плохая плохое худший худшая худшее неподходящий неподходящая неудачный неудачная
    ошибка дорого рискованно kötü pahalı riskli سيئ سيئة سيء مكلف مكلفة बुरा बुरी खराब ख़राब महंगा महँगा
    太 不 没 错 錯 誤 間違 難 难 过于 すぎ ない 惜しい いいえ 너무 안 않 못 틀렸 틀린 오답 아니 的人
    خطأ خاطئ ليس لا गलत नहीं"""
)
"""Words directly behind an option that speak against it."""

OFFERS: Final = (
    r"(?:(?:of course|sure|certainly),?\s)?i(?: can|'d be| would be| am|'m| will|'ll| shall)\s"
    r"(?:certainly |gladly |happy |glad |ready |able )?(?:to )?"
    r"(?:help|assist|ready|answer|do that|try|start|begin)(?![a-z])"
    r"|here(?: is|'s|\sare)(?![a-z])|i(?:'ve| have)?\s(?:read|considered|reviewed|an? opinion)(?![a-z])"
    r"|(?:sir|madam|thanks|thank you|danke|merci|gracias|grazie|obrigad[oa]|bedankt)(?=[\s.,!]|\Z)"
)
"""A pattern of what an assistant says before it answers, as in *Yes, I can help with that*."""

VERB_ENDINGS: Final = _words(
    """is_the_one_i'd is_the_one_i_would is_what_i'd is_what_i_would is_what_i is_the_class_to_choose
    is_what_you_want is_what_you_need is_the_one_to_choose
    is_the_one_to_pick is_the_way_to_go would_be_the_best would_be_best is_best is_the_better_choice
    is_the_better_option
    is_a_better_choice is_the_preferred seems_the_best seems_best seems_right looks_best makes_the_most_sense
    seems_like_the_best stands_out_as_the_best emerges_as_the_best is_the_only_correct
    is_correct is_the_correct
    is_right is_the_right is_the_best is_my_choice is_my_pick is_my_answer is_my_vote is_my_final is_my_top
    is_my_first
    is_my_preferred is_my_preference is_my_recommendation is_my_favorite is_my_favourite is_the_answer is_the_final
    is_the_most_sensible is_the_most_suitable is_the_most_appropriate is_the_most_practical is_the_most_reasonable
    is_the_most_balanced is_the_most_promising is_the_most_convincing is_the_most_effective is_the_most_efficient
    is_the_most_reliable is_the_most_likely is_the_most_robust stays_my is_still_my remains_my
    gets_my_vote wins_for_me would_be_my
    ist_richtig ist_korrekt scheint_mir_die_beste scheint_mir_am_besten wäre_meine ist_das_richtige ist_der_richtige
    ist_die_beste ist_der_beste ist_das_beste ist_die_richtige ist_meine_wahl ist_meine_antwort ist_meine_empfehlung
    ist_meine_erste ist_mein_favorit ist_die_bessere_wahl ist_die_bessere_lösung wäre_die_beste wäre_die_bessere_wahl
    est_correcte est_correct est_la_bonne est_la_meilleure est_ma_réponse est_mon_choix est_ma_préférence
    est_ma_recommandation
    est_le_meilleur serait_le_meilleur serait_la_meilleure est_le_bon
    es_correcta es_la_correcta es_la_respuesta es_la_mejor es_el_mejor sería_la_mejor sería_el_mejor es_mi_respuesta
    es_mi_elección è_il_migliore
    sarebbe_la_migliore è_corretta è_la_risposta è_la_mia è_la_migliore
    é_correta é_a_resposta é_a_correta é_a_melhor é_a_minha is_juist is_correct is_het_juiste is_de_beste is_mijn
    jest_poprawna jest_prawidłowa верен правильный является_правильным
    是最佳 是最好的 更好 最合适 最好
    'yi_seçiyorum 'i_seçiyorum 'ı_seçiyorum 'yı_seçiyorum 'u_seçiyorum 'ü_seçiyorum seçiyorum
    seçeneğini doğru
    を選びます を選択します を選ぶ を推します を勧めます をお勧めします をおすすめします を推奨します を選びたい
    に投票します が正解 が正しい です 를_선택 을_선택 를_고르 을_고르
    에_투표 이_정답 가_정답 입니다
    को_चुनता को_चुनती चुनता चुनती सही_है
    works_best works_for_me suits_me_best is_best_for_me is_best_for_us passt_mir_am_besten passt_es_mir_am_besten
    me_convient_le_mieux me_viene_mejor it_is would_be_my が一番良い が一番いい が最適 がベスト がおすすめ
    को_चुनूँगा को_चुनूंगा को_चुनूँगी को_चुनूंगी
    is_the_ideal is_ideal is_the_perfect would_be_ideal would_be_the_ideal would_be_the_perfect
    è_la_scelta_migliore è_la_scelta_giusta è_l'opzione_migliore è_la_soluzione_migliore è_la_città_migliore
    to_najlepszy_wybór to_najlepsza_opcja jest_najlepszym_wyborem jest_najlepszą_opcją jest_najlepszy
    is_the_clear_winner is_the_winner is_the_clear_choice
    you_are_looking_for you're_looking_for you_want gets_my_support has_my_vote wins gana vince vence wint
    wygrywa побеждает bekommt_meine_stimme
    gewinnt a_ma_préférence a_mon_vote tiene_mi_voto se_lleva_mi_voto ha_il_mio_voto tem_meu_voto tem_o_meu_voto
    krijgt_mijn_stem en_iyi_seçenek en_iyi_seçenektir en_iyi_seçim en_iyi_seçimdir सबसे_अच्छा_विकल्प_है सबसे_अच्छी_जगह_है"""
)
"""Words directly behind a choice."""

LABEL_NOUNS: Final = _words(
    """option choice answer letter number candidate alternativa alternativ cevap motion proposal alternative variant
    antwort möglichkeit vorschlag
    réponse choix proposition lettre opción respuesta letra opzione risposta lettera opção resposta optie keuze
    antwoord
    opcja odpowiedź вариант ответ seçenek şık 选项 选择 选 答案 方案 選択肢 회답 선택지 보기 번 الخيار الإجابة विकल्प"""
)
"""Words before the label of an option, as in *Option B*."""

CONCLUSIONS: Final = _words(
    """therefore thus hence so all_in_all in_other_words finally final conclusion conclude summary overall total
    altogether consequently
    accordingly ultimately
    also daher somit folglich insgesamt endgültig fazit donc ainsi finalement conclusion total por_lo_tanto entonces
    finalmente total quindi dunque infine portanto logo então dus daarom uiteindelijk zatem więc ostatecznie
    следовательно итак поэтому итого dolayısıyla sonuç_olarak 因此 所以 综上 最终 总共 一共 したがって よって 따라서
    그러므로 لذلك إذن इसलिए
    अतः
    i.e. that_is, ou_seja d.h. es_decir cioè то_есть"""
)
"""Words that announce a conclusion."""

REPORTS: Final = _words(
    """says said thinks thought guessed guesses reckons answered replied wrote writes argues argued claims claimed
    suggests suggested proposes proposed believes believed
    states stated chose picked voted concludes insists maintained
    initially originally used_to at_first first earlier previously
    antwortete schrieb répondu écrit respondió escribió risposto scritto respondeu escreveu odpowiedział napisał
    ответил написал 回答了 答えた 대답 أجاب sagt sagte meint meinte behauptet schlägt dit pense affirme dice afirma
    sostiene
    diz segundo meinen glauben sagen behaupten schreiben pensent disent croient affirment piensan dicen creen
    scrive escribe écrit schreibt afirman pensano dicono credono dizem pensam acreditam denken zeggen menen mówią
    myślą uważają говорят считают думают
    zegt mówi uważa говорит считает утверждает diyor
    说 认为 表示 によると 言って 言った 言いました 言われ 말했 주장 يقول يرى कहता कहते"""
)
"""Words that show that the answer is somebody else's, or an earlier one."""

SPEAKERS: Final = _words("someone others they he she agent agents everyone others' nobody")
"""Words for other people before an option."""

OTHERS: Final = _words(
    """someone somebody others they he she agent agents everyone everybody people andere anderen sie er autres ils
    elles otros ellos
    ellas altri loro outros eles anderen zij inni oni другие они agenten agents 其他 别人 他们 他人 彼ら 다른 그들
    الآخرون هم
    दूसरे वे 有人 某些人 ある人"""
)
"""Words for other people before a statement."""

MISTAKES: Final = _words(
    """mistake error wrong incorrect trap fehler falsch irrtum erreur faux error equivocado errore sbagliato erro
    errado fout błąd
    ошибка неверно hata yanlış 错误 误 間違 誤り 오답 실수 خطأ गलत"""
)
"""Words that call an answer a mistake."""

NEGATIONS: Final = _words(
    """not n't never cannot no_longer neither nor isn't rule_out reject
    none aucun aucune ninguno ninguna nessuno nessuna nenhum nenhuma keiner keines
    nicht kein keine keinesfalls weder noch ne pas jamais ni no nunca tampoco non mai né não nunca nem niet geen nie
    ani не нет değil inte ikke ei_ole eivät není nu_este nu_e bukan tidak không δεν нема ไม่ לא
    不 不是 没 並不 并非 ない ません ではなく 아니 아닙 않 ليس ليست لا नहीं 别 勿 很难 难以"""
)
"""Words that negate."""

CONDITIONS: Final = _words(
    """s'il if unless whether depends depending provided assuming otherwise in_case
    wenn falls sofern ob es_sei_denn si à_moins dépend si_no salvo depende a_meno dipende caso als tenzij indien
    jeśli jeżeli chyba_że если eğer ise 如果 若 取决于 もし 場合 만약 라면 إذا अगर यदि"""
)
"""Words that make an answer depend on something."""

HEDGES: Final = _words(
    """might maybe perhaps could possibly may either vielleicht könnte eventuell entweder peut-être pourrait soit
    quizá quizás podría forse potrebbe talvez poderia misschien może может возможно belki 也许 可能 或许 かもしれ
    아마 ربما शायद"""
)
"""Words that leave an answer open."""

JOINERS: Final = _words(
    """as_well_as sowie ainsi_que así_como and or & / + oder und ou et o y e of en lub i или и veya ve 和 或 と か 와
    또는 أو و या और"""
)
"""Words that join two options."""

REASONS: Final = _words(
    """because since as for due given considering weil denn da parce_que car puisque porque ya_que perché poiché pois
    omdat want ponieważ bo потому так_как çünkü 因为 因為 なぜなら ため 왜냐하면 لأن क्योंकि not rather instead over
    nicht niet
    nie не değil 不是 statt plutôt pas no en_lugar non
    which making"""
)
"""Words that begin a reason or a correction behind an answer."""

LINK_ADVERBS: Final = _words(
    """definitely here hier ici aquí qui aqui eindeutig klar ganz_klar clairement claramente chiaramente duidelijk
    wyraźnie однозначно therefore
    thus then hence also clearly vivement fortement plutôt encarecidamente fuertemente vivamente caldamente fortemente
    decididamente sicuramente definitivamente zeker beslist stanowczo zdecydowanie настоятельно unbedingt
    deshalb daher folglich demnach donc ainsi alors por_tanto entonces pues quindi
    dunque portanto então logo dus więc zatem поэтому"""
)
"""Adverbs between a link and the answer."""

CONTRASTS: Final = _words("but sondern sino mais ma mas maar lecz tylko а ama 而是 而 ではなく なく 아니라 بل बल्कि")
"""Words between what an answer is not and what it is."""

LEADS: Final = _words(
    """that_would_be it_would_be it's it_is that's that_is it_must_be it_has_to_be definitely clearly es_ist das_ist
    c'est ce_serait es è é
    to_jest это bu лучше_всего en_iyi_seçenek en_iyi_seçim en_iyisi en_iyi_şehir أفضل_خيار_هو أفضل_مدينة_هي
    الخيار_الأفضل_هو सबसे_अच्छा_विकल्प
    应该是 就是 是 それは"""
)
"""Words with which a short answer begins."""

APPROXIMATIONS: Final = _words(
    """about approximately around roughly nearly almost some circa ca ca. approx approx. etwa ungefähr rund knapp zirka
    environ
    à_peu_près unos aproximadamente alrededor_de circa quasi cerca_de aproximadamente ongeveer około okolo примерно
    около
    приблизительно yaklaşık 约 大约 大概 约为 約 およそ だいたい 약 대략 حوالي تقريبا लगभग करीब"""
)
"""Words before a number that is not exact."""

MONTHS: Final = _words(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep oct
    nov dec januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août
    septembre octobre
    novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio
    aprile maggio giugno luglio settembre ottobre dicembre"""
)
"""Names of months, behind the number of a day."""

RESULT_VERBS: Final = _words(
    """for_a_total_of
    was had equals makes gives arrive_at come_to yields get gets total totals has have contains needs comes_to
    amounts_to adds_up_to returns
    ergibt macht beträgt hat fait donne vaut da fa sono são zijn wynosi равно будет 等于 得 で
    it's that's takes take need pays pay paid costs cost weighs weigh counted holds lasts carries carry remain
    remains used braucht kostet wiegt coûte pèse cuesta pesa costa kost kosztuje стоит"""
)
"""Verbs that lead to a result."""

NOUN_WORDS: Final = _words(
    """the a my our this that's your final finale correct right best most more own true updated revised refined
    corrected
    accurate appropriate fitting precise reasonable calculated standard economic same short new optimal overall clear
    definitive simple straightforward single numerical numeric mathematical classic comprehensive justifiable
    effective
    targeted suitable preferred recommended chosen selected actual ideal sensible only main personal honest quick
    combined ultimate consensus verified safest cheapest strongest better logical exact total simplified consistent
    direct widely accepted sound robust strategic considered brief collective unanimous current
    likely plausible probable strong firm and
    der die das dem den ein eine meine mein unsere unser richtige richtigen korrekte beste endgültige finale kurze
    einzige klare abschließende
    la le l' les un une ma mon notre bonne bon meilleure meilleur correcte correct finale final juste définitive seule
    exacte
    el los lo una mi nuestra nuestro correcta correcto mejor final definitiva definitivo única exacta
    il lo gli uno mia mio nostra corretta giusta migliore finale definitiva esatta unica
    o os as um uma minha meu nossa certa melhor definitiva
    het de een mijn onze juiste beste uiteindelijke correcte enige definitieve
    moja mój nasza najlepszym poprawna prawidłowa ostateczna najlepsza najlepszy najlepszą poprawną prawidłową właściwa
    мой моя наш правильный верный лучший окончательный итоговый правильная лучшая
    doğru benim bizim en_iyi nihai son
    सही अंतिम मेरा हमारा इसका सबसे_अच्छा الإجابة النهائية rätt mitt"""
)
"""Words that may stand directly before the noun of a statement, as in *my final answer is*."""

BEFORE_STATEMENTS: Final = _words(
    """that and so thus therefore hence then is be i'd i'll think believe conclude find found determine determined
    confirm confirms confirming agree concur affirm deduce recognize realize feel maintain suggest say means mean
    implies shows show showing indicates indicate here's have get gives give making reach reaches to reiterate
    as propose present update was becomes makes
    which still now clearly again or probably either here
    dass daher deshalb also somit ist und wäre damit deswegen folglich hier
    que donc ainsi est et c'est voici
    por_tanto entonces luego es y así creo_que esta
    che quindi dunque è e
    então logo é portanto
    dat dus is en daarom
    że więc jest to i parere avviso
    что значит поэтому это и
    bu bence इसलिए तो فإن أن det"""
)
"""Words before a statement of the author, as in *I believe that the answer is*."""

ADVERBIALS: Final = _words(
    """for in given based after with on considering under from at by taking having as of following all
    für in unter bei nach aus auf mit pour dans en selon après avec sur para con tras según per dopo su voor na met op
    dla po na для после при на"""
)
"""Words with which an addition at the beginning of a statement begins, as in *in my view the answer is*."""

DOUBTS: Final = _words(
    """i_heard i've_heard i_have_heard i_read_that i'm_told i_have_been_told it_is_said
    ich_habe_gehört ich_habe_gelesen mir_wurde_gesagt told_me told_us i_read i've_read
    rumour_has_it rumor_has_it supposedly
    allegedly reportedly man_sagt es_heißt angeblich on_dit se_dice si_dice diz-se men_zegt podobno говорят
    doubt deny denies disagree disagrees hard_to_say difficult_to_say hard_to_believe far_from_clear
    unlikely doubtful improbable unwahrscheinlich improbable peu_probable poco_probable improbabile improvável
    onwaarschijnlijk маловероятно
    fear wish hope refuse refuses false untrue suppose supposing assume pretend
    imagine used_to fool fools idiot argue argues say_the many_say people_say most_say would_say some_say critics
    sceptics skeptics opponents tempted tempting if
    manche_sagen einige_sagen viele_sagen certains_disent algunos_dicen muchos_dicen alcuni_dicono nehmen_wir
    admettons digamos
    bezweifle bezweifeln leugne angenommen hoffe fürchte
    doute nie_que suppose supposons espère crains
    dudo niego supongamos supón espero temo
    dubito nego supponiamo spero temo
    duvido suponha suponhamos espero
    betwijfel stel_dat hoop
    wątpię załóżmy сомневаюсь предположим допустим
    假设 假如 怀疑 希望 仮に 疑 가정 의심"""
)
"""Words before a statement that its author does not make."""

EXCEPTIONS: Final = _words(
    """except excepting anything_but everything_but all_but nothing_but other_than instead_of far_from hardly barely
    scarcely rather_than north_of south_of east_of west_of away_from besides apart_from near
    außer weit_von kaum statt nördlich südlich sauf excepté hormis loin_de hors excepto salvo menos lejos_de tranne
    eccetto lontano_da fuorché exceto longe_de behalve ver_van oprócz poza кроме 除了 以外 除く 제외"""
)
"""Words before an option that is not meant."""

REJECTIONS: Final = _words(
    """lacks worst worse avoid avoids avoided drop drops dropped is_out are_out be_out goes_out loses lose fails
    fail failed
    eliminate eliminates eliminated reject rejects rejected exclude excludes excluded discard discarded dismiss
    dismissed skip skipped ruled_out rule_out overrated unsuitable inferior least_favourite least_favorite least_bad
    my_least the_least least my_last last_choice last_place the_last second_choice my_second second_best runner-up
    third_choice falls_short
    schlechteste schlechter scheidet ausscheiden ausgeschieden ausgeschlossen vermeiden vermeide verwerfen verworfen
    fällt_weg entfällt raus
    pire éviter évitez éviterais éliminer éliminé éliminée écarter écarté écartée exclu exclue exclure
    peor evitar evita evite descartar descarto descartada descartado eliminar eliminada eliminado excluida
    peggiore evitare evita scartare scarto scartata eliminata esclusa
    pior evite descartar eliminada eliminado excluída
    slechtste vermijd valt_af afgevallen uitgesloten najgorszy najgorsza odpada unikać худший худшая исключить
    исключаем отпадает en_kötü
    排除 最差 最坏 最糟 淘汰 避免 不行 除外 最悪 悪い 避け 최악 나쁜 제외"""
)
"""Words that reject an option."""

CONCLUDED_ENDINGS: Final = _words(
    """is_the_strongest is_the_safest is_the_better is_the_clear is_the_most_sensible is_the_most_suitable
    is_the_most_appropriate offers_the_best_balance offers_the_best_value strikes_the_best_balance comes_out_ahead
    comes_out_on_top is_my wins
    ist_die_stärkste ist_die_sicherste ist_die_bessere est_le_plus_sûr est_la_plus_sûre es_la_más_segura"""
)
"""Words directly behind an option that a concluding sentence chooses."""

COMPARISONS: Final = _words(
    """i_considered than while whereas although though unlike compared versus vs with despite beats against ahead_of
    from even
    während obwohl gegenüber als tandis_que alors_que bien_que contre mientras aunque frente_a mentre anche_se
    enquanto embora terwijl hoewel podczas_gdy chociaż тогда_как хотя чем 而 比 より 보다"""
)
"""Words between an option and another one to which it is compared."""

RETRACTIONS: Final = _words(
    """wait hold_on scratch_that strike_that no_wait oh_wait hmm_wait i_take_that_back i_take_it_back on_reflection
    on_second_thought on_second_thoughts on_further_reflection i_meant i_mean actually sorry_i_meant let_me_correct
    my_mistake i_was_wrong i_made_a_mistake i_made_an_error that_is_wrong that's_wrong that_was_wrong never_mind
    just_kidding kidding only_joking just_joking not! nevermind hmm,_no hm,_no oops perdón pardon
    verzeihung scusate i_change_my_mind i've_changed_my_mind i_changed_my_mind
    warte moment nein_moment ich_meine ich_meinte korrigiere doch_nicht das_ist_falsch bei_näherer_überlegung
    attends attendez non_attends je_voulais_dire je_me_corrige en_fait à_la_réflexion je_me_suis_trompé
    je_me_suis_trompée
    espera no_espera quise_decir me_corrijo en_realidad pensándolo_bien me_equivoqué
    aspetta no_aspetta volevo_dire mi_correggo anzi ripensandoci mi_sono_sbagliato
    espere quis_dizer na_verdade pensando_bem
    wacht ik_bedoel ik_bedoelde bij_nader_inzien czekaj miałem_na_myśli подождите подожди стоп я_имел_в_виду
    bekle pardon
    不对 等等 等一下 更正 我错了 我的意思是 不，是 いや、 待って 訂正 間違えました 잠깐 아니다 정정 아니, انتظر रुकिए"""
)
"""Words at the beginning of a clause that take back what was said before."""

RETRACTION_HEADS: Final = _words(
    """edit update correction corrected erratum edited korrektur nachtrag correction mise_à_jour corrección
    actualización correzione aggiornamento correção atualização correctie korekta исправление düzeltme 更新 更正 訂正
    수정 no nope nein non nee nie нет hayır não"""
)
"""Words before a sign, at the beginning of a clause, that take back what was said before."""

WRONG_NOUNS: Final = _words(
    """неверный неправильный худший ошибочный предыдущий 错误 错 错的 错误的 最差的 最坏的 最糟的 不正确的 之前的 不
    間違った 間違い 誤った 最悪の 以前の 誤 悪い 惜しい 最差 较差的 错誤的
    次の 前の 彼の 彼女の 学生の 以前的 学生的 他的 她的 另一个
    오 나쁜 잘못된 틀린 최악의 이전 गलत पिछला خاطئة الخاطئة"""
)
"""Words of scripts other than Latin directly before the noun of a statement that is not the answer."""

WIDE_SELF: Final = _words(
    """我 我们 我們 本人 笔者 私 わたし 僕 俺 我々 当方 自分 저 나 제 내 저희 우리 저의 나의 मैं हम मेरा मेरी
    मेरे हमारा हमारी हमारे"""
)
"""Words for the author in scripts without capitals."""

WIDE_LEADS: Final = _words(
    """题 題 问题 問題 問い 質問 空 处 此 因此 所以 以 故 综上 综上所述 总之 于是 那么 则 即 后 後 来看 而言
    分析 考虑 比较 计算 可知 得 可得 得出 以上 上述 中 下 时 本轮 轮 结果 よって したがって ゆえに つまり
    結論として そこで では 以上より から ので ため ば と 求める 이것의 여기의 문제의 질문의 문항의 इस प्रश्न
    सवाल समस्या"""
)
"""Ends of the words before a statement that leave it its author's, in scripts in which an owner may stand there."""

WIDE_ADVERBS: Final = _words(
    """正确 正確 正确的 正確な 正しい 最终 最終 最終的な 最后 最後の 最佳 最好 最优 最適な 適切な 妥当な 标准
    標準 合适 合理 稳妥 可行 明智 理想 首选 优先 唯一 答案 选择 结论 明确 明確な 强烈 坚定 直接 简单 简短 整体
    总体 综合 の
    的 在 都 就 其 个人 应 应该 应当 请 必须 只能 只好 可以 建议 推荐 决定 觉得 认为 相信 确定 确认 说 会 将
    要 想 愿意 仍 仍然 还是 依然 坚持 继续 改 改为 倾向于 倾向 更 宁愿 投票 はっきり का की के"""
)
"""Adjectives and adverbs before a statement, in scripts in which an owner may stand there."""

WIDE_REASON_ENDS: Final = _words("ので から ため って て、 、 ， 。 므로 니까 때문에 इसलिए तो")
"""Ends of a reason before a statement in Japanese, Korean and Hindi."""

WIDE_SUBJECTS: Final = _words(
    """は が も 人 たち 達 氏 さん くん 君 様 者 大多数 许多 一些 有些 别人 他 她 लोग वह वे उन्होंने उसने ने"""
)
"""Words and endings that mark the subject of a clause in scripts without capitals."""

WIDE_TOPICS: Final = _words("정답 답 답변 결론 선택 제안 저 나 제 내 우리 저희 본인 것 점 이유 최종")
"""Korean subjects of a statement that leave it its author's."""


BARE_VERBS: Final = _words(
    """choose pick select recommend vote_for go_with going_with opt_for opting_for voting_for choosing prefer support
    favor favour stick_with endorse suggest"""
)
"""Verbs of a choice behind a subject and an adverb, as in *I would definitely choose*."""

FIRM_ADVERBS: Final = _words(
    """definitely personally strongly still therefore thus hereby firmly clearly certainly absolutely highly fully
    gladly happily confidently ultimately simply now then wholeheartedly rather have_to also
    obviously without_hesitation"""
)
"""Adverbs between the author and a verb of a choice that leave it certain."""

FRAMES: Final = _words(
    """ich_würde ich_werde ich_möchte würde_ich werde_ich möchte_ich ik_zou ik_zal zou_ik zal_ik ik_heb ich_habe
    i_would i'd we_should"""
)
"""Words before an option behind which the verb of the choice follows, or which is the verb itself."""

FRAME_VERBS: Final = _words(
    """wählen nehmen empfehlen vorziehen bevorzugen vorschlagen gewählt genommen favorisieren kiezen nemen aanbevelen
    aanraden verkiezen gekozen"""
)
"""Verbs of a choice behind the option."""

ORDINALS: Final = (
    _words(
        """first 1st erste ersten erster premier première primer primera primero prima primo primeira primeiro eerste
        pierwsza pierwszą pierwszy первый первая первую birinci ilk 第一个 第一個 一番目の 최초의 첫_번째 الأول
        पहला पहली"""
    ),
    _words(
        """second 2nd zweite zweiten zweiter deuxième seconde segunda segundo seconda secondo tweede druga drugą drugi
        второй вторая вторую ikinci 第二个 第二個 二番目の 두_번째 الثاني दूसरा दूसरी"""
    ),
    _words(
        """third 3rd dritte dritten dritter troisième tercera tercer tercero terza terzo terceira terceiro derde trzecia
        trzecią trzeci третий третья третью üçüncü 第三个 第三個 三番目の 세_번째 الثالث तीसरा तीसरी"""
    ),
    _words(
        """fourth 4th vierte vierten vierter quatrième cuarta cuarto quarta quarto vierde czwarta czwartą czwarty
        четвёртый четвертый четвёртая dördüncü 第四个 第四個 四番目の 네_번째 الرابع चौथा चौथी"""
    ),
    _words(
        """fifth 5th fünfte fünften fünfter cinquième quinta quinto vijfde piąta piątą piąty пятый пятая beşinci 第五个
        第五個 五番目の 다섯_번째 الخامس पाँचवाँ"""
    ),
)
"""Ordinal numbers by which options may be called, the first one first."""

ORDINAL_NOUNS: Final = _words(
    """one option alternative proposal candidate answer variant möglichkeit variante antwort vorschlag réponse
    proposition opción respuesta propuesta opzione risposta proposta opção resposta optie antwoord opcja opcję
    odpowiedź
    вариант ответ seçenek seçeneği 选项 選項 方案 選択肢 선택지 옵션 보기 विकल्प"""
)
"""Nouns behind an ordinal number that calls an option."""

FIRM_HEADS: Final = _words(
    """only_one one_word single_word clear clearly obvious no_doubt prove proves can't_hold left remains asked_for
    therefore thus hence so scratch_that must_be settles only_candidate only_option
    daher also somit nur_ein klar eindeutig bleibt ein_wort donc ainsi un_seul clair reste un_mot por_tanto
    entonces solo
    sólo una_palabra claro queda quindi dunque una_sola chiaro resta portanto então apenas só_uma claro dus daarom één
    duidelijk więc zatem jedno jasne итак значит поэтому остаётся одно 因此 所以 只有 显然 よって したがって
    따라서"""
)
"""Words before a colon that lead to the answer."""


def _any_of(words: Iterable[str]) -> str:
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered)


def words_pattern(words: Iterable[str]) -> str:
    """Return a pattern of words; words of scripts with spaces must not be part of a longer word.

    Example:
        >>> bool(re.search(words_pattern(["so"]), "also")), bool(re.search(words_pattern(["因此"]), "因此选B"))
        (False, True)
    """
    words = tuple(words)
    spaced = [word for word in words if word[0] < FIRST_WITHOUT_SPACES]
    others = [word for word in words if word[0] >= FIRST_WITHOUT_SPACES]
    parts = [rf"(?<![^\W\d_])(?:{_any_of(spaced)})(?![^\W\d_])"] if spaced else []
    return "|".join([*parts, _any_of(others)] if others else parts)


IDIOMS: Final = _words(
    """if_it_were_up_to_me if_it_was_up_to_me if_i_had_to_choose if_i_had_to_pick if_i_had_to_decide if_i_had_to_guess
    if_i_had_to_vote
    if_i_had_to_say if_i_have_to_choose if_you_ask_me if_i_may wenn_ich_wählen_müsste
    wenn_ich_mich_entscheiden_müsste
    si_je_devais_choisir s'il_fallait_choisir si_tuviera_que_elegir se_dovessi_scegliere se_eu_tivesse_de_escolher
    information_provided details_provided context_provided options_provided data_provided evidence_provided
    facts_provided provided_information provided_options
    als_ik_moest_kiezen gdybym_miał_wybrać если_бы_я_выбирал
    even_if auch_wenn selbst_wenn même_si aunque_si incluso_si anche_se mesmo_se mesmo_que zelfs_als ook_als
    nawet_jeśli
    даже_если 即使"""
)
"""Phrases that begin like a condition and are none."""

SHORT_LEADS: Final = _words(
    """to_sum_up in_sum summing_up here_you_go sure,_here_you_go selected my_selection chosen my_pick
    on_second_thought on_second_thoughts on_reflection given_the_options given_these_options of_these_options
    of_the_options output response assistant reply
    without_doubt without_a_doubt ohne_zweifel zweifellos ganz_klar sans_hésiter sans_aucun_doute sans_doute_aucun
    sin_duda sin_dudarlo senza_dubbio sem_dúvida zonder_twijfel bez_wątpienia без_сомнения 毫无疑问 間違いなく
    easy simple sadly honestly frankly obviously clearly absolutely surely simply just of_course ergo definitely
    with_high_confidence
    unfortunately leider malheureusement desgraciadamente purtroppo infelizmente helaas niestety к_сожалению
    in_my_opinion in_my_view on_balance for_me all_things_considered meiner_meinung_nach à_mon_avis en_mi_opinión
    secondo_me na_minha_opinião naar_mijn_mening moim_zdaniem по_моему_мнению in_short in_brief short_answer
    in_a_word in_one_word to_be_brief simply_put strictly_speaking technically
    botanically_speaking
    generally_speaking legally_speaking kurz_gesagt kurz en_bref en_resumen in_breve em_resumo kortom krótko_mówiąc
    короче
    kısaca 总之 简而言之 簡単に言うと 要するに 요컨대 باختصار संक्षेप_में"""
)
"""Phrases before an answer at the beginning of a reply."""

IMPERATIVES: Final = _words(
    """choose pick take use go_with vote_for wähle nimm nehmen_sie wählen_sie choisissez choisis prenez elige escoge
    toma scegli
    prendi escolha use kies_voor kies neem wybierz weź выберите возьмите seç 选 选择 keep
    go_by travel_by fahr_mit fahren_sie_mit nehmt fahrt_mit prends optez_pour vá_de vá_com ve_en ve_con usa vai_in
    vai_con ga_met jedź поезжай_на бери stick_with opt_for"""
)
"""Verbs of advice at the beginning of a clause."""

STATES_NOTHING: Final = _words(
    """good_question great_question sure,_here_you_go here_you_go thanks_for_sharing understood i_concur difficult risky
    unknown not_clear hard i_need_more_information i_need_more_time agreed i_agree agree exactly well_said thanks
    thank_you let_me_think ok okay sure right good_point fair_enough
    happy_to_help i'd_be_happy_to_help sure,_i'd_be_happy_to_help i'd_be_glad_to_help glad_to_help
    thank_you_for_your_question thanks_for_your_question let_me_think_about_it i_understand interesting_question
    it_varies opinions_differ not_known not_available debatable subjective a_matter_of_opinion yes_and_no
    whatever_you_prefer it_depends_on_many_factors gerne_helfe_ich_ihnen 当然可以
    easy trivial up_to_you yours yours_to_find not_easy not_simple
    obvious unclear complicated clear simple below above here following the_following as_follows it_depends tbd n/a na
    - -- ... null none_given see_below see_above einverstanden ich_stimme_zu genau danke d'accord
    je_suis_d'accord merci
    de_acuerdo estoy_de_acuerdo gracias d'accordo sono_d'accordo grazie concordo obrigado akkoord dank_je zgadzam_się
    согласен согласна 同意 谢谢 賛成です 동의합니다"""
)
"""Whole texts that state no answer."""

JUDGEMENTS: Final = _words(
    """wrong correct incorrect right falsch richtig fausse faux incorrecta incorrecto correcta sbagliata errata errada
    неверный неправильный 错误的 不对的 間違い 間違っています"""
)
"""What is said of an answer, as in *The answer is wrong*."""

CHECKS: Final = _words(
    """check quick_check a_quick_check verification verify proof probe kontrolle vérification vérifions comprobación
    verifica verificação
    controle sprawdzenie проверка kontrol 验证 检验 検算 확인 التحقق जाँच"""
)
"""Words at the beginning of a check of a result."""
