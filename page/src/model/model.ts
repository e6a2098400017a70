/** All runs of the file as one model: values by metric, call path and place. */
import { FORMAT, type Head, type Metric } from './head';
import { merge, type CallTree, type ModelUnit } from './merge';
import { runsInPage, unpack } from './payload';
import { Run, type Extremes } from './run';
import { prefixSums, span, union, type Span } from './span';
import { readSums } from './sums';
import type { Context } from './values';

export class Model {
  readonly runs: Run[];
  readonly metrics: Metric[];
  readonly tree: CallTree;
  readonly units: ModelUnit[];

  constructor(runs: Run[], metrics: Metric[], tree: CallTree, units: ModelUnit[]) {
    this.runs = runs;
    this.metrics = metrics;
    this.tree = tree;
    this.units = units;
  }

  get first(): Run {
    return this.runs[0]!;
  }

  /** Metrics whose values add up to that of `metric`: itself and those below it, without those that overlap. */
  metricSpans(metric: number): Span[] {
    const found = [span(metric, metric + 1)];
    for (let other = metric + 1; other < this.metrics.length; other++) {
      let at = other;
      while (at !== metric && at >= 0 && !this.metrics[at]!.overlaps) at = this.metrics[at]!.parent;
      if (at === metric) found.push(span(other, other + 1));
    }
    return union(found);
  }

  rootOfMetric(metric: number): number {
    let root = metric;
    while (this.metrics[root]!.parent >= 0) root = this.metrics[root]!.parent;
    return root;
  }

  /** All call paths of these units. */
  everything(units: readonly number[]): Span[] {
    return units.map((unit) => span(0, this.tree.size, unit));
  }

  isEverything(nodes: readonly Span[]): boolean {
    const [only, ...others] = union(nodes);
    return others.length === 0 && only !== undefined && only.unit === 0 && only.begin <= 1
        && only.end === this.tree.size;
  }

  has(run: Run, metric: number): boolean {
    return run.numbering.metrics.includes(metric);
  }

  /** Whether the run says anything of a unit: parts of loops belong to one run. */
  isOf(unit: number, run: Run): boolean {
    return unit === 0 || this.units[unit]?.run === run.index;
  }

  /** Of these metrics, those that the run has: it is written without the ones that nothing has. */
  private metricsOf(run: Run, metrics: readonly Span[]): number[] {
    return metrics.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, i) => begin + i))
        .filter((metric) => this.has(run, metric));
  }

  /** Whether values of a metric that the run has are known in a unit. */
  private isKnown(run: Run, unit: number, metric: number): boolean {
    return this.isOf(unit, run)
        && (unit === 0 || (this.units[unit]!.has_values && !this.metrics[metric]!.of_run_only));
  }

  private canTellPlaces(context: Context, nodes: readonly Span[]): boolean {
    const { run } = context, metrics = this.metricsOf(run, context.metrics);
    return run.cells !== null && metrics.length > 0
        && metrics.every((metric) => this.metrics[metric]!.by_place
            && nodes.every(({ unit }) => this.isKnown(run, unit, metric) && this.units[unit]!.by_place));
  }

  /** Over threads, of a call path alone; null: not known, as where several of these metrics have a part of it. */
  extremes(run: Run, metrics: readonly Span[], node: number): Extremes | null {
    const having = metrics.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, i) => begin + i))
        .filter((metric) => run.sums(0, metric)?.[node]);
    return having.length === 1 ? run.extremesOf(having[0]!, node) : null;
  }

  /** Exclusive values by call path in one unit, as sums before each; null: not known. */
  byNode(context: Context, unit: number): Float64Array | null {
    const { run, places } = context, values = new Float64Array(this.tree.size), nodes = this.everything([unit]);
    const metrics = this.metricsOf(run, context.metrics);
    if (metrics.length === 0 || !metrics.every((metric) => this.isKnown(run, unit, metric))) return null;
    if (places) {
      if (!this.canTellPlaces(context, nodes)) return null;
      run.cells!.overPlaces(context.metrics, nodes, places, (_, node, value) => { values[node]! += value; });
      return prefixSums(values);
    }
    for (const metric of metrics) {
      const of = run.sums(unit, metric);
      if (of) for (let node = 0; node < values.length; node++) values[node]! += of[node]!;
    }
    return prefixSums(values);
  }

  /** The sums over the context's places that errors of sampled time are made from (varianceOfParts). */
  dividedByNode(context: Context): Float64Array | null {
    const { run, places } = context, nodes = this.everything([0]), { seconds, variance } = run.head.places;
    if (!places || !this.canTellPlaces(context, nodes)) return null;
    const values = new Float64Array(this.tree.size), factors = seconds.map((all, place) =>
      all > 0 ? variance[place]! / all : 0);
    run.cells!.overPlaces(context.metrics, nodes, places, (_, node, value) => { values[node]! += value; }, factors);
    return prefixSums(values);
  }

  /** By place; null: not known, or not unpacked yet. */
  byPlace(context: Context): Float64Array | null {
    return this.canTellPlaces(context, context.nodes)
        ? context.run.cells!.byPlace(context.metrics, union(context.nodes)) : null;
  }

  /** By metric, each without those below it. */
  byMetric(context: Context): Float64Array {
    const { run, places } = context, nodes = union(context.nodes),
        values = new Float64Array(this.metrics.length).fill(NaN);
    for (let metric = 0; metric < values.length; metric++) {
      const metrics = [span(metric, metric + 1)];
      if (!this.has(run, metric) || !nodes.every(({ unit }) => this.isKnown(run, unit, metric))) continue;
      if (places && !this.canTellPlaces({ ...context, metrics }, nodes)) continue;
      let sum = 0;
      if (places) run.cells!.overPlaces(metrics, nodes, places, (_, __, value) => { sum += value; });
      else {
        for (const each of nodes) {
          const of = run.sums(each.unit, metric);
          if (of) for (let node = each.begin; node < each.end; node++) sum += of[node]!;
        }
      }
      values[metric] = sum;
    }
    return values;
  }
}

/** Numbers of the head make one model; `rows` are the sections `sums`. */
export function modelOf(heads: readonly Head[], sums: readonly ArrayBuffer[]): Model {
  const { metrics, tree, units, numberings } = merge(heads);
  const runs = heads.map((head, i) => new Run(i, head, readSums(sums[i]!), numberings[i]!, tree.size));
  return new Model(runs, metrics, tree, units);
}

/** Reads heads and sums; throws an Error with a sentence for people. */
export async function loadModel(): Promise<Model> {
  const count = runsInPage();
  if (count === 0) throw new Error('This page holds no measurement.');
  const all = Array.from({ length: count }, (_, run) => run);
  const heads = await Promise.all(all.map(async (run) =>
      JSON.parse(new TextDecoder().decode((await unpack(run, 'head'))!)) as Head));
  const other = heads.find((head) => head.format !== FORMAT);
  if (other) throw new Error(`The data have format ${other.format}, the page reads ${FORMAT}.`);
  return modelOf(heads, await Promise.all(all.map(async (run) => (await unpack(run, 'sums'))!)));
}
