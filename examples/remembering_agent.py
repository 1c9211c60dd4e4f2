"""An agent that remembers and finds, over MCP: `python examples/remembering_agent.py [DATABASE]`."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters

path = sys.argv[1] if len(sys.argv) > 1 else str(Path(tempfile.mkdtemp()) / "kb.db")
server = StdioServerParameters(command="bankml", args=["mcp", "--db", path], env={**os.environ})


async def main() -> None:
    async with Client(server) as memory:

        async def ask(tool: str, **arguments: object) -> dict:
            answer = await memory.call_tool(tool, arguments)
            return answer.structured_content or {"results": [{"title": "error", "content": answer.content[0].text}]}

        await ask("remember", title="Storage", content="Everything is kept in one SQLite file.", category="decision")
        await ask("remember", title="Token life", content="A login is valid for 15 minutes.", tags=["auth"])
        found = await ask("query", query="when do users have to sign in again?", n=1)
        print(*(f"{each['title']}: {each['content']}" for each in found["results"]), sep="\n")
        print((await memory.call_tool("context", {"query": "storage", "token_budget": 200})).content[0].text)


asyncio.run(main())
