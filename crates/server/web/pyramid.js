// @ts-check
// Scores with the lowest and the highest of groups of 4, 16, 64, …, so that a curve of any length is drawn from a few
// numbers per pixel. Scores can be appended while a job runs.

const GROUP = 4;

/** A growing list of numbers. */
class Numbers {
  constructor() {
    this.data = new Float32Array(256);
    this.length = 0;
  }

  /** @param {number} place @param {number} value */
  set(place, value) {
    if (place >= this.data.length) {
      const larger = new Float32Array(Math.max(this.data.length * 2, place + 1));
      larger.set(this.data.subarray(0, this.length));
      this.data = larger;
    }
    this.data[place] = value;
    if (place >= this.length) this.length = place + 1;
  }
}

export class Pyramid {
  constructor() {
    this.scores = new Numbers();
    /** @type {{ low: Numbers, high: Numbers }[]} */
    this.levels = [];
    /** How many numbers the last questions looked at: what drawing costs, whatever the machine. */
    this.touched = 0;
  }

  get length() {
    return this.scores.length;
  }

  /** @param {ArrayLike<number | null>} values */
  append(values) {
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i];
      this.add(value === null || value === undefined ? NaN : value);
    }
  }

  /** @param {number} value */
  add(value) {
    const place = this.scores.length;
    this.scores.set(place, value);
    if (Number.isNaN(value)) return;
    let group = Math.floor(place / GROUP);
    for (let level = 0; level === 0 || group > 0 || level < this.levels.length; level += 1) {
      if (level === this.levels.length) this.levels.push(this.level(level));
      const { low, high } = this.levels[level];
      const fresh = group >= low.length;
      while (low.length < group) {
        const empty = low.length;
        low.set(empty, NaN);
        high.set(empty, NaN);
      }
      const [least, most] = fresh ? [NaN, NaN] : [low.data[group], high.data[group]];
      low.set(group, least <= value ? least : value);
      high.set(group, most >= value ? most : value);
      group = Math.floor(group / GROUP);
    }
  }

  /**
   * A level that is built when the curve has grown enough to need it.
   * @param {number} level
   */
  level(level) {
    const made = { low: new Numbers(), high: new Numbers() };
    const below = level === 0 ? null : this.levels[level - 1];
    if (below) {
      for (let i = 0; i < below.low.length; i += 1) {
        const group = Math.floor(i / GROUP);
        const fresh = group >= made.low.length;
        const [least, most] = fresh ? [NaN, NaN] : [made.low.data[group], made.high.data[group]];
        const [low, high] = [below.low.data[i], below.high.data[i]];
        made.low.set(group, least <= low || Number.isNaN(low) ? least : low);
        made.high.set(group, most >= high || Number.isNaN(high) ? most : high);
      }
    }
    return made;
  }

  /**
   * The lowest and the highest score of the frames from `from` up to, not including, `to`; null where there is none.
   * @param {number} from @param {number} to
   * @returns {[number, number] | null}
   */
  range(from, to) {
    let [start, end] = [Math.max(0, Math.floor(from)), Math.min(this.scores.length, Math.ceil(to))];
    let [low, high] = [Infinity, -Infinity];
    /** @param {Numbers} lows @param {Numbers} highs @param {number} place */
    const look = (lows, highs, place) => {
      this.touched += 1;
      if (place >= lows.length) return;
      if (lows.data[place] < low) low = lows.data[place];
      if (highs.data[place] > high) high = highs.data[place];
    };
    let lows = this.scores;
    let highs = this.scores;
    for (let level = 0; start < end; level += 1) {
      const up = this.levels[level];
      if (!up || end - start < 2 * GROUP) {
        for (let place = start; place < end; place += 1) look(lows, highs, place);
        break;
      }
      while (start % GROUP) look(lows, highs, start++);
      while (end % GROUP && end > start) look(lows, highs, --end);
      start /= GROUP;
      end /= GROUP;
      lows = up.low;
      highs = up.high;
    }
    return low <= high ? [low, high] : null;
  }

  /** @param {number} frame @returns {number | null} */
  at(frame) {
    const value = frame >= 0 && frame < this.scores.length ? this.scores.data[frame] : NaN;
    return Number.isNaN(value) ? null : value;
  }

  /**
   * The frames with the lowest scores, each at least `apart` frames from the others; worst first.
   * @param {number} count @param {number} [apart]
   */
  worst(count, apart = 8) {
    const order = [...Array(this.scores.length).keys()].filter((frame) => !Number.isNaN(this.scores.data[frame]));
    // Only the lowest few matter; sorting all of a long film would be felt.
    const enough = Math.min(order.length, count * apart * 8);
    const limit = this.quantile(enough);
    const low = order.filter((frame) => this.scores.data[frame] <= limit);
    low.sort((a, b) => this.scores.data[a] - this.scores.data[b] || a - b);
    /** @type {number[]} */
    const chosen = [];
    for (const frame of low) {
      if (chosen.length === count) break;
      if (chosen.every((other) => Math.abs(other - frame) >= apart)) chosen.push(frame);
    }
    return chosen;
  }

  /** The score that about `count` frames do not exceed. @param {number} count */
  quantile(count) {
    const bounds = this.range(0, this.scores.length);
    if (!bounds || bounds[0] === bounds[1]) return Infinity;
    const bins = new Uint32Array(4096);
    const scale = (bins.length - 1) / (bounds[1] - bounds[0]);
    for (let i = 0; i < this.scores.length; i += 1) {
      const value = this.scores.data[i];
      if (!Number.isNaN(value)) bins[Math.floor((value - bounds[0]) * scale)] += 1;
    }
    let seen = 0;
    for (let bin = 0; bin < bins.length; bin += 1) {
      seen += bins[bin];
      if (seen >= count) return bounds[0] + (bin + 1) / scale;
    }
    return Infinity;
  }
}
