"""SIGKILL at random moments of every kind of job: what is lost or doubled afterwards.

python benchmarks/kills.py [KILLS]      thirty of each kind where none is given
"""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.job_child import KINDS
from tests.killing import killed, prepared, whole

LONGEST = {"sweep": 0.8, "snapshot": 0.3, "restore": 0.4, "purge": 1.5, "migrate": 2.5, "reflect": 0.6}
CHECK = 5
"""Kills between two looks at the store."""


async def main(kills: int) -> None:
    wrong = 0
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="rearview-kills-") as folder:
            data, chosen, began, ended = Path(folder), random.Random(f"bench {kind}"), time.monotonic(), 0
            await prepared(data)
            for n in range(1, kills + 1):
                ended += killed(data, kind, chosen, LONGEST[kind])
                if n % CHECK == 0 or n == kills:
                    said = await whole(data)
                    if said:
                        wrong += 1
                        print(f"{kind}: after {n} kills: {said}", flush=True)
                        break
            took = time.monotonic() - began
            print(f"{kind:10} {n:3} kills, {n - ended:3} before its end, {took:5.0f} s", flush=True)
    print("nothing lost, nothing doubled" if not wrong else f"{wrong} kinds were not whole", flush=True)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
