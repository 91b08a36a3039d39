"""The hash by which GitHub code scanning follows an alert from one commit to the next.

GitHub computes it when a report is uploaded by its own action, and warns about every result that came with another
value; a report sent to the API directly has to bring it. The algorithm is that of github/codeql-action,
src/fingerprints.ts: a polynomial of the first 100 characters from the start of a line on, blanks and tabs left out.
"""

from __future__ import annotations

from collections import Counter

_BLOCK = 100
_BASE = 37
_BITS = (1 << 64) - 1
_END = 65535


def line_hashes(data: bytes) -> list[str]:
    """For each line of a file (line ends are LF, CR LF and CR) its hash and which of the lines with this hash it is."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    units, starts = _significant(text)
    units += [_END] + [0] * _BLOCK
    seen: Counter[int] = Counter()
    found = []
    for start in starts:
        value = 0
        for unit in units[start : start + _BLOCK]:
            value = (value * _BASE + unit) & _BITS
        seen[value] += 1
        found.append(f"{value:x}:{seen[value]}")
    return found


def _significant(text: str) -> tuple[list[int], list[int]]:
    """The UTF-16 units that count, and where among them each line begins."""
    units: list[int] = []
    starts = [0]
    for number, line in enumerate(text.translate({ord(" "): None, ord("\t"): None}).split("\n")):
        if number:
            units.append(ord("\n"))
            starts.append(len(units))
        if line.isascii():
            units += line.encode()
        else:
            raw = line.encode("utf-16-le", "surrogatepass")
            units += [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]
    return units, starts
