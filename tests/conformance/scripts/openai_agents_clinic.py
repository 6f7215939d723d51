"""openai-agents in an animal clinic, streamed, with sessions over user turns and runs that the program starts at once.

    pip install openai-agents openinference-instrumentation-openai-agents logfire ... -> openai_agents_clinic.py SCENE KIND OUT

KIND is openinference, openllmetry, logfire, openlit, official or v2. SCENE is one of
- turns: three user turns, streamed, in a session; the second starts with the agent that the first ended with, and hands over by a tool with
  `input_type` and an `input_filter` that leaves nothing of the history;
- gather: two agents that the program runs at once, and a third that is given both their words, in one trace;
- inner: a function tool whose body runs another agent, which hands over within, and an agent as a tool with parameters of its own;
- guard: an agent as an input guardrail, which lets the first question pass (the agent hands over) and trips on the second;
- judge: a writer and a judge that the program runs by turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from capturing import Answer, ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "visit-308"


def instrument(kind: str, provider: Any) -> None:
    """Switch the instrumentation on."""
    if kind == "openlit":
        import openlit

        openlit.init(disable_metrics=True)
    elif kind == "openinference":
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
    elif kind == "official":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
        from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor as Official

        OpenAIInstrumentor().instrument(tracer_provider=provider)
        Official().instrument(tracer_provider=provider)
    else:  # openllmetry and v2 are two packages with one module
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

        OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


class Clinic:
    """Agents of one scene, on one server."""

    def __init__(self, answers: dict[str, list[Answer]]) -> None:
        from agents import OpenAIChatCompletionsModel
        from openai import AsyncOpenAI

        self._model = OpenAIChatCompletionsModel(
            "modell-4", AsyncOpenAI(base_url=ChatServer(answers).url, api_key="none")
        )

    def agent(self, name: str, **rest: Any) -> Any:
        """One agent."""
        from agents import Agent

        return Agent(name=name, instructions=f"You are {name}.", model=self._model, **rest)


def truth(agents: list[str], handoffs: list[Any], returns: Any = (), decoys: Any = ()) -> dict[str, Any]:
    return {
        "session_id": SESSION, "session_id_visible": True, "sessions": 1, "agents": agents, "handoffs": handoffs,
        "returns": list(returns), "dropped": [], "decoys": list(decoys),
    }  # fmt: skip


ADMIT = {"animal": "Rex", "symptoms": ["limp", "fever"], "weight_kg": 0, "insurance": None}
LAB = {"sample": "blood", "urgent": False, "note": ""}


def turns(span: Any) -> dict[str, Any]:
    from agents import Runner, SQLiteSession
    from agents import handoff as to
    from agents.extensions.handoff_filters import remove_all_tools
    from pydantic import BaseModel

    class Admission(BaseModel):
        animal: str
        symptoms: list[str]
        weight_kg: int
        insurance: str | None

    class Sample(BaseModel):
        sample: str
        urgent: bool
        note: str

    clinic = Clinic(
        {
            "Reception": [say("Which animal is it?"), ask(("transfer_to_vet", ADMIT))],
            "Vet": [say("Rex rests for two days."), ask(("transfer_to_lab", LAB))],
            "Lab": [say("Nothing found in the sample.")],
        }
    )
    lab = clinic.agent("Lab")
    vet = clinic.agent(
        "Vet",
        handoffs=[
            to(
                lab,
                input_type=Sample,
                on_handoff=lambda _context, _given: None,
                input_filter=lambda data: data.clone(input_history="Take the sample.", pre_handoff_items=()),
            )
        ],
    )
    desk = clinic.agent(
        "Reception",
        handoffs=[
            to(
                vet,
                input_type=Admission,
                on_handoff=lambda _context, _given: None,
                input_filter=remove_all_tools,
            )
        ],
    )

    async def run() -> None:
        session, agent = SQLiteSession(SESSION), desk
        for text in ("My dog is ill.", "It is Rex, he limps.", "And the blood?"):
            with span():
                result = Runner.run_streamed(agent, text, session=session)
                async for _event in result.stream_events():
                    pass
            agent = result.last_agent

    asyncio.run(run())
    return truth(
        ["Reception", "Vet", "Lab"],
        [handoff(1, "Reception", "Vet", "transfer", ADMIT), handoff(2, "Vet", "Lab", "transfer", LAB)],
        decoys=["the third turn starts with Vet, as the program kept it: no handoff from Vet to itself"],
    )


def gather(span: Any) -> dict[str, Any]:
    from agents import Runner, trace

    first = "Heart: 120 beats a minute, no murmur heard."
    second = '{"teeth": "clean", "tartar": 0, "missing": []}'
    clinic = Clinic({"Cardiologist": [say(first)], "Dentist": [say(second)], "Summary": [say("A healthy animal.")]})
    heart, teeth, summary = clinic.agent("Cardiologist"), clinic.agent("Dentist"), clinic.agent("Summary")

    async def run() -> None:
        with span(), trace("Check-up", group_id=SESSION):
            one, two = await asyncio.gather(Runner.run(heart, "Examine Rex."), Runner.run(teeth, "Examine Rex."))
            await Runner.run(summary, f"{one.final_output}\n\n{two.final_output}")

    asyncio.run(run())
    return truth(
        ["Cardiologist", "Dentist", "Summary"],
        [
            handoff(1, "Cardiologist", "Summary", "transfer", {"message": first}, form="text"),
            handoff(2, "Dentist", "Summary", "transfer", {"message": second, **json.loads(second)}),
        ],
        decoys=["Cardiologist and Dentist run at once"],
    )


def inner(span: Any) -> dict[str, Any]:
    from agents import Runner, function_tool, trace
    from pydantic import BaseModel

    dose = {"drug": "Carprofen", "mg": 25, "days": None}
    words = "The dose is for a dog, please check it."
    clinic = Clinic(
        {
            "Vet": [
                ask(("order_medicine", {"order": "Carprofen for Rex"})),
                ask(("find_dose", dose)),
                say("Give it twice a day."),
            ],
            "Pharmacy": [ask(("transfer_to_controller", {}), text=words)],
            "Controller": [say("Released under 77.")],
            "Dosing": [say("25 mg twice a day.")],
        }
    )
    controller = clinic.agent("Controller")
    pharmacy = clinic.agent("Pharmacy", handoffs=[controller])

    @function_tool
    async def order_medicine(order: str) -> str:
        """Order medicine."""
        return str((await Runner.run(pharmacy, order)).final_output)

    class Dose(BaseModel):
        drug: str
        mg: int
        days: int | None

    dosing = clinic.agent("Dosing").as_tool("find_dose", "Find a dose", parameters=Dose)
    vet = clinic.agent("Vet", tools=[order_medicine, dosing])

    async def run() -> None:
        with span(), trace("Medicine", group_id=SESSION):
            await Runner.run(vet, "Rex needs something against pain.")

    asyncio.run(run())
    return truth(
        ["Vet", "Pharmacy", "Controller", "Dosing"],
        [
            handoff(1, "Vet", "Pharmacy", "delegate", {"order": "Carprofen for Rex"}),
            handoff(2, "Pharmacy", "Controller", "transfer", {"message": words}, form="text"),
            handoff(3, "Vet", "Dosing", "delegate", dose),
        ],
        [returned("Controller", "Vet", "Released under 77."), returned("Dosing", "Vet", "25 mg twice a day.")],
    )


def guard(span: Any) -> dict[str, Any]:
    from agents import GuardrailFunctionOutput, InputGuardrail, InputGuardrailTripwireTriggered, Runner, trace

    words = "Please look at the cat, it has eaten a ribbon."
    clinic = Clinic(
        {
            "Watchdog": [say("allowed"), say("forbidden")],
            "Reception": [ask(("transfer_to_vet", {}), text=words), say("I should not say this.")],
            "Vet": [say("The ribbon is out.")],
        }
    )
    watchdog = clinic.agent("Watchdog")

    async def check(context: Any, _agent: Any, given: Any) -> Any:
        said = str((await Runner.run(watchdog, given, context=context.context)).final_output)
        return GuardrailFunctionOutput(output_info=said, tripwire_triggered=said == "forbidden")

    vet = clinic.agent("Vet")
    desk = clinic.agent("Reception", handoffs=[vet], input_guardrails=[InputGuardrail(guardrail_function=check)])

    async def run() -> None:
        for text in ("The cat has eaten a ribbon.", "Do my homework."):
            with span(), trace("Question", group_id=SESSION), suppress(InputGuardrailTripwireTriggered):
                await Runner.run(desk, text)

    asyncio.run(run())
    return truth(
        ["Reception", "Watchdog", "Vet"],
        [handoff(1, "Reception", "Vet", "transfer", {"message": words}, form="text")],
        decoys=["Watchdog only checks what Reception is asked, beside it"],
    )


def judge(span: Any) -> dict[str, Any]:
    from agents import Runner, trace

    first, second = "A leaflet about ticks: they like tall grass.", "A leaflet about ticks: check the ears every day."
    verdict = '{"score": "needs_improvement", "feedback": "Name the months.", "examples": []}'
    clinic = Clinic({"Writer": [say(first), say(second)], "Judge": [say(verdict), say('{"score": "pass"}')]})
    writer, critic = clinic.agent("Writer"), clinic.agent("Judge")

    async def run() -> None:
        items: list[Any] = [{"role": "user", "content": "Write a leaflet."}]
        with span(), trace("Leaflet", group_id=SESSION):
            for _round in range(2):
                written = await Runner.run(writer, items)
                items = written.to_input_list()
                judged = await Runner.run(critic, items)
                items.append({"role": "user", "content": f"Feedback: {judged.final_output}"})

    asyncio.run(run())
    return truth(
        ["Writer", "Judge"],
        [
            handoff(1, "Writer", "Judge", "transfer", {"message": first}, form="text"),
            handoff(2, "Judge", "Writer", "transfer", {"message": verdict, **json.loads(verdict)}),
            handoff(3, "Writer", "Judge", "transfer", {"message": second}, form="text"),
        ],
    )


def main(scene: str, kind: str, folder: Path) -> None:
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY" if kind == "official" else "true"
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    provider = tracer_provider(folder, "clinic")
    from opentelemetry import trace as otel

    otel.set_tracer_provider(provider)
    from agents import set_trace_processors

    set_trace_processors([])  # not to the vendor
    if kind == "logfire":
        import logfire

        logfire.configure(
            send_to_logfire=False, console=False, additional_span_processors=[provider._active_span_processor]
        )
        logfire.instrument_openai_agents()
    else:
        instrument(kind, provider)
    tracer = otel.get_tracer("clinic")

    def span() -> Any:
        return tracer.start_as_current_span("POST /visits", attributes={"session.id": SESSION})

    expected = {"turns": turns, "gather": gather, "inner": inner, "guard": guard, "judge": judge}[scene](span)
    provider.force_flush()
    if (
        kind == "openllmetry"
    ):  # of Chat Completions it records no answer: what was passed shows where the next call repeats it
        for row in expected["handoffs"]:
            if scene == "turns" and row["n"] == 1:
                row["recorded"] = False
            elif scene in ("gather", "judge"):
                row.update(fields={"message": row["fields"]["message"]}, form="text")
    write_expected(folder, expected)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
