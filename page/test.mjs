// Tests of the model, which need no browser: each file of test/model is bundled and run by Node's test runner.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'refrain-page-'));
const tests = readdirSync(`${here}test/model`).filter((name) => name.endsWith('.test.ts'));
await build({
  absWorkingDir: here, entryPoints: tests.map((name) => `test/model/${name}`), bundle: true, outdir: out, format: 'esm', platform: 'node',
  target: 'node18', outExtension: { '.js': '.mjs' }, logLevel: 'warning',
});
const done = spawnSync(process.execPath, ['--test', ...tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' });
rmSync(out, { recursive: true });
process.exit(done.status ?? 1);
