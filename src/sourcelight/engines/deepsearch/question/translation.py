"""Recognize questions that aren't in English, and read the most common German, French and Spanish ones.

The forms are a closed table of whole sentences. Any other question in another language is told apart, so that an answer
says that it was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 200
"""Maximum length of a question that is read by a form."""

_NAME = (
    r"(?:(?:der|die|das|den|dem|des|eine?[rn]?|le|la|les|l'|un|une|el|los|las|una) ?)?"
    r"(?:(?:klasse|funktion|methode|konstante|variable|schnittstelle|typ|datei|classe|fonction|méthode|constante"
    r"|fichier|clase|función|funcion|método|metodo|archivo|fichero|tipo|type) )?(?P<name>[^\s?]+)"
)
_PROJECT = (
    r"(?:es|(?:das|dieses|dem|diesem) (?:projekt|programm|repository|paket)|(?:diese|die) bibliothek"
    r"|(?:ce|le) (?:projet|dépôt|programme|paquet)|(?:cette|la) bibliothèque"
    r"|(?:este|el) (?:proyecto|repositorio|programa|paquete)|(?:esta|la) (?:biblioteca|librería))"
)
_UNITS: Mapping[str, str] = {
    "tests": "tests", "testfälle": "tests", "pruebas": "tests", "dateien": "files", "fichiers": "files",
    "archivos": "files", "ficheros": "files", "funktionen": "functions", "fonctions": "functions",
    "funciones": "functions", "klassen": "classes", "classes": "classes", "clases": "classes", "methoden": "methods",
    "méthodes": "methods", "métodos": "methods", "zeilen": "lines", "lignes": "lines", "líneas": "lines",
    "commits": "commits", "autoren": "authors", "auteurs": "authors", "autores": "authors", "zweige": "branches",
    "branches": "branches", "ramas": "branches", "tags": "tags",
}  # fmt: skip
_UNIT = rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})"

_FORMS: Sequence[tuple[str, Sequence[str]]] = (
    (
        "What does this project do?",
        (
            rf"was (?:macht|tut|ist) {_PROJECT}", rf"wof[üu]r ist {_PROJECT}(?: da| gut)?",
            rf"que fait {_PROJECT}", rf"qu'est[ -]ce que (?:fait )?{_PROJECT}", rf"à quoi sert {_PROJECT}",
            rf"qué (?:hace|es) {_PROJECT}", rf"para qué sirve {_PROJECT}",
        ),
    ),
    (
        "Who maintains this project?",
        (
            rf"wer (?:pflegt|betreut|wartet|entwickelt) {_PROJECT}", rf"qui (?:maintient|développe) {_PROJECT}",
            rf"quién (?:mantiene|desarrolla) {_PROJECT}",
        ),
    ),
    (
        "How do I install it?",
        (
            rf"wie (?:installiere|installiert) (?:ich|man) {_PROJECT}", rf"comment installer {_PROJECT}",
            rf"cómo (?:instalo|instalar|se instala) {_PROJECT}",
        ),
    ),
    (
        "How do I run the tests?",
        (
            r"wie (?:führe|führt|starte|startet) (?:ich|man) die tests(?: aus)?",
            r"comment (?:lancer|exécuter) les tests",
            r"cómo (?:ejecuto|ejecutar|se ejecutan) (?:las pruebas|los tests)",
        ),
    ),
    (
        "What is the latest version?",
        (
            r"(?:was|welche|welches) ist die (?:neueste|neuste|letzte|aktuelle) version",
            r"quelle est la dernière version", r"cuál es la última versión",
        ),
    ),
    (
        "How many {unit} are there?",
        (
            rf"wie ?viele {_UNIT} (?:gibt es|sind es|existieren|sind da)",
            rf"combien (?:de |d')?{_UNIT} (?:y a[- ]t[- ]il|existe[- ]t[- ]il)",
            rf"combien y a[- ]t[- ]il (?:de |d'){_UNIT}", rf"cuánt[oa]s {_UNIT} (?:hay|existen)",
        ),
    ),
    (
        "Where is {name} defined?",
        (
            rf"wo (?:ist|wird|sind) {_NAME} (?:definiert|deklariert|implementiert)",
            rf"où est {_NAME} (?:défini|définie|déclarée?|implémentée?)",
            rf"où (?:est|sont) (?:définie?s?|déclarée?s?|implémentée?s?) {_NAME}",
            rf"dónde (?:está|se) (?:definid[oa]|define|declarad[oa]|implementad[oa]) {_NAME}",
            rf"dónde está {_NAME} (?:definid[oa]|declarad[oa]|implementad[oa])",
        ),
    ),
    (
        "What calls {name}?",
        (
            rf"(?:wer|was) ruft {_NAME} auf", rf"wo wird {_NAME} (?:aufgerufen|gerufen)", rf"qui appelle {_NAME}",
            rf"où est appelée? {_NAME}", rf"quién llama a {_NAME}", rf"dónde se llama(?: a)? {_NAME}",
        ),
    ),
    (
        "Who added {name}?",
        (
            rf"wer hat {_NAME} (?:hinzugefügt|geschrieben|eingeführt)", rf"qui a (?:ajouté|écrit|introduit) {_NAME}",
            rf"quién (?:añadió|agregó|escribió|introdujo) {_NAME}",
        ),
    ),
    (
        "When was {name} added?",
        (
            rf"wann wurde {_NAME} (?:hinzugefügt|geschrieben|eingeführt)",
            rf"quand {_NAME} a[- ]t[- ](?:il|elle) été (?:ajoutée?|introduite?)",
            rf"cuándo se (?:añadió|agregó|introdujo) {_NAME}",
        ),
    ),
    (
        "What is the default of {name}?",
        (
            rf"(?:was|wie|welcher) ist der (?:standardwert|vorgabewert) (?:von|für) {_NAME}",
            rf"quelle est la valeur par défaut (?:de |du |d'){_NAME}",
            rf"cuál es el valor (?:predeterminado|por defecto) de {_NAME}",
        ),
    ),
    (
        "What is the value of {name}?",
        (
            rf"(?:was|welcher|welchen|wie) (?:ist|lautet) der wert von {_NAME}",
            rf"quelle est la valeur (?:de |du |d'){_NAME}", rf"cuál es el valor de {_NAME}",
        ),
    ),
    (
        "What does {name} do?",
        (rf"was macht {_NAME}", rf"que fait {_NAME}", rf"à quoi sert {_NAME}", rf"qué hace {_NAME}"),
    ),
)  # fmt: skip
_PATTERNS = [(english, [re.compile(form, re.IGNORECASE) for form in forms]) for english, forms in _FORMS]

_ASKING_TEXT = """
wo wie wer was warum wann welche welcher welches wieviel wieviele wofür wozu
où qui que quel quelle quels quelles comment pourquoi quand combien qu est à
dónde donde quién quien quiénes qué cuál cuáles cómo como cuándo cuántos cuántas por para
"""
_ASKING = frozenset(_ASKING_TEXT.split())
"""First words of questions; some are English, too, so that one alone proves nothing."""

_GRAMMAR_TEXT = """
ist sind wird werden wurde wurden der das den dem des ein eine einen einer für mit und oder nicht dieses diese dieser
diesem von zu zur zum auf aus bei nach viele gibt macht ruft hat haben kann ich es
est sont les une dans avec pour sur ce cette ces fait le la du et ou que il elle sert quel quelle était été
está están son los las una unos del este esta estos para con hay hace qué el se cuál es
"""
_GRAMMAR = frozenset(_GRAMMAR_TEXT.split()) - {"son", "sur", "hat", "fait", "has"}
_ENGLISH_TEXT = """
the is are was were does do did how what where when who why which of in to and for with this that it there many from
"""
_ENGLISH = frozenset(_ENGLISH_TEXT.split()) - {"was", "in"}
_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A question in another language; `english` is the question that it is read as, empty if no form fits."""

    english: str = ""


def read_foreign_question(text: str) -> ForeignQuestion | None:
    """Return a question that isn't in English; None for an English one.

    Parameters
    ----------
    text
        The question. One of Latin script counts as foreign if it begins like one and has a word of grammar of its
        language, and none of English.
    """
    text = text[: 2 * MAX_CHARACTERS].replace("·", " ").replace("\u2019", "'")
    words = " ".join(text.split()).strip(" ?¿!.")
    if len(words) <= MAX_CHARACTERS:
        for english, patterns in _PATTERNS:
            for pattern in patterns:
                match = pattern.fullmatch(words)
                if match is not None:
                    groups = match.groupdict()
                    unit = _UNITS.get((groups.get("unit") or "").lower(), "")
                    return ForeignQuestion(english.format(name=groups.get("name") or "", unit=unit))

    return ForeignQuestion() if _is_foreign(words) else None


def _is_foreign(text: str) -> bool:
    letters = _WORD.findall(text.lower())
    if not letters:
        return False

    in_other_script = sum(_OTHER_SCRIPT.search(word) is not None for word in letters)
    if in_other_script:
        return 2 * in_other_script > len(letters)
    if letters[0] not in _ASKING or any(word in _ENGLISH for word in letters):
        return False

    return any(word in _GRAMMAR for word in letters[1:])
