"""A reader of C++ text, just good enough for clang-formatted code: what is code and what is not,
what a file includes, where its functions begin and end.

Invariant: blanked text has the length and the line breaks of its source, so that positions agree.
"""

import re
from dataclasses import dataclass

# In this order: a quote inside a comment is no string, a separator in 1'000 no character.
_TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | (?P<raw> \b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" )
    | (?P<text> (?:\b(?:u8|[uUL]))?"(?:\\.|[^"\\\n])*" )
    | (?P<number> (?<![\w.])\.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<char> (?:\b(?:u8|[uUL]))?'(?:\\.|[^'\\\n])+' )
    | (?P<word> [A-Za-z_]\w* )
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_ACCESS = re.compile(r"(?:public|private|protected)\s*:(?!:)")
_QUALIFIER = re.compile(r"(?:typedef|static|const|constexpr|inline|friend)\b\s*")
_ATTRIBUTE = re.compile(
    r"\[\[.*?\]\]|\balignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)", re.DOTALL
)
_NAME = re.compile(
    r"((?:\w+(?:<[^()]*>)?::)*(?:operator\s*(?:\(\)|[^\s\w(]+|[\w ]+)|~?\w+))\s*\("
)


@dataclass(frozen=True)
class Include:
    line: int
    path: str
    angled: bool


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int  # of its declaration, after any comment
    last_line: int  # of its closing brace

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


class Unreadable(Exception):
    """Braces that do not match."""


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank_comments(text):
    """Comments become spaces; strings stay."""
    return _TOKEN.sub(lambda m: _spaces(m[0]) if m.lastgroup == "comment" else m[0], text)


def blank(text):
    """Comments, the inside of literals and preprocessor lines become spaces."""

    def replace(match):
        if match.lastgroup == "comment":
            return _spaces(match[0])
        if match["raw"] or match["text"] or match["char"]:
            quote = "'" if match["char"] else '"'
            return quote + _spaces(match[0][1:-1]) + quote
        return match[0]

    return _DIRECTIVE.sub(lambda m: _spaces(m[0]), _TOKEN.sub(replace, text))


def line_at(text, position):
    return text.count("\n", 0, position) + 1


def includes(text):
    code = blank_comments(text)
    return [
        Include(line_at(code, m.start(0)), m[1] or m[2], m[1] is None)
        for m in _INCLUDE.finditer(code)
    ]


def _skip_template(head):
    """`template <...>` taken off the front of a declaration."""
    while re.match(r"template\s*<", head):
        depth = 0
        for i, char in enumerate(head):
            depth += (char == "<") - (char == ">" and head[i - 1] != "-")
            if char == ">" and depth == 0:
                head = head[i + 1 :].lstrip()
                break
        else:
            return head
    return head


def _kind(head):
    """What the brace after `head` opens: "scope" (namespace, class), "function" or "other"."""
    declaration = _ATTRIBUTE.sub("", _skip_template(head.strip())).strip()
    while match := _QUALIFIER.match(declaration):
        declaration = declaration[match.end() :]
    if re.match(r'(?:namespace\b|extern\s*"\s*"$)', declaration):
        return "scope"
    if re.match(r"enum\b", declaration):
        return "other"
    if re.match(r"(?:class|struct|union)\b", declaration):
        # Of `struct A : B<f()>` the colon comes first, of `struct A f()` the parenthesis.
        first = re.search(r"\(|(?<!:):(?!:)", declaration)
        return "function" if first and first[0] == "(" else "scope"
    if re.match(r"requires\b", declaration) and re.search(r"\b(class|struct)\s+\w+$", declaration):
        return "scope"
    # clang-format puts no space between a name and the brace that initialises it.
    if not head or not head[-1].isspace() or head.rstrip()[-1:] in ("=", ",", "(", ""):
        return "other"
    if re.search(r"=\s*requires\b", declaration):
        return "other"
    return "function" if "(" in declaration else "other"


def _name(head):
    match = _NAME.search(_ATTRIBUTE.sub("", _skip_template(head.strip())))
    return re.sub(r"\s+", "", match[1]) if match else "?"


class _Walk:
    """One pass over the braces of blanked code."""

    def __init__(self, code):
        self.code = code
        self.open = []  # (kind, position of the head) of each brace that is open
        self.parentheses = 0
        self.head = 0  # where the declaration under way began
        self.found = []

    def declaring(self):
        return self.parentheses == 0 and all(kind == "scope" for kind, _ in self.open)

    def head_position(self, end):
        """The first character of the declaration under way that is not space or `public:`."""
        position = self.head
        while position < end:
            if self.code[position].isspace():
                position += 1
            elif match := _ACCESS.match(self.code, position, end):
                position = match.end()
            else:
                break
        return position

    def enter(self, position):
        kind, start = "other", self.head
        if self.declaring():
            start = self.head_position(position)
            kind = _kind(self.code[start:position])
            if kind == "scope":
                self.head = position + 1
        self.open.append((kind, start))

    def leave(self, position):
        if not self.open:
            raise Unreadable(f"line {line_at(self.code, position)}: a brace too many")
        kind, start = self.open.pop()
        if kind == "function":
            self.found.append(
                Function(
                    _name(self.code[start:position]),
                    line_at(self.code, start),
                    line_at(self.code, position),
                )
            )
        if kind != "other" and self.declaring():
            self.head = position + 1

    def run(self):
        for match in re.finditer(r"[{}();]", self.code):
            char, position = match[0], match.start()
            if char == "{":
                self.enter(position)
            elif char == "}":
                self.leave(position)
            elif char == ";":
                if self.declaring():
                    self.head = position + 1
            elif all(kind == "scope" for kind, _ in self.open):
                self.parentheses += 1 if char == "(" else -1
        if self.open:
            raise Unreadable("a brace is missing at the end")
        return self.found


def functions(text):
    """The outermost functions of a file; lambdas and local classes count as part of theirs."""
    return _Walk(blank(text)).run()


@dataclass(frozen=True)
class Class:
    name: str
    line: int
    fields: int
    functions: int


_CLASS = re.compile(r"\b(?<!enum )(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)[^;{}()=]*\{")
_NO_MEMBER = re.compile(r"(?:using|friend|static_assert|typedef|enum|class|struct|union)\b")


def _body(code, start):
    """What stands between the brace before `start` and its partner."""
    depth = 1
    for position in range(start, len(code)):
        depth += (code[position] == "{") - (code[position] == "}")
        if depth == 0:
            return code[start:position]
    raise Unreadable(f"line {line_at(code, start)}: a brace is missing")


def _members(body):
    """The declarations of a class, without what stands in their braces."""
    depth, text = 0, ""
    for position, char in enumerate(body):
        depth += char == "{"
        if depth == 0 and char != ";":
            text += char
        depth -= char == "}"
        if depth != 0 or char not in ";}":
            continue
        # A brace that initialises a member, or one in a list of those, is not its end.
        if char == "}" and body[position + 1 :].lstrip()[:1] in (";", ",", "{"):
            text += " "
            continue
        yield text.strip()
        text = ""


def _without_templates(text):
    shorter = None
    while shorter != text:
        shorter, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def classes(text):
    """Every class that is defined in a file, with how many fields and functions it declares; what
    is deleted is no function, and a constant no field."""
    code = blank(text)
    for match in _CLASS.finditer(code):
        fields = functions_ = 0
        for member in _members(_body(code, match.end())):
            member = _without_templates(_ACCESS.sub("", member)).strip()
            member = re.sub(r"^template\s*", "", member)
            is_constant = re.match(r"(?:inline )?static (?:constexpr|const)\b", member)
            if _NO_MEMBER.match(member) or not re.search(r"\w", member):
                fields += bool(re.match(r"(?:struct|class|union)\b.*\s\w+_$", member))
            elif "(" in member.split("=")[0] or "operator" in member:
                functions_ += not re.search(r"=\s*delete$", member)
            else:
                fields += not is_constant
        yield Class(match[1], line_at(code, match.start()), fields, functions_)
