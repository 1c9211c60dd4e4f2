"""What pytest must know of a run: its cases, the CPU that engines see, and where figures are kept."""

from dataclasses import dataclass

import pytest

from bench import cases
from bench.cases import Model
from bench.cpu import CPU
from bench.results import Results


@dataclass
class Run:
    """A plugin for pytest.main. Of the cases chosen, those that `kept` has already are not run again."""

    kept: Results
    full: bool
    cpu: CPU
    there: int = 0  # how many of those chosen

    def pytest_configure(self, config: pytest.Config) -> None:
        """Lets tests find it."""
        config.stash[RUN] = self

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each case, and one for each model's start."""
        chosen = cases.FULL if self.full else cases.QUICK
        if "case" in metafunc.fixturenames:
            pairs = [(case.model, case) for case in chosen]
            metafunc.parametrize(("party", "case"), pairs, indirect=["party"], ids=[str(case) for case in chosen])
        elif "model" in metafunc.fixturenames:
            models = list(dict.fromkeys(case.model for case in chosen))
            metafunc.parametrize("model", models, ids=[f"{model.name} start" for model in models])

    @pytest.hookimpl(trylast=True)  # after -k
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Takes away what was measured before."""
        names = {item: item.name.partition("[")[2].removesuffix("]") for item in items}
        lacking = set(self.kept.lacking(names.values()))
        there = [item for item in items if names[item] not in lacking]
        self.there = len(there)
        if there:
            print(f"bench: going on with {self.kept.file}: {len(there)} of {len(items)} cases are there", flush=True)
        items[:] = [item for item in items if names[item] in lacking]
        for model in dict.fromkeys(_model(item) for item in items):
            model.path()  # downloads and conversions before any clock runs
        config.hook.pytest_deselected(items=there)


RUN = pytest.StashKey[Run]()


def _model(item: pytest.Item) -> Model:
    values = item.callspec.params  # type: ignore[attr-defined]
    model: Model = values.get("party") or values["model"]
    return model
