// The other views, several runs, names, paper, and what people with other eyes need.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { violations } from './axe.mjs';
import { close, goldenPages, near, open, press, report, rowOf, rows, settle, show, textOf } from './page.mjs';

after(close);

test('findings stand on the first view and lead to the trees', async () => {
  const { page, wrong } = await open('drift.html'), { findings } = report('drift.json'), text = await textOf(page);
  for (const finding of findings) assert.ok(text.includes(finding.text.slice(0, 30)), finding.text);
  await page.click('.findings button');
  await settle(page);
  assert.ok((await page.$$('[aria-current=page]')).length === 1);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('every view opens', async () => {
  const { page, wrong } = await open('drift.html');
  for (const [title, element] of [['Iterations', '.graph canvas'], ['Flame graph', '.flame canvas'], ['This file', '.file'], ['Overview', '.overview']]) {
    await show(page, title);
    await page.waitForSelector(element, { timeout: 5000 });
  }
  assert.deepEqual(wrong, []);
  await page.close();
});

test('a class of iterations becomes what the trees show', async () => {
  const { page } = await open('drift.html'), top = (await rows(page, 'call'))[0].path;
  const closed = async () => {
    if ((await rowOf(page, 'call', top)).expanded === 'true') await press(page, 'call', top, 'ArrowLeft');
    return (await rowOf(page, 'call', top)).value;
  };
  const whole = await closed();
  await show(page, 'Iterations');
  await page.waitForSelector('[aria-label="Classes of iterations"] button.link');
  await page.click('[aria-label="Classes of iterations"] button.link');
  await settle(page);
  const part = await closed();
  assert.ok(part > 0 && part < whole, `${part} of ${whole}`);
  assert.match(await textOf(page), /Shown: class 1/);
  await page.close();
});

test('the flame graph enlarges by keyboard and shows callers', async () => {
  const { page, wrong } = await open('stencil.html');
  await show(page, 'Flame graph');
  await page.focus('.flame canvas');
  for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await settle(page);
  assert.match(await textOf(page), /Sandwich of /);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('two runs have a column each, and a difference with its error', async () => {
  const { page, wrong } = await open('two.html'), [a, b] = [report('stencil.json'), report('even.json')];
  const row = (await rows(page, 'call'))[0];
  await press(page, 'call', row.path, 'ArrowLeft');
  near((await rowOf(page, 'call', row.path)).value, a.callpaths.find((call) => JSON.stringify(call.path) === JSON.stringify(row.path)).inclusive_s, 1e-9, 'A');
  const heads = await page.$$eval('[data-tree=call] [role=columnheader]', (all) => all.map((each) => each.textContent));
  assert.deepEqual(heads, ['Call paths', 'value', '\u00b1', 'B', 'B \u2212 A']);
  assert.ok(b.callpaths.length > 0);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('three runs have columns each, which scroll where there is no room', async () => {
  const { page, wrong } = await open('three.html', { width: 420 });
  const heads = await page.$$eval('[data-tree=call] [role=columnheader]', (all) => all.map((each) => each.textContent));
  assert.deepEqual(heads, ['Call paths', 'value', '\u00b1', 'B', 'B \u2212 A', 'C', 'C \u2212 A']);
  for (const [title, element] of [['Iterations', '.graph canvas'], ['Flame graph', '.flame canvas'], ['Overview', '.overview']]) {
    await show(page, title);
    await page.waitForSelector(element, { timeout: 5000 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${title} is not wider than the window`);
  }
  assert.match(await textOf(page), /only in/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('experiments of every format open in every view', async () => {
  assert.ok(goldenPages().length > 5);
  for (const name of goldenPages()) {
    const { page, wrong } = await open(name);
    for (const title of ['Iterations', 'Flame graph', 'This file', 'Overview']) {
      await show(page, title);
      assert.ok((await page.$eval('main', (main) => main.innerText)).length > 10, `${name}: ${title}`);
    }
    assert.deepEqual(wrong, [], name);
    await page.close();
  }
});

test('names do not run', async () => {
  const { page, wrong } = await open('names.html');
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.equal((await page.$$('img')).length, 0);
  for (const title of ['Iterations', 'Flame graph', 'This file']) await show(page, title);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.deepEqual(wrong, []);
  await page.close();
});

for (const look of [{ width: 420 }, { width: 1400, dark: true }, { width: 1400, name: 'two.html' }]) {
  test(`${look.name ?? 'drift.html'} fits ${look.width} points${look.dark ? ' in the dark' : ''}, and axe finds nothing`, async () => {
    const { page } = await open(look.name ?? 'drift.html', look);
    for (const title of ['Overview', 'Iterations', 'Flame graph', 'This file']) {
      await show(page, title);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${title} is not wider than the window`);
      assert.deepEqual(await violations(page), [], title);
    }
    await page.close();
  });
}

test('paper has what is open', async () => {
  const { page } = await open('drift.html');
  for (let again = true; again;) {
    const closed = (await rows(page, 'call')).find((row) => row.expanded === 'false');
    again = Boolean(closed);
    if (closed) await press(page, 'call', closed.path, '*');
  }
  await page.emulateMediaType('print');
  const isWhole = await page.$$eval('.treegrid .rows', (all) => all.every((box) => box.scrollHeight <= box.clientHeight + 1));
  assert.ok(isWhole, 'no tree has a window around it');
  await page.emulateMediaType('screen');
  const pdf = await page.pdf({ format: 'a4' });
  assert.ok(pdf.length > 10_000);
  await page.close();
});

test('a browser that is too old gets a sentence', async () => {
  const { page } = await open('drift.html', { until: 'p.message', before: () => { delete globalThis.DecompressionStream; } });
  assert.match(await textOf(page), /needs a browser that runs scripts and unpacks gzip/);
  await page.close();
});
