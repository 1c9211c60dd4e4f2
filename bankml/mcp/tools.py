"""The tools, as agents are told of them."""

from bankml.mcp.schemas import answer, arguments, choice, given, several, text, whole
from bankml.mcp.tool import Tool

MOST_QUERY = 4000  # characters, as of a query that is embedded
MOST_SEARCHED = 50  # passages: some 15,000 tokens
MOST_FILTERS = 20
MOST_FILTER = 1000  # characters of a glob
LARGEST_ID = 2**53  # a number that every JSON parser reads exactly

SEARCH = Tool(
    "search",
    "Search documents",
    "Find passages in the documents of the knowledge base, by their words and by what they mean. Use it for what "
    "stands in files; use `query` for facts and decisions that were remembered. Each result has its file (`path`), "
    "`line` or `page`, `heading` and `text`; `score` tells the order alone, `cosine` how near in meaning it is. "
    "`status` says which of both ranked, and why one is missing.",
    arguments(
        {"query": text("What to find: a question, or words that stand in the text.", MOST_QUERY)},
        {
            "n": whole("How many passages at most.", 1, MOST_SEARCHED, 10),
            "mode": choice("What ranks: both, or one of them.", ("fused", "words", "meaning"), "fused"),
            "path": several(
                "Only files that match one of these globs or lie below a folder that does: `notes/**/*.md`.",
                text("A glob.", MOST_FILTER),
                MOST_FILTERS,
            ),
            "type": several("Only documents of these types: `markdown`, `pdf`, …", text("A type.", 40), MOST_FILTERS),
            "after": text("Only files changed then or later: `2026-01-31`, `2026-01-31T09:30`.", 40),
            "before": text("Only files changed before then.", 40),
            "document": whole("Only this document, by the `document` of a result.", 1, LARGEST_ID),
        },
    ),
    answer(
        {
            "results": given("array", "Best first.", items=given("object")),
            "status": given("string", "Who ranked, of how many, and what is missing."),
        }
    ),
    lambda memories, arguments, _: memories.search(**arguments),
)

STATUS = Tool(
    "status",
    "Status of the memory",
    "What the store holds, how much of it is found by meaning, whether its model can be used, and in `next` what a "
    "person should run. Ask when a `status` sentence of another tool says that something is missing.",
    arguments({}),
    answer(
        {
            "db": given("string", "The store's file."),
            "model": given(["string", "null"]),
            "documents": given("integer"),
            "chunks": given("integer", "Passages of documents and of records."),
            "embedded": given("integer", "Of these, how many are found by meaning."),
            "items": given("integer"),
            "model_present": given("boolean"),
            "why": given("string", "Why the model cannot be used; empty where it can."),
            "next": given("string", "What to run."),
            "session": given("string", "Whose records of the namespace `session` are seen here."),
        }
    ),
    lambda memories, arguments, _: memories.status(),
)

TOOLS = {tool.name: tool for tool in (SEARCH, STATUS)}
