"""Ollama's store on disk, as `ollama pull` leaves it."""

import hashlib
import json
from pathlib import Path
from typing import Any


class Store:
    """Writes what `ollama pull` leaves on the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "blobs").mkdir(parents=True)

    def blob(self, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self.root / "blobs" / f"sha256-{digest}").write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    def layer(self, kind: str, content: bytes) -> dict[str, Any]:
        return {"mediaType": f"application/vnd.ollama.image.{kind}", **self.blob(content)}

    def manifest(self, name: str, content: bytes | dict[str, Any]) -> Path:
        """`name` is the path below `manifests`."""
        path = self.root / "manifests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def add(
        self,
        name: str,
        gguf: Path,
        licences: tuple[str, ...] = (),
        params: dict[str, Any] | None = None,
        family: str | None = "bert",
    ) -> Path:
        """A whole model; returns its weights' blob."""
        model = self.layer("model", gguf.read_bytes())
        layers = [model, *(self.layer("license", text.encode()) for text in licences)]
        if params is not None:
            layers.append(self.layer("params", json.dumps(params).encode()))
        config = {"model_format": "gguf", "model_family": family, "model_type": "22M", "file_type": "F16"}
        image = "application/vnd.docker.container.image.v1+json"
        described = {"mediaType": image, **self.blob(json.dumps(config).encode())}
        self.manifest(name, {"schemaVersion": 2, "config": described, "layers": layers})
        return self.root / "blobs" / str(model["digest"]).replace(":", "-")
