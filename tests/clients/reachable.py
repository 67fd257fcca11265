"""A description of the HTTP API whose file arguments name clips that are there.

Usage: python reachable.py URL_OF_OPENAPI TOKEN FOLDER_OF_CLIPS OUTPUT

Made-up file names never get past the first check; with real ones, made-up requests reach the queue, jobs and reports.
"""

import json
import sys
import urllib.request
from pathlib import Path

# The clips have four frames; who skips them all gets the answer of a failed score, which is right. These arguments are
# left out rather than given a maximum: the server knows of no such maximum and rightly accepts what is above it.
SKIPS = ["frame_skip_ref", "frame_skip_dist"]
CLIPS = {"reference": "blocks_8-bit_ref.y4m", "distorted": "blocks_8-bit_dis.y4m"}


def name_clips(node, folder):
    """Replaces, anywhere in the description, what the two file arguments may be."""
    if isinstance(node, list):
        return sum(name_clips(item, folder) for item in node)
    if not isinstance(node, dict):
        return 0
    found = 0
    arguments = node.get("properties") if isinstance(node.get("properties"), dict) else {}
    for name, clip in CLIPS.items():
        if isinstance(arguments.get(name), dict) and arguments[name].get("type") == "string":
            arguments[name]["enum"] = [str(folder / clip)]
            found += 1
    for name in SKIPS:
        arguments.pop(name, None)
    return found + sum(name_clips(item, folder) for item in node.values())


def main(url, token, folder, output):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        description = json.load(answer)
    if name_clips(description, Path(folder)) < len(CLIPS):
        sys.exit("the description has no file arguments any more; mend this script")
    Path(output).write_text(json.dumps(description))


if __name__ == "__main__":
    main(*sys.argv[1:])
