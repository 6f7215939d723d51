"""AG2's classic package in an archive: a pattern with handoffs, a group chat whose manager asks a model who speaks next.

    pip install "ag2[openai]>=0.14,<1.0"                                     -> ag2_archive.py native pattern|chat OUT
    pip install "ag2[openai]>=0.14,<1.0" openinference-instrumentation-ag2   -> ag2_archive.py openinference pattern|chat OUT

pattern: Annahme uses the plain tool `transfer_to_regal`, hands over to Lesesaal 2 by a function of its own (`weiter_reichen`), which hands on to
Magazin by the package's own numbered tool. chat: Annahme, Magazin, Annahme and Lesesaal_2 speak, as the manager's model picks them.
"""

import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, say, tracer_provider, write_expected

SESSION = "Akte 9/ß"
FILE = {"signatur": "B 17/β", "seiten": 0, "anhänge": [], "gesperrt": False}

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "pattern": {
        "Annahme": [ask(("transfer_to_regal", {"signatur": "B 17/β"})), ask(("weiter_reichen", FILE))],
        "Lesesaal_2": [ask(("transfer_to_Magazin_1", {}))],
        "Magazin": [say("Akte liegt im Magazin bereit.")],
    },
    "chat": {
        "Annahme": [say("Wo liegt die Akte B 17?"), say("Danke, ich hole sie gleich.")],
        "Magazin": [say("Sie liegt in Regal 4, Fach 2.")],
        "Lesesaal_2": [say("Platz 7 ist frei. TERMINATE")],
        "You are in a role play game": [say("Annahme"), say("Magazin"), say("Annahme"), say("Lesesaal_2")],
    },
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
    }
    if scene == "pattern":
        return truth | {
            "agents": ["Annahme", "Lesesaal_2", "Magazin"],
            "handoffs": [
                handoff(1, "Annahme", "Lesesaal_2", "transfer", FILE),
                handoff(2, "Lesesaal_2", "Magazin", "transfer", {}),
            ],
            "decoys": [
                "transfer_to_regal is a plain tool",
                "chat_manager and _Group_Tool_Executor are the package's own",
            ],
        }

    def words(n: int, source: str, target: str, text: str) -> dict[str, Any]:
        return handoff(n, source, target, "transfer", {"message": text}, form="text")

    return truth | {
        "agents": ["Annahme", "Magazin", "Lesesaal_2"],
        "handoffs": [
            words(1, "Annahme", "Magazin", "Wo liegt die Akte B 17?"),
            words(2, "Magazin", "Annahme", "Sie liegt in Regal 4, Fach 2."),
            words(3, "Annahme", "Lesesaal_2", "Danke, ich hole sie gleich."),
        ],
        "decoys": ["leser is the user, chat_manager only picks who speaks"],
    }


def pattern(config: Any, provider: Any) -> None:
    """A pattern of agents that hand over by tools."""
    from autogen import ConversableAgent
    from autogen.agentchat import initiate_group_chat
    from autogen.agentchat.group import AgentTarget, OnCondition, ReplyResult, StringLLMCondition, TerminateTarget
    from autogen.agentchat.group.patterns import DefaultPattern
    from autogen.opentelemetry import instrument_llm_wrapper, instrument_pattern

    def agent(name: str, **rest: Any) -> Any:
        return ConversableAgent(
            name=name, system_message=f"Du bist {name}.", llm_config=config, human_input_mode="NEVER", **rest
        )

    room, store = agent("Lesesaal_2"), agent("Magazin")

    def transfer_to_regal(signatur: str) -> str:
        """Put a file onto the shelf. (A plain tool; NOT a handoff.)"""
        return f"{signatur} liegt im Regal"

    def weiter_reichen(signatur: str, seiten: int, anhänge: list[str], gesperrt: bool) -> ReplyResult:  # noqa: PLC2401
        """Pass a file on."""
        return ReplyResult(message=f"{signatur} ist unterwegs", target=AgentTarget(room))

    desk = agent("Annahme", functions=[transfer_to_regal, weiter_reichen])
    room.handoffs.add_llm_condition(
        OnCondition(target=AgentTarget(store), condition=StringLLMCondition(prompt="needs it"))
    )
    store.handoffs.set_after_work(TerminateTarget())
    team = DefaultPattern(initial_agent=desk, agents=[desk, room, store])
    if provider is not None:
        instrument_llm_wrapper(tracer_provider=provider, capture_messages=True)
        instrument_pattern(team, tracer_provider=provider)
    initiate_group_chat(pattern=team, messages="Akte B 17 bitte", max_rounds=12)


def chat(config: Any, provider: Any) -> None:
    """A group chat whose manager asks a model."""
    from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
    from autogen.opentelemetry import instrument_agent, instrument_llm_wrapper
    from autogen.opentelemetry.instrumentators.pattern import instrument_groupchat

    agents = [
        ConversableAgent(
            name=n, system_message=f"Du bist {n}.", description=n, llm_config=config, human_input_mode="NEVER"
        )
        for n in ("Annahme", "Magazin", "Lesesaal_2")
    ]
    group = GroupChat(agents=agents, messages=[], max_round=6, speaker_selection_method="auto")
    manager = GroupChatManager(
        groupchat=group, llm_config=config, is_termination_msg=lambda m: "TERMINATE" in (m.get("content") or "")
    )
    user = UserProxyAgent("leser", human_input_mode="NEVER", code_execution_config=False, llm_config=False)
    if provider is not None:
        instrument_llm_wrapper(tracer_provider=provider, capture_messages=True)
        instrument_groupchat(group, tracer_provider=provider)
        for agent in (*agents, manager, user):
            instrument_agent(agent, tracer_provider=provider)
    user.initiate_chat(manager, message="Ich suche Akte B 17.")


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "archiv")
    from autogen import LLMConfig

    if kind == "openinference":
        from openinference.instrumentation.ag2 import AG2Instrumentor

        AG2Instrumentor().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS[scene])
    config = LLMConfig({"api_type": "openai", "model": "scripted-1", "base_url": server.url, "api_key": "none"})
    with provider.get_tracer("archiv").start_as_current_span("ausleihe", attributes={"session.id": SESSION}):
        {"pattern": pattern, "chat": chat}[scene](config, provider if kind == "native" else None)
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
