/**
 * Values along one axis (metrics, call paths or places), with the other two fixed: what the rows of a tree show. NaN
 * means "not known", for values and errors alike.
 */
import type { Model } from './model';
import type { Run } from './run';
import { prefixSums, span, sumOf, union, type Span } from './span';
import { varianceOfParts } from './variances';

/** What the other axes are fixed to. `places` null: all. */
export interface Context {
  run: Run;
  metrics: readonly Span[];
  nodes: readonly Span[];
  places: readonly Span[] | null;
}

export interface Values {
  of(spans: readonly Span[]): number;
  /** Standard error; 0: exact. */
  errorOf(spans: readonly Span[]): number;
}

export const notKnown: Values = { of: () => NaN, errorOf: () => NaN };

function sumOver(prefix: Float64Array | null, spans: readonly Span[]): number {
  return prefix ? spans.reduce((sum, each) => sum + sumOf(prefix, each), 0) : NaN;
}

/** `variance`: of a metric's sampled time at the call paths and places of the context. */
function errorOf(model: Model, context: Context, variance: (metric: number) => number): number {
  const { run, nodes, places } = context;
  if (nodes.some(({ unit }) => unit !== 0 && model.units[unit]?.reconstructed)) return NaN;
  let squares = 0;
  for (const range of context.metrics) {
    for (let metric = range.begin; metric < range.end; metric++) {
      const kind = model.metrics[metric]?.error;
      if (kind === 'exact' || !model.has(run, metric)) continue;
      if (nodes.some((each) => each.unit !== 0)) return NaN;
      if (kind === 'given') {
        if (places) return NaN;
        squares += run.givenError(metric, union(nodes)) ** 2;
      } else if (!model.isEverything(nodes)) {
        squares += places ? variance(metric) : run.sampledVariance(union(nodes), model.tree.ends);
      }
    }
  }
  return Math.sqrt(squares);
}

/** Computes each value once. */
function kept<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, make(key));
    return known.get(key)!;
  };
}

/** Converts call paths to the units of the run. */
function inUnitsOf(model: Model, run: Run, { of, errorOf }: Values): Values {
  const ask = (spans: readonly Span[], answer: (spans: readonly Span[]) => number): number => {
    const there = model.spansIn(run, spans);
    return there ? answer(there) : NaN;
  };
  return { of: (spans) => ask(spans, of), errorOf: (spans) => ask(spans, errorOf) };
}

/** Values by call path. */
export function valuesOfNodes(model: Model, context: Context): Values {
  const prefixOf = kept((unit: number) => model.byNode(context, unit));
  const dividedOf = kept((metric: number) => model.dividedByNode({ ...context, metrics: [span(metric, metric + 1)] }));
  return inUnitsOf(model, context.run, {
    of: (spans) => spans.reduce((sum, each) => sum + sumOver(prefixOf(each.unit), [each]), 0),
    errorOf: (spans) => errorOf(model, { ...context, nodes: spans }, (metric) =>
        varianceOfParts(sumOver(dividedOf(metric), union(spans)), context.run.samplesAt(context.places ?? []))),
  });
}

/** Values by place. */
export function valuesOfPlaces(model: Model, context: Context): Values {
  const prefix = kept((metrics: readonly Span[]) => {
    const values = model.byPlace({ ...context, metrics });
    return values && prefixSums(values);
  });
  const timesOf = kept((metric: number) => model.byPlace({ ...context, metrics: [span(metric, metric + 1)] }));
  return {
    of: (spans) => sumOver(prefix(context.metrics), spans),
    errorOf: (spans) => errorOf(model, { ...context, places: spans }, (metric) =>
        context.run.sampledVarianceAt(timesOf(metric), union(spans))),
  };
}

/** Values by metric. A metric that the run lacks adds nothing to a sum of several. */
export function valuesOfMetrics(model: Model, context: Context): Values {
  const values = model.byMetric(context);
  const sum = (spans: readonly Span[]): number => {
    const all = spans.flatMap(({ begin, end }) => Array.from(values.subarray(begin, end)).filter((_, i) =>
        model.has(context.run, begin + i)));
    return all.length > 0 ? all.reduce((a, b) => a + b) : NaN;
  };
  const timesOf = (metric: number): Float64Array | null =>
    model.byPlace({ ...context, metrics: [span(metric, metric + 1)] });
  return { of: sum, errorOf: (spans) => errorOf(model, { ...context, metrics: spans }, (metric) =>
      context.run.sampledVarianceAt(timesOf(metric), union(context.places ?? []))) };
}
