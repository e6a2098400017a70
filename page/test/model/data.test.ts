import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteOf } from '../../src/model/call_tree';
import { columnsOf } from '../../src/model/columns';
import { difference, lacksOf, namesOf } from '../../src/model/compare';
import { placesOf } from '../../src/model/coupling';
import type { Head, Loop, PlaceMap } from '../../src/model/head';
import { areRowsAlike, differenceOfMaps, rowName } from '../../src/model/map_difference';
import { callersOf, coveredBy, flameOf, outermost } from '../../src/model/flame';
import { merge } from '../../src/model/merge';
import { modelOf } from '../../src/model/model';
import { blocksOf, levelFor, pyramidOf } from '../../src/model/pyramid';
import { Iterations, overText } from '../../src/model/series';
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

function loopOf(ranks: number[], iterations: number, threads = ranks.map(() => 0)): Loop {
  return { name: 'step', node: 1, iterations, ranks, threads, series: { bins: 1, width: 1, classes: 0, rows: [] },
    maps: [] };
}

function mapOf(rows: number, columns: number, places_in_row: number, width: number): PlaceMap {
  return { metric: 'Time', unit: 's', rows, columns, places_in_row, width, scale: 1, peak_scale: 1, peaks: false,
    offset: 0 };
}

test('a map of one run less another has the cells of the first, where both have them', () => {
  // Four ranks and three iterations, against two ranks and two iterations, which share a cell.
  const before = { loop: loopOf([0, 1, 2, 3], 3), map: mapOf(4, 3, 1, 1),
      values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
  const now = { loop: loopOf([0, 1], 2), map: mapOf(2, 1, 1, 2), values: [10, 20] };
  assert.ok(areRowsAlike(before.loop, now.loop));
  assert.deepEqual([...differenceOfMaps(before, now)], [9, 8, NaN, 16, 15, NaN, NaN, NaN, NaN, NaN, NaN, NaN]);
  assert.deepEqual([...differenceOfMaps(now, before)], [1.5 - 10, 4.5 - 20], 'the mean of finer cells');
  assert.ok(!areRowsAlike(before.loop, loopOf([0, 0, 1, 1], 2, [0, 1, 0, 1])), 'two threads a rank');
  assert.ok(!areRowsAlike(before.loop, loopOf([7], 2)), 'no rank of both');
});

test('rows of maps are those of the same threads, wherever these stand', () => {
  const before = { loop: loopOf([0, 2, 5], 1), map: mapOf(3, 1, 1, 1), values: [1, 2, 3] };
  const now = { loop: loopOf([2, 3, 5], 1), map: mapOf(3, 1, 1, 1), values: [20, 30, 50] };
  assert.deepEqual([...differenceOfMaps(before, now)], [NaN, 18, 47]);
});

test('cells that overlap in part count by their part', () => {
  // Three iterations per cell, against two: the second cell is shared.
  const before = { loop: loopOf([0], 6), map: mapOf(1, 2, 1, 3), values: [0, 0] };
  const now = { loop: loopOf([0], 6), map: mapOf(1, 3, 1, 2), values: [3, 6, 9] };
  assert.deepEqual([...differenceOfMaps(before, now)], [4, 8]);
  // Three ranks per row, against two.
  const ranks = [0, 1, 2, 3], wide = { loop: loopOf(ranks, 1), map: mapOf(2, 1, 3, 1), values: [0, 0] };
  const narrow = { loop: loopOf(ranks, 1), map: mapOf(2, 1, 2, 1), values: [3, 9] };
  assert.deepEqual([...differenceOfMaps(wide, narrow)], [5, 9]);
  assert.deepEqual([...differenceOfMaps(wide, { ...narrow, values: [3, NaN] })], [3, NaN], 'what is not known');
});

test('rows of a map have the names of their ranks and threads', () => {
  const single = loopOf([0, 2, 5, 9], 1), hybrid = loopOf([1, 1, 3, 3], 1, [0, 1, 0, 1]);
  assert.equal(rowName(single, mapOf(4, 1, 1, 1), 2), 'rank 5');
  assert.deepEqual([0, 1].map((row) => rowName(single, mapOf(2, 1, 3, 1), row)), ['ranks 0 to 5', 'rank 9']);
  assert.equal(rowName(hybrid, mapOf(4, 1, 1, 1), 3), 'rank 3, thread 1');
  assert.equal(rowName(hybrid, mapOf(2, 1, 2, 1), 1), 'rank 3, threads 0 to 1');
});

test('graphs say which threads they are over', () => {
  const loop = loopOf([0, 1, 2], 1), row = { unit: 's' as const, bins: 1, width: 1, offset: 0 };
  assert.equal(overText(loop, { ...row, places: 3 }), 'Least, median and greatest are over 3 threads.');
  assert.ok(overText(loop, { ...row, places: 2 }).startsWith('Least and greatest are over 2 of 3 threads'));
});

test('maps know what is not known', () => {
  const codes = new Uint8Array([0, 0, 255, 0, 1, 255]);
  const data = new Iterations(new ArrayBuffer(0), codes.buffer);
  assert.deepEqual([...data.map({ ...mapOf(1, 3, 1, 1), scale: 4 }, false)], [0, NaN, 4]);
});

test('ranks of another run are known where it has all of them', () => {
  const other = headOf();
  other.places.rank = other.places.last_rank = [0, 1, 2, 9];
  const { first, runs } = modelOf([headOf(), other], [sumsBuffer(), sumsBuffer()]);
  assert.deepEqual(placesOf(runs[1]!, first, [span(1, 3)]), [span(1, 3)]);
  assert.equal(placesOf(runs[1]!, first, [span(2, 4)]), undefined);
  assert.equal(placesOf(runs[1]!, first, null), null);
});

test('ranks that stand together meet only those that stand together in the same way', () => {
  const grouped = (last: number[], locations: number[]): Head => {
    const head = headOf();
    head.places = { ...head.places, last_rank: last, locations };
    head.places.rank = [0, 1, 4, 5];
    return head;
  };
  const runs = modelOf([grouped([0, 3, 4, 5], [1, 3, 1, 1]), grouped([0, 1, 4, 5], [1, 1, 1, 1]),
    grouped([0, 3, 4, 5], [1, 3, 1, 1]), grouped([0, 3, 4, 5], [1, 2, 1, 1])],
      [1, 2, 3, 4].map(() => sumsBuffer())).runs;
  const of = (run: number, from: number): unknown => placesOf(runs[run]!, runs[from]!, [span(1, 2)]);
  assert.deepEqual([of(1, 0), of(2, 0), of(3, 0), of(0, 1)], [undefined, [span(1, 2)], undefined, undefined]);
  // A rank with one thread in A corresponds to all of its threads in B, but not to a part of them.
  const threads = headOf();
  threads.places = { ...threads.places, rank: [0, 0, 1, 1], last_rank: [0, 0, 1, 1], thread: [0, 1, 0, 1],
      host: [5, 5, 5, 5] };
  const part = headOf();
  part.places = { ...threads.places, locations: [1, 1, 3, 1] };
  const [single, both, some] = modelOf([headOf(), threads, part], [1, 2, 3].map(() => sumsBuffer())).runs;
  assert.deepEqual(placesOf(both!, single!, [span(1, 2)]), [span(2, 4)]);
  assert.equal(placesOf(some!, single!, [span(1, 2)]), undefined);
  assert.deepEqual(placesOf(single!, both!, [span(2, 3)]), [span(1, 2)], 'thread 0 of rank 1');
  assert.equal(placesOf(single!, both!, [span(3, 4)]), undefined, 'there is no thread 1');
});

/** Rows of the section `sums`, with one node each. */
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
  // Two replicates with one node each: 3 and 4.
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
  assert.equal(difference({ value: 10, error: 0 }, { value: 20, error: 0 }, [1, 1]).isCertain, true, 'exact');
  assert.equal(difference({ value: 10, error: NaN }, { value: 20, error: 0 }, [1, 1]).isCertain, false, 'not known');
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
