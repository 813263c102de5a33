"""Small wrong changes of a source file, made by operators: C, SystemVerilog and Python.

An operator is a way to be wrong that programmers know: a comparison that is off by its border, a
sign, a bound, a negated condition, a statement that was forgotten, two arguments that were swapped.
Whether a change can be compiled is not decided here.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
SIGNS |= {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "++": "--", "--": "++"}
LOGIC = {"&&": "||", "||": "&&", "and": "or", "or": "and", "in": "not in", "is": "is not"}
TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*
        |^[ \t]*\#[ \t]*(?:include|if|ifdef|ifndef|elif|else|endif|error)\b[^\n]*
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|\|->|\|=>|->|::|@\([^)]*\)|\#\#)
      |(?P<number>\d*'s?[bdh][0-9a-fA-F_?xz]+|0[xX][0-9a-fA-F]+[uUlL]*|\d+(?:\.\d+)?[uUlL]*)
      |(?P<word>[A-Za-z_$]\w*)
      |(?P<mark><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\|=|&=
        |[-+<>&|^!~?:;,=*/%(){}\[\].])""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
STORE = re.compile(
    r"^( +)[A-Za-z_*(][\w.\->\[\]*() +:]* (?:=|<=|[-+|&^]=) [^;{}]*;$", re.MULTILINE
)
CALL = re.compile(r"^( +)[a-z_]\w*\([^;{}]*\);$", re.MULTILINE)
NOT_MUTATED = re.compile(  # own asserts, and what only declares: no test can or needs to notice
    r"^ *(?:TAU_ASSERT|_?[sS]tatic_assert|TAU_PORT_TRACE|`TAU_ASSERT"
    r"|(?:input|output|inout|import)\b|(?:logic|wire|reg)\b[^=]*$"
    r"|(?:localparam|parameter)\b[^=]*$)[^\n]*",
    re.MULTILINE,
)
DECLARATION = re.compile(
    r"^ *(?:const|static|struct|enum|unsigned|u?int\w*|size_t|uintptr_t|bool|char|void|tau_word"
    r"|logic|localparam|parameter|assign|return|typedef|for)\b"
)
SWAPPED = re.compile(r"(?<=\()([\w.\[\]]+|[\w.]+->\w+), ([\w.\[\]]+|[\w.]+->\w+)(?=[,)])")
STATEMENT = re.compile(r"(?<![<>=!]) (?:=|<=) ([^;=]*(?:[<>=!]=[^;=]*)*);")
BRACES = re.compile(r"(?<=\{)(!?[\w.]+), (!?[\w.]+)(?=\})")
CHOICE = re.compile(r"\? ([\w.'\[\]]+) : ([\w.'\[\]]+)(?=[;,)\n])")
TWINS = ("instr data", "source destination", "head tail", "0 1", "_d _q", "result lookup")
CONDITION = re.compile(r"\b(if|while) \(([^\n{};]*)\)(?= \{| begin|$)", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """In a text, OLD at byte START becomes NEW; OPERATOR names the way to be wrong."""

    operator: str
    start: int
    old: str
    new: str

    def made(self, text: str) -> str:
        """TEXT with the change."""
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def described(self, text: str) -> str:
        """The line, and what happens to it."""
        line = text.count("\n", 0, self.start) + 1
        words = text.splitlines()[line - 1].strip()
        return f"{line}: {self.operator}: {self.old!r} -> {self.new!r} in: {words}"


def changes_of(path: Path) -> list[Change]:
    """Every change of PATH by every operator, in the order of the text.

    Raises ValueError for a language without operators.
    """
    text = path.read_text()
    if path.suffix == ".py":
        found = [*python_changes(text)]
    elif path.suffix in {".c", ".h", ".sv", ".svh", ".cpp"}:
        found = [*c_changes(text, path.suffix.startswith(".sv"))]
    else:
        raise ValueError(f"{path}: no operators for this language")
    return sorted(set(found), key=lambda change: (change.start, change.operator, change.new))


def one_more(number: str) -> str | None:
    """NUMBER plus one, in its own notation; None for a fraction, or where it would not fit."""
    match = re.fullmatch(r"(\d*'s?[bdh]|0[xX]|)(\w+?)([uUlL]*)", number)
    if match is None:
        return None
    head, digits, tail = match.groups()
    base = {"b": 2, "d": 10, "h": 16, "x": 16}.get(head[-1:].lower(), 10)
    try:
        value = int(digits.replace("_", ""), base) + 1
    except ValueError:
        return None
    written = {2: f"{value:b}", 10: f"{value}", 16: f"{value:x}"}[base]
    fits = not head.endswith(("b", "h")) or len(written) <= len(digits)
    return f"{head}{written}{tail}" if fits else None


def c_changes(text: str, is_verilog: bool) -> Iterator[Change]:
    """Changes of C, and of SystemVerilog, whose statement `a <= b;` is a store."""
    seen = [(match.start(), match.end()) for match in TOKEN.finditer(text) if match["skip"]]
    code = list(text)
    for start, end in seen:
        code[start:end] = [" " if letter != "\n" else letter for letter in text[start:end]]
    plain = NOT_MUTATED.sub(lambda match: " " * len(match[0]), "".join(code))
    stores = [match for match in STORE.finditer(plain) if not DECLARATION.match(match[0])]
    targets = {match.start() + match[0].index("<=") for match in stores if "<=" in match[0]}
    yield from ((Change("dropped store", *dropped(text, match))) for match in stores)
    for match in CALL.finditer(plain):
        if not DECLARATION.match(match[0]):
            yield Change("dropped call", *dropped(text, match))
    for match in CONDITION.finditer(plain):
        old = text[match.start() : match.end()]
        condition = old[old.index("(") :]
        yield Change("negated condition", match.start(), old, f"{match[1]} (!{condition})")
    for match in SWAPPED.finditer(plain):
        if match[1] != match[2]:
            yield Change("swapped arguments", match.start(), match[0], f"{match[2]}, {match[1]}")
    if is_verilog:
        yield from verilog_changes(text, plain)
    before = ""
    for match in TOKEN.finditer(plain):
        token, kind = match[0], match.lastgroup
        is_binary = bool(re.fullmatch(r"[\w)\]']+", before)) and before not in {"return", "case"}
        is_store = is_verilog and match.start() in targets
        if kind == "number" and one_more(token) is not None:
            yield Change("bound", match.start(), token, str(one_more(token)))
        elif token in COMPARISONS and is_binary and not is_store:
            yield Change("comparison", match.start(), token, COMPARISONS[token])
        elif token in LOGIC and kind == "mark":
            yield Change("logic", match.start(), token, LOGIC[token])
        elif token in SIGNS and (is_binary or token in {"++", "--"}):
            yield Change("sign", match.start(), token, SIGNS[token])
        elif token == "!":
            yield Change("logic", match.start(), token, "")
        before = token


def verilog_changes(text: str, plain: str) -> Iterator[Change]:
    """Ways to be wrong in wires: a condition forgotten, a signal stuck, the one next to it used."""
    yield from dropped_operands(text, plain)
    for match in STATEMENT.finditer(plain):
        line = plain[plain.rfind(";", 0, match.start()) + 1 : match.start()]
        start, old = match.start(1), text[match.start(1) : match.end(1)]
        if old.count(")") > old.count("(") and " <= " in old:  # the condition's `<=` came first
            start, old = start + old.index(" <= ") + 4, old.partition(" <= ")[2]
        if not re.search(r"\b(?:localparam|parameter|for|unused\w*)\b", line):
            yield from (Change("stuck", start, old, new) for new in ("'0", "'1") if old != new)
    for match in BRACES.finditer(plain):
        yield Change("swapped arguments", match.start(), match[0], f"{match[2]}, {match[1]}")
    for match in CHOICE.finditer(plain):
        yield Change("swapped choice", match.start(), match[0], f"? {match[2]} : {match[1]}")
    names = set(re.findall(r"[A-Za-z_]\w*", plain))
    for match in re.finditer(r"[A-Za-z_]\w*", plain):
        for pair in TWINS:
            for old, new in (pair.split(), pair.split()[::-1]):
                twin = match[0].replace(old, new)
                if twin != match[0] and twin in names:
                    yield Change("twin", match.start(), match[0], twin)


def dropped_operands(text: str, plain: str) -> Iterator[Change]:
    """Each operand of && and || left out."""
    for match in re.finditer(r"&&|\|\|", plain):
        first, end = edge(plain, match.start(), -1), edge(plain, match.end(), 1)
        for start, stop in ((match.start(), end), (first, match.end())):
            old = text[start:stop]
            if "\n" not in old.lstrip() or not re.search("<=|`", old):
                yield Change("dropped operand", start, old, "")


def edge(plain: str, at: int, step: int) -> int:
    """Where the operand that ends or starts at AT has its other end."""
    opening, closing = ("([{", ")]}") if step > 0 else (")]}", "([{")
    depth = 0
    place = at if step > 0 else at - 1
    while 0 <= place < len(plain):
        letter = plain[place]
        depth += (letter in opening) - (letter in closing)
        if depth < 0 or (depth == 0 and (letter in ";,?:" or is_edge(plain, place))):
            break
        place += step
    return place if step > 0 else place + 1


def is_edge(plain: str, place: int) -> bool:
    """Whether another operand, or the target of an assignment, begins or ends here."""
    letter, pair = plain[place], plain[place : place + 2]
    is_assignment = letter == "=" and plain[place - 1] not in "=!<>" and pair != "=="
    return is_assignment or pair in ("&&", "||") or plain[place - 1 : place + 1] in ("&&", "||")


def dropped(text: str, match: re.Match[str]) -> tuple[int, str, str]:
    """Where a statement starts, the statement, and an empty one."""
    start = match.end(1)
    return start, text[start : match.end()], ";"


def python_changes(text: str) -> Iterator[Change]:
    """Changes of Python; annotations and texts stay."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start = offsets[token.start[0] - 1] + token.start[1]
        word = token.string
        line = token.line.strip()
        is_declaration = line.startswith(("def ", "class ", "import ", "from ", "async def "))
        is_loop = line.startswith(("for ", "async for ")) or re.search(r"\bfor\b.*\bin\b", line)
        is_binary = bool(re.fullmatch(r"[\w)\]]+", before)) and before not in {"return", "in"}
        if is_declaration or token.type in {tokenize.STRING, tokenize.COMMENT}:
            pass
        elif token.type == tokenize.NUMBER and one_more(word) is not None:
            yield Change("bound", start, word, str(one_more(word)))
        elif word in COMPARISONS:
            yield Change("comparison", start, word, COMPARISONS[word])
        elif word in SIGNS and is_binary and not (word == "|" and ":" in line):
            yield Change("sign", start, word, SIGNS[word])
        elif token.type == tokenize.NAME and word in LOGIC and not (word == "in" and is_loop):
            if before != "not":
                yield Change("logic", start, word, LOGIC[word])
        elif token.type == tokenize.NAME and word == "not" and before != "is":
            yield Change("logic", start, "not ", "")
        before = word
    for match in re.finditer(r"^( +)(?:el)?if ([^\n]*):$", text, re.MULTILINE):
        yield Change("negated condition", match.start(2), match[2], f"not ({match[2]})")
    for match in re.finditer(r"^( +)[\w.]+[.\]][\w\]]* [-+|]?= [^\n(\[{]*$", text, re.MULTILINE):
        yield Change("dropped store", *dropped(text, match)[:2], "pass")
    for match in re.finditer(r"^( +)[a-z_][\w.]*\([^\n]*\)$", text, re.MULTILINE):
        yield Change("dropped call", *dropped(text, match)[:2], "pass")
    for match in re.finditer(r"(?<=\()(\w+), (\w+)(?=[,)])", text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if match[1] != match[2] and not line.startswith(("def ", "class ")):
            yield Change("swapped arguments", match.start(), match[0], f"{match[2]}, {match[1]}")
