"""Writes fingerprints.json anew. A change needs an entry in CHANGELOG.md that gives its reason."""

import json
import runpy
from pathlib import Path

if __name__ == "__main__":
    fits = runpy.run_path(str(Path(__file__).with_name("fits.py")))
    file = Path(__file__).with_name("fingerprints.json")
    file.write_text(json.dumps(fits["fingerprints"](), indent=2) + "\n", encoding="utf-8")
    print(f"wrote {file}; say in CHANGELOG.md why the models changed")
