/** A map at every scale: each level has half the rows and columns of the one before, with means and extremes. NaN means
 * not known, and is left out of means. */

export interface Level {
  rows: number;
  columns: number;
  mean: Float32Array;
  least: Float32Array;
  greatest: Float32Array;
}

function halved(level: Level): Level {
  const rows = Math.ceil(level.rows / 2), columns = Math.ceil(level.columns / 2);
  const half: Level = {
    rows, columns, mean: new Float32Array(rows * columns), least: new Float32Array(rows * columns),
    greatest: new Float32Array(rows * columns),
  };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0, count = 0, least = Infinity, greatest = -Infinity;
      for (let y = 2 * row; y < Math.min(2 * row + 2, level.rows); y++) {
        for (let x = 2 * column; x < Math.min(2 * column + 2, level.columns); x++) {
          const at = y * level.columns + x;
          if (Number.isNaN(level.mean[at]!)) continue;
          sum += level.mean[at]!;
          count++;
          least = Math.min(least, level.least[at]!);
          greatest = Math.max(greatest, level.greatest[at]!);
        }
      }
      const at = row * columns + column;
      half.mean[at] = sum / count;
      half.least[at] = count > 0 ? least : NaN;
      half.greatest[at] = count > 0 ? greatest : NaN;
    }
  }
  return half;
}

/** The levels, the finest first. */
export function pyramidOf(rows: number, columns: number, mean: ArrayLike<number>, peaks: ArrayLike<number>): Level[] {
  const levels: Level[] = [{ rows, columns, mean: Float32Array.from(mean), least: Float32Array.from(mean),
      greatest: Float32Array.from(peaks) }];
  while (levels.at(-1)!.rows > 1 || levels.at(-1)!.columns > 1) levels.push(halved(levels.at(-1)!));
  return levels;
}

/** The coarsest level with at least as many cells as `points` in the part `share` of the map, so that a picture reads
 * few more numbers than it has points. */
export function levelFor(levels: readonly Level[], share: { rows: number; columns: number },
    points: { rows: number; columns: number }): number {
  let level = 0;
  while (level + 1 < levels.length && levels[level + 1]!.columns * share.columns >= points.columns
      && levels[level + 1]!.rows * share.rows >= points.rows) level++;
  return level;
}

/** Means of blocks of a map, at most `most` rows and columns of blocks. `from` and `to`: columns of the map. */
export function blocksOf(map: { rows: number; columns: number; mean: ArrayLike<number> }, from: number, to: number,
    most: { rows: number; columns: number }): { height: number; width: number; means: number[][] } {
  const height = Math.ceil(map.rows / most.rows), width = Math.max(1, Math.ceil((to - from) / most.columns));
  const means: number[][] = [];
  for (let top = 0; top < map.rows; top += height) {
    const row: number[] = [];
    for (let left = from; left < to; left += width) {
      let sum = 0, count = 0;
      for (let y = top; y < Math.min(top + height, map.rows); y++)
        for (let x = left; x < Math.min(left + width, to); x++) {
          const mean = map.mean[y * map.columns + x]!;
          if (Number.isNaN(mean)) continue;
          sum += mean;
          count++;
        }
      row.push(sum / count);
    }
    means.push(row);
  }
  return { height, width, means };
}
