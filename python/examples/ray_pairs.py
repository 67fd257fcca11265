"""Pairs of videos on a Ray cluster: python ray_pairs.py REFERENCE DISTORTED [REFERENCE DISTORTED …]"""

import sys

import ray
import visus


@ray.remote(num_cpus=1, max_retries=3)
def score(pair):
    return visus.score(*pair, threads=1).score


if __name__ == "__main__":
    pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
    ray.init(num_cpus=2, include_dashboard=False)  # or address="auto" on a cluster
    for pair, vmaf in zip(pairs, ray.get([score.remote(pair) for pair in pairs])):
        print(*pair, vmaf)
