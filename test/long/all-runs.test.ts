import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from '../support/project.ts';
import { TEST_SEED } from '../support/seeds.ts';
import { runTests } from './support/run-tests.ts';

/** Runs all cases of the properties of which `npm test` tries a tenth; in CI a quarter. */

const FILES = globSync('test/**/*.test.ts', { cwd: PROJECT, exclude: ['test/e2e/**', 'test/long/**'] }).filter((file) =>
  readFileSync(join(PROJECT, file), 'utf8').includes('support/runs.ts'),
);

test('the properties of the unit and slow tests hold for all cases', async ({ signal }) => {
  const variables = { TEST_RUNS: process.env.TEST_RUNS, TEST_SEED: String(TEST_SEED) };

  expect(FILES.length).toBeGreaterThan(5);
  expect((await runTests(['unit', 'slow'], FILES, variables, signal)).red).toBe('');
});
