// What axe-core finds in a page.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function violations(page) {
  // The page's policy forbids other scripts; the driver's own evaluation is exempt.
  await page.evaluate(axe);
  return page.evaluate(async () => (await globalThis.axe.run()).violations.map((each) => `${each.id}: ${each.nodes[0].html}`));
}
