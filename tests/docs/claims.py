"""What the documents say about results in words, as a command that fails when it is not so.

    claims.py only_rank EXPERIMENT FUNCTION RANK    the function has time on this rank and on no other
    claims.py least_rank EXPERIMENT FUNCTION RANK   it has less time on this rank than on any other
    claims.py nowhere EXPERIMENT FUNCTION           no rank has it
    claims.py says EXPERIMENT WORD...               one of its findings has all these words
    claims.py band EXPERIMENT METRIC FROM           of iterations: from this one on the largest rank has three times the median of the
                                                    others in total, before it has not, and which rank it is changes in their order
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys


def report(experiment: str, *options: str) -> dict:
    done = subprocess.run(["refrain", "report", experiment, "--format", "json", *options], check=True, capture_output=True)
    return json.loads(done.stdout)


def time_by_rank(experiment: str, function: str) -> dict[int, float]:
    ranks = [location["rank"] for location in report(experiment)["locations"]]
    return {rank: sum(path["inclusive_s"] for path in report(experiment, "--rank", str(rank))["callpaths"]
                      if path["path"][-1] == function) for rank in ranks}


def only_rank(experiment: str, function: str, rank: str) -> bool:
    return [at for at, time in time_by_rank(experiment, function).items() if time > 0] == [int(rank)]


def least_rank(experiment: str, function: str, rank: str) -> bool:
    times = time_by_rank(experiment, function)
    return min(times, key=lambda at: times[at]) == int(rank)


def nowhere(experiment: str, function: str) -> bool:
    return not any(time_by_rank(experiment, function).values())


def says(experiment: str, *words: str) -> bool:
    texts = [of["text"] for of in report(experiment)["findings"]]
    print(texts)
    return any(all(word in text for word in words) for text in texts)


def band(experiment: str, metric: str, begin: str) -> bool:
    """By medians of tenths of the run: single iterations may be interrupted by other programs."""
    loop = report(experiment, "--iterations", "--metric", metric)["loops"][0]
    series = [location[metric + "_s"] for location in loop["per_location"]]
    size = loop["iterations"] // 20
    leaders, contrasts = [], []
    for at in range(0, loop["iterations"], size):
        middle = [statistics.median(values[at:at + size]) for values in series]
        leader = max(range(len(middle)), key=lambda rank: middle[rank])
        rest = statistics.median(value for rank, value in enumerate(middle) if rank != leader)
        contrasts.append(middle[leader] / rest if rest > 0 else float("inf"))
        leaders.append(leader)
    first = int(begin) // size
    print(list(zip(leaders, [round(contrast, 1) for contrast in contrasts])))
    after = leaders[first:]
    return after == sorted(after) and set(after) == set(range(len(series))) and \
        statistics.median(contrasts[first:]) > 2 * statistics.median(contrasts[:first])


if __name__ == "__main__":
    claim, arguments = sys.argv[1], sys.argv[2:]
    if not {"only_rank": only_rank, "least_rank": least_rank, "nowhere": nowhere, "says": says, "band": band}[claim](*arguments):
        sys.exit(f"not so: {' '.join(sys.argv[1:])}")
