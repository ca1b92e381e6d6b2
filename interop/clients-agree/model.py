"""model.py LOG SECONDS COMMAND...: runs a command beside a stand-in for a model on 127.0.0.1:8801, which answers "ok".

It speaks enough of four interfaces for a client to send its first prompt, in which its skills are: Anthropic messages,
OpenAI chat completions and responses, and Gemini. Each request becomes a line of JSON in LOG.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOG = open(sys.argv[1], "a", encoding="utf-8")
LOCK = threading.Lock()
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def anthropic(body, stream):
    message = {"id": "m1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not stream:
        return dict(message, content=[{"type": "text", "text": "ok"}], stop_reason="end_turn")
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def chat(body, stream):
    base = {"id": "c1", "created": 1, "model": body.get("model", "m")}
    if not stream:
        message = {"role": "assistant", "content": "ok"}
        return dict(base, object="chat.completion", choices=[{"index": 0, "message": message, "finish_reason": "stop"}], usage=USAGE)
    chunk = lambda choices, **more: (None, dict(base, object="chat.completion.chunk", choices=choices, **more))
    choice = lambda delta, reason: [{"index": 0, "delta": delta, "finish_reason": reason}]
    first = chunk(choice({"role": "assistant", "content": "ok"}, None))
    return [first, chunk(choice({}, "stop")), chunk([], usage=USAGE), (None, "[DONE]")]


def responses(body, stream):
    content = [{"type": "output_text", "text": "ok", "annotations": []}]
    item = {"type": "message", "id": "i1", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}
    answer = {"id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [item], "usage": usage}
    if not stream:
        return answer
    events = [
        {"type": "response.created", "response": dict(answer, output=[], status="in_progress")},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ]
    return [(event["type"], event) for event in events]


def gemini(_, stream):
    candidate = {"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP", "index": 0}
    answer = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    return [(None, answer)] if stream else answer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, answer):
        if isinstance(answer, list):
            line = lambda event, data: (f"event: {event}\n" if event else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            kind, text = "text/event-stream", "".join(line(*each) for each in answer)
        else:
            kind, text = "application/json", json.dumps(answer)
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def note(self, body):
        with LOCK:
            LOG.write(json.dumps({"path": self.path, "body": body}) + "\n")
            LOG.flush()

    def body(self):
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def do_GET(self):
        self.note(None)
        model = {"id": "fake", "object": "model", "type": "model", "name": "models/fake", "created": 1, "owned_by": "x"}
        self.answer({"object": "list", "data": [model], "models": [model], "has_more": False} if "models" in self.path else {})

    def do_POST(self):
        try:
            body = json.loads(self.body())
        except ValueError:
            body = {}
        self.note(body)
        stream = isinstance(body, dict) and bool(body.get("stream"))
        kinds = [("count_tokens", lambda *_: {"input_tokens": 10}), ("/messages", anthropic), ("chat/completions", chat),
                 ("responses", responses), ("enerateContent", gemini)]
        kind = next((kind for word, kind in kinds if word in self.path), None)
        self.answer(kind(body, stream or "stream" in self.path) if kind else {})

    do_HEAD = do_GET
    do_PUT = do_POST


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 8801), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        code = child.wait(float(sys.argv[2]))
    except subprocess.TimeoutExpired:
        code = 124
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    sys.exit(code)


main()
