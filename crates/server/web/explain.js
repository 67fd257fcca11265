// @ts-check
// What numbers mean, in words for people who see them for the first time.

/**
 * What a VMAF score says of how a video looks.
 * @param {number | null | undefined} score
 * @returns {{ word: string, text: string, level: "good" | "fair" | "poor" }}
 */
export function meaning(score) {
  if (typeof score !== "number") return { word: "No score", text: "There is no score.", level: "poor" };
  if (score >= 95) return { word: "Excellent", text: "Hardly anybody can tell it from the reference.", level: "good" };
  if (score >= 90) return { word: "Very good", text: "Faults are hard to see at the usual distance.", level: "good" };
  if (score >= 80) return { word: "Good", text: "Some viewers notice a difference to the reference.", level: "good" };
  if (score >= 70) return { word: "Fair", text: "Most viewers notice faults; for a small screen this may do.", level: "fair" };
  if (score >= 50) return { word: "Poor", text: "Faults are plain to see and annoying.", level: "poor" };
  return { word: "Bad", text: "The picture is badly damaged, or the two videos do not show the same frames.", level: "poor" };
}

/**
 * What to do about a pair that cannot be compared, or about a failure.
 * @param {string} text
 * @returns {string | null}
 */
export function remedy(text) {
  const known = /** @type {[RegExp, string][]} */ ([
    [/not on PATH|install ffmpeg/i, "Install ffmpeg and start Visus again. Y4M and raw video need no ffmpeg."],
    [/not under an allowlisted root/i, "Start Visus with the folder that the file is in: visus ui FOLDER."],
    [/different (films|content|videos)|not alike|do not show the same/i, "Check that both files are of the same film. If they are, one may begin much later: cut both to the same scene."],
    [/frame rate|frames per second/i, "Score against a reference of the same frame rate, or convert one file."],
    [/aspect|black bars|crop/i, "Crop both files to the same picture before scoring."],
    [/HDR|transfer|tone/i, "Score HDR against HDR. A tone-mapped file is another picture, and VMAF would call that damage."],
    [/interlac/i, "Deinterlace the reference as the encode was, then score again."],
    [/has changed since/i, "Score the file again; the old curve belongs to the old file."],
    [/busy|come back/i, "The queue is full. Wait until a job has ended, then start again."],
    [/scaling is switched off/i, "Choose a scaling other than off: the distorted video is then brought to the size of the reference."],
    [/width|height|pixfmt|bitdepth|raw/i, "Raw video does not say its format. Give width, height, chroma and bit depth under More options."],
  ]);
  const found = known.find(([pattern]) => pattern.test(text));
  return found ? found[1] : null;
}

/**
 * Why this model.
 * @param {string | undefined} model
 */
export function modelWords(model) {
  if (!model) return "";
  if (/4k|2160/i.test(model)) return "It is made for a 4K screen that fills much of the view. For HD video choose another one.";
  if (/hfr/i.test(model)) return "It is made for high frame rates.";
  if (/neg/i.test(model)) return "It gives no credit for sharpening, so that encoders cannot gain by enhancing the picture.";
  if (/v1\./.test(model)) return "It is VMAF's second generation; the number in its name is the viewing distance in picture heights.";
  return "It is made for HD video on a television at three picture heights.";
}

/** @param {{ mean?: number | null, p5?: number | null, min?: number | null } | undefined} pooled */
export function spread(pooled) {
  if (!pooled || typeof pooled.mean !== "number" || typeof pooled.p5 !== "number") return "";
  const drop = pooled.mean - pooled.p5;
  if (drop > 12) return "Quality varies a lot: look at the worst frames, the mean hides them.";
  if (drop > 6) return "One frame in twenty is visibly worse than the mean: a step that viewers notice.";
  return "Quality is even.";
}
