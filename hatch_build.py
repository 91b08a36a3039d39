"""What the build of a wheel does besides copying: it puts the texts of some folders of `rules/` into one file each,
leaves the comments of tables out, and compresses what repeats itself over long ways.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackTexts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the packed files in what is built. An editable installation reads the folders of the checkout."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from trl_lint.knowledge import COMPRESSED, PACKED, compressed, pack_of, uncommented

        self.folder = tempfile.TemporaryDirectory()
        for name in PACKED:
            file, data = pack_of(str(Path(self.root, "rules", name)))
            written = Path(self.folder.name, file)
            written.write_bytes(data)
            build_data["force_include"][str(written)] = f"trl_lint/rules/{file}"
        for table in sorted(Path(self.root, "rules").glob("*.toml")):
            written = Path(self.folder.name, table.name)
            written.write_bytes(uncommented(table.read_bytes().decode()).encode())
            build_data["force_include"][str(written)] = f"trl_lint/rules/{table.name}"
        for folder in COMPRESSED:
            for history in sorted(Path(self.root, "rules", folder).glob("*.txt")):
                ending, data = compressed(history.read_bytes())
                written = Path(self.folder.name, f"{folder}-{history.name}{ending}")
                written.write_bytes(data)
                build_data["force_include"][str(written)] = f"trl_lint/rules/{folder}/{history.name}{ending}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that were written for the build."""
        if version != "editable":
            self.folder.cleanup()
