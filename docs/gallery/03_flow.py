"""A flow of jobs.

A flow is a graph of jobs: a job can start when all jobs that it waits for have ended. The objective counts the
end of the last job of each flow. A bar is a job, and a line leads to the job that waits for it.
"""

import malleable as mb

extract = {"name": "extract", "work": 60, "max_slots": 20}
clean = {"name": "clean", "work": 40, "max_slots": 10, "after": ["extract"]}
index = {"name": "index", "work": 30, "max_slots": 6, "after": ["extract"]}
report = {"name": "report", "work": 8, "max_slots": 2, "after": ["clean", "index"]}
query = [{"name": "scan", "work": 50, "max_slots": 25}]
plan = mb.plan(
    mb.Flows([[extract, clean, index, report], query], name=["nightly", "query"]), slots=25
)
plan.plot("flow.png")
