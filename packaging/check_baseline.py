"""No function of a library needs more than baseline x86-64, unless the loader picks it by the machine.

``python packaging/check_baseline.py LIBRARY ...`` disassembles libraries that have their symbols still
(``build/core/_core*.so``; wheels are stripped): functions for wider machines end in `.avx2` or `.avx512f`
(`kernel/vector_clones.hpp`). Exit status 1 if another one has an instruction that SSE2 does not know.
"""

from __future__ import annotations

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
PICKED = re.compile(r"\.(avx2|avx512f)(\.\w+)*$")
INSTRUCTION = re.compile(
    r"^\s+[0-9a-f]+:\t(?:(?:lock|rep|repz|repnz|bnd|data16|cs|notrack) )*(\w+)"
)
# Behind SSE2: AVX and all that begins with v, then SSE3 to SSE4.2, and the later ones for bits. TZCNT is
# left out: older machines read it as BSF, and compilers use it where both give the same.
WIDER = re.compile(
    r"v(?!err|erw|mcall|mrun|mread|mwrite)\w+|(addsub|hadd|hsub)p[sd]|lddqu|movddup|movs[hl]dup|fisttp\w*"
    r"|pshufb|ph(add|sub)(s?w|d)|pmaddubsw|pmulhrsw|psign[bwd]|palignr|pabs[bwd]"
    r"|p?blend\w+|dpp[sd]|extractps|insertps|movntdqa|mpsadbw|packusdw|pcmpeqq|pextr[bdq]|phminposuw"
    r"|pinsr[bdq]|pmax(sb|sd|ud|uw)|pmin(sb|sd|ud|uw)|pmov[sz]x\w+|pmuldq|pmulld|ptest|rounds?[sd]\w*"
    r"|pcmp[ei]str[im]|pcmpgtq|crc32\w*|popcnt\w*|lzcnt\w*|andn[lq]?|bextr\w*|bls(i|msk|r)\w*|bzhi\w*"
    r"|mulx\w*|pdep\w*|pext[lq]?|rorx\w*|s[ah][lr]x\w*|movbe\w*|aes\w+|pclmul\w+|adcx\w*|adox\w*"
)


def faults(library: str) -> dict[str, str]:
    """Functions that everybody runs, with their first instruction beyond the baseline."""
    command = ["objdump", "-d", "--no-show-raw-insn", library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    names, picked, name = 0, 0, ""
    for line in text.splitlines():
        if begins := FUNCTION.match(line):
            name = begins[1]
            names += 1
            picked += bool(PICKED.search(name))
        elif (
            not PICKED.search(name) and (one := INSTRUCTION.match(line)) and WIDER.fullmatch(one[1])
        ):
            found.setdefault(name, line.strip())
    print(f"{library}: {names:,} functions, {picked} of them for wider machines")
    if names < 1000 or picked == 0:
        raise SystemExit(f"{library}: has lost its symbols")
    return found


def main() -> int:
    wrong = {name: line for library in sys.argv[1:] for name, line in faults(library).items()}
    for name, line in wrong.items():
        print(f"{name}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
