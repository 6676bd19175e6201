"""The vendors' own clients, all asked alike: a question, with a tool or without, in a stream or not, and its result.

Each is used as its documentation shows it, with its own accumulator where it has one, and gives its own assistant
message back for the second turn. Nothing here repairs what a client got: what it makes of a reply is what tests judge.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import anthropic
import boto3
import ollama
import openai
from botocore.config import Config
from google import genai
from google.genai import types

QUESTION = "How is the weather?"
RESULT = "Sunny, 21 degrees."
TOOL = "get_weather"
ABOUT = "Tells the weather."
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LIMIT = 8000


@dataclass
class Heard:
    """What a client made of a reply. `calls` are names, arguments and the vendor's id, if it has one."""

    thought: str = ""
    text: str = ""
    calls: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    stop: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    model: str | None = None
    """None where the vendor's replies do not name it."""


class Sdk(ABC):
    """One conversation: `ask`, then `give` with the result of the call that it asked for."""

    wire: ClassVar[str]
    stops: ClassVar[tuple[str, str]]
    """The vendor's words for the end of a turn and for a call."""

    def __init__(self, url: str, model: str, *, tools: bool, stream: bool) -> None:
        self.url = url
        self.model = model
        self.tools = tools
        self.stream = stream
        self.history: list[Any] = []
        self.open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    @abstractmethod
    def ask(self) -> Heard: ...

    @abstractmethod
    def give(self, heard: Heard) -> Heard:
        """The second turn."""


class Anthropic(Sdk):
    wire = "anthropic"
    stops = ("end_turn", "tool_use")

    def ask(self) -> Heard:
        self.history = [{"role": "user", "content": QUESTION}]
        return self._turn()

    def give(self, heard: Heard) -> Heard:
        result = {"type": "tool_result", "tool_use_id": heard.calls[0][2], "content": RESULT}
        self.history.append({"role": "user", "content": [result]})
        return self._turn()

    def _turn(self) -> Heard:
        asked: dict[str, Any] = {"model": self.model, "max_tokens": LIMIT, "messages": self.history}
        asked["thinking"] = {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}
        if self.tools:
            asked["tools"] = [{"name": TOOL, "description": ABOUT, "input_schema": CITY}]
        with anthropic.Anthropic(base_url=self.url, api_key="k", max_retries=0) as client:
            if self.stream:
                with client.messages.stream(**asked) as stream:
                    message: Any = stream.get_final_message()
            else:
                message = client.messages.create(**asked)
        self.history.append({"role": "assistant", "content": message.content})
        heard = Heard(stop=message.stop_reason, model=message.model)
        heard.tokens_in, heard.tokens_out = message.usage.input_tokens, message.usage.output_tokens
        for block in message.content:
            match block.type:
                case "thinking":
                    heard.thought += block.thinking
                case "text":
                    heard.text += block.text
                case "tool_use":
                    heard.calls.append((block.name, block.input, block.id))
        return heard


class OpenAI(Sdk):
    wire = "openai-chat"
    stops = ("stop", "tool_calls")

    def ask(self) -> Heard:
        self.history = [{"role": "user", "content": QUESTION}]
        return self._turn()

    def give(self, heard: Heard) -> Heard:
        self.history.append({"role": "tool", "tool_call_id": heard.calls[0][2], "content": RESULT})
        return self._turn()

    def _turn(self) -> Heard:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, "reasoning_effort": "medium"}
        asked["extra_body"] = {"reasoning": {"exclude": False}}  # OpenAI has no word for "show it"; OpenRouter has
        if self.tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": CITY}
            asked["tools"] = [{"type": "function", "function": function}]
        with openai.OpenAI(base_url=self.url + "/v1", api_key="k", max_retries=0) as client:
            if self.stream:
                with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
                    stream.until_done()
                    reply: Any = stream.get_final_completion()
            else:
                reply = client.chat.completions.create(**asked)
        message = reply.choices[0].message
        self.history.append(message)
        heard = Heard(text=message.content or "", stop=reply.choices[0].finish_reason, model=reply.model)
        heard.thought = getattr(message, "reasoning_content", None) or ""  # not the vendor's, so not typed
        heard.tokens_in, heard.tokens_out = reply.usage.prompt_tokens, reply.usage.completion_tokens
        for call in message.tool_calls or ():
            heard.calls.append((call.function.name, json.loads(call.function.arguments), call.id))
        return heard


class Responses(Sdk):
    wire = "openai-responses"
    stops = ("completed", "completed")

    def ask(self) -> Heard:
        self.history = [{"role": "user", "content": QUESTION}]
        return self._turn()

    def give(self, heard: Heard) -> Heard:
        self.history.append({"type": "function_call_output", "call_id": heard.calls[0][2], "output": RESULT})
        return self._turn()

    def _turn(self) -> Heard:
        asked: dict[str, Any] = {"model": self.model, "input": self.history, "store": False}
        asked |= {"reasoning": {"effort": "medium", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}
        if self.tools:
            asked["tools"] = [{"type": "function", "name": TOOL, "description": ABOUT, "parameters": CITY}]
        with openai.OpenAI(base_url=self.url + "/v1", api_key="k", max_retries=0) as client:
            if self.stream:
                with client.responses.stream(**asked) as stream:
                    stream.until_done()
                    reply: Any = stream.get_final_response()
            else:
                reply = client.responses.create(**asked)
        self.history += [item.to_dict() for item in reply.output]
        heard = Heard(text=reply.output_text, stop=reply.status, model=reply.model)
        heard.tokens_in, heard.tokens_out = reply.usage.input_tokens, reply.usage.output_tokens
        for item in reply.output:
            if item.type == "reasoning":
                heard.thought += "".join(part.text for part in [*item.summary, *(item.content or ())])
            elif item.type == "function_call":
                heard.calls.append((item.name, json.loads(item.arguments), item.call_id))
        return heard


class Gemini(Sdk):
    """The SDK's chat keeps the history itself."""

    wire = "gemini"
    stops = ("STOP", "STOP")

    def ask(self) -> Heard:
        declared = types.FunctionDeclaration(name=TOOL, description=ABOUT, parameters_json_schema=CITY)
        config = types.GenerateContentConfig(
            thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2048),
            tools=[types.Tool(function_declarations=[declared])] if self.tools else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        self._client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=self.url))
        self.open.enter_context(closing(self._client))
        self._chat = self._client.chats.create(model=self.model, config=config)
        return self._turn(QUESTION)

    def give(self, heard: Heard) -> Heard:
        name, _, call_id = heard.calls[0]
        answer = types.FunctionResponse(id=call_id or None, name=name, response={"output": RESULT})
        return self._turn(types.Part(function_response=answer))

    def _turn(self, said: Any) -> Heard:
        chat = self._chat
        replies = list(chat.send_message_stream(said)) if self.stream else [chat.send_message(said)]
        last = replies[-1]
        heard = Heard(model=last.model_version)
        assert last.usage_metadata is not None
        heard.tokens_in = last.usage_metadata.prompt_token_count or 0
        heard.tokens_out = last.usage_metadata.candidates_token_count or 0
        for reply in replies:
            assert reply.candidates
            heard.stop = reply.candidates[0].finish_reason or heard.stop
            for part in (reply.candidates[0].content or types.Content()).parts or ():
                if part.function_call is not None:
                    call = part.function_call
                    heard.calls.append((call.name or "", dict(call.args or {}), call.id or ""))
                elif part.thought:
                    heard.thought += part.text or ""
                else:
                    heard.text += part.text or ""
        return heard


class Bedrock(Sdk):
    """The SDK has no accumulator: the blocks are put together as the API's guide says."""

    wire = "bedrock"
    stops = ("end_turn", "tool_use")

    def ask(self) -> Heard:
        self._client: Any = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id="k",
            aws_secret_access_key="k",
            config=Config(retries={"total_max_attempts": 1}),
        )
        self.open.enter_context(closing(self._client))
        self.history = [{"role": "user", "content": [{"text": QUESTION}]}]
        return self._turn()

    def give(self, heard: Heard) -> Heard:
        result = {"toolUseId": heard.calls[0][2], "content": [{"text": RESULT}]}
        self.history.append({"role": "user", "content": [{"toolResult": result}]})
        return self._turn()

    def _turn(self) -> Heard:
        asked: dict[str, Any] = {"modelId": self.model, "messages": self.history}
        asked["inferenceConfig"] = {"maxTokens": LIMIT}
        thinking = {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}
        asked["additionalModelRequestFields"] = {"thinking": thinking}
        if self.tools:
            spec = {"name": TOOL, "description": ABOUT, "inputSchema": {"json": CITY}}
            asked["toolConfig"] = {"tools": [{"toolSpec": spec}]}
        if self.stream:
            content, stop, usage = _assembled(self._client.converse_stream(**asked)["stream"])
        else:
            reply = self._client.converse(**asked)
            content, stop, usage = reply["output"]["message"]["content"], reply["stopReason"], reply["usage"]
        self.history.append({"role": "assistant", "content": content})
        heard = Heard(stop=stop, tokens_in=usage["inputTokens"], tokens_out=usage["outputTokens"])
        for block in content:
            heard.text += block.get("text", "")
            heard.thought += block.get("reasoningContent", {}).get("reasoningText", {}).get("text", "")
            if (use := block.get("toolUse")) is not None:
                heard.calls.append((use["name"], use["input"], use["toolUseId"]))
        return heard


def _assembled(events: Any) -> tuple[list[dict[str, Any]], str, dict[str, int]]:
    blocks: dict[int, dict[str, Any]] = {}
    stop, usage = "", {}
    for event in events:
        [(name, body)] = event.items()
        if name == "contentBlockStart":
            use = body["start"]["toolUse"]
            blocks[body["contentBlockIndex"]] = {"toolUse": {**use, "input": ""}}
        elif name == "contentBlockDelta":
            _add(blocks.setdefault(body["contentBlockIndex"], {}), body["delta"])
        elif name == "messageStop":
            stop = body["stopReason"]
        elif name == "metadata":
            usage = body["usage"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return list(blocks.values()), stop, usage


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        said = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        for name, value in delta["reasoningContent"].items():
            said[name] = said.get(name, "") + value


class Ollama(Sdk):
    wire = "ollama"
    stops = ("stop", "stop")

    def ask(self) -> Heard:
        self.history = [{"role": "user", "content": QUESTION}]
        return self._turn()

    def give(self, heard: Heard) -> Heard:
        self.history.append({"role": "tool", "tool_name": heard.calls[0][0], "content": RESULT})
        return self._turn()

    def _turn(self) -> Heard:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, "think": True}
        if self.tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": CITY}
            asked["tools"] = [{"type": "function", "function": function}]
        with ollama.Client(self.url) as client:
            replies = list(client.chat(**asked, stream=True)) if self.stream else [client.chat(**asked)]
        last = replies[-1]
        heard = Heard(stop=last.done_reason or "", model=last.model)
        heard.tokens_in, heard.tokens_out = last.prompt_eval_count or 0, last.eval_count or 0
        calls: list[Any] = []
        for reply in replies:
            heard.thought += reply.message.thinking or ""
            heard.text += reply.message.content or ""
            calls += reply.message.tool_calls or ()
        heard.calls = [(call.function.name, dict(call.function.arguments), "") for call in calls]
        said = {"role": "assistant", "thinking": heard.thought, "content": heard.text, "tool_calls": calls}
        self.history.append(said)
        return heard


SDKS: tuple[type[Sdk], ...] = (Anthropic, OpenAI, Responses, Gemini, Bedrock, Ollama)
