/** All runs of the file as one model: values by metric, call path and place. */
import { FORMAT, type Head, type Metric } from './head';
import { merge, type CallTree, type ModelUnit } from './merge';
import { runsInPage, unpack } from './payload';
import { Run, type Extremes } from './run';
import { prefixSums, span, union, type Span } from './span';
import { readSums } from './sums';
import { pairsOfClasses } from './unit_pairs';
import type { Context } from './values';

export class Model {
  readonly runs: Run[];
  readonly metrics: Metric[];
  readonly tree: CallTree;
  readonly units: ModelUnit[];
  /** By two runs and a loop: units of one run, and the corresponding units of the other. */
  private readonly same = new Map<string, ReadonlyMap<number, number>>();

  constructor(runs: Run[], metrics: Metric[], tree: CallTree, units: ModelUnit[]) {
    this.runs = runs;
    this.metrics = metrics;
    this.tree = tree;
    this.units = units;
  }

  get first(): Run {
    return this.runs[0]!;
  }

  /** Metrics whose values add up to that of `metric`: itself and those below it, except overlapping ones. */
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

  /** Whether a unit belongs to the run: parts of loops belong to one run. */
  isOf(unit: number, run: Run): boolean {
    return unit === 0 || this.units[unit]?.run === run.index;
  }

  /** Classes or single iterations of a loop in a run. */
  unitsOf(run: Run, loop: string, kind: 'class' | 'iteration'): number[] {
    return this.units.flatMap((unit, i) => i > 0 && unit.run === run.index && unit.kind === kind
        && run.head.loops[unit.loop]?.name === loop ? [i] : []);
  }

  private sameUnits(from: Run, to: Run, loop: string): ReadonlyMap<number, number> {
    const key = `${from.index} ${to.index} ${loop}`, known = this.same.get(key);
    if (known) return known;
    const found = new Map<number, number>();
    const [a, b] = [from, to].map((run) => this.unitsOf(run, loop, 'class')) as [number[], number[]];
    for (const [before, now] of pairsOfClasses(a.map((i) => this.units[i]!), b.map((i) => this.units[i]!)))
      if (before !== null && now !== null) found.set(a[before]!, b[now]!);
    const there = this.unitsOf(to, loop, 'iteration');
    for (const unit of this.unitsOf(from, loop, 'iteration')) {
      const other = there.find((i) => this.units[i]!.first === this.units[unit]!.first);
      if (other !== undefined) found.set(unit, other);
    }
    this.same.set(key, found);
    return found;
  }

  /** The unit of a run that corresponds to a unit of another run: for loops of the same name the nearest class, or the
   * iteration of the same number. Null: the run has none. */
  unitIn(run: Run, unit: number): number | null {
    if (this.isOf(unit, run)) return unit;
    const of = this.units[unit]!, from = this.runs[of.run]!;
    return this.sameUnits(from, run, from.head.loops[of.loop]?.name ?? '').get(unit) ?? null;
  }

  /** Call paths in the units of a run; null: it lacks one of these. A class that is shown together with the
   * corresponding class of another run counts once. */
  spansIn(run: Run, nodes: readonly Span[]): readonly Span[] | null {
    if (nodes.every(({ unit }) => this.isOf(unit, run))) return nodes;
    const units = nodes.map(({ unit }) => this.unitIn(run, unit));
    return units.includes(null) ? null : union(nodes.map((each, i) => ({ ...each, unit: units[i]! })));
  }

  /** Number of iterations that the units of these call paths cover in a run; 0: the whole run, or not known. */
  iterationsIn(run: Run, nodes: readonly Span[]): number {
    const units = [...new Set(nodes.map(({ unit }) => this.unitIn(run, unit)))];
    return units.includes(null) || units.includes(0) ? 0 : units.reduce<number>((sum, unit) =>
        sum + this.units[unit!]!.count, 0);
  }

  /** Those of these metrics that the run has: a run is written without the metrics that have no values. */
  private metricsOf(run: Run, metrics: readonly Span[]): number[] {
    return metrics.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, i) => begin + i))
        .filter((metric) => this.has(run, metric));
  }

  /** Whether values of one of the run's metrics are known in a unit. */
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

  /** Extremes over threads, for a call path alone; null: not known, as where several of these metrics have a part of
   * it. */
  extremes(run: Run, metrics: readonly Span[], node: number): Extremes | null {
    const having = metrics.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, i) => begin + i))
        .filter((metric) => run.sums(0, metric)?.[node]);
    return having.length === 1 ? run.extremesOf(having[0]!, node) : null;
  }

  /** Exclusive values by call path in one unit, as prefix sums; null: not known. */
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

  /** Sums over the context's places from which errors of sampled time are computed (varianceOfParts). */
  dividedByNode(context: Context): Float64Array | null {
    const { run, places } = context, nodes = this.everything([0]), { seconds, variance } = run.head.places;
    if (!places || !this.canTellPlaces(context, nodes)) return null;
    const values = new Float64Array(this.tree.size), factors = seconds.map((all, place) =>
      all > 0 ? variance[place]! / all : 0);
    run.cells!.overPlaces(context.metrics, nodes, places, (_, node, value) => { values[node]! += value; }, factors);
    return prefixSums(values);
  }

  /** Values by place; null: not known, or not unpacked yet. */
  byPlace(context: Context): Float64Array | null {
    return this.canTellPlaces(context, context.nodes)
        ? context.run.cells!.byPlace(context.metrics, union(context.nodes)) : null;
  }

  /** Values by metric, each without those below it. */
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

/** Merges the heads into one model; `sums`: the sections `sums`. */
export function modelOf(heads: readonly Head[], sums: readonly ArrayBuffer[]): Model {
  const { metrics, tree, units, numberings } = merge(heads);
  const runs = heads.map((head, i) => new Run(i, head, readSums(sums[i]!), numberings[i]!, tree.size));
  return new Model(runs, metrics, tree, units);
}

/** Reads heads and sums; throws an Error whose message is for users. */
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
