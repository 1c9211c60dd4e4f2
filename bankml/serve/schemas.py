"""JSON Schemas of what the routes accept and answer. Those of requests begin with the structs that decode them."""

import dataclasses
from typing import Any, get_args

import msgspec

from bankml.serve import catalogue, history, kb, ollama, openai, own
from bankml.serve.limits import MOST_DOCUMENTS, MOST_FILTERS, MOST_NAME, MOST_QUERY, MOST_RESULTS, MOST_WAIT, Limits

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ID: Schema = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
NUMBER: Schema = {"type": "number", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
NULL: Schema = {"type": "null"}
ANY_OBJECT: Schema = {"type": "object"}
OK: Schema = {"type": "string", "const": "ok"}


def listed(items: Schema, **more: Any) -> Schema:
    """A list of them."""
    return {"type": "array", "items": items, **more}


def answer(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object that has all of `required`, perhaps some of `optional`, and nothing else."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def growing(required: dict[str, Schema]) -> Schema:
    """The same with whatever else a later version tells."""
    return {"type": "object", "properties": required, "required": list(required)}


def request(struct: type[msgspec.Struct], required: list[str], **fields: Schema) -> Schema:
    """The struct's own schema, with what it leaves to the route (`fields`); other keys as the struct takes them."""
    _, components = msgspec.json.schema_components([struct])
    schema: Schema = components[struct.__name__]
    properties = {}
    for name, found in schema["properties"].items():
        said = fields.get(name, {})
        typed = {} if "type" in said or "anyOf" in said else {"anyOf": found.get("anyOf", [{}])}
        properties[name] = {**typed, **said}
    closed = {"additionalProperties": False} if struct.__struct_config__.forbid_unknown_fields else {}
    return {"type": "object", "properties": properties, **closed, **({"required": required} if required else {})}


MODEL: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "A model on the server's machine: any name that /api/tags lists, an alias, or hf:owner/repo.",
}
OPTIONAL_MODEL: Schema = {**MODEL, "type": ["string", "null"], "minLength": 0}
TEXTS: Schema = {
    "description": "One text or a list of them.",
    "anyOf": [STRING, listed(STRING, maxItems=Limits.max_texts)],
}
DIMENSIONS: Schema = {
    "description": "The first so many numbers of each vector, brought to length 1 again; none or all of them when it "
    "is 0, negative or larger than the model's."
}
KEEP_ALIVE: Schema = {
    "description": "How long the model stays in memory after this request: seconds, or a duration such as 5m or 1h30m; "
    "negative: for ever; 0: not at all.",
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^[+-]?([0-9]{1,4}(ns|us|ms|s|m|h)){1,3}$"},
        NULL,
    ],
}
OPTIONS: Schema = {
    "description": "Ollama's options; all but num_ctx are ignored.",
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "num_ctx": {
                    "description": "Tokens of a text; lowers the model's own limit, never raises it. 0 or less: unset.",
                    "anyOf": [{"type": "integer", "minimum": 3}, {"type": "integer", "maximum": 0}, NULL],
                }
            },
        },
        NULL,
    ],
}

PERHAPS: Schema = {"type": ["string", "null"]}
LIMITS = answer(dict.fromkeys((field.name for field in dataclasses.fields(Limits)), NUMBER))
VECTOR = listed({"type": "number"})
INDEX: Schema = {**COUNT, "description": "Which of the inputs is to blame."}
REASON: Schema = {**STRING, "description": "What the sentence leaves unsaid."}
DETAILS = answer(
    {
        "parent_model": STRING,
        "format": STRING,
        "family": STRING,
        "families": listed(STRING),
        "parameter_size": STRING,
        "quantization_level": STRING,
        "context_length": COUNT,
        "embedding_length": COUNT,
    }
)
RESIDENT: Schema = {
    "description": "Bytes of the file in memory, and of its tables beside it; null where the system does not tell.",
    "anyOf": [COUNT, NULL],
}
LISTED: dict[str, Schema] = {"name": STRING, "model": STRING, "size": COUNT, "digest": STRING, "details": DETAILS}
OPENAI_MODEL = answer(
    {"id": STRING, "object": {"type": "string", "const": "model"}, "created": {"type": "integer"}, "owned_by": STRING}
)
EMBEDDING = answer(
    {
        "object": {"type": "string", "const": "embedding"},
        "index": COUNT,
        "embedding": {"anyOf": [VECTOR, {**STRING, "description": "base64 of little-endian float32"}]},
    }
)

QUERY: Schema = {**STRING, "maxLength": MOST_QUERY, "description": "What is looked for; empty: nothing."}
RANK: Schema = {"type": ["integer", "null"], "minimum": 1, "description": "Null where that arm does not have it."}
MARKS = listed(
    listed(COUNT, minItems=2, maxItems=2), description="From and to of each match, in UTF-16 code units, as JavaScript."
)
EXCHANGE: dict[str, Schema] = {
    "id": {**COUNT, "description": "The number of its line among those of the file that are not empty."},
    "user": STRING,
    "assistant": STRING,
    "user_marks": MARKS,
    "assistant_marks": MARKS,
    "cut": {**FLAG, "description": "Something of the texts is left out, `…` in its place."},
}
PENDING: Schema = {**FLAG, "description": "The meaning is being computed; the same query gives more in a moment."}
HIT = answer(
    {
        **EXCHANGE,
        "score": {"type": "number", "description": "By reciprocal rank: says the order, nothing of strength."},
        "cosine": {"type": ["number", "null"]},
        "words_rank": RANK,
        "meaning_rank": RANK,
    }
)

PASSAGE: dict[str, Schema] = {
    "id": {"type": "integer", "minimum": 1, "description": "Never another passage's, also when this one is gone."},
    "path": {**STRING, "description": "Of the file, or the name that the text was added under."},
    "heading": {**STRING, "description": "The headings above it, the nearest last: `A > B`."},
    "line": {"type": ["integer", "null"], "minimum": 1, "description": "Where it begins in a text."},
    "page": {"type": ["integer", "null"], "minimum": 1, "description": "Where it begins in what has pages."},
    "text": STRING,
    "marks": MARKS,
    "cut": {**FLAG, "description": "There is more of it than `text`, before or behind."},
}
HIT_OF_KNOWLEDGE = answer(
    {
        **PASSAGE,
        **dict.fromkeys(("title", "type"), STRING),
        **dict.fromkeys(("document", "start", "end"), COUNT),
        "best": {**COUNT, "description": "Where in the text most of what is asked for begins, counted as marks."},
        "score": {"type": "number", "description": "Of the fusion, or of the one arm: says the order."},
        "cosine": {"type": ["number", "null"]},
        "words_rank": RANK,
        "meaning_rank": RANK,
        "others": {**COUNT, "description": "Passages of the same text elsewhere, for which this one stands."},
        "also": listed(
            answer({name: PASSAGE[name] for name in ("id", "path", "line", "page")}), description="The first of them."
        ),
    }
)
TOLD: Schema = {**STRING, "pattern": r"\S"}
FILTER: Schema = {"anyOf": [TOLD, listed(TOLD, maxItems=MOST_FILTERS), NULL]}
DATE: Schema = {"anyOf": [{**STRING, "format": "date"}, NULL]}
# As bankml.utf8.UNPRINTABLE, in the words of ECMA 262.
UNSEEN = (
    r"\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f"
)
DOCUMENT = request(
    kb.Document,
    ["name", "text"],
    name={
        "type": "string",
        "minLength": 1,
        "maxLength": MOST_NAME,
        "pattern": rf"^(?!/)(?!\s*$)(?!(.*[/\\])?\.\.([/\\]|$))[^{UNSEEN}]+$",
        "description": "What it is kept under, and replaced by; never a path of the server's disk.",
    },
    text=STRING,
    type={
        "anyOf": [{"type": "string", "enum": list(get_args(kb.TextType))}, NULL],
        "description": "null: by the name's end.",
    },
)
DOCUMENTS = listed(DOCUMENT, minItems=1, maxItems=MOST_DOCUMENTS)

SCHEMAS: dict[str, Schema] = {
    "EmbedRequest": request(
        ollama.EmbedRequest,
        ["model"],
        model=MODEL,
        input={**TEXTS, "anyOf": [*TEXTS["anyOf"], NULL]},
        dimensions=DIMENSIONS,
        truncate={"description": "false: a text that is too long is an error, not cut."},
        normalize={"description": "false: vectors as the model made them. bankml's own."},
        keep_alive=KEEP_ALIVE,
        options=OPTIONS,
    ),
    "EmbedAnswer": answer(
        {"model": STRING, "embeddings": listed(VECTOR)},
        {
            "truncated": listed(COUNT, description="Which inputs were cut."),
            "total_duration": {**COUNT, "description": "Nanoseconds of the whole request."},
            "load_duration": {**COUNT, "description": "Nanoseconds until the model was in memory."},
            "prompt_eval_count": {**COUNT, "description": "Tokens of all inputs."},
        },
    ),
    "EmbeddingsRequest": request(
        ollama.EmbeddingsRequest, ["model"], model=MODEL, keep_alive=KEEP_ALIVE, options=OPTIONS
    ),
    "EmbeddingsAnswer": answer({"embedding": VECTOR}),
    "ShowRequest": {
        **request(catalogue.ShowRequest, [], model=OPTIONAL_MODEL, name=OPTIONAL_MODEL),
        "anyOf": [
            {"required": ["model"], "properties": {"model": MODEL}},
            {"required": ["name"], "properties": {"name": MODEL, "model": {"enum": [None, ""]}}},
        ],
    },
    "ShowAnswer": answer(
        {
            **dict.fromkeys(("license", "modelfile", "parameters", "template"), STRING),
            "details": DETAILS,
            "model_info": ANY_OBJECT,
            "capabilities": listed(STRING),
            "modified_at": TIME,
        },
        {"tensors": listed(ANY_OBJECT)},
    ),
    "Tags": answer(
        {"models": listed(answer({**LISTED, "modified_at": TIME, "capabilities": listed(STRING)}))},
    ),
    "Ps": answer(
        {
            "models": listed(
                answer(
                    {**LISTED, "expires_at": TIME, "size_vram": COUNT, "resident": RESIDENT, "context_length": COUNT}
                )
            )
        }
    ),
    "Version": answer({"version": STRING}),
    "OpenAIRequest": request(
        openai.EmbeddingsRequest,
        ["model", "input"],
        model=MODEL,
        input={**TEXTS, "anyOf": [STRING, listed(STRING, minItems=1, maxItems=Limits.max_texts)]},
        encoding_format={"anyOf": [{"type": "string", "enum": ["float", "base64"]}, NULL]},
        dimensions=DIMENSIONS,
    ),
    "OpenAIAnswer": answer(
        {
            "object": {"type": "string", "const": "list"},
            "data": listed(EMBEDDING),
            "model": STRING,
            "usage": answer({"prompt_tokens": COUNT, "total_tokens": COUNT}),
        }
    ),
    "OpenAIModels": answer({"object": {"type": "string", "const": "list"}, "data": listed(OPENAI_MODEL)}),
    "OpenAIModel": OPENAI_MODEL,
    "Health": answer({"status": OK, "version": STRING, "model": STRING, "loaded": listed(STRING)}),
    "Live": answer({"status": OK}),
    "Ready": answer({"status": OK, "model": STRING}),
    "Info": answer(
        {
            **dict.fromkeys(("name", "digest", "arch", "pooling", "backend", "version"), STRING),
            **dict.fromkeys(("dims", "context_length", "threads", "max_texts"), COUNT),
            "limits": LIMITS,
            "forward": {**PERHAPS, "description": "The Ollama that answers for what bankml does not run."},
            "models": listed(answer({"name": STRING, "answers": PERHAPS, "reason": PERHAPS})),
        }
    ),
    "TokenizeRequest": request(own.TokenizeRequest, ["input"], model=OPTIONAL_MODEL, input=TEXTS),
    "Tokens": answer({"model": STRING, "tokens": listed(listed(COUNT))}),
    "HistorySearchRequest": request(
        history.SearchRequest,
        [],
        query={**QUERY, "description": "What is looked for; empty: the latest exchanges."},
        k={"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "How many exchanges at most."},
        shown={**STRING, "description": "The version of the answer that is here already."},
    ),
    "HistoryFound": answer(
        {"version": {**STRING, "description": "Alone with `pending` where it is `shown`."}, "pending": PENDING},
        {"results": listed(HIT), "status": STRING, "file": STRING},
    ),
    "HistoryExchangeRequest": request(history.ExchangeRequest, ["id"], id={"type": "integer"}, query=QUERY),
    "HistoryExchange": answer(EXCHANGE),
    "HistoryStatus": answer(
        {"file": STRING, **dict.fromkeys(("total", "embedded", "skipped_lines"), COUNT), "indexing": FLAG}
    ),
    "KnowledgeSearchRequest": request(
        kb.SearchRequest,
        [],
        query={**QUERY, "description": "What is looked for."},
        n={"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "How many passages at most."},
        mode={"type": "string", "enum": list(get_args(kb.Mode))},
        path={**FILTER, "description": "Only documents whose path matches one of these globs."},
        type={**FILTER, "description": "Only documents of one of these types."},
        after={**DATE, "description": "Only what was modified then or later; 2026-01-31T09:30 is a moment too."},
        before={**DATE, "description": "Only what was modified earlier."},
        document={"anyOf": [ID, NULL], "description": "Only the document of this id."},
        wait={
            "anyOf": [{**NUMBER, "maximum": MOST_WAIT}, NULL],
            "description": "Seconds to wait for the query's vector, which a page that is typed into cannot; then words "
            "alone answer, and `pending` is true. null: as long as it takes.",
        },
        shown={**STRING, "description": "The version of the answer that is here already."},
    ),
    "KnowledgeFound": answer(
        {"version": {**STRING, "description": "Alone with `pending` where it is `shown`."}, "pending": PENDING},
        {
            "results": listed(HIT_OF_KNOWLEDGE),
            "status": {**STRING, "description": "What was searched, and by which arms; one that is missing is named."},
            "types": listed(STRING, description="Of all documents."),
        },
    ),
    "KnowledgeSourceRequest": request(kb.SourceRequest, ["id"], id={"type": "integer"}, query=QUERY),
    "KnowledgeSource": answer(
        {
            **PASSAGE,
            "type": STRING,
            "title": STRING,
            "note": {**STRING, "description": "Why this is not the file as it is now; empty where it is."},
            "passage": listed(COUNT, minItems=2, maxItems=2, description="From and to of the passage, as marks."),
            "first_line": {
                "type": ["integer", "null"],
                "minimum": 1,
                "description": "The number of the text's first line; null of what has no lines.",
            },
        }
    ),
    "KnowledgeAddRequest": request(kb.AddRequest, ["documents"], documents=DOCUMENTS),
    "KnowledgeAdded": growing(
        {
            **dict.fromkeys(("added", "updated", "unchanged", "chunks"), COUNT),
            "failed": listed(answer({"path": STRING, "error": STRING})),
        }
    ),
    "KnowledgeStatus": growing({"documents": COUNT, "chunks": COUNT, "embedded": COUNT}),
    "Stats": answer(
        {
            **dict.fromkeys(("version", "backend", "model"), STRING),
            "started_at": TIME,
            "uptime_seconds": NUMBER,
            "resident_bytes": COUNT,
            "embeddings": {**COUNT, "description": "Requests that embedded something."},
            **dict.fromkeys(("requests", "passes", "texts", "tokens", "truncated"), COUNT),
            **dict.fromkeys(("received_bytes", "sent_bytes", "queue_requests", "queue_tokens"), COUNT),
            "failures": {"type": "object", "additionalProperties": COUNT, "description": "Requests by kind."},
            "latency": answer(
                {
                    "window_seconds": NUMBER,
                    "p50_ms": {"type": ["number", "null"]},
                    "p95_ms": {"type": ["number", "null"]},
                }
            ),
            "limits": LIMITS,
        }
    ),
    "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
    "Error": answer({"error": STRING}, {"index": INDEX, "reason": REASON}),
    "OpenAIError": answer(
        {
            "error": answer(
                {
                    "message": STRING,
                    "type": {
                        "type": "string",
                        "enum": ["invalid_request_error", "not_found_error", "rate_limit_error", "api_error"],
                    },
                    "param": NULL,
                    "code": NULL,
                },
                {"index": INDEX, "reason": REASON},
            )
        }
    ),
}
