"""Plan flows of jobs: small ones, and TPC-H queries as Spark ran them if MALLEABLE_TRACES says where."""

import os
from pathlib import Path

import malleable as mb
from malleable.flows.plan import FLOW_POLICIES

flows = mb.Flows(
    [
        [
            {"name": "extract", "work": 60, "max_slots": 20},
            {"name": "clean", "work": 40, "max_slots": 10, "after": ["extract"]},
            {"name": "stats", "work": 30, "max_slots": 5, "after": ["extract"]},
            {"name": "report", "work": 4, "max_slots": 1, "after": ["clean", "stats"]},
        ],
        [
            {"name": "scan", "work": 50, "max_slots": 25},
            {"name": "top", "work": 2, "after": ["scan"]},
        ],
    ],
    name=["nightly", "query"],
    deadline=[20.0, 4.0],
)
for objective in ("sum:response", "max:tardiness"):
    plan = mb.plan(flows, slots=25, objective=objective)
    plan.validate()
    print(f"{objective}: {plan.value:.6g}, no schedule is below {plan.lower_bound:.6g}")
    print("\n".join(plan.explain()))

folder = Path(os.environ.get("MALLEABLE_TRACES", "")) / "tpch-cloudlab"
profiles = folder / "cloudlab_22query_tpch_profiles.json.gz"
if profiles.exists():
    queries = mb.read(profiles, graphs=folder / "queries.yaml").flows()
    for policy in FLOW_POLICIES:
        plan = mb.plan(queries, slots=50, objective="sum:stretch", policy=policy)
        plan.validate()
        print(f"22 TPC-H queries, {policy}: mean stretch {plan.value / len(queries):.4f}")
else:
    print("TPC-H queries: set MALLEABLE_TRACES to the folder that has tpch-cloudlab")
