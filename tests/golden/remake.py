"""Writes fingerprints.json anew. A change needs an entry in CHANGELOG.md that gives its reason."""

import json
from pathlib import Path

from fits import fingerprints

if __name__ == "__main__":
    file = Path(__file__).with_name("fingerprints.json")
    file.write_text(json.dumps(fingerprints(), indent=2) + "\n", encoding="utf-8")
    print(f"wrote {file}; say in CHANGELOG.md why the models changed")
