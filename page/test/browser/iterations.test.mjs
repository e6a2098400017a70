// Zoom, brush and hover of the graph and of the map: what they show is in the tables, in the address, and in the trees.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { address, choose, close, near, open, press, rowOf, rows, settle, show, textOf } from './page.mjs';

after(close);

/** The view of iterations of a page; `plot` and `map` are where the pictures are. */
async function iterationsOf(name) {
  const { page, wrong } = await open(name);
  await show(page, 'Iterations');
  await page.waitForSelector('.iterations .u-over');
  await page.waitForSelector('canvas[aria-label^="Map of"]');
  await new Promise((done) => setTimeout(done, 200)); // the pictures get their widths
  const boxOf = async (selector) => {
    const element = await page.$(selector);
    await element.evaluate((each) => each.scrollIntoView({ block: 'center' }));
    return page.$eval(selector, (each) => each.getBoundingClientRect().toJSON());
  };
  return { page, wrong, plot: () => boxOf('.u-over'), map: () => boxOf('canvas[aria-label^="Map of"]') };
}

async function drag(page, [x0, y0], [x1, y1]) {
  await page.mouse.move(x0, y0);
  await page.mouse.down();
  await page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2);
  await page.mouse.move(x1, y1);
  await page.mouse.up();
  await settle(page);
}

/** Brushes the iterations from `begin` up to `end` of the graph, which shows those of `range`. */
async function brush(page, plot, [begin, end], [from, to]) {
  const { left, width, top } = await plot(), at = (iteration) => left + (iteration - from) / (to - from) * width;
  await drag(page, [at(begin), top + 50], [at(end), top + 60]);
}

/** The table of a picture as it is shown: an object for each row. */
const tableOf = (page, caption) => page.evaluate((text) => {
  const table = [...document.querySelectorAll('table')].find((each) => each.caption?.textContent.includes(text));
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, i) => [heads[i], cell.textContent])));
}, caption);

const mapText = (page) => page.$eval('canvas[aria-label^="Map of"] + [aria-live]', (text) => text.textContent);
const legend = (page) => page.$$eval('.u-legend .u-value', (all) => all.map((each) => each.textContent));

/** The value of a call path with all that it calls. */
async function inclusive(page, path) {
  if ((await rowOf(page, 'call', path)).expanded === 'true') await press(page, 'call', path, 'ArrowLeft');
  return (await rowOf(page, 'call', path)).value;
}

test('a brushed range of the graph becomes what the trees show', async () => {
  const { page, wrong, plot } = await iterationsOf('drift.html');
  await brush(page, plot, [60, 150], [0, 200]);
  const [from, to] = (await address(page)).i;
  assert.ok(Math.abs(from - 60) <= 1 && Math.abs(to - 150) <= 1, `${from} to ${to}`);
  assert.equal((await tableOf(page, 'Time per iteration'))[0]['iterations from'], String(from));
  const single = (await tableOf(page, 'Classes of iterations')).map((row) => /^iteration (\d+)$/.exec(row.class.trim())?.[1]).filter(Boolean)
    .map(Number).filter((iteration) => from <= iteration && iteration < to);
  assert.ok(single.length > 1, 'the file has some of them');
  const button = await page.waitForSelector(`::-p-text(Show the ${single.length} iterations of this range that the file has)`);
  await button.click();
  await settle(page);
  assert.match(await textOf(page), new RegExp(`Shown: ${single.map((iteration) => `iteration ${iteration}`).join(', ')}`));
  const top = (await rows(page, 'call'))[0].path, all = await inclusive(page, top);
  let sum = 0;
  for (const iteration of single) {
    await show(page, 'Iterations');
    await page.waitForSelector('[aria-label="Classes of iterations"] button.link');
    await page.evaluate((name) => [...document.querySelectorAll('[aria-label="Classes of iterations"] button.link')].find((each) =>
      each.textContent === name).click(), `iteration ${iteration}`);
    await settle(page);
    sum += await inclusive(page, top);
  }
  assert.ok(all > 0);
  near(all, sum, 1e-6, 'the range is the sum of its iterations');
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the graph is zoomed and moved by keyboard, and a double click shows all', async () => {
  const { page, plot } = await iterationsOf('drift.html'), range = async () => (await address(page)).i;
  const middle = async () => {
    const { left, top, width, height } = await plot();
    await page.mouse.move(left + 0.5 * width, top + 0.4 * height);
    await page.mouse.move(left + 0.5 * width + 1, top + 0.5 * height);
    await settle(page);
    return Number((await legend(page))[0]);
  };
  await page.focus('.iterations figure[tabindex="0"]');
  for (const [key, wanted] of [['+', [50, 150]], ['ArrowRight', [75, 175]], ['+', [100, 150]], ['ArrowLeft', [88, 138]], ['-', [63, 163]]]) {
    await page.keyboard.press(key);
    const now = await range();
    assert.ok(Math.abs(now[0] - wanted[0]) <= 1 && Math.abs(now[1] - wanted[1]) <= 1, `${key}: ${now}`);
    assert.ok(Math.abs(await middle() - (now[0] + now[1]) / 2) <= 1, 'what is drawn is that range');
  }
  await page.keyboard.press('Escape');
  assert.deepEqual(await range(), []);
  await brush(page, plot, [20, 40], [0, 200]);
  assert.equal((await range()).length, 2);
  const { left, top, width } = await plot();
  await page.mouse.click(left + 0.5 * width, top + 50, { count: 2 });
  assert.deepEqual(await range(), []);
  assert.ok(Math.abs(await middle() - 100) <= 1, 'all is drawn');
  assert.equal((await tableOf(page, 'Time per iteration'))[0]['iterations from'], '0');
  await page.close();
});

test('what the pointer is over is what the tables have', async () => {
  const { page, plot, map } = await iterationsOf('drift.html');
  await brush(page, plot, [96, 104], [0, 200]);
  await address(page);
  const [from, to] = (await address(page)).i, ofGraph = await tableOf(page, 'Time per iteration'), ofMap = await tableOf(page, 'by ranks and iterations');
  assert.equal(ofGraph.length, to - from);
  for (let iteration = from; iteration < to; iteration++) {
    const box = await plot(), part = (iteration + 0.5 - from) / (to - from);
    await page.mouse.move(box.left + part * box.width - 2, box.top + 90);
    await page.mouse.move((iteration - from) / (to - from) * box.width + box.left, box.top + 100);
    await settle(page);
    const shown = await legend(page), row = ofGraph.find((each) => each['iterations from'] === shown[0]);
    assert.ok(Math.abs(Number(shown[0]) - iteration) <= 1, `${shown[0]}, not ${iteration}`);
    assert.deepEqual(shown.slice(1), [row.least, row.greatest, row.peak, row['mean of medians']]);
    for (const rank of [0, 1]) {
      const place = await map();
      await page.mouse.move(place.left + part * place.width, place.top + (rank + 0.5) / 2 * place.height);
      await settle(page);
      assert.equal(await mapText(page), `rank ${rank}, iteration ${iteration}: ${ofMap[rank][`iterations from ${iteration}`]}`);
    }
  }
  await page.close();
});

test('the wheel zooms the map around the pointer, dragging moves it, a click selects a rank', async () => {
  const { page, wrong, map } = await iterationsOf('many.html'), state = async () => {
    const { i, g } = await address(page);
    return { columns: i, rows: g.slice(2) };
  };
  const at = [0.25, 0.75], { left, top, width, height } = await map(), x = left + at[0] * width, y = top + at[1] * height;
  const hover = async () => {
    await page.mouse.move(x + 1, y);
    await page.mouse.move(x, y);
    await settle(page);
    return (await mapText(page)).match(/\d+/g).slice(0, 2).map(Number);
  };
  const before = await hover();
  for (let i = 0; i < 8; i++) {
    await page.mouse.wheel({ deltaY: -100 });
    await settle(page);
  }
  const zoomed = await state(), now = await hover();
  const part = ([begin, end], all) => (end - begin) / all;
  near(part(zoomed.columns, 400), 0.8 ** 8, 0.1, 'iterations in sight');
  assert.ok(zoomed.rows[1] - zoomed.rows[0] > 4);
  for (const i of [0, 1]) assert.ok(Math.abs(now[i] - before[i]) <= 4, `under the pointer: ${now}, before ${before}`);
  await page.keyboard.down('Shift');
  await page.mouse.wheel({ deltaY: 100 });
  await page.keyboard.up('Shift');
  const wider = await state();
  near(wider.columns[1] - wider.columns[0], 1.25 * (zoomed.columns[1] - zoomed.columns[0]), 0.1, 'Shift: iterations alone');
  assert.deepEqual(wider.rows, zoomed.rows);
  await drag(page, [x, y], [x - 0.25 * width, y]);
  const moved = await state();
  near(moved.columns[0] - wider.columns[0], 0.25 * (wider.columns[1] - wider.columns[0]), 0.1, 'moved');
  const rank = (await hover())[0];
  await page.mouse.down();
  await page.mouse.up();
  await settle(page);
  assert.match(await textOf(page), new RegExp(`Selected: .*rank ${rank}\\b`));
  await page.focus('canvas[aria-label^="Map of"]');
  await page.keyboard.press('Escape');
  assert.deepEqual(await state(), { columns: [], rows: [] });
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the map is used by keyboard, and shows the difference of two runs', async () => {
  const { page } = await iterationsOf('two.html');
  await page.focus('canvas[aria-label^="Map of"]');
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
  await settle(page);
  assert.match(await mapText(page), /^rank 1, iteration 2: /);
  await choose(page, 'Runs', 'B \u2212 A');
  assert.match(await mapText(page), /^rank 1, iteration 2: B \u2212 A [+\u2212]/);
  await page.focus('canvas[aria-label^="Map of"]');
  await page.keyboard.press('Enter');
  await settle(page);
  assert.deepEqual((await address(page)).s.length, 1);
  await show(page, 'Trees');
  assert.deepEqual((await rows(page, 'system')).filter((row) => row.selected === 'true').map((row) => row.path.at(-1)), ['rank 1']);
  await page.close();
});
