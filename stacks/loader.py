"""The only reader of stack configuration: from `pulumi.Config` or a stack file to `Settings`.

Every problem is reported at once, each with its full key path. A value that breaks a rule of its
own is set aside, so that rules which join other values still run.
"""

import contextlib
import copy
import datetime
import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
import yaml
from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from stacks import problems
from stacks.settings import Settings

NAMESPACE: Final = "gangway:"
REGION_KEY: Final = "aws:region"
SECTIONS: Final = tuple(
    sorted(to_camel(name) for name in Settings.model_fields.keys() - {"environment", "region"})
)
"""Section keys that a stack file may hold, without the `gangway:` before them."""


_NEUTRAL: Final[Mapping[tuple[str, str], object]] = {
    ("cluster", "adminRoleArns"): [],
    ("cluster", "previewRoleArns"): [],
    ("cluster", "protect"): False,
    ("cluster", "publicAccessCidrs"): [],
    ("gpuNodes", "capacityType"): "ON_DEMAND",
    ("network", "natGateways"): "single",
    ("network", "vpcCidr"): "10.0.0.0/16",
    ("results", "forceDestroy"): False,
    ("training", "image"): "placeholder:0",
}
"""Stand-ins that trip no joining rule, for required values that are missing or faulty.

Only so that the other rules still speak; settings made with them are never returned.
"""


class SettingsError(Exception):
    """Configuration that cannot be used; `sentences` holds one for each mistake."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.sentences = tuple(sentences)
        super().__init__("\n".join(self.sentences))


def from_pulumi() -> Settings:
    """Read the running stack's settings. Raises SettingsError with every problem."""
    raw = {key: _decoded(value) for key, value in _pulumi_config().items()}
    return parse(raw, pulumi.get_stack())


def _pulumi_config() -> Mapping[str, str]:
    config: Mapping[str, str] = pulumi.runtime.config.CONFIG.get()
    return config or pulumi.runtime.config.get_config_env()


def _decoded(value: str) -> object:
    """The object that the engine passed as JSON text, else the text itself."""
    with contextlib.suppress(ValueError):
        return json.loads(value)
    return value


def load_stack_file(path: Path) -> dict[str, Any]:
    """The raw `config` mapping of a `Pulumi.<env>.yaml`.

    Raises SettingsError when the file is missing, is no YAML or has no `config` mapping.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        others = ", ".join(sorted(item.name for item in path.parent.glob("Pulumi.*.yaml")))
        sentence = f"{path.name} does not exist; there are: {others or 'no stack files'}"
        raise SettingsError([sentence]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError([f"{path.name} is no YAML: {reason}"]) from None
    config = document.get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise SettingsError([f"{path.name} has no `config:` mapping; see Pulumi.dev.yaml"])
    return {str(key): value for key, value in config.items()}


def parse(
    raw: Mapping[str, Any], environment: str, *, today: datetime.date | None = None
) -> Settings:
    """Settings from raw configuration keys (`gangway:network`, `aws:region`, …).

    `today` decides whether a Kubernetes version is still in standard support; UTC's date when
    left out. Raises SettingsError with one sentence for each problem.
    """
    document = {key.removeprefix(NAMESPACE): value for key, value in raw.items() if _ours(key)}
    document |= {"environment": environment}
    if REGION_KEY in raw:
        document["region"] = raw[REGION_KEY]
    settings, sentences, shortened = _validated(document)
    if settings is not None:
        when = today or datetime.datetime.now(datetime.UTC).date()
        sentences += [
            sentence
            for sentence in problems.refusals(settings, when)
            # What is missing from a list only because its faulty part was set aside.
            if not any(path in sentence for path in shortened)
        ]
    if settings is None or sentences:
        raise SettingsError(sentences)
    return settings


def _ours(key: str) -> bool:
    return key.startswith(NAMESPACE)


def _validated(document: dict[str, Any]) -> tuple[Settings | None, list[str], set[str]]:
    """Settings, sentences, and the lists that lost a faulty part.

    With faults: settings without the faulty values where possible.
    """
    try:
        return Settings.model_validate_json(_as_json(document)), [], set()
    except ValidationError as error:
        faults = error.errors(include_url=False)
    sentences = [_sentence(fault) for fault in faults if not _follows(fault, faults)]
    remainder = copy.deepcopy(document)
    for fault in sorted(faults, key=lambda item: str(item["loc"]), reverse=True):
        _remove(remainder, fault["loc"])
    for (section, key), value in _NEUTRAL.items():
        if isinstance(remainder.setdefault(section, {}), dict):
            remainder[section].setdefault(key, value)
    shortened = {
        key_path(fault["loc"][:place])
        for fault in faults
        for place, part in enumerate(fault["loc"])
        if isinstance(part, int)
    }
    with contextlib.suppress(ValidationError):
        return Settings.model_validate_json(_as_json(remainder)), sentences, shortened
    return None, sentences, shortened


def _follows(fault: ErrorDetails, faults: Iterable[ErrorDetails]) -> bool:
    """Whether a list is called too short only because one of its parts is faulty."""
    location = fault["loc"]
    return fault["type"] == "too_short" and any(
        other["loc"][: len(location)] == location and len(other["loc"]) > len(location)
        for other in faults
    )


def _as_json(document: Mapping[str, Any]) -> str:
    """JSON text: dates and other YAML scalars become what their author typed, as strings."""
    return json.dumps(document, default=str)


def _remove(document: Any, location: tuple[int | str, ...]) -> None:
    *path, last = [part for part in location if part != "[key]"]
    holder = document
    for part in path:
        try:
            holder = holder[part]
        except (KeyError, IndexError, TypeError):
            return
    with contextlib.suppress(KeyError, IndexError, TypeError):
        del holder[last]


def key_path(location: tuple[int | str, ...]) -> str:
    """`('network', 'availabilityZoneIds', 0)` -> `gangway:network.availabilityZoneIds[0]`."""
    if location[0] == "environment":
        return "the stack's name"
    if location[0] == "region":
        return REGION_KEY
    path = NAMESPACE
    for index, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += str(part) if index == 0 else f".{part}"
    return path


def _sentence(fault: ErrorDetails) -> str:
    path = key_path(fault["loc"])
    kind, given = fault["type"], fault["input"]
    if kind == "missing":
        return f"{path} is missing; set it in the stack file (stacks/settings.py says what it is)"
    if kind == "extra_forbidden":
        return f"{path} is not a setting; {_suggestion(fault['loc'])}"
    if kind == "value_error":
        return f"{path}: {fault['ctx']['error']}"
    if kind == "string_type" and isinstance(given, int | float):
        return f"{path} is the number {given}; write it as text in quotes"
    shown = "null" if given is None else repr(given)
    return f"{path} is {shown}; allowed: {_allowed(fault)}"


_ALLOWED_KINDS: Final[Mapping[str, str]] = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "model_type": "a mapping of settings",
    "string_too_short": "text that is not empty",
    "string_type": "text",
    "too_short": "one or more",
    "tuple_type": "a list",
}
"""Kind of fault -> what is allowed, where the validator's own words speak of its types."""


def _allowed(fault: ErrorDetails) -> str:
    words = fault["msg"].replace("Input should be", "").replace("Value error,", "").strip()
    return _ALLOWED_KINDS.get(fault["type"], words)


def _suggestion(location: tuple[int | str, ...]) -> str:
    allowed = _allowed_keys(location[:-1])
    close = difflib.get_close_matches(str(location[-1]), allowed, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}allowed: {', '.join(allowed)}"


def _allowed_keys(location: tuple[int | str, ...]) -> list[str]:
    if not location:
        return list(SECTIONS)
    model: Any = Settings
    for part in location:
        if isinstance(part, int):
            continue
        fields = {to_camel(name): field for name, field in model.model_fields.items()}
        model = _model_in(fields[str(part)].annotation)
    return sorted(to_camel(name) for name in model.model_fields)


def _model_in(annotation: Any) -> Any:
    """The settings class inside an annotation such as `tuple[QueueSettings, ...]`."""
    if hasattr(annotation, "model_fields"):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
