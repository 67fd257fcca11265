"""Runs ffmpeg's libvmaf filter inside PyAV over many pairs. The list of jobs is the first argument, as JSON."""

import json
import sys

import av
from av.filter import Graph


def run(job):
    """Both files through the filter, as `ffmpeg -i distorted -i reference -lavfi libvmaf` does it."""
    with av.open(job["distorted"]) as distorted, av.open(job["reference"]) as reference:
        graph = Graph()
        sources = [graph.add_buffer(template=file.streams.video[0]) for file in (distorted, reference)]
        options = ":".join(f"{name}={value}" for name, value in job["options"].items())
        vmaf = graph.add("libvmaf", options)
        sink = graph.add("buffersink")
        for pad, source in enumerate(sources):
            source.link_to(vmaf, 0, pad)
        vmaf.link_to(sink)
        graph.configure()
        files = [distorted.decode(video=0), reference.decode(video=0)]
        done = 0
        while True:
            pair = [next(frames, None) for frames in files]
            for source, frame in zip(sources, pair):
                source.push(frame)
            done += drain(sink)
            if None in pair:
                return done


def drain(sink):
    done = 0
    while True:
        try:
            sink.pull()
            done += 1
        except (BlockingIOError, EOFError, av.error.EOFError, av.error.BlockingIOError):
            return done


for job in json.load(open(sys.argv[1])):
    try:
        print(job["name"], run(job))
    except (av.error.FFmpegError, ValueError) as error:
        print(job["name"], type(error).__name__)
