"""Pairs of videos on a Dask cluster: python dask_pairs.py REFERENCE DISTORTED [REFERENCE DISTORTED …]"""

import sys

import visus
from dask.distributed import Client


def score(pair):
    return visus.score(*pair, threads=1).score


if __name__ == "__main__":
    pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:  # or the address of a scheduler
        for pair, vmaf in zip(pairs, client.gather(client.map(score, pairs, retries=3))):
            print(*pair, vmaf)
