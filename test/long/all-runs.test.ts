import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { TEST_SEED } from '../support/seeds.ts';

/** Runs all cases of the properties of which `npm test` tries a tenth; in CI a quarter. */

const ROOT = join(import.meta.dirname, '../..');
const FILES = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/e2e/**', 'test/long/**'] }).filter((file) =>
  readFileSync(join(ROOT, file), 'utf8').includes('support/runs.ts'),
);

test('the properties of the unit and slow tests hold for all cases', async ({ signal }) => {
  // Vitest marks its child processes as its workers by variables.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_ENV)/.test(name));
  const env = { ...Object.fromEntries(own), TEST_RUNS: process.env.TEST_RUNS, TEST_SEED: String(TEST_SEED) };
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--project', 'slow', ...FILES];

  const ran = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, maxBuffer: 1 << 28, signal }).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => `red: ${error.stdout ?? error}`,
  );

  expect(FILES.length).toBeGreaterThan(5);
  expect(ran).not.toMatch(/^red: /);
});
