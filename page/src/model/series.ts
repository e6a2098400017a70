/** The sections `series` and `maps`: iterations of loops. */
import { decode } from './codes';
import type { Loop, PlaceMap, SeriesRow } from './head';
import { unpack } from './payload';

/** The threads that the curves of a row cover, in words. */
export function overText(loop: Loop, row: SeriesRow): string {
  const all = loop.ranks.length, threads = all === 1 ? 'thread' : 'threads';
  return row.places < all
      ? `Least and greatest are over ${row.places} of ${all} ${threads}; the median of all is estimated from these.`
      : `Least, median and greatest are over ${all} ${threads}.`;
}

/** Each by bin. */
export interface Curves {
  least: Float32Array;
  median: Float32Array;
  greatest: Float32Array;
  peak: Float32Array;
}

export class Iterations {
  private readonly series: ArrayBuffer;
  private readonly maps: ArrayBuffer;

  constructor(series: ArrayBuffer, maps: ArrayBuffer) {
    this.series = series;
    this.maps = maps;
  }

  curves(row: SeriesRow): Curves {
    const of = (curve: number): Float32Array =>
        new Float32Array(this.series, 4 * (row.offset + curve * row.bins), row.bins);
    return { least: of(0), median: of(1), greatest: of(2), peak: of(3) };
  }

  /** By bin: the unit of the class that most of the bin belongs to, in the numbers of the run; 0: none. */
  classes(loop: Loop): Float32Array {
    return new Float32Array(this.series, 4 * loop.series.classes, loop.series.bins);
  }

  /** A map row by row. `peaks`: greatest single values instead of means. */
  map(map: PlaceMap, peaks: boolean): Float64Array {
    const cells = map.rows * map.columns, at = map.offset + (peaks && map.peaks ? 2 * cells : 0);
    const values = new Float64Array(cells);
    decode(new Uint8Array(this.maps, at, cells), new Uint8Array(this.maps, at + cells, cells), peaks && map.peaks
        ? map.peak_scale : map.scale, values);
    return values;
  }
}

/** Null: the run has no marked loop. */
export async function loadIterations(run: number): Promise<Iterations | null> {
  const [series, maps] = await Promise.all([unpack(run, 'series'), unpack(run, 'maps')]);
  return series ? new Iterations(series, maps ?? new ArrayBuffer(0)) : null;
}
