"""A page that asks the panel and shows who says what while they debate.

streamlit run app.py                          no key: the agents are scripted
MODELS=anthropic,openai streamlit run app.py  real models
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import streamlit as st

import roundtable as rt
from roundtable import sync
from roundtable.results import DebateResult
from roundtable.testing import scripted_agents


@st.cache_resource
def make_table() -> sync.Roundtable:
    """Return the table of all visitors; Streamlit runs the page anew for each click, and keeps this object."""
    models = [name for name in os.environ.get("MODELS", "").split(",") if name]
    agents = models or scripted_agents({"Ada": "Tea", "Bo": "Coffee", "Cy": "Tea"})
    table = sync.Roundtable(agents, storage=os.environ.get("STORAGE", "sqlite:///debates.db"))
    return table.__enter__()  # for as long as the server runs


def lines_of(table: sync.Roundtable, question: str, mode: str, rounds: int) -> Iterator[str | DebateResult]:
    """Yield a line for each answer as it comes, then the result."""
    with table.stream(question, mode=mode, rounds=rounds, deadline_s=600) as events:
        for event in events:
            match event.type:
                case "agent_complete" if event.turn.answer.kind == "position":
                    answer = event.turn.answer
                    yield f"**{event.turn.agent_name}**, round {event.round}: {answer.bottom_line or answer.position}"
                case "agent_error":
                    yield f"**{event.turn.agent_name}**, round {event.round}: no answer ({event.turn.error.message})"
                case _:
                    continue
    yield events.result


def show(result: DebateResult) -> None:
    """Show how the debate ended, and the whole of it below."""
    if result.answer is None:
        st.warning(result.answer_reason)
    else:
        st.success(result.answer)
    st.caption(f"{result.usage.calls} calls, session {result.session_id}")
    st.download_button("Download the report", result.to_html(), "debate.html", "text/html")
    st.dataframe(result.to_records(), hide_index=True)


def main() -> None:
    """Show the form, and the debate that it asks for."""
    st.title("Ask the panel")
    with st.form("question"):
        question = st.text_input("Question", "Tea or coffee?")
        mode = st.selectbox("Mode", ["collaborative", "adversarial", "delphi"])
        rounds = st.slider("Rounds", 1, 5, 2)
        asked = st.form_submit_button("Debate")
    if not asked:
        return
    try:
        with st.status("They debate ...", expanded=True) as status:
            for line in lines_of(make_table(), question, mode, rounds):
                if isinstance(line, DebateResult):
                    status.update(label=f"They {'agreed' if line.answer else 'did not agree'}.", state="complete")
                    show(line)
                else:
                    st.markdown(line)
    except rt.RoundtableError as error:
        st.error(f"{error.message} {error.hint or ''}")


if __name__ == "__main__":
    main()
