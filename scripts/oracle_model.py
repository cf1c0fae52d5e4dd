"""A model on the loopback interface that answers every question with one word, and judges what it was asked.

It speaks the four interfaces that the programs use: OpenAI's chat completions and responses, Anthropic's messages,
Gemini's generateContent. A request is read into turns that look the same for all four, and one judge looks at those.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "noted"
# What every provider takes for the id of a call, and for the name of a tool.
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def turn(role, texts=(), calls=(), results=(), others=0):
    """Something that was said: calls are (id, name, arguments), results are (id, text)."""
    return {"role": role, "texts": [t for t in texts if t is not None], "calls": list(calls), "results": list(results), "others": others}


def texts_of(content, kinds=("text", "input_text", "output_text")):
    if isinstance(content, str):
        return [content]
    return [p.get("text", "") for p in content or [] if isinstance(p, dict) and p.get("type") in kinds]


def parsed(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def chat_turns(body):
    for message in body.get("messages", []):
        content, role = message.get("content"), message.get("role")
        others = 0 if isinstance(content, str) else sum(1 for p in content or [] if p.get("type") != "text")
        if role == "tool":
            yield turn("tool", results=[(message.get("tool_call_id"), "".join(texts_of(content)))])
            continue
        calls = [(c["id"], c["function"]["name"], parsed(c["function"]["arguments"])) for c in message.get("tool_calls") or []]
        yield turn(role, texts_of(content), calls, others=others)


def response_turns(body):
    if body.get("instructions"):
        yield turn("system", [body["instructions"]])
    for item in body.get("input", []) if isinstance(body.get("input"), list) else [{"role": "user", "content": body.get("input")}]:
        kind = item.get("type", "message")
        if kind == "message":
            yield turn(item.get("role"), texts_of(item.get("content")), others=sum(1 for p in item["content"] if p.get("type") == "input_image") if isinstance(item.get("content"), list) else 0)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = parsed(item.get("arguments")) if kind == "function_call" else {"input": item.get("input")}
            yield turn("assistant", calls=[(item.get("call_id"), item.get("name"), arguments)])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            output = item.get("output")
            yield turn("tool", results=[(item.get("call_id"), output if isinstance(output, str) else "".join(texts_of(output)))])
        else:
            yield turn("assistant", others=1)


def anthropic_turns(body):
    if body.get("system"):
        yield turn("system", texts_of(body["system"]))
    for message in body.get("messages", []):
        parts = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        calls = [(p.get("id"), p.get("name"), p.get("input")) for p in parts if p.get("type") == "tool_use"]
        results = [(p.get("tool_use_id"), "".join(texts_of(p.get("content")))) for p in parts if p.get("type") == "tool_result"]
        unsigned = [p for p in parts if p.get("type") == "thinking" and not p.get("signature")]
        known = ("text", "tool_use", "tool_result")
        made = turn(message["role"], texts_of(parts, ("text",)), calls, results, sum(1 for p in parts if p.get("type") not in known))
        yield {**made, "problems": ["thinking without a signature"] * len(unsigned)}


def gemini_turns(body):
    system = body.get("systemInstruction") or {}
    if system.get("parts"):
        yield turn("system", [p.get("text") for p in system["parts"]])
    made = 0
    waiting = []
    for content in body.get("contents", []):
        calls, results, texts, others = [], [], [], 0
        for part in content.get("parts", []):
            if "functionCall" in part:
                call = part["functionCall"]
                made += 1
                # Its calls are answered by name, in order, where they have no id.
                waiting.append((call.get("name"), call.get("id") or f"call_{made}"))
                calls.append((waiting[-1][1], call.get("name"), call.get("args", {})))
            elif "functionResponse" in part:
                response = part["functionResponse"]
                found = next((w for w in waiting if w[1] == response.get("id") or w[0] == response.get("name")), None)
                if found:
                    waiting.remove(found)
                results.append((found[1] if found else response.get("id") or response.get("name"), json.dumps(response.get("response"))))
            elif "text" in part and not part.get("thought"):
                texts.append(part["text"])
            else:
                others += 1
        yield turn("assistant" if content.get("role") == "model" else content.get("role", "user"), texts, calls, results, others)


def judge(turns):
    """What a strict provider would object to."""
    bad, waiting, began = [], [], False
    for at, said in enumerate(turns):
        # Instructions and reminders stand wherever the program puts them.
        if said["role"] in ("system", "developer"):
            continue
        where = f"turn {at} ({said['role']})"
        bad += [f"{where}: {problem}" for problem in said.get("problems", [])]
        for call_id, _ in said["results"]:
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                bad.append(f"{where}: a result of {call_id!r}, which nothing called")
        is_answer = said["role"] == "assistant"
        # Calls that an interface has as items of their own stand side by side.
        if waiting and not said["results"] and not (is_answer and (said["calls"] or said["others"])):
            bad.append(f"{where}: the calls {waiting} are not answered")
            waiting = []
        if not any(text.strip() for text in said["texts"]) and not said["calls"] and not said["results"] and not said["others"]:
            bad.append(f"{where}: it is empty")
        if is_answer and not began:
            bad.append(f"{where}: the model speaks first")
        began |= said["role"] in ("user", "assistant")
        for call_id, name, arguments in said["calls"]:
            waiting.append(call_id)
            if not ID.fullmatch(str(call_id)):
                bad.append(f"{where}: a call with the id {call_id!r}")
            if not ID.fullmatch(str(name)):
                bad.append(f"{where}: a tool with the name {name!r}")
            if not isinstance(arguments, dict):
                bad.append(f"{where}: the arguments of {name} are no object")
    return bad + ([f"the calls {waiting} are never answered"] if waiting else [])


def plain(text):
    """A text without its blanks: programs join the parts of an answer with or without them."""
    return "".join(text.replace("\u200b", "").split())


def missing(turns, wanted):
    """The texts of a session that a request lacks."""
    said = plain("\n".join(text for one in turns for text in one["texts"] + [text for _, text in one["results"]]))
    return [text for text in wanted if plain(text) not in said]


class Model:
    """Keeps what it was asked, turn by turn."""

    def __init__(self):
        self.seen = []
        self.prompts = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, kind, data):
                data = data.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_HEAD(self):
                self.answer("application/json", "")

            def do_GET(self):
                self.answer("application/json", '{"object":"list","data":[{"id":"fake-1","object":"model"}],"models":[]}')

            def do_POST(self):
                body = parsed(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}") or {}
                path = self.path.split("?")[0]
                for ending, read, reply in INTERFACES:
                    if re.search(ending, path):
                        outer.seen.append(list(read(body)))
                        streams = body.get("stream") or path.endswith(":streamGenerateContent")
                        return self.answer(*reply(streams))
                return self.answer("application/json", '{"input_tokens":1,"totalTokens":1}')

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # A program that went away before the end of an answer.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def prompt(self):
        """What nobody else asks: requests are told apart by it."""
        self.prompts += 1
        return f"Please go on ({self.prompts})."

    def asked(self, prompt):
        """The requests that carry the prompt, the one with the longest history first."""
        with_prompt = [turns for turns in list(self.seen) if any(prompt in text for one in turns for text in one["texts"])]
        return sorted(with_prompt, key=len, reverse=True)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def events(list_of, names=True):
    head = (lambda e: f"event: {e['type']}\n") if names else (lambda e: "")
    return "text/event-stream", "".join(f"{head(e)}data: {json.dumps(e)}\n\n" for e in list_of)


def chat_reply(streams):
    base = {"id": "chatcmpl-1", "created": 1, "model": "fake-1"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not streams:
        choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        return "application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
    steps = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    kind, text = events([{**base, "object": "chat.completion.chunk", **step} for step in steps], names=False)
    return kind, text + "data: [DONE]\n\n"


def anthropic_reply(streams):
    begin = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake-1", "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not streams:
        return "application/json", json.dumps({**begin, "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn"})
    return events([
        {"type": "message_start", "message": begin},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ])


def responses_reply(streams):
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    done = {"id": "resp_1", "object": "response", "status": "completed", "model": "fake-1", "output": [item], "usage": usage}
    if not streams:
        return "application/json", json.dumps(done)
    return events([
        {"type": "response.created", "response": {**done, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ])


def gemini_reply(streams):
    candidate = {"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    reply = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake-1"}
    return events([reply], names=False) if streams else ("application/json", json.dumps(reply))


INTERFACES = [
    (r"/chat/completions$", chat_turns, chat_reply),
    (r"/responses$", response_turns, responses_reply),
    (r"/messages$", anthropic_turns, anthropic_reply),
    (r":(generateContent|streamGenerateContent)$", gemini_turns, gemini_reply),
]
