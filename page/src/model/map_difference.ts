/** Rows of a map, and the map of one run minus that of another: the threads x iterations that both have. */
import type { Loop, PlaceMap } from './head';

export interface MapOfLoop {
  loop: Loop;
  map: PlaceMap;
  /** Means, row by row. */
  values: ArrayLike<number>;
}

/** The locations of a row: the first one and the one after the last, as indices into `loop.ranks`. */
export function locationsOfRow(loop: Loop, map: PlaceMap, row: number): [number, number] {
  return [row * map.places_in_row, Math.min((row + 1) * map.places_in_row, loop.ranks.length)];
}

/** "rank 3", "rank 3, thread 1" or "ranks 4 to 7" for a row. */
export function rowName(loop: Loop, map: PlaceMap, row: number): string {
  const [begin, end] = locationsOfRow(loop, map, row), first = loop.ranks[begin], last = loop.ranks[end - 1];
  if (first !== last) return `ranks ${first} to ${last}`;
  if (!loop.threads.some((thread) => thread > 0)) return `rank ${first}`;
  const [from, to] = [loop.threads[begin], loop.threads[end - 1]];
  return `rank ${first}, ${from === to ? `thread ${from}` : `threads ${from} to ${to}`}`;
}

function threadsByRank(loop: Loop): Map<number, number> {
  const threads = new Map<number, number>();
  for (const rank of loop.ranks) threads.set(rank, (threads.get(rank) ?? 0) + 1);
  return threads;
}

/** Whether two runs have ranks in common, each with the same number of threads in both. */
export function areRowsAlike(a: Loop, b: Loop): boolean {
  const there = threadsByRank(b), both = [...threadsByRank(a)].filter(([rank]) => there.has(rank));
  return both.length > 0 && both.every(([rank, threads]) => there.get(rank) === threads);
}

/** For a row of `before`: how many of its locations are in each row of `now`. */
function rowsOfLocations(before: MapOfLoop, now: MapOfLoop): (row: number) => Map<number, number> {
  const key = (loop: Loop, at: number): string => `${loop.ranks[at]} ${loop.threads[at]}`;
  const there = new Map(now.loop.ranks.map((_, at) => [key(now.loop, at), at]));
  return (row) => {
    const counts = new Map<number, number>(), [begin, end] = locationsOfRow(before.loop, before.map, row);
    for (let at = begin; at < end; at++) {
      const other = there.get(key(before.loop, at));
      if (other === undefined) continue;
      const of = Math.floor(other / now.map.places_in_row);
      counts.set(of, (counts.get(of) ?? 0) + 1);
    }
    return counts;
  };
}

/** How much more `now` has than `before`, in the cells of `before`; NaN where `now` lacks the thread or iteration, or a
 * value is not known. Several cells of `now` are averaged, each weighted by its overlap with the cell of `before`. */
export function differenceOfMaps(before: MapOfLoop, now: MapOfLoop): Float64Array {
  const of = before.map, other = now.map, result = new Float64Array(of.rows * of.columns).fill(NaN);
  const iterations = Math.min(before.loop.iterations, now.loop.iterations), rowsOf = rowsOfLocations(before, now);
  for (let row = 0; row < of.rows; row++) {
    const rows = [...rowsOf(row)];
    for (let column = 0; column < of.columns && column * of.width < iterations; column++) {
      const begin = column * of.width, end = Math.min(begin + of.width, iterations);
      let sum = 0, weight = 0;
      for (const [y, locations] of rows) {
        for (let x = Math.floor(begin / other.width); x < other.columns && x * other.width < end; x++) {
          const value = now.values[y * other.columns + x]!;
          if (Number.isNaN(value)) continue;
          const part = locations * (Math.min(end, (x + 1) * other.width) - Math.max(begin, x * other.width));
          sum += part * value;
          weight += part;
        }
      }
      if (weight > 0) result[row * of.columns + column] = sum / weight - before.values[row * of.columns + column]!;
    }
  }
  return result;
}
