"""The rules that every AWS service has for tags, which its models spell in many ways."""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.preview import aws_values

# docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
MOST_TAGS = 50
LONGEST_KEY = 128
LONGEST_VALUE = 256
RESERVED_PREFIX = "aws:"


def tag_problems(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield property and reason for each tag that AWS would refuse."""
    tags = aws_values.settled(inputs.get("tags"))
    if not isinstance(tags, Mapping):
        return
    if len(tags) > MOST_TAGS:
        yield "tags", f"are {len(tags)}, but AWS allows at most {MOST_TAGS} on a resource"
    for key, value in tags.items():
        why = _key_refusal(key) or _value_refusal(aws_values.settled(value))
        if why:
            yield f"tags[{key!r}]", why


def _key_refusal(key: str) -> str | None:
    if key.lower().startswith(RESERVED_PREFIX):
        return f"begins with {RESERVED_PREFIX}, which AWS reserves for its own tags"
    if not 1 <= len(key) <= LONGEST_KEY:
        return f"has {len(key)} characters, but a tag's key has 1 to {LONGEST_KEY}"
    return None


def _value_refusal(value: Any) -> str | None:
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return f"holds {len(value)} characters, but a tag's value has at most {LONGEST_VALUE}"
    return None
