"""A pod's volumes as folders below the state folder, and each container's view of them."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.rehearsal.pods.variables import NotYetError, Sources, field, resource

JsonObject = Mapping[str, Any]
TokenRequest = Callable[[JsonObject], str]

_FILE_SOURCES: Final = ("configMap", "secret", "projected", "downwardAPI")


@dataclass(frozen=True, kw_only=True, slots=True)
class PodVolumes:
    """The volumes of one pod below `folder`.

    `request_token` turns a serviceAccountToken projection into a token.
    """

    folder: Path
    pod: JsonObject
    sources: Sources
    request_token: TokenRequest

    def materialise(self) -> None:
        """Write every volume; raises NotYetError while a Secret or ConfigMap is missing."""
        for volume in self.pod["spec"].get("volumes", []):
            target = self._volume_folder(volume["name"])
            target.mkdir(parents=True, exist_ok=True)
            for path, content in self._files(volume).items():
                _write_if_changed(target / path, content)

    def refresh(self) -> None:
        """Rewrite ConfigMaps and Secrets that changed, as a kubelet does for mounted ones."""
        for volume in self.pod["spec"].get("volumes", []):
            if "configMap" in volume or "secret" in volume:
                for path, content in self._files(volume).items():
                    _write_if_changed(self._volume_folder(volume["name"]) / path, content)

    def root(self, container: JsonObject) -> Path:
        """The folder that stands for the container's `/` as far as its mounts go."""
        return self.folder / "containers" / str(container["name"]) / "root"

    def mount(self, container: JsonObject) -> dict[str, Path]:
        """Link the container's mounts below its root; mount path -> local path."""
        mounts = {}
        for mount in sorted(container.get("volumeMounts", []), key=lambda item: item["mountPath"]):
            source = self._volume_folder(mount["name"])
            if mount.get("subPath"):
                source = source / mount["subPath"]
            link = self.root(container) / mount["mountPath"].strip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(source)
            mounts[mount["mountPath"].rstrip("/")] = link
        return mounts

    def remove(self) -> None:
        """Take the pod's folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _volume_folder(self, name: str) -> Path:
        return self.folder / "volumes" / name

    def _files(self, volume: JsonObject) -> dict[str, str]:
        for kind in _FILE_SOURCES:
            if kind in volume:
                return self._source_files(kind, volume[kind])
        return {}

    def _source_files(self, kind: str, source: JsonObject) -> dict[str, str]:
        if kind == "projected":
            files: dict[str, str] = {}
            for part in source["sources"]:
                ((inner, content),) = part.items()
                files |= self._source_files(inner, content)
            return files
        if kind == "serviceAccountToken":
            return {source["path"]: self.request_token(source)}
        if kind == "downwardAPI":
            return {item["path"]: self._downward(item) for item in source.get("items", [])}
        return self._data_files(kind, source)

    def _data_files(self, kind: str, source: JsonObject) -> dict[str, str]:
        name = source.get("name") or source.get("secretName")
        lookup = self.sources.config_map if kind == "configMap" else self.sources.secret
        data = lookup(self.pod["metadata"]["namespace"], str(name))
        if data is None:
            if source.get("optional"):
                return {}
            message = f"{kind} {name} not found"
            raise NotYetError(message)
        items = source.get("items")
        if not items:
            return dict(data)
        return {item["path"]: data[item["key"]] for item in items if item["key"] in data}

    def _downward(self, item: JsonObject) -> str:
        if "fieldRef" in item:
            path = item["fieldRef"]["fieldPath"]
            if path in ("metadata.labels", "metadata.annotations"):
                pairs = self.pod["metadata"].get(path.split(".")[1]) or {}
                return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items()))
            return field(path, self.pod, self.sources)
        container = self.pod["spec"]["containers"][0]
        left = self.sources.node_allocatable
        return resource(item["resourceFieldRef"], container, self.pod, left)


def _write_if_changed(path: Path, content: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"..{path.name}.draft")
    draft.write_text(content, encoding="utf-8")
    draft.chmod(0o600)
    os.replace(draft, path)  # noqa: PTH105 - names the intent: one step, watchers see one change
