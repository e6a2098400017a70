import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteOf } from '../../src/model/call_tree';
import { columnsOf } from '../../src/model/columns';
import { difference, lacksOf, namesOf } from '../../src/model/compare';
import { placesOf } from '../../src/model/coupling';
import type { Loop, PlaceMap } from '../../src/model/head';
import { areRowsAlike, differenceOfMaps } from '../../src/model/map_difference';
import { callersOf, coveredBy, flameOf, outermost } from '../../src/model/flame';
import { merge } from '../../src/model/merge';
import { modelOf } from '../../src/model/model';
import { blocksOf, levelFor, pyramidOf } from '../../src/model/pyramid';
import { span, union, without } from '../../src/model/span';
import { valuesOfNodes } from '../../src/model/values';
import { ALLREDUCE, headOf, modelWith, sumsBuffer } from './small';

test('spans unite and leave out', () => {
  assert.deepEqual(union([span(3, 5), span(0, 2), span(1, 4), span(0, 1, 1)]), [span(0, 5), span(0, 1, 1)]);
  assert.deepEqual(without([span(0, 10)], [span(2, 4), span(9, 12)]), [span(0, 2), span(4, 9)]);
});

test('codes keep 0.02 %', () => {
  const model = modelWith();
  const got = model.first.cells!.byPlace([span(2, 3)], [span(2, 3)]);
  [1, 2, 2, 3].forEach((want, place) => assert.ok(Math.abs(got[place]! / want - 1) < 2.2e-4));
});

test('call trees of runs meet by names', () => {
  const other = headOf();
  other.strings = [...other.strings, 'setup'];
  other.nodes = { name: [0, 1, 7, 2, 3], parent: [-1, 0, 1, 1, 3], kind: [0, 0, 0, 0, 1], marked: [] };
  const { tree, numberings } = merge([headOf(), other]);
  assert.deepEqual(tree.names, ['', 'main', 'solve', 'MPI_Allreduce', 'io', 'setup']);
  assert.deepEqual([...numberings[1]!.nodes], [0, 1, 5, 2, 3]);
  assert.deepEqual([...tree.runs], [3, 3, 3, 3, 1, 2]);
  assert.deepEqual([...tree.ends], [6, 6, 4, 4, 5, 6]);
});

test('a function and a mark of one name are two', () => {
  const head = headOf();
  head.strings[4] = 'solve';
  head.nodes.marked = [4];
  assert.equal(merge([head]).tree.size, 5);
});

test('flame graphs add up', () => {
  const model = modelWith(), values = valuesOfNodes(model,
      { run: model.first, metrics: model.metricSpans(0), nodes: [], places: null });
  const boxes = flameOf(model, values, [0], [0], 0);
  assert.deepEqual(boxes.map((box) => [box.name, box.depth, box.width]).sort(),
      [['MPI_Allreduce', 2, 0.25], ['io', 1, 0.25], ['main', 0, 1], ['solve', 1, 0.75]]);
  assert.deepEqual(callersOf(model, values, [0], outermost(model, 'MPI_Allreduce', 1), 0).map((box) =>
      [box.name, box.depth, box.width]), [['solve', 0, 1], ['main', 1, 1]]);
  assert.equal(model.tree.names[ALLREDUCE], 'MPI_Allreduce');
  const named = (...names: string[]): number => coveredBy(boxes.filter((box) => names.includes(box.name)));
  assert.deepEqual([named('solve', 'MPI_Allreduce'), named('io', 'MPI_Allreduce'), named('main', 'io'), named()],
      [0.75, 0.5, 1, 0]);
});

test('a pyramid keeps means and extremes', () => {
  const levels = pyramidOf(2, 4, [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 9]);
  assert.equal(levels.length, 3);
  assert.deepEqual([...levels[1]!.mean], [3.5, 5.5]);
  assert.deepEqual([...levels[2]!.greatest], [9]);
  assert.equal(levelFor(levels, { rows: 1, columns: 1 }, { rows: 1, columns: 2 }), 1);
});

test('a map as a table has means of blocks', () => {
  const map = { rows: 3, columns: 4, mean: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
  assert.deepEqual(blocksOf(map, 0, 4, { rows: 2, columns: 2 }),
      { height: 2, width: 2, means: [[3.5, 5.5], [9.5, 11.5]] });
  assert.deepEqual(blocksOf(map, 1, 2, { rows: 8, columns: 8 }).means, [[2], [6], [10]]);
});

test('means of a map leave out what is not known', () => {
  const mean = [1, NaN, NaN, NaN, 3, 2, NaN, NaN];
  const levels = pyramidOf(2, 4, mean, mean);
  assert.deepEqual([...levels[1]!.mean], [2, NaN]);
  assert.deepEqual([...levels[1]!.greatest], [3, NaN]);
  assert.deepEqual(blocksOf({ rows: 2, columns: 4, mean }, 0, 4, { rows: 1, columns: 2 }).means, [[2, NaN]]);
});

test('a map of one run less another has the cells of the first, where both have them', () => {
  const loopOf = (places: number, iterations: number): Loop => ({ name: 'step', node: 1, iterations, places,
      series: { bins: 1, width: 1, classes: 0, rows: [] }, maps: [] });
  const mapOf = (rows: number, columns: number, places_in_row: number, width: number): PlaceMap => ({ metric: 'Time',
      unit: 's', rows, columns, places_in_row, width, scale: 1, peak_scale: 1, peaks: false, offset: 0 });
  const { runs: [a, b] } = modelWith(1, 2);
  b!.head.ranks = 2;
  // Four ranks and three iterations; two ranks and two iterations, two of them in a cell.
  const before = { run: a!, loop: loopOf(4, 3), map: mapOf(4, 3, 1, 1),
      values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
  const now = { run: b!, loop: loopOf(2, 2), map: mapOf(2, 1, 1, 2), values: [10, 20] };
  assert.ok(areRowsAlike(before, now));
  assert.deepEqual([...differenceOfMaps(before, now)], [9, 8, NaN, 16, 15, NaN, NaN, NaN, NaN, NaN, NaN, NaN]);
  assert.deepEqual([...differenceOfMaps(now, before)], [1.5 - 10, 4.5 - 20], 'the mean of finer cells');
  assert.ok(!areRowsAlike(before, { run: b!, loop: loopOf(4, 2) }), 'two threads a rank');
});

test('ranks of another run are known where it has all of them', () => {
  const other = headOf();
  other.places.rank = other.places.last_rank = [0, 1, 2, 9];
  const { first, runs } = modelOf([headOf(), other], [sumsBuffer(), sumsBuffer()]);
  assert.deepEqual(placesOf(runs[1]!, first, [span(1, 3)]), [span(1, 3)]);
  assert.equal(placesOf(runs[1]!, first, [span(2, 4)]), undefined);
  assert.equal(placesOf(runs[1]!, first, null), null);
});

/** Rows of the section `sums` of one node each. */
function rowsBuffer(rows: [kind: number, metric: number, node: number, value: number][]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(32 * rows.length));
  rows.forEach(([kind, metric, node, value], row) => {
    [kind, 0, metric, 1, node].forEach((word, i) => view.setUint32(32 * row + 4 * i, word, true));
    view.setFloat64(32 * row + 24, value, true);
  });
  return view.buffer;
}

test('errors of waiting come from sums of replicates, and bounds add', () => {
  const metric = headOf().metrics.findIndex((each) => each.name === 'waiting');
  const near = (value: number, truth: number): void => assert.ok(Math.abs(value - truth) < 1e-9, `${value}`);
  const errorOf = (rows: [number, number, number, number][]): number => {
    const model = modelOf([headOf()], [rowsBuffer(rows)]);
    return model.first.givenError(model.metrics.findIndex((each) => each.name === 'waiting'),
        [span(0, model.tree.size)]);
  };
  assert.equal(errorOf([[0, metric, 3, 5]]), NaN);
  assert.equal(errorOf([[1, metric, 3, 0.5], [1, metric, 4, 0.25]]), 0.25, 'a later row stands for the earlier one');
  // Two replicates, of one node each: 3 and 4.
  near(errorOf([[1, metric, 3, 0], [7, metric, 3, 3], [7, metric, 4, 4]]), Math.sqrt(12.5));
  near(errorOf([[1, metric, 3, 12], [7, metric, 3, 5], [7, metric, 4, -5]]), 13);
});

test('extremes are those of threads', () => {
  const rows: [number, number, number, number][] = [
    [0, 1, 3, 4], [3, 1, 3, 0], [4, 1, 3, -1], [5, 1, 3, 2], [6, 1, 3, 7]];
  const model = modelOf([headOf()], [rowsBuffer(rows)]), wall = model.metricSpans(0);
  assert.deepEqual(model.extremes(model.first, wall, 3), { least: 0, leastRank: -1, greatest: 2, greatestRank: 7 });
  assert.equal(model.extremes(model.first, wall, 2), null);
  const two = modelOf([headOf()], [rowsBuffer([...rows, [0, 2, 3, 1]])]);
  assert.equal(two.extremes(two.first, wall, 3), null, 'sums of metrics have other extremes');
});

test('call paths that not all runs have say so', () => {
  const other = headOf();
  other.strings = [...other.strings.slice(0, 4), 'setup', 'one', 'two'];
  const model = modelOf([headOf(), other, headOf()], [sumsBuffer(), sumsBuffer(), sumsBuffer()]);
  const node = (name: string): number => model.tree.names.indexOf(name);
  assert.deepEqual(['main', 'io', 'setup'].map((name) => noteOf(model, [node(name)])),
      ['', 'only in A, C', 'only in B']);
  assert.equal(noteOf(model, [node('io'), node('setup')]), '');
});

test('differences have the errors of both runs', () => {
  assert.deepEqual(difference({ value: 10, error: 3 }, { value: 20, error: 4 }, [1, 1]),
      { value: 10, error: 5, isCertain: false });
  assert.equal(difference({ value: 10, error: 1 }, { value: 20, error: 1 }, [1, 1]).isCertain, true);
});

test('what is missing is said of its run', () => {
  const other = headOf();
  other.lacks = [{ view: 'trees', text: 'Waiting is not known.' }, { view: 'file', text: 'Cut.' }];
  const two = modelOf([headOf(), other], [sumsBuffer(), sumsBuffer()]);
  assert.deepEqual(lacksOf(two, ['trees']), ['B: Waiting is not known.']);
  assert.equal(lacksOf(two, null).length, 2);
  assert.deepEqual(namesOf(two), ['A: small', 'B: small']);
  assert.deepEqual(namesOf(modelOf([headOf()], [sumsBuffer()])), ['small']);
});

test('columns keep extremes of the ranks that share them', () => {
  const ofRank = Array.from({ length: 1000 }, (_, rank) => [1, rank === 123 ? 9 : rank === 777 ? 0 : 5]);
  const few = columnsOf(ofRank, 1, 64.7);
  assert.equal(few.length, 64);
  assert.deepEqual([123, 777].map((rank) => few.find((column) => column.rank === rank)?.extreme), ['most', 'least']);
  assert.deepEqual([few[0]!.begin, few[1]!.begin, few[63]!.end], [0, 0, 1000]);
  assert.ok(few.every((column) => column.begin <= column.rank && column.rank < column.end));
  assert.deepEqual(columnsOf(ofRank.slice(0, 3), 1, 64).map((column) => [column.rank, column.extreme]),
      [[0, ''], [1, ''], [2, '']]);
  assert.equal(columnsOf(ofRank, 1, 1)[0]!.end, 1000);
});
