#!/usr/bin/env python3
"""Score rankings, with intervals.

usage: score.py QUERIES.jsonl RUN.jsonl [OTHER_RUN.jsonl] [--lang LANG]

QUERIES: one {"id", "query", "relevant": [ids], "lang"?} a line.
RUN:     one {"id", "ranked": [ids, best first]} a line, as `prowess eval --run` writes it. A missing query is empty.

Prints H@1, R@5, R@10, MRR and nDCG@10 in percent. After nDCG@10 comes the 95 % interval of a bootstrap over
queries. With a second run, also the difference of the second to the first by paired bootstrap: the same queries are
drawn for both. The seed is fixed, so a figure can be compared.
"""
import json
import math
import random
import sys

ROUNDS = 5_000
SEED = 20_260


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def measures(relevant, ranked):
    hits = [key in relevant for key in dict.fromkeys(ranked)]
    gain = lambda place: 1 / math.log2(place + 2)
    ideal = sum(gain(place) for place in range(min(len(relevant), 10)))
    return {
        "H@1": float(bool(hits and hits[0])),
        "R@5": sum(hits[:5]) / len(relevant),
        "R@10": sum(hits[:10]) / len(relevant),
        "MRR": next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0),
        "nDCG@10": sum(gain(place) for place, hit in enumerate(hits[:10]) if hit) / ideal,
    }


def interval(values):
    """The 95 % interval of the mean, and the share of rounds in which it is not above zero."""
    draw = random.Random(SEED)
    count = len(values)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(ROUNDS))
    below = sum(mean <= 0 for mean in means) / ROUNDS
    return means[int(ROUNDS * 0.025)], means[int(ROUNDS * 0.975)], below


def main():
    arguments = sys.argv[1:]
    lang = None
    if "--lang" in arguments:
        at = arguments.index("--lang")
        lang = arguments[at + 1]
        del arguments[at : at + 2]
    queries = [query for query in read(arguments[0]) if query["relevant"]]
    queries = [query for query in queries if lang is None or query.get("lang", "latin") == lang]
    scored = []
    for path in arguments[1:]:
        run = {row["id"]: row["ranked"] for row in read(path)}
        scored.append([measures(set(query["relevant"]), run.get(query["id"], [])) for query in queries])
        means = {name: 100 * sum(row[name] for row in scored[-1]) / len(queries) for name in scored[-1][0]}
        low, high, _ = interval([row["nDCG@10"] for row in scored[-1]])
        figures = "  ".join(f"{name} {value:.2f}" for name, value in means.items())
        print(f"{path}: {len(queries)} queries  {figures} [{100 * low:.1f}, {100 * high:.1f}]")
    if len(scored) == 2:
        for name in ("H@1", "R@10", "nDCG@10"):
            gains = [other[name] - one[name] for one, other in zip(*scored)]
            low, high, below = interval(gains)
            mean = 100 * sum(gains) / len(gains)
            print(f"difference in {name}: {mean:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]  p {below:.4f}")


if __name__ == "__main__":
    main()
