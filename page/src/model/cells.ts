/** The section `cells`: values by place, decoded on request. */
import { addDecoded } from './codes';
import type { Numbering } from './merge';
import type { Span } from './span';

export class Cells {
  readonly places: number;
  private readonly buffer: ArrayBuffer;
  private readonly units: Uint32Array;
  private readonly metrics: Uint32Array;
  private readonly nodes: Uint32Array;
  private readonly scales: Float64Array;
  private readonly signed: Uint32Array;
  private readonly offsets: Uint32Array;
  /** Rows in the order of the model's numbers. */
  private readonly order: Uint32Array;

  constructor(buffer: ArrayBuffer, numbering: Numbering) {
    const [rows = 0, places = 0] = new Uint32Array(buffer, 0, 2);
    this.buffer = buffer;
    this.places = places;
    this.units = new Uint32Array(buffer, 8, rows).map((unit) => numbering.units[unit]!);
    this.metrics = new Uint32Array(buffer, 8 + 4 * rows, rows).map((metric) => numbering.metrics[metric]!);
    this.nodes = new Uint32Array(buffer, 8 + 8 * rows, rows).map((node) => numbering.nodes[node]!);
    this.signed = new Uint32Array(buffer, 8 + 12 * rows, rows);
    this.scales = new Float64Array(buffer, 8 + 16 * rows, rows);
    this.offsets = new Uint32Array(rows);
    let at = 8 + 24 * rows;
    for (let row = 0; row < rows; row++) {
      this.offsets[row] = at;
      at += (this.signed[row] ? 3 : 2) * places;
    }
    this.order = Uint32Array.from({ length: rows }, (_, row) => row).sort((a, b) =>
        this.compare(a, this.units[b]!, this.metrics[b]!, this.nodes[b]!));
  }

  private compare(row: number, unit: number, metric: number, node: number): number {
    return this.units[row]! - unit || this.metrics[row]! - metric || this.nodes[row]! - node;
  }

  /** The first index in `order` that is not before (unit, metric, node). */
  private lowerBound(unit: number, metric: number, node: number): number {
    let low = 0, high = this.order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(this.order[middle]!, unit, metric, node) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private addRow(row: number, into: Float64Array): void {
    const { buffer, places } = this, at = this.offsets[row]!, scale = this.scales[row]!;
    const high = new Uint8Array(buffer, at, places), low = new Uint8Array(buffer, at + places, places);
    if (!this.signed[row]) return addDecoded(high, low, scale, into);
    const negative = new Uint8Array(buffer, at + 2 * places, places), values = new Float64Array(places);
    addDecoded(high, low, scale, values);
    for (let i = 0; i < places; i++) into[i]! += negative[i] ? -values[i]! : values[i]!;
  }

  private forRows(metrics: readonly Span[], nodes: readonly Span[], take: (row: number) => void): void {
    for (const range of nodes) {
      for (const kind of metrics) {
        for (let metric = kind.begin; metric < kind.end; metric++) {
          const end = this.lowerBound(range.unit, metric, range.end);
          for (let place = this.lowerBound(range.unit, metric, range.begin); place < end;
              place++) take(this.order[place]!);
        }
      }
    }
  }

  /** By place: the sum of these metrics at these call paths. */
  byPlace(metrics: readonly Span[], nodes: readonly Span[]): Float64Array {
    const sum = new Float64Array(this.places);
    this.forRows(metrics, nodes, (row) => this.addRow(row, sum));
    return sum;
  }

  /** Calls `take` with metric, node and the sum over these places, row by row; `factors`: multiplies values, by
   * place. */
  overPlaces(metrics: readonly Span[], nodes: readonly Span[], places: readonly Span[],
    take: (metric: number, node: number, value: number) => void, factors?: readonly number[]): void {
    const values = new Float64Array(this.places);
    this.forRows(metrics, nodes, (row) => {
      values.fill(0);
      this.addRow(row, values);
      let sum = 0;
      for (const each of places)
        for (let place = each.begin; place < each.end; place++) sum += values[place]! * (factors?.[place] ?? 1);
      take(this.metrics[row]!, this.nodes[row]!, sum);
    });
  }
}
