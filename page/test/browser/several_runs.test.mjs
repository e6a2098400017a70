// Iterations and classes of several runs: the second run is the first one, with changes that the tests know.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { violations } from './axe.mjs';
import { choose, close, open, press, rows, settle, show, textOf } from './page.mjs';
import { plant } from './planted.mjs';

after(close);

const FURTHER = 20;
let classes = 0, iterations = 0;

/** B takes a second more in each value of all curves, has more iterations, and its first class takes 1,000 s more, so
 * that it corresponds to none of A's: the hot spot of drift makes at least two classes, and the other ones correspond.
 * C is A. */
function twins() {
  const same = (head) => {
    classes = head.units.filter((unit) => unit.kind === 'class').length;
    iterations = head.loops[0].iterations;
  };
  plant('twins.html', 'drift.html', same, (head, sections) => {
    const series = new Float32Array(new Uint8Array(sections.series).buffer), { bins, classes: end } = head.loops[0].series;
    for (let i = 0; i < series.length; i++) if (i < end || i >= end + bins) series[i] += 1;
    sections.series = Buffer.from(series.buffer);
    head.loops[0].iterations += FURTHER;
    const unit = head.units.find((each) => each.kind === 'class');
    unit.wall += 1000;
    unit.user += 1000;
  }, same);
}

const tableNamed = (page, caption) => page.evaluate((text) => {
  const table = [...document.querySelectorAll('table')].find((each) => each.caption?.textContent.startsWith(text));
  return table && [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}, caption);

test('the graph of iterations shows the difference of runs, and which iterations only one of them has', async () => {
  twins();
  const { page, wrong } = await open('twins.html');
  await show(page, 'Iterations');
  await page.waitForSelector('.graph canvas');
  let text = await textOf(page);
  assert.match(text, new RegExp(`B \u2212 A, the median rank, iterations 0 to ${iterations - 1}: \\+1\\.00 s( \u00b1 [\\d.]+ ns)? per iteration`));
  assert.match(text, new RegExp(`Not compared, only B has them: iterations ${iterations} to ${iterations + FURTHER - 1}\\.`));
  assert.match(text, new RegExp(`C \u2212 A, the median rank, iterations 0 to ${iterations - 1}: 0 s per iteration`));
  const legend = () => page.$$eval('.graph .u-legend .u-label', (all) => all.map((each) => each.textContent));
  assert.ok((await legend()).includes('median of B'));
  await choose(page, 'Runs in the graph', 'B \u2212 A');
  assert.deepEqual(await legend(), ['iteration', 'least of B \u2212 A', 'greatest of B \u2212 A', 'median of B \u2212 A']);
  assert.deepEqual(await violations(page), []);
  const table = await tableNamed(page, 'Time per iteration');
  const column = table[0].indexOf('medians, B \u2212 A');
  assert.ok(column > 0 && table[0].includes('medians, C \u2212 A'), table[0].join());
  for (const row of table.slice(1)) assert.match(row[column], /^\+1\.00 s/);
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes('"y":1'), { timeout: 5000 });
  const hash = await page.evaluate(() => location.hash);
  await page.close();
  const again = await open('twins.html', { hash, until: '.graph canvas' });
  assert.ok((await again.page.$$eval('.graph .u-legend .u-label', (all) => all.map((each) => each.textContent))).includes('median of B \u2212 A'));
  assert.deepEqual([...wrong, ...again.wrong], []);
  await again.page.close();
});

test('classes stand beside each other, or have appeared or vanished', async () => {
  const { page, wrong } = await open('twins.html');
  await show(page, 'Iterations');
  await page.waitForSelector('[aria-label^="Classes of iterations of the runs"]');
  const [head, ...rest] = await tableNamed(page, 'Classes of iterations of the runs beside each other');
  const ofB = head.indexOf('class in B'), ofC = head.indexOf('class in C');
  assert.equal(head[ofB + 2], 'wall, B \u2212 A');
  assert.equal(rest.length, classes + 1, 'one has appeared');
  assert.deepEqual([rest[0][0], rest[0][ofB], rest[0][ofC], rest[0][ofC + 2]], ['class 1', 'vanished', 'class 1', '0 s']);
  for (const row of rest.slice(1, -1)) assert.deepEqual([row[ofB], row[ofB + 2]], [row[0], '0 s']);
  assert.deepEqual([rest.at(-1)[0], rest.at(-1)[ofB], rest.at(-1)[ofC]], ['none', 'class 1 (appeared)', '']);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the trees show a class beside the same class of other runs', async () => {
  const { page, wrong } = await open('twins.html'), row = (await rows(page, 'call'))[0];
  await show(page, 'Iterations');
  await page.waitForSelector('[aria-label="Classes of iterations of A"] button.link');
  // Not by its position on the screen: what is above it may still grow.
  await page.$eval('[aria-label="Classes of iterations of A"] button.link', (button) => button.click());
  await settle(page);
  assert.match(await textOf(page), /B: nothing that is class 1\. C: class 1, /);
  await press(page, 'call', row.path, 'ArrowLeft');
  const cells = await page.evaluate((wanted) => [...[...document.querySelectorAll('[data-tree=call] [data-path]')]
    .find((each) => each.dataset.path === wanted).querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent), JSON.stringify(row.path));
  assert.deepEqual(cells.slice(-4, -2), ['not known', 'not known'], 'of B');
  assert.match(cells.at(-1), /^0 s/, 'of C');
  assert.deepEqual(wrong, []);
  await page.close();
});
