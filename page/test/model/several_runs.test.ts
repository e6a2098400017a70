import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scalesOf } from '../../src/model/compare';
import { coverageOf, differenceOfCurves, meanDifference, meanOver, type CurvesOfLoop } from '../../src/model/curves_difference';
import type { Head, UnitOfRun } from '../../src/model/head';
import { modelOf, type Model } from '../../src/model/model';
import { span } from '../../src/model/span';
import { pairsOfClasses } from '../../src/model/unit_pairs';
import { valuesOfMetrics, valuesOfNodes } from '../../src/model/values';
import { headOf } from './small';

/** Least, median and greatest are one, two and three times these values. */
function curvesOf(iterations: number, width: number, values: number[]): CurvesOfLoop {
  const times = (factor: number): Float32Array => Float32Array.from(values, (value) => factor * value);
  return { iterations, width, curves: { least: times(1), median: times(2), greatest: times(3), peak: times(4) } };
}

test('curves of two runs are compared by number of the iteration', () => {
  const before = curvesOf(3, 1, [1, 2, 3]), now = curvesOf(5, 1, [2, 2, 1, 9, 9]);
  const of = differenceOfCurves(before, now);
  assert.deepEqual([[...of.curves.least], [...of.curves.median], [...of.curves.greatest]],
      [[1, 0, -2], [2, 0, -4], [3, 0, -6]]);
  assert.deepEqual([of.width, of.iterations, of.unknown], [1, 3, 0]);
  assert.deepEqual(coverageOf(before, now, of, ['A', 'B']), ['Not compared, only B has them: iterations 3 to 4.']);
  assert.deepEqual([...differenceOfCurves(now, before).curves.least], [-1, 0, 2]);
  assert.deepEqual(coverageOf(now, before, of, ['A', 'B']), ['Not compared, only A has them: iterations 3 to 4.']);
});

test('points of different widths meet in those of the wider one', () => {
  // Seven iterations in points of one, and of three: 0 to 2, 3 to 5, and 6 alone.
  const fine = curvesOf(7, 1, [1, 2, 3, 4, 5, 6, 7]), wide = curvesOf(7, 3, [10, 20, 30]);
  const of = differenceOfCurves(fine, wide);
  assert.deepEqual([of.width, ...of.curves.least], [3, 10 - 2, 20 - 5, 30 - 7]);
  assert.deepEqual([...differenceOfCurves(wide, fine).curves.least], [-8, -15, -23]);
  assert.deepEqual(coverageOf(fine, wide, of, ['A', 'B']),
      ['Points of B are 3 iterations, of A 1: means of these are compared.']);
  // Two against three: 0 to 2 has all of 0 to 1 and half of 2 to 3.
  assert.equal(meanOver(Float32Array.of(3, 6, 9), 2, 0, 3), 4);
  assert.equal(meanOver(Float32Array.of(3, 6, 9), 2, 3, 6), 8);
});

test('what a run does not know is not zero in a difference', () => {
  const before = curvesOf(3, 1, [1, NaN, 3]), now = curvesOf(3, 1, [2, 2, NaN]), of = differenceOfCurves(before, now);
  assert.deepEqual([[...of.curves.least], of.unknown], [[1, NaN, NaN], 2]);
  assert.deepEqual(coverageOf(before, now, of, ['A', 'C']), ['In 2 of 3 points a value of A or C is not known.']);
  assert.ok(Number.isNaN(meanOver(Float32Array.of(1), 1, 4, 6)));
});

test('a mean difference has an error from batches, or there are too few points', () => {
  const zeros = curvesOf(10, 1, new Array<number>(10).fill(0));
  // Medians 2, 6, 2, 6, ...: five batches of two have means of 4 each.
  const waves = differenceOfCurves(zeros, curvesOf(10, 1, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3]));
  assert.deepEqual(meanDifference(waves, 0, 10), { value: 4, error: 0 });
  assert.equal(meanDifference(waves, 0, 9), null);
  // Batches of 0, 2, 4, 6, 8: mean 4, variance 10, error sqrt(10 / 5).
  const growing = differenceOfCurves(zeros, curvesOf(10, 1, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]));
  const of = meanDifference(growing, 0, 10)!;
  assert.equal(of.value, 4);
  assert.ok(Math.abs(of.error - Math.SQRT2) < 1e-12, `${of.error}`);
});

const times = (wall: number, mpi: number): { wall: number; mpi: number; user: number } => ({ wall, mpi,
  user: wall - mpi });

test('classes are the same if each is the nearest of the other run', () => {
  const before = [times(1, 0.5), times(1.3, 0.5)], now = [times(1.6, 0.5), times(1.2, 0.5)];
  // 1.3 and 1.2 are nearest to each other; 1 would match 1.2, too, and 1.6 would match 1.3.
  assert.deepEqual(pairsOfClasses(before, now), [[0, null], [1, 1], [null, 0]]);
  assert.deepEqual(pairsOfClasses(now, before), [[0, null], [1, 1], [null, 0]]);
  assert.deepEqual(pairsOfClasses([times(1, 0)], [times(9, 0)]), [[0, 0]], 'the only ones');
  assert.deepEqual([pairsOfClasses([times(1, 0)], []), pairsOfClasses([], [times(1, 0)])], [[[0, null]], [[null, 0]]]);
  // Of equal length, distinguished by the part of MPI.
  assert.deepEqual(pairsOfClasses([times(1, 0.1), times(1, 0.9)], [times(1, 0.8), times(1, 0.2)]), [[0, 1], [1, 0]]);
});

/** `solve` is a loop; `classes` has the number of iterations and the time of each class. */
function headWith(classes: [count: number, wall: number][], iteration: number, loop = 'solve'): Head {
  const head = headOf();
  const unit: UnitOfRun = { ...head.units[0]!, loop: 0 };
  head.units.push(...classes.map(([count, wall], i): UnitOfRun => ({ ...unit, kind: 'class', name: `class ${i + 1}`,
    count, wall, user: wall })), { ...unit, kind: 'iteration', name: `iteration ${iteration}`, count: 1,
    first: iteration, last: iteration });
  head.loops = [{ name: loop, node: 2, iterations: 9, ranks: [], threads: [],
    series: { bins: 0, width: 1, classes: 0, rows: [] }, maps: [] }];
  return head;
}

/** Values in user code at `solve`, by unit. */
function sumsOf(values: number[]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(32 * values.length));
  values.forEach((value, unit) => {
    [0, unit, 2, 1, 2].forEach((word, i) => view.setUint32(32 * unit + 4 * i, word, true));
    view.setFloat64(32 * unit + 24, value, true);
  });
  return view.buffer;
}

/** A: units 1 and 2 are classes of 1 s and 3 s, unit 3 an iteration. B: units 4 and 5 are classes of 3.5 s and 9 s,
 * unit 6 an iteration. */
function twoRuns(iteration: number, loop?: string): Model {
  return modelOf([headWith([[6, 1], [3, 3]], 4), headWith([[4, 3.5], [1, 9]], iteration, loop)],
      [sumsOf([100, 6, 9, 2]), sumsOf([200, 14, 9, 5])]);
}

test('a class of one run is the nearest of another one, an iteration that of its number', () => {
  const model = twoRuns(4), [, b] = model.runs, a = model.first;
  assert.deepEqual([0, 1, 2, 3].map((unit) => model.unitIn(b!, unit)), [0, null, 4, 6]);
  assert.deepEqual([0, 4, 5, 6].map((unit) => model.unitIn(a, unit)), [0, 2, null, 3]);
  assert.equal(twoRuns(5).unitIn(twoRuns(5).runs[1]!, 3), null, 'an iteration that only one has');
  assert.equal(twoRuns(4, 'other').unitIn(twoRuns(4, 'other').runs[1]!, 2), null, 'another loop');
});

test('parts of a loop have values of the same parts of other runs', () => {
  const model = twoRuns(4), [a, b] = model.runs.map((run) => ({ run, metrics: model.metricSpans(0), nodes: [],
    places: null }));
  const inB = (unit: number): number => valuesOfNodes(model, b!).of([span(2, 3, unit)]);
  assert.deepEqual([0, 1, 2, 3].map(inB), [200, NaN, 14, 5]);
  assert.equal(valuesOfNodes(model, a!).of([span(2, 3, 4)]), 9, 'and the other way round');
  const twice = [span(2, 3, 2), span(2, 3, 4)];
  assert.deepEqual([a!, b!].map((of) => valuesOfNodes(model, of).of(twice)), [9, 14], 'once, where both are shown');
  const byMetric = valuesOfMetrics(model, { ...b!, nodes: model.spansIn(b!.run, [span(0, 5, 2)])! });
  assert.equal(byMetric.of([span(2, 3)]), 14);
});

test('parts of other numbers of iterations are compared by means over these', () => {
  const model = twoRuns(4), [a, b] = model.runs as [Model['first'], Model['first']];
  assert.deepEqual(scalesOf(model, a, b, [span(0, 5, 2)]), [1 / 3, 1 / 4]);
  assert.deepEqual([scalesOf(model, a, b, [span(0, 5)]), scalesOf(model, a, b, [span(0, 5, 3)]), scalesOf(model, a, b)],
      [[1, 1], [1, 1], [1, 1]]);
  b.head.ranks = 8;
  assert.deepEqual(scalesOf(model, a, b, [span(0, 5, 2)]), [1 / 12, 1 / 32]);
});
