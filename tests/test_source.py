from hypothesis import given
from hypothesis import strategies as st

from tilegen.lang.source import Source, Span

SOURCE = Source("f.tile", "one\ntwo three\n\nfour")


def test_positions_count_from_one() -> None:
    assert SOURCE.position(0) == (1, 1)
    assert SOURCE.position(3) == (1, 4)
    assert SOURCE.position(4) == (2, 1)
    assert SOURCE.position(14) == (3, 1)
    assert SOURCE.position(len(SOURCE.text)) == (4, 5)


def test_lines() -> None:
    assert [SOURCE.line(n) for n in (1, 2, 3, 4)] == ["one", "two three", "", "four"]


def test_span() -> None:
    two, three = Span(SOURCE, 4, 7), Span(SOURCE, 8, 13)
    assert (two.text, three.text, two.line) == ("two", "three", 2)
    assert two.to(three).text == three.to(two).text == "two three"


@given(st.text(alphabet="ab\n"), st.data())
def test_position_and_line_agree_with_the_text(text: str, data: st.DataObject) -> None:
    source = Source("f.tile", text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.position(offset)
    assert sum(len(source.line(n)) + 1 for n in range(1, line)) + column - 1 == offset
    assert source.line(line) == text.split("\n")[line - 1]
