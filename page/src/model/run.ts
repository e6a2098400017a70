/** One run of the file, in the numbers of the model. */
import { Cells } from './cells';
import type { Head, Samples } from './head';
import type { Numbering } from './merge';
import { unpack } from './payload';
import { prefixSums, sumOf, type Span } from './span';
import { ERROR, LEAST, REPLICATE, VALUE, WEIGHT, type SumRow } from './sums';

/** A rank, or ranks that stand together, as a range of places. */
export interface RankPlace {
  host: string;
  first: number; // rank
  last: number;
  span: Span;
}

/** Of single threads, exact. A rank of -1: threads that have nothing. */
export interface Extremes {
  least: number;
  leastRank: number;
  greatest: number;
  greatestRank: number;
}

export class Run {
  readonly index: number;
  readonly head: Head;
  readonly numbering: Numbering;
  readonly ranks: RankPlace[];
  /** Null until it is there; `hasCells`: whether it will be. */
  cells: Cells | null = null;
  /** Seconds of CPU time that samples stand for, as sums before each node. */
  readonly weights: Float64Array;
  private readonly values = new Map<string, Float64Array>();
  private readonly errors = new Map<number, Float64Array>();
  private readonly replicates = new Map<number, Float64Array[]>();
  /** By metric and node: the four numbers. */
  private readonly extremes = new Map<string, number[]>();
  private readonly nodes: number;

  constructor(index: number, head: Head, rows: readonly SumRow[], numbering: Numbering, nodes: number) {
    this.index = index;
    this.head = head;
    this.numbering = numbering;
    this.nodes = nodes;
    let weights = new Float64Array(nodes);
    for (const row of rows) {
      if (row.kind >= LEAST && row.kind !== REPLICATE) {
        this.readExtremes(row);
        continue;
      }
      const dense = this.dense(row);
      if (row.kind === VALUE) this.values.set(`${numbering.units[row.unit]} ${numbering.metrics[row.metric]}`, dense);
      else if (row.kind === ERROR) this.errors.set(numbering.metrics[row.metric]!, prefixSums(dense));
      else if (row.kind === WEIGHT) weights = dense;
      else this.addReplicate(numbering.metrics[row.metric]!, prefixSums(dense));
    }
    this.weights = prefixSums(weights);
    this.ranks = this.ranksOfPlaces();
  }

  private dense(row: SumRow): Float64Array<ArrayBuffer> {
    const values = new Float64Array(this.nodes);
    row.nodes.forEach((node, i) => { values[this.numbering.nodes[node]!]! += row.values[i]!; });
    return values;
  }

  private addReplicate(metric: number, sums: Float64Array): void {
    const known = this.replicates.get(metric);
    if (known) known.push(sums);
    else this.replicates.set(metric, [sums]);
  }

  private readExtremes(row: SumRow): void {
    row.nodes.forEach((node, i) => {
      const key = `${this.numbering.metrics[row.metric]} ${this.numbering.nodes[node]}`;
      const known = this.extremes.get(key) ?? [];
      known.push(row.values[i]!);
      this.extremes.set(key, known);
    });
  }

  /** Null: not known, as of call paths of one name, which the model has as one. */
  extremesOf(metric: number, node: number): Extremes | null {
    const known = this.extremes.get(`${metric} ${node}`);
    if (known?.length !== 4) return null;
    const [least, leastRank, greatest, greatestRank] = known as [number, number, number, number];
    return { least, leastRank, greatest, greatestRank };
  }

  private ranksOfPlaces(): RankPlace[] {
    const { host, rank, last_rank, locations } = this.head.places, ranks: RankPlace[] = [];
    for (let place = 0; place < rank.length; place++) {
      const last = ranks.at(-1), name = this.head.strings[host[place]!] ?? '', here = rank[place]!;
      const isGroup = (locations[place] ?? 1) > 1;
      if (last && last.first === here && last.host === name && !isGroup) last.span.end = place + 1;
      else ranks.push({ host: name, first: here, last: last_rank[place] ?? here,
          span: { unit: 0, begin: place, end: place + 1 } });
    }
    return ranks;
  }

  get places(): number {
    return this.head.places.rank.length;
  }

  /** Threads of all ranks. */
  get locations(): number {
    return this.head.places.locations.reduce((sum, count) => sum + count, 0);
  }

  /** Exclusive values by node; null: the run has nothing of the metric in the unit. */
  sums(unit: number, metric: number): Float64Array | null {
    return this.values.get(`${unit} ${metric}`) ?? null;
  }

  /**
   * Standard error of a metric whose errors come with its values, at these call paths together; NaN: it is not known.
   * Errors that bounds make add; replicates add one by one, and their scatter is the error of the sum.
   */
  givenError(metric: number, nodes: readonly Span[]): number {
    const errors = this.errors.get(metric);
    if (!errors) return NaN;
    const sumOver = (prefix: Float64Array): number => nodes.reduce((sum, each) => sum + sumOf(prefix, each), 0);
    const replicates = this.replicates.get(metric) ?? [];
    const squares = replicates.reduce((sum, prefix) => sum + sumOver(prefix) ** 2, 0);
    return Math.hypot(sumOver(errors), Math.sqrt(squares / Math.max(replicates.length, 1)));
  }

  /** Samples of these places; null: of all. */
  samples(places: readonly Span[] | null): Samples {
    if (!places) return this.head.samples;
    const { seconds, weight, squares } = this.head.places, sum = { seconds: 0, weight: 0, squares: 0 };
    for (const each of places) {
      for (let place = each.begin; place < each.end; place++) {
        sum.seconds += seconds[place] ?? 0;
        sum.weight += weight[place] ?? 0;
        sum.squares += squares[place] ?? 0;
      }
    }
    return sum;
  }

  /** Unpacks the values by place, once. False: the file does not have them. */
  async loadCells(): Promise<boolean> {
    if (this.cells) return true;
    const buffer = await unpack(this.index, 'cells');
    if (buffer) this.cells = new Cells(buffer, this.numbering);
    return buffer !== null;
  }
}
