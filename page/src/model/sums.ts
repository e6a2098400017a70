/** The section `sums`: values of call paths over all places, by unit and metric. */

export const VALUE = 0;
export const ERROR = 1;
/** The sum over threads of a call path's share of the samples times Samples.variance. */
export const DIVIDED = 2;
/** The first of four kinds: least value of a thread, its rank, greatest value, its rank. */
export const LEAST = 3;
/** Deviations of an estimate from kept iterations: one row for each replicate, which `unit` numbers. */
export const REPLICATE = 7;
/** Variances of time that samples divide, computed within each thread: of a call path by itself, and with all below
 * it. */
export const OWN_VARIANCE = 8;
export const WHOLE_VARIANCE = 9;

export interface SumRow {
  kind: number;
  unit: number;
  metric: number;
  nodes: Uint32Array;
  values: Float64Array;
}

export function readSums(buffer: ArrayBuffer): SumRow[] {
  const view = new DataView(buffer);
  const rows: SumRow[] = [];
  for (let at = 0; at + 16 <= buffer.byteLength;) {
    const count = view.getUint32(at + 12, true), values = Math.ceil((at + 16 + 4 * count) / 8) * 8;
    rows.push({
      kind: view.getUint32(at, true), unit: view.getUint32(at + 4, true), metric: view.getUint32(at + 8, true),
      nodes: new Uint32Array(buffer, at + 16, count), values: new Float64Array(buffer, values, count),
    });
    at = values + 8 * count;
  }
  return rows;
}
