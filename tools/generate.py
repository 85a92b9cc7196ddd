"""Write the generated reference: JSON Schemas, the tables of errors, of variables and of TypeScript names.

`python tools/generate.py` writes the files of the tree in the current folder; `--check` writes nothing, says which
files are not what the code says, and exits 1 when there is one. If it writes code, it starts once more, because other
files are generated from that code.
"""

from __future__ import annotations

import difflib
import subprocess
import sys
from pathlib import Path

REFERENCE = Path("docs/reference")
SCHEMAS = REFERENCE / "schemas"
SHOWN = 6
"""Changed lines shown for each file."""


def wanted() -> dict[Path, str]:
    """Return the text of every generated file."""
    import reference_features as features
    import reference_hooks as hooks
    import reference_http as http
    import reference_llms as llms
    import reference_mcp as mcp
    import reference_modes as modes
    import reference_pages as pages
    import reference_reading as reading
    import reference_schemas as schemas
    import reference_surface as surface
    import signatures
    import twins

    if missing := pages.unplaced():
        raise SystemExit(f"no chapter on the TypeScript page for {', '.join(missing)}")
    files = {SCHEMAS / name: text for name, text in schemas.documents().items()}
    files[SCHEMAS / "index.md"] = pages.schemas_page()
    files[REFERENCE / "errors.md"] = pages.errors_page()
    files[REFERENCE / "environment.md"] = pages.environment_page()
    files[surface.SURFACE] = surface.text(Path.cwd())
    files[REFERENCE / "hooks.md"] = hooks.page()
    files[llms.PAGE] = llms.text(Path.cwd())
    files[REFERENCE / "http.md"] = http.page()
    files[REFERENCE / "openapi.json"] = http.document()
    files[REFERENCE / "mcp-tools.md"] = mcp.page()
    files[REFERENCE / "mcp-tools.json"] = mcp.schemas()
    files[Path("src/roundtable/mcp/tools.json")] = mcp.listing()
    files[REFERENCE / "provider-features.md"] = features.features_page()
    files[features.PROVIDERS_PAGE] = features.providers_page()
    files[reading.PAGE] = reading.reading_page()
    files[reading.WORDS_PAGE] = reading.words_page()
    files[REFERENCE / "from-typescript.md"] = pages.typescript_page()
    files |= {REFERENCE / name: text for name, text in modes.pages().items()}
    files |= signatures.files()
    files |= twins.files()
    return files


def stale(root: Path, files: dict[Path, str]) -> list[Path]:
    """Find schema files that no type has any more."""
    return sorted(path for path in (root / SCHEMAS).glob("*.json") if path.relative_to(root) not in files)


def drift(root: Path, files: dict[Path, str]) -> list[str]:
    """Return the differences between the files in the tree and the generated ones."""
    findings = [f"{path.relative_to(root)}: no type has this schema any more" for path in stale(root, files)]
    for name, text in sorted(files.items()):
        path = root / name
        if not path.is_file():
            findings.append(f"{name}: missing")
        elif (present := path.read_text("utf-8")) != text:
            findings.append(f"{name}: {_changes(present, text)}")
    return findings


def _changes(present: str, text: str) -> str:
    lines = [
        line
        for line in difflib.unified_diff(present.splitlines(), text.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    counts = f"{sum(line.startswith('+') for line in lines)} lines to add, "
    counts += f"{sum(line.startswith('-') for line in lines)} to remove"
    more = [f"... {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n    ".join([counts, *(line[:140] for line in lines[:SHOWN]), *more])


def write(root: Path, files: dict[Path, str]) -> list[Path]:
    """Bring the tree to what the code says, and return the files that changed."""
    changed = stale(root, files)
    for path in changed:
        path.unlink()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(path)
    return changed


def main(arguments: list[str]) -> int:
    """Write the files, or check them with `--check`."""
    root = Path.cwd()
    sys.path[:0] = [str(root / "src"), str(root / "tests")]
    files = wanted()
    if arguments == ["--check"]:
        findings = drift(root, files)
        print("\n".join(findings) if findings else f"{len(files)} generated files are what the code says")
        if findings:
            print("run `python tools/generate.py`")
        return int(bool(findings))
    if arguments:
        print("usage: python tools/generate.py [--check]", file=sys.stderr)
        return 2
    changed = write(root, files)
    print(f"{len(files)} generated files, {len(changed)} changed")
    if any(path.suffix == ".py" for path in changed):
        return subprocess.run([sys.executable, __file__], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
