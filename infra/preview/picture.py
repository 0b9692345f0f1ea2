"""Keeps the README's picture equal to the recorded graph: `python -m infra.preview.picture FILE`.

The picture stands between two marker comments; whatever lies between them is replaced.
"""

import sys
from pathlib import Path
from typing import Final

from infra.errors import UsageError
from infra.preview.planning import report_for
from infra.preview.report.mermaid import render_mermaid

START: Final = "<!-- picture: `make picture` redraws it from the recorded graph -->"
END: Final = "<!-- /picture -->"
ENVIRONMENT: Final = "dev"


def with_picture(text: str, picture: str) -> str:
    """`text` with the block between the markers replaced. Raises UsageError without markers."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        message = f"the file needs the lines {START} and {END} around the place of the picture"
        raise UsageError(message)
    return f"{before}{START}\n```mermaid\n{picture.rstrip()}\n```\n{END}{after}"


def main() -> None:
    """Redraw the picture in the file named on the command line."""
    path = Path(sys.argv[1])
    picture = render_mermaid(report_for(ENVIRONMENT))
    path.write_text(with_picture(path.read_text(encoding="utf-8"), picture), encoding="utf-8")


if __name__ == "__main__":
    main()
