"""Runs ffmpeg's libvmaf filter over many pairs: inside PyAV, or where this Python cannot load it, through the ffmpeg libraries of
PyAV's wheel. Arguments: the list of jobs as JSON, and the folder of the wheel."""

import ctypes
import glob
import json
import sys

try:
    import av
    from av.filter import Graph
except ImportError:
    av = None


def run(job):
    """Both files through the filter, as `ffmpeg -i distorted -i reference -lavfi libvmaf` does it."""
    with av.open(job["distorted"]) as distorted, av.open(job["reference"]) as reference:
        graph = Graph()
        sources = [graph.add_buffer(template=file.streams.video[0]) for file in (distorted, reference)]
        vmaf = graph.add("libvmaf", options_of(job))
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


def options_of(job):
    return ":".join(f"{name}={value}" for name, value in job["options"].items())


def drain(sink):
    done = 0
    while True:
        try:
            sink.pull()
            done += 1
        except (BlockingIOError, EOFError, av.error.EOFError, av.error.BlockingIOError):
            return done


class Libraries:
    """The functions of ffmpeg that a graph of filters needs; its objects are opaque here."""

    def __init__(self, wheel):
        self.util, self.filter = (
            ctypes.CDLL(glob.glob(f"{wheel}/av.libs/{name}-*")[0]) for name in ("libavutil", "libavfilter")
        )
        for function in (
            self.filter.avfilter_graph_alloc,
            self.filter.avfilter_graph_get_filter,
            self.util.av_frame_alloc,
        ):
            function.restype = ctypes.c_void_p

    def run(self, job):
        sources = f"movie={job['distorted']}[d];movie={job['reference']}[r];"
        # One level of escapes more than for a filter alone.
        options = options_of(job).replace("\\", "\\\\")
        text = f"{sources}[d][r]libvmaf={options},buffersink@out"
        graph = ctypes.c_void_p(self.filter.avfilter_graph_alloc())
        inputs, outputs = ctypes.c_void_p(), ctypes.c_void_p()
        code = self.filter.avfilter_graph_parse2(
            graph, text.encode(), ctypes.byref(inputs), ctypes.byref(outputs)
        )
        code = self.filter.avfilter_graph_config(graph, None) if code >= 0 else code
        done = self.pull(graph) if code >= 0 else code
        self.filter.avfilter_graph_free(ctypes.byref(graph))
        return done

    def pull(self, graph):
        sink = ctypes.c_void_p(self.filter.avfilter_graph_get_filter(graph, b"buffersink@out"))
        frame = ctypes.c_void_p(self.util.av_frame_alloc())
        done = 0
        while self.filter.av_buffersink_get_frame(sink, frame) >= 0:
            done += 1
            self.util.av_frame_unref(frame)
        self.util.av_frame_free(ctypes.byref(frame))
        return done


if av is None:
    run = Libraries(sys.argv[2]).run
print("PyAV" if av else "ctypes")
for job in json.load(open(sys.argv[1])):
    try:
        print(job["name"], run(job))
    except Exception as error:
        if av is None or not isinstance(error, (av.error.FFmpegError, ValueError)):
            raise
        print(job["name"], type(error).__name__)
