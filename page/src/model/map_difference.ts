/** A map of one run less that of another one: ranks x iterations that both have. */
import type { Loop, PlaceMap } from './head';
import type { Run } from './run';

export interface MapOfRun {
  run: Run;
  loop: Loop;
  map: PlaceMap;
  /** Means, row by row. */
  values: ArrayLike<number>;
}

/** Whether a row of one run has the same ranks and threads as in the other one: each rank has as many threads. */
export function areRowsAlike(a: { run: Run; loop: Loop }, b: { run: Run; loop: Loop }): boolean {
  return a.loop.places * b.run.head.ranks === b.loop.places * a.run.head.ranks;
}

/** From `from` up to `to`, in cells that are `size` wide: the first one and the one behind the last. */
function cellsIn(from: number, to: number, size: number): [number, number] {
  return [Math.floor(from / size), Math.ceil(to / size)];
}

/** What `now` has more than `before`, in the cells of `before`; not a number where `now` has no such rank or
 * iteration. Of finer cells it is the mean. */
export function differenceOfMaps(before: MapOfRun, now: MapOfRun): Float64Array {
  const of = before.map, other = now.map, result = new Float64Array(of.rows * of.columns).fill(NaN);
  const places = Math.min(before.loop.places, now.loop.places),
      iterations = Math.min(before.loop.iterations, now.loop.iterations);
  for (let row = 0; row < of.rows && row * of.places_in_row < places; row++) {
    const [top, bottom] = cellsIn(row * of.places_in_row, Math.min((row + 1) * of.places_in_row, places),
        other.places_in_row);
    for (let column = 0; column < of.columns && column * of.width < iterations; column++) {
      const [left, right] = cellsIn(column * of.width, Math.min((column + 1) * of.width, iterations), other.width);
      let sum = 0, count = 0;
      for (let y = top; y < Math.min(bottom, other.rows); y++)
        for (let x = left; x < Math.min(right, other.columns); x++, count++) sum += now.values[y * other.columns + x]!;
      const at = row * of.columns + column;
      if (count > 0) result[at] = sum / count - before.values[at]!;
    }
  }
  return result;
}
