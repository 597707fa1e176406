import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { COMPILE_CACHE } from './local/compile-cache.ts';

const SECONDS = 1000;
/** What the functions do in the end-to-end tests is noted here, and held against their rights once all have run. */
const AFTER_E2E = 'test/permissions/recorded.test.ts';
/** Shared by all files that need one. */
const LOCAL_CLOUD = 'test/e2e/support/local-cloud.ts';
/**
 * Projects of one order share their workers, the end-to-end files first: they wait for processes, and the short files fill
 * what they leave idle. Not 0: with one worker, projects of that order run behind all others.
 */
const ORDER = { together: 1, behind: 2 };
/** One more than there are cores: much of it waits for processes and sockets. */
const WORKERS = 3;
/** CDK's check of every template takes seconds each time; `test/long/template-check.test.ts` has it. */
process.env.CDK_VALIDATION ??= 'false';
process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
process.env.RECORDED_CALLS ??= join(import.meta.dirname, '.cache', 'calls', String(process.pid));

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/e2e/**', 'test/long/**', AFTER_E2E],
          testTimeout: 60 * SECONDS,
          hookTimeout: 120 * SECONDS,
          sequence: { groupOrder: ORDER.together },
          maxWorkers: WORKERS,
          // Loading the SDK and CDK again for each file costs half of the time: a test puts back what it changes.
          isolate: false,
          setupFiles: ['test/support/setup.ts'],
          unstubEnvs: true,
          unstubGlobals: true,
          restoreMocks: true,
        },
      },
      {
        // The stack deployed to a local cloud: minutes at most, on two cores.
        test: {
          name: 'e2e',
          globalSetup: LOCAL_CLOUD,
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 180 * SECONDS,
          hookTimeout: 180 * SECONDS,
          sequence: { groupOrder: ORDER.together },
          maxWorkers: WORKERS,
          isolate: false,
          // MiniStack answers 500 to whoever lists executions at the moment in which another one is started.
          env: { AWS_MAX_ATTEMPTS: '6' },
          unstubEnvs: true,
          restoreMocks: true,
        },
      },
      {
        // This project runs behind all others of the same run: `npm test` names both.
        test: {
          name: 'permissions',
          include: [AFTER_E2E],
          sequence: { groupOrder: ORDER.behind },
          testTimeout: 60 * SECONDS,
        },
      },
      {
        // What takes longer: npm run test:long.
        test: {
          name: 'long',
          globalSetup: LOCAL_CLOUD,
          include: ['test/long/**/*.test.ts'],
          env: { TEST_RUNS: process.env.CI ? 'quarter' : 'all' },
          // One by default on two cores: half of the time would be waits.
          maxWorkers: 2,
          testTimeout: 600 * SECONDS,
          // A deployment behind another one that loads both cores.
          hookTimeout: 180 * SECONDS,
        },
      },
    ],
  },
});
