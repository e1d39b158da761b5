"""Masking values by what they are called: `password = …`, `.env` lists, JSON in JSON, flags, connection strings. Pure, linear."""

from __future__ import annotations

import re
from dataclasses import dataclass

from precompact_worker.secret_forms import lowered

MASK = "[secret: named]"
_WORD_OF_NAME = re.compile(
    r"pass|pwd|secret|key|token|credential|kennwort|contrase[nñ]a|mot_?de_?passe|密码|密碼|口令"
)
_KEYS = re.compile(
    r"(?:api|access|auth|private|priv|account|service|signing|encryption|encrypt|master|deploy|ssh|db|database|client|license|app|secret)"
    r"[_ -]?\Z"
)
"""What stands in front of `key` where it opens something."""
_PASS = re.compile(r"word|wd|phrase|code|wort")
_BARE = r"(?:[^\s\"'`,;<>(){}\[\]\\&]|&(?!\w+=))"
_VALUE = re.compile(
    r"(?P<rest>[\w-]{0,40})\\{0,7}[\"'`\]]{0,2}"
    r"(?P<sign>(?:,|\\[nrt]|\s){1,40}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,3}[:=]\s{0,3}"
    r"|\s{0,4}:\s?[A-Za-z][\w<>\[\]|. ]{0,30}\s?=(?!=)\s{0,4}|\s{0,4}(?::=|=>|={1,3}|!==?|:)\s{0,4}"
    r"|:\*\*\s{0,3}|\s{0,3}(?:\|{1,2}|\?\?)\s{0,3}"
    r"|>(?=[^<\s]{1,200}</)|\s{1,3}(?:is|was|ist|to)\s{1,3}|[,(]\s{0,3}(?=\\{0,7}[\"'`]))"
    r"(?:(?P<quote>\\{0,7}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\])){1,4000}+)(?P=quote)"
    rf"|\\{{0,7}}[\"'`]?(?P<bare>{_BARE}{{4,4000}}+))"
)
_FLAG = re.compile(
    r"(?:(?<![^\s\"'`(=\[])|(?<=\\[nrt]))--?(?:[a-z]{1,20}-){0,3}(?:pass(?:word|wd|phrase)?|token|secret|(?:api|access|secret|private|account)-?key)"
    r"(?:-[a-z]{1,12})?\s{1,3}\\{0,7}[\"'`]?(?P<bare>(?![-$\[<{%]|[A-Z_]+\b)[^\s\"'`\\]{4,4000})"
)
_INNOCENT = re.compile(
    r"(?i)(?:files?|path|dir|names?|len|length|size|counts?|limits?|urls?|uris?|endpoint|ttl|expir\w*|min|max|policy|type|kind|field|label|"
    r"placeholder|hint|prompt|errors?|message|title|text|ids?|arn|refs?|env|vars?|header|param|regex|pattern|manager|store|provider|budget|"
    r"usage|factory|service|class|index|at|by|strength|used|window|per\w*|izer|board)$"
)
"""How names end whose values are no secrets themselves."""
_PLACEHOLDER = re.compile(
    r"(?i)[$<{%\[*]|(?:none|null|nil|undefined|true|false|str|string|number|bool|boolean|bytes|int|any|object|required|optional|unknown|"
    r"changeme|redacted|masked|hidden|x+|\.+|\*+|-+|_+|your[-_ ].*|my[-_ ]?(?:secret|password|token|key)|(?:the|a|an|is|not|in|and) .*)$"
    r"|(?:process\.env|os\.environ|os\.getenv|getenv|env|import\.meta|secrets|vault|config|settings|self|this|args|kwargs|request|req|params)[.\[(:]"
)
_CHAIN = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|\?\.|::|->)[A-Za-z_]\w*)+!?$")
"""`config.db.password`: code, no value."""
_WORD = re.compile(r"[A-Za-z_]+\d{0,2}$")
_PROSE = frozenset({"is", "was", "ist", "to", ",", "(", "|", "||", "??"})
"""Behind these a value has to look like one."""
_ENDS_LINE = re.compile(r"[ \t]*(?:#|\r|\n|\\+[nr]|[\"']?$)")
_SETTING = re.compile(r"[\s\w.-]*$")
_BEFORE_A_FLAG = frozenset("-?&;=")
_LONG_TOKEN = 16
"""Characters from which on a variable that is called a token holds one, whatever it is made of."""
_ARGUMENTS = frozenset({"hashed", "plain", "encrypted", "value", "text", "input", "data", "result"})
_LONG = 200
"""Characters of a value beyond which nothing is looked for inside it."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A value and what it is called."""

    name: str
    """From the telling word on, as it is written."""
    word: str
    """The telling word in lower case."""
    sign: str
    value: str
    before: str
    """The line up to the name, at most 60 characters."""
    after: str
    """What follows the value, a few characters."""

    @property
    def is_strong(self) -> bool:
        """Whether the name alone says that the value is secret; tokens may be anything."""
        return self.word not in {"token", "credential"} or "secret" in self.name.lower()


def mask_named(text: str, found: list[str]) -> str:
    """The text with the values behind names of secrets replaced, and added to `found`: code, types, words stay."""
    pieces: list[str] = []
    done = passed = 0
    low = lowered(text)
    for hit in _WORD_OF_NAME.finditer(low):
        if hit.start() < passed:
            continue
        match = _VALUE.match(text, hit.end())
        if match is None or not _opens(low, hit, match):
            continue
        group = "quoted" if match["quoted"] is not None else "bare"
        start, stop = match.span(group)
        if _is_secret(_named(text, hit, match, group), is_quoted=group == "quoted") and not _INNOCENT.search(
            match["rest"]
        ):
            found.append(text[start:stop])
            pieces += (text[done:start], MASK)
            done = passed = stop
        elif stop - start > _LONG:
            passed = stop
    return _FLAG.sub(_with_mask, "".join((*pieces, text[done:])))


def _opens(low: str, hit: re.Match[str], found: re.Match[str]) -> bool:
    """Whether this word is part of a name of something secret: `api_key` is, `monkey` is not."""
    before = low[max(0, hit.start() - 12) : hit.start()]
    if hit[0] == "key":
        is_variable = found["sign"] == "=" and found.string[hit.start() - 1 : hit.end()] == "_KEY"
        is_variable = (
            is_variable and not before.endswith("public_") and looks_random(found["bare"] or found["quoted"])
        )
        return (
            is_variable or _KEYS.search(before) is not None or low.startswith(("_data", "-data"), hit.end())
        )
    if hit[0] == "pass" and _PASS.match(low, hit.end()) is None:
        return _is_short_for_password(low, hit.end(), before, found)
    return True


def _is_short_for_password(low: str, end: int, before: str, found: re.Match[str]) -> bool:
    """`DB_PASS`, `pass: "…"`; tests pass too, and so do arms of a choice (`'pass' : 'fail'`)."""
    if low[end : end + 1].isalpha() or before[-1:].isalpha():
        return False
    is_part = before.endswith(("_", "-")) and found["sign"] in {"=", ": "}
    is_quoted = found["quoted"] is not None and "`" not in found["quote"]
    return is_part or (is_quoted and not found["sign"].startswith((" ", ",")))


def _named(text: str, hit: re.Match[str], found: re.Match[str], group: str) -> _Named:
    line = text[
        max(text.rfind("\n", max(0, hit.start() - 60), hit.start()) + 1, hit.start() - 60) : hit.start()
    ]
    return _Named(
        name=text[hit.start() : hit.end()] + found["rest"],
        word=hit[0],
        sign=found["sign"],
        value=found[group],
        before=line.rpartition("\\n")[2],
        after=text[found.end() : found.end() + 8],
    )


def _is_secret(named: _Named, *, is_quoted: bool) -> bool:
    value = named.value.rstrip(".:!?") if named.sign.strip() in _PROSE else named.value
    if _PLACEHOLDER.match(value):
        return False
    if is_quoted:
        return _is_quoted_secret(named, value)
    return named.after[:1] not in {"(", "["} and not _CHAIN.match(value) and _is_bare_secret(named, value)


def _is_quoted_secret(named: _Named, value: str) -> bool:
    if named.sign.strip() in _PROSE or not named.is_strong:
        return looks_random(value)
    is_label = " " in value and named.word in value.lower()
    return len(value) > 3 and not is_label


def _is_bare_secret(named: _Named, value: str) -> bool:
    sign = named.sign.strip()
    if sign == ">":
        return named.is_strong or looks_random(value)
    if named.name.isupper() and named.sign == "=" and not named.is_strong:
        return looks_random(value) or (len(value) >= _LONG_TOKEN and value.isalnum())
    if named.is_strong and (named.sign == "=" or "value" in sign):
        is_value = named.name.isupper() or named.before[-1:] in _BEFORE_A_FLAG
        is_name = _WORD.match(value) is not None and (named.word in value.lower() or not value[-1].isdigit())
        return is_value or not is_name or _is_setting(named, value)
    return looks_random(value) or (named.sign == ": " and _is_setting(named, value))


def _is_setting(named: _Named, value: str) -> bool:
    """`password: value` as a line of its own, or `db.password=value` without indentation: as configuration has it."""
    tells = named.word in {"pass", "pwd"} or named.before[-1:] in {"_", "-"}
    if not tells or named.word not in {"pass", "pwd", "secret"} or named.name.lower() == "pass":
        return False
    is_line = _ENDS_LINE.match(named.after) is not None and _SETTING.match(named.before) is not None
    is_code = value.isalpha() and (value[0].isupper() or named.word in value.lower() or value in _ARGUMENTS)
    is_indented = named.sign == "=" and named.before[:1].isspace()
    return is_line and not is_code and not is_indented


def looks_random(value: str) -> bool:
    """Whether a value is none that somebody would read: letters and digits mixed, and not a word with a number behind."""
    if len(value) < 8 or " " in value or _WORD.match(value) or _CHAIN.match(value):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _with_mask(found: re.Match[str]) -> str:
    return (
        found[0][: found.start("bare") - found.start()] + MASK + found[0][found.end("bare") - found.start() :]
    )
