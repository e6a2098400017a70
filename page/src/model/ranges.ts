/** What a picture shows of an axis. */

/** From and up to; of ranks, first and last. */
export type Range = readonly [number, number];

/** The part of a range that is among `count`; null: it is all, or none is in it. */
export function rangeIn(range: Range | null, count: number): Range | null {
  if (!range) return null;
  const [begin, end] = [Math.max(0, range[0]), Math.min(count, range[1])];
  return begin >= end || (begin === 0 && end === count) ? null : [begin, end];
}

/** How a map is shown. */
export interface MapSetting {
  /** Place among the loop's maps. */
  readonly metric: number;
  /** The run that is compared with the one that is shown; null: none. */
  readonly run: number | null;
  /** Rows in sight; null: all. */
  readonly rows: Range | null;
}
