// The other views, several runs, names, paper, and accessibility.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { inflateSync } from 'node:zlib';
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
  await page.$eval('[aria-label="Classes of iterations"] button.link', (button) => button.click());
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

for (const name of ['names.html', 'hostile.html']) {
  test(`${name}: names do not run, and break nothing`, async () => {
    const { page, wrong } = await open(name, { width: 420 });
    for (const row of await rows(page, 'call')) if (row.expanded === 'false') await press(page, 'call', row.path, '*');
    for (const title of ['Overview', 'Iterations', 'Flame graph', 'This file']) {
      await show(page, title);
      assert.equal(await page.evaluate(() => window.ran), undefined);
      assert.equal((await page.$$('img, iframe, object, script[src]')).length, 0);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${title} is not wider than the window`);
      assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /[\0-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]/, title);
    }
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

test('each hostile name has its value, and is found', async () => {
  const { page } = await open('hostile.html'), call = await rows(page, 'call');
  const values = call.filter((row) => row.path.length === 2).map((row) => row.value).sort((a, b) => a - b);
  assert.deepEqual(values, Array.from({ length: 10 }, (_, i) => 2 * 2 ** i), 'of two ranks');
  const names = call.map((row) => row.path[1]);
  assert.ok(names.includes('x'.repeat(10_000)) && names.includes('__proto__') && names.includes('0'));
  for (const name of ['__proto__', '${1} $& \\u003c &lt; %3Cb%3E', '=1+1,"x"']) {
    await page.focus('input[aria-label="Find in call paths"]');
    await page.$eval('input[aria-label="Find in call paths"]', (field) => field.select());
    await page.keyboard.type(name);
    await settle(page);
    assert.deepEqual((await rows(page, 'call')).filter((row) => row.selected === 'true').map((row) => row.path), [['main', name]]);
  }
  await page.close();
});

for (const look of [{ width: 420 }, { width: 2400 }, { width: 1400, dark: true }, { width: 420, dark: true, name: 'hostile.html' }, { width: 1400, name: 'two.html' }]) {
  test(`${look.name ?? 'drift.html'} fits ${look.width} points${look.dark ? ' in the dark' : ''}, and axe finds nothing`, async () => {
    const { page } = await open(look.name ?? 'drift.html', look);
    const [red] = (await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).match(/\d+/g).map(Number);
    assert.equal(red < 128, look.dark ?? false, 'the page is as dark as the reader wishes');
    for (const title of ['Overview', 'Trees', 'Iterations', 'Flame graph', 'This file']) {
      await show(page, title);
      await page.evaluate(() => document.querySelectorAll('details').forEach((each) => { each.open = true; }));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${title} is not wider than the window`);
      assert.deepEqual(await violations(page), [], title);
    }
    await page.close();
  });
}

/** How often a text is drawn on paper. */
async function textsOnPaper(page) {
  const pdf = Buffer.from(await page.pdf({ format: 'a4' })), source = pdf.toString('latin1');
  let count = 0;
  for (const { index } of source.matchAll(/\/FlateDecode\b/g)) {
    const begin = source.indexOf('stream', index) + 'stream'.length + (source.slice(index).match(/stream(\r?\n)/)?.[1].length ?? 0);
    const drawn = inflateSync(pdf.subarray(begin, source.indexOf('endstream', begin))).toString('latin1');
    if (/\bBT\b/.test(drawn)) count += drawn.match(/[>)\]] ?T[jJ]\b/g)?.length ?? 0;
  }
  return count;
}

test('paper has what is open, and all of it', async () => {
  const { page } = await open('many.html', { dark: true }), ranks = 1100;
  await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
  const closed = async () => (await rows(page, 'system')).filter((row) => row.expanded === 'false');
  for (const row of await closed()) await press(page, 'system', row.path, 'ArrowLeft');
  const before = await textsOnPaper(page);
  const [host] = await closed();
  if (host) await press(page, 'system', host.path, '*');
  assert.ok((await rows(page, 'system')).length < ranks / 2, 'on the screen are those that are to be seen');
  const more = await textsOnPaper(page) - before;
  assert.ok(more >= 2 * ranks, `${more} more texts: a rank has a name and a value`);
  // After printing, the rows out of sight leave the document again.
  await page.waitForFunction((most) => document.querySelectorAll('[data-tree=system] [data-path]').length < most, { timeout: 5000 }, ranks / 2);
  await page.close();
});

test('paper is white, and has no windows and no tools', { skip: process.env.BROWSER === 'firefox' && 'the driver does not show it as paper' }, async () => {
  const { page } = await open('drift.html', { dark: true }), driver = await page.createCDPSession();
  await show(page, 'Trees');
  await driver.send('Emulation.setEmulatedMedia', { media: 'print', features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  assert.ok(await page.$$eval('.treegrid .rows', (all) => all.every((box) => box.scrollHeight <= box.clientHeight + 1)), 'no tree has a window around it');
  const colors = await page.evaluate(() => [getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.documentElement).color]);
  assert.deepEqual(colors, ['rgb(255, 255, 255)', 'rgb(27, 27, 27)']);
  assert.deepEqual(await page.$$eval('.tools, nav', (all) => [...new Set(all.map((each) => getComputedStyle(each).display))]), ['none']);
  await page.close();
});

test('a browser that is too old gets a sentence', async () => {
  const { page } = await open('drift.html', { until: 'p.message', before: () => { delete globalThis.DecompressionStream; } });
  assert.match(await textOf(page), /needs a browser that runs scripts and unpacks gzip/);
  await page.close();
});
