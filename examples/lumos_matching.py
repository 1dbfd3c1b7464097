"""Classes of real Hadoop and Spark runs matched with real machine types (Lumos, mean run times).

Set MALLEABLE_TRACES to the folder that holds lumos-hetero/mean_elapsed.csv.gz.
"""

import csv
import gzip
import os
from collections import defaultdict
from pathlib import Path

import numpy as np

import malleable as mb

path = Path(os.environ.get("MALLEABLE_TRACES", "")) / "lumos-hetero" / "mean_elapsed.csv.gz"


def main() -> None:
    # Only runs of one cloud and one way of sampling can be compared.
    seconds = defaultdict(lambda: defaultdict(dict))
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            name = f"{row['framework']} {row['workload']} {row['datasize']}".strip()
            seconds[row["cloud"], row["sampling"]][name][row["machine_type"]] = float(
                row["mean_elapsed_s"]
            )

    for (cloud, sampling), runs in sorted(seconds.items()):
        kinds = sorted({kind for own in runs.values() for kind in own})
        names = [name for name, own in runs.items() if len(own) == len(kinds)]
        if len(kinds) < 2 or len(names) < 2:
            continue
        time = np.array([[runs[name][kind] for kind in kinds] for name in names])
        # Ten nodes of each type; classes that would load the cluster alike.
        mu = np.repeat(1.0 / time, 10, axis=1)
        alpha = 1.0 / time.mean(axis=1)
        found = mb.match_classes(alpha, mu)
        blind = float((mu.mean(axis=1) * mu.shape[1] / len(names) / alpha).min())
        print(
            f"{cloud} {sampling or 'all'}: {len(names)} classes, {len(kinds)} machine types, "
            f"{int((found.share[:, ::10] > 0).sum())} pairs; all rates can be "
            f"{found.growth / blind - 1:.0%} higher than with equal shares of every node"
        )
        for kind, own in list(zip(kinds, found.sets()[::10], strict=True))[:3]:
            print(
                f"  {kind}: "
                + ", ".join(names[k] for k in own[:4])
                + (" ..." if len(own) > 4 else "")
            )


if path.is_file():
    main()
else:
    print("skipped: set MALLEABLE_TRACES to a folder with lumos-hetero/mean_elapsed.csv.gz")
