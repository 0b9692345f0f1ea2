"""Rules of this codebase that a machine can hold: arrows, addresses, sizes, reasons."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

PACKAGES = ("components", "stacks", "infra", "trainer")
MAY_IMPORT = {
    "components": {"components"},
    "stacks": {"stacks", "components", "trainer"},
    "infra": {"infra", "stacks", "components", "trainer"},
    "trainer": {"trainer"},
}
"""`stacks` reads the trainer's files as data, by its package's place."""
LONGEST_MODULE = 420
LONGEST_CONSTRUCTOR = 80
READS_CONFIG = {Path("stacks/loader.py")}
READS_NO_ENVIRONMENT = ("components", "stacks")
WITHOUT_MIRRORED_TEST = {
    Path("infra/__main__.py"): "tests/stacks/test_gpu_training.py runs the program",
    Path("infra/errors.py"): "only names",
    Path("components/tokens.py"): "held by test_tokens_are_unique_and_well_formed below",
    Path("trainer/tensorflow_model.py"): "tests/rehearsal/trainer trains with it, in its framework",
    Path("trainer/torch_model.py"): "tests/rehearsal/trainer trains with it, in its framework",
}


def _sources(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted(Path(package).rglob("*.py"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


SOURCES = list(_sources(*PACKAGES))
COMPONENTS = [path for path in _sources("components") if path.name != "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_point_down(path: Path) -> None:
    roots = {name.split(".", 1)[0] for name in _imports(path)} & {*PACKAGES, "tests"}
    assert roots - MAY_IMPORT[path.parts[0]] == set()


def _module_level(path: Path) -> Iterator[ast.AST]:
    """Nodes that run on import: everything outside function bodies."""
    pending: list[ast.AST] = [_tree(path)]
    while pending:
        node = pending.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                pending.append(child)


@pytest.mark.parametrize("path", list(_sources("components", "stacks")), ids=str)
def test_import_does_nothing(path: Path) -> None:
    banned = {"environ", "getenv", "get_stack", "Config", "read_text", "open", "client", "now"}
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in _module_level(path)
        if isinstance(node, ast.Call)
    }
    assert called & banned == set()


@pytest.mark.parametrize("path", list(_sources(*READS_NO_ENVIRONMENT)), ids=str)
def test_components_and_stacks_read_no_environment_variable(path: Path) -> None:
    names = {node.attr for node in ast.walk(_tree(path)) if isinstance(node, ast.Attribute)}
    assert names & {"environ", "getenv"} == set()


def test_only_the_loader_reads_configuration() -> None:
    readers = {
        path
        for path in _sources("components", "stacks", "infra")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("pulumi.Config", "pulumi.get_stack")
    }
    assert readers == READS_CONFIG
    taken_out = {
        path
        for path in _sources("components", "stacks", "infra")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom)
        and node.module == "pulumi"
        and {alias.name for alias in node.names} & {"Config", "get_stack"}
    }
    assert taken_out == set()


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_a_module_stays_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", COMPONENTS, ids=str)
def test_a_constructor_stays_readable(path: Path) -> None:
    long = [
        node.name
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef)
        and node.name == "__init__"
        and (node.end_lineno or 0) - node.lineno > LONGEST_CONSTRUCTOR
    ]
    assert long == []


@pytest.mark.parametrize("path", COMPONENTS, ids=str)
def test_a_component_registers_its_outputs_last_and_once(path: Path) -> None:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ClassDef) and any(
            "ComponentResource" in ast.unparse(base) for base in node.bases
        ):
            constructor = next(
                item
                for item in node.body
                if isinstance(item, ast.FunctionDef) and item.name == "__init__"
            )
            calls = [
                ast.unparse(item.func)
                for item in ast.walk(node)
                if isinstance(item, ast.Call) and "register_outputs" in ast.unparse(item.func)
            ]
            assert calls == ["self.register_outputs"], node.name
            assert ast.unparse(constructor.body[-1]).startswith("self.register_outputs("), node.name


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.name not in ("__init__.py", "__main__.py")], ids=str
)
def test_every_module_has_a_test_in_its_mirrored_place(path: Path) -> None:
    """Its own file of the same name, or a test nearby that imports it.

    A module of `infra/`, where a package is often one idea behind a few public names, may also
    be held by the tests of its package: those nearby that import from it.
    """
    folder = Path("tests", *path.parts[:-1])
    nearby = [
        *folder.glob("test_*.py"),
        *folder.parent.glob("test_*.py"),
        *Path("tests/rehearsal").rglob("test_*.py"),
    ]
    held_by = [".".join(path.with_suffix("").parts)]
    if path.parts[0] == "infra" and len(path.parts) > 2:
        held_by.append(".".join(path.parts[:-1]))
    assert (
        path in WITHOUT_MIRRORED_TEST
        or (folder / f"test_{path.name}").exists()
        or any(_is_imported(module, test) for module in held_by for test in nearby)
    ), f"write {folder}/test_{path.name}"


def _is_imported(module: str, test: Path) -> bool:
    """Whether the test imports the module, or something out of it when it is a package."""
    parent, _, name = module.rpartition(".")
    return any(
        found == module or found.startswith(f"{module}.") or (found == parent and name in names)
        for found, names in _imported(test)
    )


@cache
def _imported(path: Path) -> list[tuple[str, frozenset[str]]]:
    """Each imported module with the names taken out of it."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, frozenset[str]()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, frozenset(alias.name for alias in node.names)))
    return found


def test_every_file_under_tests_is_collected_or_support() -> None:
    strays = [
        path
        for path in Path("tests").rglob("*.py")
        if not re.fullmatch(r"test_\w+\.py|conftest\.py|__init__\.py", path.name)
        and "support" not in path.parts
    ]
    assert strays == []


def test_tokens_are_unique_and_well_formed() -> None:
    values = [
        ast.literal_eval(node.value)
        for node in _tree(Path("components/tokens.py")).body
        if isinstance(node, ast.AnnAssign) and node.value is not None
    ]
    assert len(values) == len(set(values))
    assert all(re.fullmatch(r"gangway:components:[A-Z]\w+", value) for value in values)


def test_every_token_is_used_by_one_component() -> None:
    names = [
        node.target.id
        for node in _tree(Path("components/tokens.py")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    texts = [path.read_text(encoding="utf-8") for path in COMPONENTS]
    unused = [name for name in names if not any(f"tokens.{name}" in text for text in texts)]
    assert unused == []


def test_every_pin_says_why() -> None:
    body = _tree(Path("components/versions.py")).body
    pins = [index for index, node in enumerate(body) if isinstance(node, ast.AnnAssign)]
    silent = [
        ast.unparse(body[index])[:60]
        for index in pins
        if index + 1 == len(body)
        or not (
            isinstance(following := body[index + 1], ast.Expr)
            and isinstance(following.value, ast.Constant)
        )
    ]
    assert silent == []


def test_every_requirement_is_pinned_and_says_why() -> None:
    lines = Path("requirements.txt").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line and not line.startswith(("#", "-"))]
    assert requirements
    assert [line for line in requirements if not re.search(r"==\S+ +# \S", line)] == []


def test_the_lock_holds_every_requirement_at_the_same_version() -> None:
    def pins(name: str) -> dict[str, str]:
        text = Path(name).read_text(encoding="utf-8")
        found = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([\w.]+)", text, re.MULTILINE)
        return {re.sub(r"[-_.]+", "-", package.lower()): version for package, version in found}

    required, locked = pins("requirements.txt"), pins("constraints.txt")
    assert {name: locked.get(name) for name in required} == required


PROVIDERS = ("pulumi", "pulumi-aws", "pulumi-eks", "pulumi-kubernetes")


def _too_old(versions: dict[str, str]) -> list[str]:
    """What one Pulumi SDK requires of another and the pinned version does not give."""
    return [
        f"{package} needs {requirement}, {requirement.name} is {versions[requirement.name]}"
        for package in PROVIDERS
        for requirement in map(Requirement, metadata.requires(package) or [])
        if requirement.name in versions
        and not requirement.specifier.contains(versions[requirement.name])
    ]


def test_no_provider_is_older_than_another_needs() -> None:
    """A provider too old for a value fails in one environment and works in the next."""
    text = Path("constraints.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(pulumi[a-z_-]*)==([\w.]+)", text, re.MULTILINE)
    pinned = {name.replace("_", "-"): version for name, version in found}
    assert set(PROVIDERS) <= set(pinned)
    assert _too_old(pinned) == []
    (sentence,) = _too_old(pinned | {"pulumi-aws": "7.0.0"})
    assert sentence.startswith("pulumi-eks needs pulumi-aws")


def test_environments_have_the_same_keys() -> None:
    def keys(value: object, path: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {path}
        return {path} | {
            found for key, item in value.items() for found in keys(item, f"{path}.{key}")
        }

    shapes = {
        path.name: keys(yaml.safe_load(path.read_text(encoding="utf-8"))["config"])
        for path in Path().glob("Pulumi.*.yaml")
    }
    assert len(shapes) >= 2
    first, *others = shapes.values()
    assert all(other == first for other in others), shapes


def test_no_test_sleeps_a_fixed_time() -> None:
    sleeping = [
        path
        for path in Path("tests").rglob("*.py")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
    ]
    assert sleeping == []


def test_the_readme_is_short() -> None:
    assert len(Path("README.md").read_text(encoding="utf-8").splitlines()) <= 150
