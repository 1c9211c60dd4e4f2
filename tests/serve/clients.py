"""The part of a request that a server's logic looks at."""

import asyncio


class Client:
    """A request whose body was read, and when its client hangs up."""

    def __init__(self, hangs_up_after: float = 1e6) -> None:
        self.hangs_up_after = hangs_up_after
        self.scope: dict = {}

    async def receive(self) -> dict:
        await asyncio.sleep(self.hangs_up_after)
        return {"type": "http.disconnect"}
