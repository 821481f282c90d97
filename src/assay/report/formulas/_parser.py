"""A formula read by recursive descent, as presentation MathML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from assay.report.formulas._nodes import Node, joined, letter, row, script, with_scripts
from assay.report.formulas._tokens import FRACTIONS, Token, tokens

CLOSERS = {
    "(": frozenset(")]"),  # intervals may be open at one end
    "[": frozenset(")]"),
    "{": frozenset("}"),
    "⟨": frozenset("⟩"),
    "⌊": frozenset("⌋"),
    "⌈": frozenset("⌉"),
    "|": frozenset("|"),
    "‖": frozenset("‖"),
}
CLOSING = frozenset(")]}⟩⌋⌉")
LARGE = {"Σ": "∑", "∑": "∑", "∏": "∏", "Π": "∏", "∫": "∫", "⋃": "⋃", "⋂": "⋂"}
LIMITS = frozenset(["min", "max", "sup", "inf", "lim", "argmin", "argmax", "mean"])
"""Functions whose range stands below them."""

FUNCTIONS = LIMITS | frozenset(
    [
        "log",
        "exp",
        "sin",
        "cos",
        "tan",
        "tr",
        "det",
        "rank",
        "sign",
        "span",
        "ker",
        "diag",
        "ln",
        "Cov",
        "Var",
    ]
)
PREFIXES = frozenset("−-+±#¬∇∂")
ATOMS = frozenset("…⋯∞∅·*%")
"""Symbols that stand for a value; the dot and the star where no value is before them."""


DEEPEST = 40
"""Values inside each other; what is deeper is no formula."""


class FormulaError(ValueError):
    """What is written is not a formula of the kind that is read here."""


def parse(formula: str) -> str:
    """The MathML of one line.

    Raises
    ------
    FormulaError
        When brackets do not close or a script has nothing to stand at.

    Examples
    --------
    >>> from assay.report.formulas._parser import parse
    >>> parse("x_i²")
    '<mrow><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></mrow>'
    >>> parse("(1/2n)")
    '<mrow><mfrac><mn>1</mn><mrow><mn>2</mn><mi>n</mi></mrow></mfrac></mrow>'
    """
    reader = Reader(tokens(formula))
    found = reader.sequence(frozenset())
    if reader.token is not None:
        raise FormulaError(f"{reader.token.text!r} closes nothing")
    return f"<mrow>{found.markup}</mrow>"


class Reader:
    """Reads tokens from left to right, one method for each kind of piece."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._place = 0
        self._depth = 0
        self._small = 0  # scripts that are open: fractions in them stay on one line

    @property
    def token(self) -> Token | None:
        """The next token, None at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def take(self) -> Token:
        """The next token, left behind."""
        if self.token is None:
            raise FormulaError("the formula ends too early")
        self._place += 1
        return self._tokens[self._place - 1]

    def sequence(self, closers: frozenset[str]) -> Node:
        """Values, signs and words up to one of the closers, or to the end."""
        nodes: list[Node] = []
        gaps: list[bool] = []
        while self.token is not None and not self._closes(self.token, closers, nodes):
            gaps.append(self.token.spaced)
            if self._is_sign(self.token, nodes):
                nodes.append(self._sign(nodes))
            else:
                nodes.append(self._quotient(closers))
        markup = joined(nodes, gaps, commas_apart=not closers)
        return Node(
            markup,
            tall=any(node.tall for node in nodes),
            fraction=len(nodes) == 1 and nodes[0].fraction,
        )

    def _closes(self, token: Token, closers: frozenset[str], nodes: list[Node]) -> bool:
        if token.kind != "symbol":
            return False
        if token.text in ("|", "‖"):
            # The same sign opens and closes: it closes after a value.
            return token.text in closers and bool(nodes) and nodes[-1].role != "operator"
        return token.text in closers or token.text in CLOSING

    def _is_sign(self, token: Token, nodes: list[Node]) -> bool:
        if token.kind != "symbol" or token.text in CLOSERS or token.text in FRACTIONS or token.text in LARGE:
            return False
        if token.text in ("·", "*"):
            return bool(nodes) and nodes[-1].role != "operator"
        return token.text not in ATOMS and token.text != "√"

    def _sign(self, nodes: list[Node]) -> Node:
        text = self.take().text
        first = not nodes or nodes[-1].role in ("operator", "text")
        # A plus at the beginning goes on with the line above.
        sign = "infix" if text == "+" else "prefix"
        form = f' form="{sign}"' if first and text in PREFIXES else ""
        if text == ".":
            form = ' lspace="0" rspace="0"'
        return Node(f"<mo{form}>{escape(text.replace('-', '−'))}</mo>", "operator")

    def _quotient(self, closers: frozenset[str]) -> Node:
        """Values side by side without a blank, and what they are divided by, likewise."""
        node = self._run(closers)
        while self.token is not None and self.token.kind == "symbol" and self.token.text == "/":
            self.take()
            below = self._run(closers)
            if self._small:
                node = Node(f'<mrow>{node.markup}<mo lspace="0" rspace="0">/</mo>{below.markup}</mrow>')
                continue
            parts = "".join(part.inside or part.markup for part in (node, below))
            node = Node(f"<mfrac>{parts}</mfrac>", tall=True, fraction=True)
        return node

    def _run(self, closers: frozenset[str]) -> Node:
        nodes = [self._scripted()]
        while (
            self.token is not None and not self.token.spaced and self._continues(self.token, closers, nodes)
        ):
            nodes.append(self._scripted(after=nodes[-1]))
        if len(nodes) == 1:
            return nodes[0]
        role: Literal["value", "text"] = "text" if all(node.role == "text" for node in nodes) else "value"
        markup = "".join(node.markup for node in nodes)
        return Node(f"<mrow>{markup}</mrow>", role, tall=any(node.tall for node in nodes))

    def _continues(self, token: Token, closers: frozenset[str], nodes: list[Node]) -> bool:
        if token.kind == "symbol":
            opens = token.text in CLOSERS or token.text in FRACTIONS or token.text == "√"
            return opens and not self._closes(token, closers, nodes)
        return token.kind in ("letter", "number", "word", "text")

    def _scripted(self, after: Node | None = None) -> Node:
        """A value with its subscript and superscript, or an operator with its range."""
        base = self._value(after)
        below: list[str] = []
        above: list[str] = []
        while self.token is not None and not self.token.spaced:
            if self.token.kind == "below":
                below.append(self._below())
            elif self.token.kind == "above":
                self.take()
                above.append(self._above())
            elif self.token.kind in ("superscript", "subscript"):
                place = above if self.token.kind == "superscript" else below
                place.append(script(self.take().text))
            elif self.token.text in ("'", "′"):
                self.take()
                above.append("<mo>′</mo>")
            else:
                break
        if not below and not above:
            return base
        return with_scripts(base, below, above)

    def _below(self) -> str:
        text = self.take().text
        return script(text) if text else self._bracketed()

    def _above(self) -> str:
        token = self.token
        if token is not None and token.kind == "symbol" and token.text in ("{", "("):
            return self._bracketed()
        sign = ""
        if token is not None and token.text in PREFIXES:
            sign = f'<mo form="prefix">{escape(self.take().text)}</mo>'
        if sign and (self.token is None or self.token.spaced):
            return sign
        return row([sign, self._symbol_above()]) if sign else self._symbol_above()

    def _symbol_above(self) -> str:
        if self.token is not None and self.token.kind == "symbol" and self.token.text in "⊥*′†":
            return f"<mo>{self.take().text}</mo>"
        self._small += 1
        found = self._value(None).markup
        self._small -= 1
        return found

    def _bracketed(self) -> str:
        """What stands in braces or parentheses after _ or ^, without them."""
        opening = self.take().text
        if opening not in ("{", "("):
            raise FormulaError(f"a script cannot be {opening!r}")
        self._small += 1
        found = self.sequence(CLOSERS[opening])
        self._small -= 1
        self._close(CLOSERS[opening])
        return f"<mrow>{found.markup}</mrow>"

    def _close(self, closers: frozenset[str]) -> str:
        closing = self.take().text
        if closing not in closers:
            raise FormulaError(f"{closing!r} closes what it has not opened")
        return closing

    def _value(self, after: Node | None) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError("brackets are nested too deep")
        node = self._read_value(self.take(), after)
        self._depth -= 1
        return node

    def _read_value(self, token: Token, after: Node | None) -> Node:
        if token.kind in ("above", "below", "superscript", "subscript"):
            raise FormulaError(f"the script {token.text!r} has nothing to stand at")
        if token.kind == "number":
            return Node(f"<mn>{token.text}</mn>")
        if token.kind == "text":
            return Node(f'<mtext class="code">{escape(token.text)}</mtext>', "text")
        if token.kind == "word":
            return self._word(token.text)
        if token.text in LARGE and self._is_large(after):
            return Node(f'<mo movablelimits="false">{LARGE[token.text]}</mo>', "limits")
        if token.kind == "letter":
            return Node(letter(token.text))
        if token.text in FRACTIONS:
            if self._small:
                return Node(f"<mn>{token.text}</mn>")
            numerator, denominator = FRACTIONS[token.text]
            fraction = f"<mfrac><mn>{numerator}</mn><mn>{denominator}</mn></mfrac>"
            return Node(fraction, tall=True, fraction=True)
        if token.text == "√":
            inner = self._scripted()
            return Node(f"<msqrt>{inner.inside or inner.markup}</msqrt>", tall=inner.tall)
        if token.text in CLOSERS:
            return self._group(token.text, after)
        if token.text in ATOMS:
            return Node(f"<mi>{token.text}</mi>")
        raise FormulaError(f"{token.text!r} is no value")

    def _is_large(self, after: Node | None) -> bool:
        """Whether Σ or Π is a sum or product: with a range, or before a value; else it is a letter."""
        if after is not None or self.token is None:
            return False
        return (self.token.kind == "below" and not self.token.spaced) or (
            self.token.spaced and (self.token.kind != "symbol" or self.token.text in CLOSERS)
        )

    def _word(self, text: str) -> Node:
        applied = self.token is not None and self.token.text == "(" and not self.token.spaced
        if text in LIMITS:
            return Node(f'<mo movablelimits="false" lspace="0" rspace="0">{text}</mo>', "limits")
        if text in FUNCTIONS or applied:
            return Node(f"<mi>{text}</mi>")
        return Node(f"<mtext>{text}</mtext>", "text")

    def _group(self, opening: str, after: Node | None) -> Node:
        inner = self.sequence(CLOSERS[opening])
        closing = self._close(CLOSERS[opening])
        stretchy = "true" if inner.tall else "false"
        fences = [
            f'<mo form="{form}" fence="true" stretchy="{stretchy}">{sign}</mo>'
            for form, sign in (("prefix", opening), ("postfix", closing))
        ]
        markup = f"<mrow>{fences[0]}{inner.markup}{fences[1]}</mrow>"
        bare = f"<mrow>{inner.markup}</mrow>" if (opening, closing) == ("(", ")") else ""
        # (1/n) before a sum is a fraction; f(1/n) keeps its parentheses, and so does (1/n)².
        scripted = (
            self.token is not None
            and not self.token.spaced
            and self.token.kind
            in (
                "above",
                "below",
                "superscript",
                "subscript",
            )
        )
        if bare and inner.fraction and after is None and not scripted:
            return Node(inner.markup, tall=True, fraction=True)
        return Node(markup, inside="" if scripted else bare, tall=inner.tall)
