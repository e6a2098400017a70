// What is saved or copied: tables as CSV have the shown values, pictures are SVG without scripts, an address opens the
// page as it is.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { address, choose, close, near, open, press, report, rows, save, saved, settle, show, textOf } from './page.mjs';

after(close);

/** Rows of cells (RFC 4180). */
function parseCsv(text) {
  assert.ok(text.endsWith('\r\n'));
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy)];
  assert.equal(cells.reduce((sum, [all]) => sum + all.length, 0), text.length, 'all of it is CSV');
  const table = [[]];
  for (const [, quoted, plain, end] of cells) {
    table.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ',') table.push([]);
  }
  return table.slice(0, -1);
}

const FACTORS = { '%': 0.01, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, '': 1 };

/** The number at the start of a shown value, and the uncertainty of its last digit; undefined: there is none. */
function shownNumber(text) {
  const [, sign, digits, , unit] = /^\s*([+\u2212]?)([\d,]+(\.\d+)?) ?(%|[mun]?s|[KMG]?iB|B)?(?![\w.])/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const factor = FACTORS[unit ?? ''], value = Number(digits.replaceAll(',', ''));
  return { value: (sign === '\u2212' ? -1 : 1) * value * factor, open: Math.max(0.5 * 10 ** -(digits.split('.')[1]?.length ?? 0), 0.006 * value) * factor };
}

/** The tables of the view as they are shown, each with a selector for its button. */
const shownTables = (page) => page.$$eval('figure.table', (all) => all.map((figure, i) => {
  figure.id = `table-${i}`;
  const cells = (row) => [...row.cells].map((cell) => cell.textContent);
  return { where: `#table-${i}`, caption: figure.querySelector('caption').textContent, head: cells(figure.querySelector('thead tr')),
    isNumber: [...figure.querySelectorAll('thead th')].map((head) => head.className === 'number'), rows: [...figure.querySelectorAll('tbody tr')].map(cells) };
}));

async function checkTables(page) {
  const tables = await shownTables(page);
  for (const { where, caption, head, isNumber, rows: shown } of tables) {
    const [first, ...lines] = parseCsv((await saved(page, where, 'Save as CSV')).content);
    assert.deepEqual(first, head, caption);
    assert.equal(lines.length, shown.length, caption);
    lines.forEach((cells, row) => cells.forEach((cell, column) => {
      const text = shown[row][column], number = isNumber[column] ? shownNumber(text) : undefined, what = `${caption}, ${head[column]}, row ${row}: ${cell}, shown as ${text}`;
      if (number) assert.ok(cell !== '' && Math.abs(Number(cell) - number.value) <= number.open * 1.001 + 1e-12, what);
      else if (isNumber[column]) assert.ok(cell === '' || Math.abs(Number(cell)) < 0.0005, what); // not known, or less than is shown
      else assert.ok(!/^[=+\-@\t\r]/.test(cell), what);
    }));
  }
  return tables.length;
}

/** The texts of all pictures of the view that can be saved. */
async function checkPictures(page) {
  const count = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll('main button')].filter((button) => button.textContent === 'Save as SVG');
    buttons.forEach((button, i) => button.parentElement.classList.add(`picture-${i}`));
    return buttons.length;
  });
  const texts = [];
  for (let i = 0; i < count; i++) {
    const { name, content } = await saved(page, `.picture-${i}`, 'Save as SVG');
    assert.match(name, /\.svg$/);
    const found = await page.evaluate((svg) => {
      const tree = new DOMParser().parseFromString(svg, 'image/svg+xml'), all = [...tree.querySelectorAll('*')];
      const attributes = all.flatMap((each) => [...each.attributes]);
      return {
        isBroken: tree.querySelector('parsererror') !== null, root: `${tree.documentElement.namespaceURI} ${tree.documentElement.localName}`,
        elements: [...new Set(all.map((each) => each.localName))], attributes: [...new Set(attributes.map((each) => each.name))],
        unfit: attributes.filter(({ name, value }) => ['x', 'y', 'width', 'height'].includes(name) && !(Number.isFinite(Number(value)) && Number(value) > -1e6)
          || name === 'points' && /NaN|Inf/.test(value)).map(({ name, value }) => `${name}=${value}`),
        drawn: all.filter((each) => ['rect', 'polyline'].includes(each.localName)).length, texts: all.map((each) => each.textContent),
      };
    }, content);
    assert.ok(!found.isBroken, `${name} is XML`);
    assert.equal(found.root, 'http://www.w3.org/2000/svg svg');
    assert.deepEqual(found.elements.filter((each) => !['svg', 'rect', 'text', 'title', 'polyline'].includes(each)), [], name);
    assert.deepEqual(found.attributes.filter((each) => !['xmlns', 'viewBox', 'x', 'y', 'width', 'height', 'fill', 'stroke', 'points', 'font-size', 'font-family'].includes(each)), [],
      name);
    assert.deepEqual(found.unfit, [], name);
    assert.ok(found.drawn > (/^call/.test(name) ? 0 : 1), `${name} has more than its ground`); // a function may call none, and the first run may lack it
    texts.push(...found.texts);
  }
  return { count, texts };
}

for (const name of ['drift', 'three', 'names', 'hostile', 'many']) {
  test(`${name}: every table and picture of every view is saved as it is shown`, async () => {
    const { page, wrong } = await open(`${name}.html`), counts = {};
    await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
    const [root] = (await rows(page, 'call'))[0].path;
    for (const title of ['Overview', 'Iterations', 'Flame graph']) {
      await show(page, title);
      if (title === 'Iterations') await page.waitForSelector('.iterations .graph canvas, p.message');
      if (title === 'Flame graph') await page.click('[aria-label="Functions"] button.link');
      await settle(page);
      await settle(page);
      const { count, texts } = await checkPictures(page);
      counts[title] = [await checkTables(page), count];
      if (title === 'Flame graph') assert.ok(texts.some((text) => text.startsWith(root)), 'names are in it');
    }
    assert.ok(counts.Overview[0] >= 3 && counts.Overview[1] >= 2, JSON.stringify(counts));
    assert.ok(counts['Flame graph'][1] === 3, JSON.stringify(counts));
    if (name !== 'hostile') assert.ok(counts.Iterations[0] >= 2 && counts.Iterations[1] === 2, JSON.stringify(counts));
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

for (const name of ['stencil', 'hostile']) {
  test(`${name}: trees are saved with the values of their rows`, async () => {
    const { page } = await open(`${name}.html`);
    await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
    for (const [tree, title] of [['metric', 'Metrics'], ['call', 'Call paths'], ['system', 'System']]) {
      const [head, ...lines] = parseCsv((await save(page, `[aria-label="${title}"]`, 'Save as CSV')).content), shown = await rows(page, tree);
      assert.deepEqual(head, ['path', 'shows', 'value_A', 'error_A']);
      assert.equal(lines.length, shown.length);
      shown.forEach((row, i) => {
        const [path, shows, value, error] = lines[i];
        if (name === 'stencil') assert.equal(path, row.path.join(' > '));
        assert.equal(shows, row.expanded === 'true' ? 'exclusive' : 'inclusive');
        assert.deepEqual([Number(value || NaN), Number(error || NaN)], [row.value, row.error], path);
      });
    }
    await page.close();
  });
}

test('curves over the iterations are saved point by point, and add up to what the report has', async () => {
  const { page } = await open('drift.html'), data = report('drift.json');
  await show(page, 'Iterations');
  await page.waitForSelector('.iterations .u-over');
  const [head, ...points] = parseCsv((await save(page, '.iterations .tools:nth-of-type(2)', 'Save as CSV')).content);
  assert.deepEqual(head, ['run', 'values', 'first_iteration', 'iterations', 'least', 'median', 'greatest', 'peak']);
  assert.deepEqual(points.map((point) => Number(point[2])), Array.from({ length: 200 }, (_, i) => i));
  for (const [, , , , least, median, greatest, peak] of points) assert.ok(Number(least) <= Number(median) && Number(median) <= Number(greatest) && Number(greatest) <= Number(peak));
  // With two ranks the least and the greatest are all.
  await choose(page, 'Values', 'MPI calls');
  const calls = parseCsv((await save(page, '.iterations .tools:nth-of-type(2)', 'Save as CSV')).content).slice(1);
  assert.equal(calls.reduce((sum, point) => sum + Number(point[4]) + Number(point[6]), 0),
    data.callpaths.filter((call) => call.kind === 'mpi' && call.path.includes('timestep')).reduce((sum, call) => sum + call.visits, 0));
  await page.close();
});

/** Changes much of what the address keeps. */
async function chooseMuch(page) {
  await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
  await press(page, 'metric', ['wall'], 'ArrowRight');
  await press(page, 'metric', ['wall', 'mpi'], ' ');
  await press(page, 'call', (await rows(page, 'call'))[1].path, ' ');
  await press(page, 'system', (await rows(page, 'system')).find((row) => row.path.at(-1) === 'rank 1').path, ' ');
  await choose(page, 'Sort', 'by value');
  await choose(page, 'Form', 'by function');
  await choose(page, 'Values', 'Own root percent');
  await page.click('button[aria-label="Move Call paths to the right"]');
  await settle(page);
}

test('"Copy state" copies an address that opens the page as it is', async () => {
  const { page, wrong } = await open('stencil.html', { before: () => {
    globalThis.copied = [];
    if (!navigator.clipboard) return; // the empty page before this one
    const write = navigator.clipboard.writeText.bind(navigator.clipboard);
    navigator.clipboard.writeText = async (text) => {
      globalThis.copied.push(text);
      await write(text);
    };
  } });
  await chooseMuch(page);
  await (await page.waitForSelector('::-p-text(Copy state)')).click();
  await page.waitForFunction(() => document.querySelector('nav [role=status]').textContent !== '');
  assert.equal(await page.$eval('nav [role=status]', (text) => text.textContent), 'copied');
  const [text] = await page.evaluate(() => globalThis.copied);
  assert.ok(text.startsWith('file:///') && !/[\s"<>]/.test(text), text);
  assert.deepEqual(JSON.parse(decodeURIComponent(text.split('#')[1])), await address(page), 'what the address says a moment later');
  const other = await open('stencil.html', { hash: `#${text.split('#')[1]}` });
  await other.page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
  for (const tree of ['metric', 'call', 'system']) assert.deepEqual(await rows(other.page, tree), await rows(page, tree), tree);
  assert.deepEqual(await address(other.page), await address(page));
  const titles = (of) => of.$$eval('.panel', (all) => all.map((panel) => [panel.getAttribute('aria-label'), panel.querySelector('.hint').textContent]));
  assert.deepEqual(await titles(other.page), await titles(page));
  assert.deepEqual((await titles(page)).map(([title]) => title), ['Metrics', 'System', 'Call paths']);
  assert.deepEqual(wrong, []);
  await page.close();
  await other.page.close();
});

test('without a clipboard the state is in the address, and says so', async () => {
  const { page, wrong } = await open('stencil.html', { before: () => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); } });
  await show(page, 'Flame graph');
  await (await page.waitForSelector('::-p-text(Copy state)')).click();
  await settle(page);
  assert.equal(JSON.parse(decodeURIComponent(await page.evaluate(() => location.hash.slice(1)))).v, 'flame');
  assert.match(await textOf(page), /it is in the address/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('an address that is none, or of another page, breaks nothing', async () => {
  for (const hash of ['#%', '#null', '#%7B%7D', `#${encodeURIComponent(JSON.stringify({
    v: 'x', o: 'mm', m: ['m999', 'm-1', '__proto__'], c: ['c0:99999', 'c7:1', '<b>'], s: ['s99999', 'h9', 1], e: [['q'], 1, [null]], p: [77, -1, 1.5], f: 'x', d: ['x'],
    l: '\u2028', r: 7, i: [5, 1e9], w: 1e9, n: ['main', 99], u: 1e9, x: 1e9, g: [1e9, 77, 3, 1e9],
  }))}`]) {
    const { page, wrong } = await open('drift.html', { hash });
    for (const title of ['Iterations', 'Flame graph', 'Overview']) {
      await show(page, title);
      await page.waitForSelector({ Iterations: '.graph canvas', 'Flame graph': '.flame canvas', Overview: '.overview' }[title], { timeout: 5000 });
    }
    assert.ok((await rows(page, 'call'))[0].value >= 0);
    assert.deepEqual(wrong, [], hash);
    await page.close();
  }
});
