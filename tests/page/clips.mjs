// Clips for the tests of the page: small, so that making them takes seconds.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A name that would be markup, and that would turn the text around. */
export const HOSTILE = `"><img src=x onerror='globalThis.hacked=1'>'&amp;\u202egpj.mp4`;
export const HOSTILE_SHOWN = HOSTILE.replace("\u202e", "");

/** Frames of the long clip: many enough to be seen at work and to be cancelled on any machine. */
export const LONG_FRAMES = 30_000;

function ffmpeg(...args) {
  execFileSync("ffmpeg", ["-v", "error", "-nostdin", "-y", ...args]);
}

function generated(source, file, ...args) {
  ffmpeg("-f", "lavfi", "-i", source, "-c:v", "libx264", "-preset", "ultrafast", ...args, file);
}

/** Makes all of them below a folder. */
export function makeClips(clips) {
  mkdirSync(clips);
  const at = (name) => join(clips, name);
  const x264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf"];
  ffmpeg("-f", "lavfi", "-i", "testsrc2=s=480x270:r=25:d=4", "-vf", "noise=alls=6:allf=t", ...x264, "8", at("source.mp4"));
  for (const crf of [28, 36, 44]) ffmpeg("-i", at("source.mp4"), ...x264, String(crf), at(`x264_crf${crf}.mp4`));
  for (const q of [6, 14]) ffmpeg("-i", at("source.mp4"), "-c:v", "mpeg4", "-q:v", String(q), at(`mpeg4_q${q}.mp4`));
  ffmpeg("-i", at("source.mp4"), ...x264, "40", at(HOSTILE));
  ffmpeg("-i", at("source.mp4"), "-c", "copy", at("copy.mp4"));
  ffmpeg("-i", at("source.mp4"), "-vf", "hue=h=25", ...x264, "16", at("tinted.mp4"));
  generated("mandelbrot=s=480x270:r=25", at("other_film.mp4"), "-frames:v", "100", "-crf", "20");
  for (const [name, crf] of [["hd_source", "23"], ["hd_encode", "40"]]) generated("testsrc2=s=1920x1080:r=25:d=2", at(`${name}.mp4`), "-crf", crf);
  // Searches and ladders encode it many times.
  generated("testsrc2=s=320x180:r=25:d=2", at("short.mp4"), "-crf", "10");
  makeLong(at);
  mkdirSync(at("two"));
  ffmpeg("-i", at("source.mp4"), "-c", "copy", join(at("two"), "holiday.mp4"));
  ffmpeg("-i", at("x264_crf44.mp4"), "-c", "copy", join(at("two"), "holiday_small.mp4"));
}

/** Four seconds, many times over, without encoding them again. */
function makeLong(at) {
  for (const [side, crf] of [["source", "38"], ["encode", "48"]]) {
    const part = at(`part_${side}.mp4`);
    generated("testsrc2=s=640x360:r=25:d=4", part, "-crf", crf);
    ffmpeg("-stream_loop", String(LONG_FRAMES / 100 - 1), "-i", part, "-c", "copy", at(`long_${side}.mp4`));
    rmSync(part);
  }
}

export const FILM = "f".repeat(32);
export const FILM_FRAMES = 172_800;
export const FILM_WORST = 100_003;

/** A score of a two-hour film, as the history keeps it. */
export function writeFilm(state, clips) {
  const folder = join(state, "history");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const scores = new Float32Array(FILM_FRAMES);
  for (let frame = 0; frame < FILM_FRAMES; frame += 1) scores[frame] = 92 + 5 * Math.sin(frame / 900) + 2 * Math.sin(frame * 12.9898) - (frame === FILM_WORST ? 60 : 0);
  const input = (name) => ({ name, path: join(clips, name), bytes: null, modified: null });
  const entry = { id: FILM, tool: "vmaf_score", created: 1_700_000_000, ended: 1_700_000_100, status: "done", error: null, request: {}, inputs: [input("film.mkv"), input("film_small.mkv")], metric: "vmaf", score: 92.1, frames: FILM_FRAMES };
  const summary = { pooled_metrics: { vmaf: { mean: 92.1, p5: 85, min: 30, harmonic_mean: 91.9, min_frame: FILM_WORST } }, provenance: { models: [{ name: "vmaf", model: "vmaf_v0.6.1" }], reference: { frame_rate: "24/1" } }, comparability: { comparable: "yes", reasons: [] } };
  writeFileSync(join(folder, `${FILM}.entry.json`), JSON.stringify(entry));
  writeFileSync(join(folder, `${FILM}.result.json`), JSON.stringify({ summary, steps: [], shots: [0] }));
  writeFileSync(join(folder, `${FILM}.curve`), Buffer.from(scores.buffer));
}
