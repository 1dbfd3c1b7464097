"""The tandem queue in small steps of time: slow, obvious, and right to within a few steps.

Jobs are (arrival, map, shuffle). In every step the policy looks at all jobs anew. Estimates are
(map, shuffle), one pair a job; without them policies see the truth.
"""


def shuffle_left(job):
    return job["y"] - job["shuffled"]


def released(job, overlap):
    if job["left"] <= 0:
        return job["y"]
    return job["y"] * (job["x"] - job["left"]) / job["x"] if overlap else 0.0


def shown(estimate, done):
    """What is left of an estimate; once it is outlived, a quarter of its last doubling."""
    if done < estimate:
        return estimate - done
    level = max(estimate, 1e-12)
    while done >= 2 * level:
        level *= 2
    return level / 4


def map_seen(job):
    return shown(job["ex"], job["x"] - job["left"]) if job["left"] > 0 else 0.0


def shuffle_seen(job):
    return shown(job["ey"], job["shuffled"])


def fill(order, capacity, limit):
    """Each in turn gets what it can use."""
    given = {}
    for job in order:
        given[job["id"]] = min(capacity, limit(job))
        capacity -= given[job["id"]]
    return given


def level(jobs, capacity, limit, weight):
    """Weighted shares; what one cannot use goes to the others."""
    given, total = {}, sum(weight[job["id"]] for job in jobs)
    for job in sorted(jobs, key=lambda j: limit(j) / weight[j["id"]]):
        own = weight[job["id"]]
        given[job["id"]] = min(limit(job), capacity * own / total)
        capacity -= given[job["id"]]
        total -= own
    return given


def map_work(jobs, maps):
    for job in jobs:
        job["left"] -= maps.get(job["id"], 0.0)
        job["left"] = 0.0 if job["left"] < 1e-12 else job["left"]


def split(here, step, ready, conserving):
    """SplitSRPT: what each job maps and shuffles in this step."""
    heavy = sorted(
        (j for j in here if j["ex"] >= j["ey"]),
        key=lambda j: (map_seen(j), shuffle_seen(j), j["id"]),
    )
    other = sorted((j for j in here if j["ex"] < j["ey"]), key=lambda j: (shuffle_seen(j), j["id"]))
    beta = min(max(j["ex"], j["ey"]) / max(min(j["ex"], j["ey"]), 1e-300) for j in here)
    large, small = step * beta / (1 + beta), step / (1 + beta)
    # Nothing is left for who turns out to have both phases: it takes what is left over.
    conserving = conserving or 1 - 1 / (1 + beta) == 1
    able = [any(j["left"] > 0 for j in group) for group in (heavy, other)]
    shares = (large, small) if all(able) or not conserving else (step * able[0], step * able[1])
    maps = {}
    for group, share in zip((heavy, other), shares, strict=True):
        maps.update(fill(group, share, lambda j: j["left"]))
    map_work(here, maps)
    given = dict.fromkeys((j["id"] for j in here), 0.0)
    for group, share in ((heavy, small), (other, large)):
        given.update(fill(group if conserving else group[:1], share, ready))
    if conserving:
        spare = step - sum(given.values())
        for job in heavy + other:
            more = min(spare, ready(job) - given[job["id"]])
            given[job["id"]] += more
            spare -= more
    return given


def simulate(jobs, policy, step, overlap=True, k=100, conserving=True, weight=None, estimates=None):
    """Completion of every job."""
    todo = [
        {"id": i, "r": r, "x": x, "y": y, "left": x, "shuffled": 0.0, "ex": x, "ey": y}
        for i, (r, x, y) in enumerate(jobs)
    ]
    for job, pair in zip(todo, estimates or (), strict=False):
        job["ex"], job["ey"] = pair
    weight = weight if policy == "wps" else [1.0] * len(jobs)
    done, now = {}, 0.0

    def larger(job):
        return max(map_seen(job), shuffle_seen(job))

    map_rank = {
        "fcfs": lambda j: (j["r"], j["id"]),
        "max-srpt": lambda j: (larger(j), j["id"]),
        "two-srpt": lambda j: (map_seen(j) + shuffle_seen(j) / 16, j["id"]),
    }
    shuffle_rank = {**map_rank, "two-srpt": map_rank["max-srpt"]}
    while len(done) < len(jobs):
        here = [job for job in todo if job["r"] <= now + 1e-12 and job["id"] not in done]

        def ready(job):
            return max(released(job, overlap) - job["shuffled"], 0.0)

        if policy == "split-srpt":
            given = split(here, step, ready, conserving) if here else {}
        elif policy in map_rank:
            second = sorted(here, key=shuffle_rank[policy])
            map_work(here, fill(sorted(here, key=map_rank[policy]), step, lambda j: j["left"]))
            given = fill(second if conserving else second[:1], step, ready)
        else:
            here.sort(key=lambda j: (j["r"], j["id"]))
            mapping = [j for j in here if j["left"] > 0][:k]
            map_work(here, level(mapping, step, lambda j: j["left"], weight))
            given = level(here, step, ready, weight)
        now += step
        for job in here:
            job["shuffled"] += given.get(job["id"], 0.0)
            if job["left"] == 0.0 and shuffle_left(job) < 1e-10:
                done[job["id"]] = now
    return [done[i] for i in range(len(jobs))]
