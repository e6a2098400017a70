/** One run of the file, in the model's numbers. */
import { Cells } from './cells';
import type { Head, Samples } from './head';
import type { Numbering } from './merge';
import { unpack } from './payload';
import { prefixSums, sumOf, type Span } from './span';
import { varianceOfParts, varianceOfShare } from './variances';
import { DIVIDED, ERROR, LEAST, OWN_VARIANCE, REPLICATE, VALUE, WHOLE_VARIANCE, type SumRow } from './sums';

/** A rank, or several ranks in one group, as a range of places. */
export interface RankPlace {
  host: string;
  first: number; // rank
  last: number;
  /** Number of threads that it stands for. */
  locations: number;
  /** Whether it has all threads of the rank, each by itself. */
  isWhole: boolean;
  span: Span;
}

/** Extremes over single threads, exact. A rank of -1: threads without a value. */
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
  /** Null until loadCells() has unpacked them. */
  cells: Cells | null = null;
  /** From the section `sums`, by node; `divided` as prefix sums. */
  private divided: Float64Array;
  private ownVariance: Float64Array;
  private wholeVariance: Float64Array;
  private readonly values = new Map<string, Float64Array>();
  private readonly errors = new Map<number, Float64Array>();
  private readonly replicates = new Map<number, Float64Array[]>();
  /** By metric and node: the four numbers of Extremes. */
  private readonly extremes = new Map<string, number[]>();
  private readonly nodes: number;

  constructor(index: number, head: Head, rows: readonly SumRow[], numbering: Numbering, nodes: number) {
    this.index = index;
    this.head = head;
    this.numbering = numbering;
    this.nodes = nodes;
    this.divided = new Float64Array(nodes + 1);
    this.ownVariance = new Float64Array(nodes);
    this.wholeVariance = new Float64Array(nodes);
    for (const row of rows) {
      if (row.kind >= LEAST && row.kind < REPLICATE) {
        this.readExtremes(row);
        continue;
      }
      const dense = this.dense(row);
      if (row.kind === VALUE) this.values.set(`${numbering.units[row.unit]} ${numbering.metrics[row.metric]}`, dense);
      else if (row.kind === ERROR) this.errors.set(numbering.metrics[row.metric]!, prefixSums(dense));
      else if (row.kind === DIVIDED) this.divided = prefixSums(dense);
      else if (row.kind === OWN_VARIANCE) this.ownVariance = dense;
      else if (row.kind === WHOLE_VARIANCE) this.wholeVariance = dense;
      else this.addReplicate(numbering.metrics[row.metric]!, prefixSums(dense));
    }
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

  /** Null: not known, as for call paths with the same name, which the model merges. */
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
      const count = locations[place] ?? 1, isGroup = count > 1;
      if (last && last.isWhole && last.first === here && last.host === name && !isGroup) {
        last.span.end = place + 1;
        last.locations++;
      } else {
        ranks.push({ host: name, first: here, last: last_rank[place] ?? here, locations: count, isWhole: !isGroup,
            span: { unit: 0, begin: place, end: place + 1 } });
      }
    }
    // Threads of one rank may partly be in groups with threads of its neighbours.
    ranks.forEach((rank, i) => {
      const shares = (other: RankPlace | undefined): boolean => other !== undefined && other.first <= rank.last
          && rank.first <= other.last;
      if (rank.isWhole && (shares(ranks[i - 1]) || shares(ranks[i + 1]))) rank.isWhole = false;
    });
    return ranks;
  }

  get places(): number {
    return this.head.places.rank.length;
  }

  /** Number of threads of all ranks. */
  get locations(): number {
    return this.head.places.locations.reduce((sum, count) => sum + count, 0);
  }

  /** Exclusive values by node; null: the run has no values of the metric in the unit. */
  sums(unit: number, metric: number): Float64Array | null {
    return this.values.get(`${unit} ${metric}`) ?? null;
  }

  /**
   * Standard error of a metric whose errors come with its values, for these call paths together; NaN: not known. Errors
   * that are bounds add up; replicates are added one by one, and their scatter is the error of the sum.
   */
  givenError(metric: number, nodes: readonly Span[]): number {
    const errors = this.errors.get(metric);
    if (!errors) return NaN;
    const sumOver = (prefix: Float64Array): number => nodes.reduce((sum, each) => sum + sumOf(prefix, each), 0);
    const replicates = this.replicates.get(metric) ?? [];
    const squares = replicates.reduce((sum, prefix) => sum + sumOver(prefix) ** 2, 0);
    return Math.hypot(sumOver(errors), Math.sqrt(squares / Math.max(replicates.length, 1)));
  }

  /**
   * The variance of sampled time at these call paths together, over all places. It is exact for one call path, by
   * itself or with all below it, which is what rows of a tree are; for several call paths it is an upper bound.
   */
  sampledVariance(nodes: readonly Span[], ends: Uint32Array): number {
    const [first, ...others] = nodes;
    if (first && others.length === 0) {
      if (first.end === ends[first.begin]) return this.wholeVariance[first.begin]!;
      if (first.end === first.begin + 1) return this.ownVariance[first.begin]!;
    }
    return varianceOfParts(nodes.reduce((sum, each) => sum + sumOf(this.divided, each), 0), this.head.samples);
  }

  /** Like sampledVariance(), with the time at these call paths known by place: exact, except for threads that share a
   * place. */
  sampledVarianceAt(times: Float64Array | null, places: readonly Span[]): number {
    if (!times) return NaN;
    let sum = 0;
    for (const each of places) {
      for (let place = each.begin; place < each.end; place++) {
        sum += varianceOfShare(times[place]!, this.samplesAt([{ ...each, begin: place, end: place + 1 }]));
      }
    }
    return sum;
  }

  samplesAt(places: readonly Span[]): Samples {
    const { seconds, variance } = this.head.places, sum = { seconds: 0, variance: 0 };
    for (const each of places) {
      for (let place = each.begin; place < each.end; place++) {
        sum.seconds += seconds[place] ?? 0;
        sum.variance += variance[place] ?? 0;
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
