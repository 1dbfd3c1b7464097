"""The tandem queue in small steps of time: slow, obvious, and right to within a few steps.

Jobs are (arrival, map, shuffle). In every step the policy looks at all jobs anew.
"""


def shuffle_left(job):
    return job["y"] - job["shuffled"]


def released(job, overlap):
    if job["left"] <= 0:
        return job["y"]
    return job["y"] * (job["x"] - job["left"]) / job["x"] if overlap else 0.0


def fill(order, capacity, limit):
    """Each in turn gets what it can use."""
    given = {}
    for job in order:
        given[job["id"]] = min(capacity, limit(job))
        capacity -= given[job["id"]]
    return given


def level(jobs, capacity, limit):
    """Equal shares; what one cannot use goes to the others."""
    given = {}
    for left, job in zip(range(len(jobs), 0, -1), sorted(jobs, key=limit), strict=True):
        given[job["id"]] = min(limit(job), capacity / left)
        capacity -= given[job["id"]]
    return given


def split(here, step, ready):
    """Work-conserving SplitSRPT: what each job maps and shuffles in this step."""
    heavy = sorted(
        (j for j in here if j["x"] >= j["y"]), key=lambda j: (j["left"], shuffle_left(j))
    )
    other = sorted((j for j in here if j["x"] < j["y"]), key=shuffle_left)
    beta = min(max(j["x"], j["y"]) / max(min(j["x"], j["y"]), 1e-300) for j in here)
    large, small = step * beta / (1 + beta), step / (1 + beta)
    able = [any(j["left"] > 0 for j in group) for group in (heavy, other)]
    shares = (large, small) if all(able) else (step * able[0], step * able[1])
    maps = {}
    for group, share in zip((heavy, other), shares, strict=True):
        maps.update(fill(group, share, lambda j: j["left"]))
    for job in here:
        job["left"] -= maps[job["id"]]
        job["left"] = 0.0 if job["left"] < 1e-12 else job["left"]
    given, spare = {}, step
    for group, share in ((heavy, small), (other, large)):
        given.update(fill(group, share, ready))
    spare -= sum(given.values())
    for job in heavy + other:
        more = min(spare, ready(job) - given[job["id"]])
        given[job["id"]] += more
        spare -= more
    return given


def simulate(jobs, policy, step, overlap=True, k=100):
    """Completion of every job."""
    todo = [
        {"id": i, "r": r, "x": x, "y": y, "left": x, "shuffled": 0.0}
        for i, (r, x, y) in enumerate(jobs)
    ]
    done, now = {}, 0.0
    while len(done) < len(jobs):
        here = [job for job in todo if job["r"] <= now + 1e-12 and job["id"] not in done]

        def ready(job):
            return max(released(job, overlap) - job["shuffled"], 0.0)

        by_rank = {
            "fcfs": lambda j: (j["r"], j["id"]),
            "max-srpt": lambda j: (max(j["left"], shuffle_left(j)), j["id"]),
        }
        if policy in by_rank:
            here.sort(key=by_rank[policy])
            maps = fill(here, step, lambda j: j["left"])
        elif policy != "split-srpt":
            here.sort(key=lambda j: (j["r"], j["id"]))
            maps = level([j for j in here if j["left"] > 0][:k], step, lambda j: j["left"])
        if policy == "split-srpt":
            given = split(here, step, ready) if here else {}
        else:
            for job in here:
                job["left"] -= maps.get(job["id"], 0.0)
                if job["left"] < 1e-12:
                    job["left"] = 0.0
            given = (fill if policy in by_rank else level)(here, step, ready)
        now += step
        for job in here:
            job["shuffled"] += given[job["id"]]
            if job["left"] == 0.0 and shuffle_left(job) < 1e-10:
                done[job["id"]] = now
    return [done[i] for i in range(len(jobs))]
