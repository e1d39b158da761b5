from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from precompact import apply_context
from precompact_shared.engine import edits as engine

LONGEST = 8


@st.composite
def splices(draw: st.DrawFn) -> dict[str, Any]:
    """A history, an insert, a cut and edits of all three forms."""
    sizes = draw(st.lists(st.integers(1, 3), max_size=LONGEST))
    messages = [
        {"role": "user", "content": [{"type": "text", "text": f"{seq}.{part}"} for part in range(size)]}
        for seq, size in enumerate(sizes)
    ]
    edits: list[dict[str, Any]] = []
    for seq, size in enumerate(sizes):
        value = st.sampled_from([None, {"type": "text", "text": "edited"}])
        whole = st.sampled_from([None, {"role": "user", "content": "edited"}])
        forms = (
            st.fixed_dictionaries({"seq": st.just(seq), "part": st.integers(0, size - 1), "value": value}),
            st.fixed_dictionaries({"seq": st.just(seq), "value": whole}),
            st.just({"seq": seq, "after": [{"role": "user", "content": "behind"}]}),
        )
        edits += draw(st.lists(st.one_of(*forms), max_size=3))
    insert = [{"role": "user", "content": "summary"}] * draw(st.integers(0, 2))
    keep_from = draw(st.integers(0, len(messages)))
    return {
        "messages": messages,
        "insert": insert,
        "keep_from": keep_from,
        "edits": draw(st.permutations(edits)),
    }


@given(splices())
def test_the_client_splices_as_the_engine_does(splice: dict[str, Any]) -> None:
    """Two implementations of one sentence of the contract; the client's must not need the server's code."""
    edits = [engine.edit_from_json(edit) for edit in splice["edits"]]
    before = repr(splice)
    expected = engine.apply_context(splice["messages"], splice["insert"], splice["keep_from"], edits)
    assert apply_context(**splice) == expected
    assert repr(splice) == before
