/**
 * Chains of frames of runtimes, in a run of one rank:
 *
 *     main                      10 s, all of it below
 *     ├ fork                    OpenMP, 1 s of its own
 *     │ ├ invoke                OpenMP, 2 s of its own
 *     │ │ └ body                4 s
 *     │ └ barrier               OpenMP, 0.5 s
 *     ├ qsort                   C, 1.5 s of its own, calls nothing of its own kind
 *     │ └ compare               0.5 s
 *     └ malloc                  C, 0.5 s
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callersOf, flameOf, outermost, type Box } from '../../src/model/flame';
import { modelOf } from '../../src/model/model';
import { chainBelow, entryOf } from '../../src/model/runtimes';
import { valuesOfNodes } from '../../src/model/values';
import { headOf } from './small';

const FORK = 2, INVOKE = 3, BODY = 4, BARRIER = 5;
const names = ['', 'main', 'fork', 'invoke', 'body', 'barrier', 'qsort', 'compare', 'malloc'];
const own: [node: number, seconds: number][] = [[FORK, 1], [INVOKE, 2], [BODY, 4], [BARRIER, 0.5], [6, 1.5], [7, 0.5],
  [8, 0.5]];

/** One row for all nodes: a later row of a metric would replace the earlier one. */
function sumsOfAll(): ArrayBuffer {
  const at = Math.ceil((16 + 4 * own.length) / 8) * 8, view = new DataView(new ArrayBuffer(at + 8 * own.length));
  [0, 0, 2, own.length, ...own.map(([node]) => node)].forEach((word, i) => view.setUint32(4 * i, word, true));
  own.forEach(([, seconds], i) => view.setFloat64(at + 8 * i, seconds, true));
  return view.buffer;
}

const head = headOf();
head.strings = names;
head.nodes = { name: names.map((_, i) => i), parent: [-1, 0, 1, 2, 3, 2, 1, 6, 1], kind: names.map(() => 0), marked: [],
  runtime: [0, 0, 2, 2, 0, 2, 4, 0, 4] };
head.places = { ...head.places, host: [0, 0, 0, 0] };
const model = modelOf([head], [sumsOfAll()]);
const values = valuesOfNodes(model, { run: model.first, metrics: model.metricSpans(0), nodes: [], places: null });
const seen = (boxes: Box[]): unknown[] => boxes.map((box) => [box.name, box.depth, box.value, box.hidden.join()])
  .sort((a, b) => String(a).localeCompare(String(b)));

test('a chain is what follows its first frame in the same runtime', () => {
  const { tree } = model;
  assert.deepEqual([FORK, INVOKE, BARRIER, BODY, 6, 8].map((node) => entryOf(tree, node)), [FORK, FORK, FORK, BODY, 6,
    8]);
  assert.deepEqual(chainBelow(tree, [FORK], () => true), { hidden: [INVOKE, BARRIER], called: [BODY] });
  assert.deepEqual(chainBelow(tree, [FORK], (node) => node !== INVOKE), { hidden: [BARRIER], called: [] });
});

test('the flame graph shows a chain as its first frame, and adds up', () => {
  assert.deepEqual(seen(flameOf(model, values, [0], [0], 0)), [
    ['body', 2, 4, ''], ['compare', 2, 0.5, ''], ['fork', 1, 7.5, 'invoke,barrier'], ['main', 0, 10, ''],
    ['malloc', 1, 0.5, ''], ['qsort', 1, 2, '']]);
  const fork = flameOf(model, values, [0], [0], 0).find((box) => box.name === 'fork')!;
  assert.deepEqual([fork.nodes, fork.runtime, fork.width], [[FORK], 'the OpenMP runtime', 0.75]);
});

test('an open chain has all of its frames', () => {
  const whole = [
    ['barrier', 2, 0.5, ''], ['body', 3, 4, ''], ['compare', 2, 0.5, ''], ['fork', 1, 7.5, ''], ['invoke', 2, 6, ''],
    ['main', 0, 10, ''], ['malloc', 1, 0.5, ''], ['qsort', 1, 2, '']];
  for (const open of [0, FORK])
    assert.deepEqual(seen(flameOf(model, values, [0], [0], 0, new Set([open]))), whole);
  assert.equal(flameOf(model, values, [0], [0], 0, new Set([INVOKE])).length, 6, 'only first frames open chains');
});

test('callers go to the first frame of a chain', () => {
  const callers = (open: number[]): unknown[] =>
    seen(callersOf(model, values, [0], outermost(model, 'body', 0), 0, new Set(open)));
  assert.deepEqual(callers([]), [['fork', 0, 4, 'invoke'], ['main', 1, 4, '']]);
  assert.deepEqual(callers([FORK]), [['fork', 1, 4, ''], ['invoke', 0, 4, ''], ['main', 2, 4, '']]);
});

test('what a frame inside of a chain calls is shown frame by frame', () => {
  assert.deepEqual(seen(flameOf(model, values, [0], outermost(model, 'fork', 0), 0)),
      [['barrier', 0, 0.5, ''], ['body', 1, 4, ''], ['invoke', 0, 6, '']]);
});
