"""What is asked and answered at each address, as OpenAPI's operation objects."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]

JSON, TEXT, HTML = "application/json", "text/plain", "text/html"
WORDS = {
    400: "The request cannot be served as asked; the sentence says why",
    401: "The server wants a key",
    403: "The Host header or the Origin is not one that this server answers, or the history is another browser's",
    404: "No such model on this machine, no such exchange in the history, or no such passage in the knowledge base",
    408: "The body stopped coming",
    409: "The knowledge base is of another model than is asked for: the sentence says how to switch",
    413: "The body is too large",
    415: "The body is compressed, or a web page sent another type than JSON",
    429: "The queue is full",
    499: "The client left; nobody reads this",
    500: "A fault of the model's file or of the server",
    503: "The queue is full, memory does not suffice, the server is ending, or what it searches cannot be read",
    507: "The disk of the knowledge base is full",
}
ALWAYS = (401, 403, 500, 503)
WITH_BODY = (400, 404, 408, 413, 415, 429, 499, *ALWAYS)

ID = {
    "X-Request-Id": {
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
        "description": "The request's name in logs",
        "required": True,
    }
}
UNCHANGED = {"description": "What If-None-Match names is still so", "headers": ID}
CUT = {"schema": {"type": "integer", "minimum": 1}, "description": "Inputs that were cut; absent when none was"}
LATER = {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds to wait before asking again"}


@dataclass(frozen=True)
class Operation:
    """One method of one path; `answer` is TEXT, HTML or the name of a schema, `example` the body but for its model."""

    tag: str
    name: str
    summary: str
    answer: str
    body: str | None = None
    example: Item = field(default_factory=dict)
    names_model: bool = True  # its body does
    cut: bool = False  # it tells how many inputs it cut
    cached: bool = False
    also: tuple[int, ...] = ()  # statuses beside ALWAYS

    def __call__(self, model: str) -> Item:
        """The operation object, with `model` as the example's."""
        said: Item = {"tags": [self.tag], "operationId": self.name, "summary": self.summary}
        if self.body:
            example = {"model": model, **self.example} if self.names_model else self.example
            schema = {"$ref": f"#/components/schemas/{self.body}"}
            said["requestBody"] = {"required": True, "content": {JSON: {"schema": schema, "example": example}}}
        family = "OpenAIError" if self.tag == "OpenAI" else "Error"
        refusals = errors(family, {*(WITH_BODY if self.body else ALWAYS), *self.also})
        return {**said, "responses": {**self._success(), **refusals}}

    def _success(self) -> Item:
        headers = {"X-Bankml-Truncated": CUT} if self.cut else {}
        if self.answer in (TEXT, HTML):
            found = _response("OK", self.answer, {"type": "string"}, headers)
        else:
            found = _response("OK", JSON, {"$ref": f"#/components/schemas/{self.answer}"}, headers)
        return {"200": found} | ({"304": UNCHANGED} if self.cached else {})


SKY = "why is the sky blue?"
OPERATIONS = {
    "GET /": Operation("Ollama", "root", "The sentence that clients ping for", TEXT),
    "POST /api/embed": Operation(
        "Ollama", "embed", "Vectors of texts", "EmbedAnswer", "EmbedRequest", {"input": [SKY]}, cut=True
    ),
    "POST /api/embeddings": Operation(
        "Ollama", "embeddings", "One vector: the older route", "EmbeddingsAnswer", "EmbeddingsRequest", {"prompt": SKY}
    ),
    "GET /api/tags": Operation("Ollama", "tags", "Models on this machine", "Tags"),
    "GET /api/ps": Operation("Ollama", "ps", "Models in memory", "Ps"),
    "POST /api/show": Operation("Ollama", "show", "What a model's file says", "ShowAnswer", "ShowRequest", {}),
    "GET /api/version": Operation("Ollama", "version", "The version of bankml", "Version"),
    "POST /v1/embeddings": Operation(
        "OpenAI", "create_embedding", "Vectors of texts", "OpenAIAnswer", "OpenAIRequest", {"input": SKY}, cut=True
    ),
    "GET /v1/models": Operation("OpenAI", "list_models", "Models on this machine", "OpenAIModels"),
    "GET /v1/models/{id}": Operation("OpenAI", "retrieve_model", "One model", "OpenAIModel", also=(400, 404)),
    "GET /health": Operation("bankml", "health", "Alive, and what is in memory", "Health"),
    "GET /health/live": Operation("bankml", "live", "The process answers", "Live"),
    "GET /health/ready": Operation("bankml", "ready", "Requests may be sent", "Ready"),
    "GET /info": Operation("bankml", "info", "The served model and how it is computed", "Info", also=(400,)),
    "POST /tokenize": Operation(
        "bankml", "tokenize", "Token ids of texts, uncut", "Tokens", "TokenizeRequest", {"input": SKY}
    ),
    "POST /history/search": Operation(
        "bankml",
        "search_history",
        "Exchanges of the history by words and by meaning",
        "HistoryFound",
        "HistorySearchRequest",
        {"query": SKY, "k": 8},
        names_model=False,
    ),
    "POST /history/exchange": Operation(
        "bankml",
        "read_exchange",
        "One exchange of the history, whole",
        "HistoryExchange",
        "HistoryExchangeRequest",
        {"id": 0, "query": SKY},
        names_model=False,
    ),
    "GET /history/status": Operation("bankml", "history_status", "How much of a history is embedded", "HistoryStatus"),
    "POST /kb/search": Operation(
        "bankml",
        "search_knowledge",
        "Passages of the knowledge base by words and by meaning",
        "KnowledgeFound",
        "KnowledgeSearchRequest",
        {"query": SKY, "n": 10},
        names_model=False,
        also=(409,),
    ),
    "POST /kb/source": Operation(
        "bankml",
        "read_source",
        "The text around a passage of the knowledge base",
        "KnowledgeSource",
        "KnowledgeSourceRequest",
        {"id": 1, "query": SKY},
        names_model=False,
    ),
    "POST /kb/add": Operation(
        "bankml",
        "add_documents",
        "Texts into the knowledge base, new or in the place of those of their names",
        "KnowledgeAdded",
        "KnowledgeAddRequest",
        {"documents": [{"name": "sky.md", "text": "# The sky\n\nIt is blue.\n"}]},
        names_model=False,
        also=(409, 507),
    ),
    "GET /kb/status": Operation("bankml", "knowledge_status", "What the knowledge base holds", "KnowledgeStatus"),
    "GET /metrics": Operation("bankml", "metrics", "Counters and histograms for Prometheus", TEXT),
    "GET /stats": Operation("bankml", "stats", "What the server is doing", "Stats"),
    "GET /openapi.json": Operation("bankml", "openapi", "This document", "Document", cached=True),
    "GET /docs": Operation("bankml", "docs", "This document for people", HTML, cached=True),
    "GET /ui": Operation("bankml", "ui", "What the server is doing, live", HTML, cached=True),
}


def errors(family: str, statuses: Iterable[int]) -> Item:
    """References to the refusals of a family (Error or OpenAIError), which RESPONSES holds."""
    return {str(status): {"$ref": f"#/components/responses/{family}{status}"} for status in sorted(set(statuses))}


def _response(words: str, media: str, schema: Item, headers: Item) -> Item:
    return {"description": words, "headers": {**ID, **headers}, "content": {media: {"schema": schema}}}


def _refusal(family: str, status: int) -> Item:
    later = {"Retry-After": LATER} if status in (429, 503) else {}
    return _response(WORDS[status], JSON, {"$ref": f"#/components/schemas/{family}"}, later)


RESPONSES = {f"{family}{status}": _refusal(family, status) for family in ("Error", "OpenAIError") for status in WORDS}
