"""The tools, as agents are told of them."""

from typing import Any

from bankml.errors import InputError
from bankml.mcp.memories import Client, Memories
from bankml.mcp.schemas import answer, arguments, choice, flag, given, several, share, text, whole
from bankml.mcp.tool import Answer, Tool
from bankml.memory import draft
from bankml.memory.context import BUDGET
from bankml.memory.verdicts import VERDICTS
from bankml.store.record import CATEGORIES, NAMESPACES, STATUSES

MOST_QUERY = 4000  # characters, as of a query that is embedded
MOST_RESULTS = 50  # of 2,000 characters each: some 25,000 tokens
MOST_FILTERS = 20
MOST_FILTER = 1000  # characters of a glob
MOST_ID, MOST_TIME = 200, 40  # characters
LARGEST_BUDGET = 1_000_000  # tokens
LARGEST_ID = 2**53 - 1  # a number that every JSON parser reads exactly
MODES = ("fused", "words", "meaning")
TIME = "`2026-01-31` or `2026-01-31T09:30:00Z`"


def _query(memories: Memories, given: dict[str, Any], _: Client) -> Answer:
    return Answer(memories.query(**given))


def _context(memories: Memories, given: dict[str, Any], _: Client) -> Answer:
    """To be read: the Markdown alone, for it is what the budget was for."""
    pack = memories.context(**given)
    return Answer(pack.object(), pack.markdown() or pack.status)


def _timeline(memories: Memories, given: dict[str, Any], _: Client) -> Answer:
    return Answer(memories.timeline(**given))


def _remember(memories: Memories, given: dict[str, Any], client: Client) -> Answer:
    id, title = given.pop("revise", None), given.pop("title", None)
    if id is not None:
        if title is not None:
            raise InputError("title cannot be given with revise: a record keeps its title")
        return Answer(memories.revise(client, id, **given))
    if title is None:
        raise InputError(f"title is missing: give a text of 1 to {draft.TITLE} characters, or revise, a record's id")
    return Answer(memories.remember(client, title, **given))


def _feedback(memories: Memories, given: dict[str, Any], client: Client) -> Answer:
    return Answer(memories.feedback(client, **given))


def _search(memories: Memories, given: dict[str, Any], _: Client) -> Answer:
    return Answer(memories.search(**given))


def _status(memories: Memories, given: dict[str, Any], _: Client) -> Answer:
    return Answer(memories.status(**given))


FOUND = answer(
    {
        "results": given("array", "Best first.", items=given("object")),
        "status": given("string", "What ranked, of how many, and what is missing."),
    }
)
ID = text("A record's id, `rec_…`, or how it begins.", MOST_ID)
CATEGORY = choice("A category.", CATEGORIES)

QUERY = Tool(
    "query",
    "Recall facts and decisions",
    "Recall what was remembered: facts, decisions, constraints, architecture, state. Ask before you decide something "
    "or answer from memory; ask in plain words, or name a file, an identifier or a record's id. `score` is the "
    "probability, 0 to 1, that a result is about what was asked (0.5: an even chance; that it answers is not said), or "
    "the words `uncalibrated (why)`: judge such results by their content. `weak` marks what is "
    "likely off the topic. `repository` names the linked one that a result is of. `freshness` other than `current` "
    "says to check the files in `affectedPaths` first. `truncated` content is whole in `timeline` with `full`.",
    arguments(
        {"query": text("What to recall.", MOST_QUERY)},
        {
            "n": whole("How many at most.", 1, MOST_RESULTS, 10),
            "mode": choice("What ranks: words and meaning, or one of them.", MODES, "fused"),
            "status": several(
                "Of which status; `any` is all of them.",
                choice("A status.", (*STATUSES, "any")),
                len(STATUSES),
                ("active",),
            ),
            "category": several("Only of these categories.", CATEGORY, len(CATEGORIES)),
            "prefer": several("Of these categories before others that fit as well.", CATEGORY, len(CATEGORIES)),
            "namespace": several(
                "Only of these; `session` is what this session alone remembers.",
                choice("A namespace.", NAMESPACES),
                len(NAMESPACES),
            ),
            "tag": several("Only records that have all of these tags.", text("A tag.", draft.TAG), MOST_FILTERS),
            "as_of": text(
                f"What the project's records said then: {TIME}. They are found by the words they have now.", MOST_TIME
            ),
            "explain": flag("Also tell what ranked each."),
        },
    ),
    FOUND,
    _query,
)

CONTEXT = Tool(
    "context",
    "Context pack for a task",
    "Get what matters for a task within a token budget, ready to read: all active constraints of the project first, "
    "then the decisions, facts, architecture and state that answer best. Call it once when a task begins. What did not "
    "fit is in `excluded` with the reason.",
    arguments(
        {"query": text("What the task is about.", MOST_QUERY)},
        {
            "task": text("What is to be done; ranks together with the query.", MOST_QUERY),
            "token_budget": whole("Tokens that it takes at most, 4 characters each.", 0, LARGEST_BUDGET, BUDGET),
        },
    ),
    answer(
        {
            "sections": given("array", items=given("object")),
            "estimatedTokens": given("integer"),
            "excluded": given("array", "What was left out, with the `reason`.", items=given("object")),
            "budget": given("integer"),
            "status": given("string"),
        }
    ),
    _context,
)

TIMELINE = Tool(
    "timeline",
    "History of a record",
    "See how one record changed: all it ever said with since when and until when, what it superseded or was superseded "
    "by, and what was said of it. Use it to get a long record whole (`full`), or to learn why something is no longer "
    "so.",
    arguments({"id": ID}, {"full": flag("Contents whole, not their first 600 characters.")}),
    answer(
        {
            "id": given("string"),
            "title": given("string"),
            "status": given("string"),
            "assertions": given("array", items=given("object")),
            "supersedes": given("array", items=given("string")),
            "superseded_by": given(["string", "null"]),
            "feedback": given("array", items=given("object")),
        }
    ),
    _timeline,
)

REMEMBER = Tool(
    "remember",
    "Remember",
    "Remember something that should outlive this conversation: one fact, decision, constraint, piece of architecture "
    "or state per record, in sentences that can be understood alone. `query` first, so that nothing is said twice. "
    "Where it replaces another record give that one's id in `supersedes`; where the same matter is in a new state give "
    "the record's id in `revise` and only the new content. Nothing is overwritten. Never remember secrets.",
    arguments(
        {"content": text("What is to be known, whole.", draft.CONTENT)},
        {
            "title": text("What it is about, in a line. Needed but with `revise`.", draft.TITLE),
            "category": choice("What kind of thing it is.", CATEGORIES, "fact"),
            "reasoning": text("Why it is so, or was decided so.", draft.REASONING),
            "tags": several("Words to find it by.", text("A tag.", draft.TAG), draft.TAGS),
            "paths": several(
                "Files of this repository that it depends on, relative to its root: when they change, the record asks "
                "for a review.",
                text("A path.", MOST_FILTER),
                draft.PATHS,
            ),
            "confidence": share("How sure it is.", 1.0),
            "namespace": choice(
                "Whom it is for: `session` is found by this session alone and no other.", NAMESPACES, "project"
            ),
            "supersedes": several("Ids of records whose place it takes.", text("An id.", MOST_ID), draft.SUPERSEDED),
            "valid_from": text(f"Since when it holds: {TIME}. Now, where it is not given.", MOST_TIME),
            "revise": text("The id of a record that says this from now on.", MOST_ID),
        },
    ),
    answer(
        {
            "id": given("string", "The record's, of no other one ever."),
            "existing": given("boolean", "The very same was there already."),
            "superseded": given("array", items=given("string")),
            "passages": given("integer"),
            "embedded": given("integer", "Of the passages, how many are found by meaning now."),
            "clipped": given("integer"),
            "unread": given("array", "Paths that are no files that can be read.", items=given("string")),
            "status": given("string", "Why some are found by words alone; empty where all is well."),
        }
    ),
    _remember,
    writes=True,
)

FEEDBACK = Tool(
    "feedback",
    "Judge a record",
    "Say how a record proved itself: `helpful`; `confirmed`, you checked it and it holds; `stale`, it needs a review; "
    "`wrong`, it is not so; `archive`, nobody needs it. Later queries rank by it.",
    arguments(
        {
            "id": text("The record's id, `rec_…`.", MOST_ID),
            "verdict": choice("What it is.", VERDICTS),
        },
        {"note": text("Why.", draft.REASONING)},
    ),
    answer(
        {
            "id": given("string"),
            "verdict": given("string"),
            "status": given("string"),
            "freshness": given("string"),
            "confidence": given("number"),
        }
    ),
    _feedback,
    writes=True,
)

SEARCH = Tool(
    "search",
    "Search documents",
    "Find passages in the documents of the knowledge base, by their words and by what they mean. Use it for what "
    "stands in files; use `query` for facts and decisions that were remembered. Each result has its file (`path`), "
    "`line` or `page`, `heading` and `text`; `score` tells the order alone, `cosine` how near in meaning it is.",
    arguments(
        {"query": text("What to find: a question, or words that stand in the text.", MOST_QUERY)},
        {
            "n": whole("How many passages at most.", 1, MOST_RESULTS, 10),
            "mode": choice("What ranks: words and meaning, or one of them.", MODES, "fused"),
            "path": several(
                "Only files that match one of these globs or lie below a folder that does: `notes/**/*.md`.",
                text("A glob.", MOST_FILTER),
                MOST_FILTERS,
            ),
            "type": several("Only documents of these types: `markdown`, `pdf`, …", text("A type.", 40), MOST_FILTERS),
            "after": text(f"Only files changed then or later: {TIME}.", MOST_TIME),
            "before": text("Only files changed before then.", MOST_TIME),
            "document": whole("Only this document, by the `document` of a result.", 1, LARGEST_ID),
        },
    ),
    FOUND,
    _search,
)

STATUS = Tool(
    "status",
    "Status of the memory",
    "What the store holds, how much of it is found by meaning, whether its model can be used, and in `next` what a "
    "person should run. Ask when the `status` sentence of another tool says that something is missing.",
    arguments({}),
    answer(
        {
            "db": given("string", "The store's file."),
            "model": given(["string", "null"]),
            "documents": given("integer"),
            "items": given("integer", "Active records."),
            "chunks": given("integer", "Passages of documents and of records."),
            "embedded": given("integer", "Of these, how many are found by meaning."),
            "model_present": given("boolean"),
            "why": given("string", "Why the model cannot be used; empty where it can."),
            "next": given("string", "What to run."),
            "session": given("string", "Whose records of the namespace `session` are seen here."),
        }
    ),
    _status,
)

TOOLS = {tool.name: tool for tool in (QUERY, CONTEXT, TIMELINE, REMEMBER, FEEDBACK, SEARCH, STATUS)}
