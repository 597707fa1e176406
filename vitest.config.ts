import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { COMPILE_CACHE } from './local/compile-cache.ts';
import { RepeatReporter } from './test/support/repeat-reporter.ts';
import { clockVariables, seedVariables } from './test/support/seeds.ts';

/** Time limits only guard against hanging: they allow a machine that is several times slower and also busy. */
const SECONDS = 1000;
/** The end-to-end tests record what the functions do. These tests compare it with their rights once all have run. */
const AFTER_E2E = 'test/permissions/recorded.test.ts';
const AFTER_SLOW_E2E = 'test/permissions/recorded.slow.test.ts';
/** Tests that cost seconds and prove what few commits touch: `npm run test:slow`. */
const SLOW = '**/*.slow.test.ts';
/** Shared by all files that need one. */
const LOCAL_CLOUD = 'test/e2e/support/local-cloud.ts';
/**
 * Projects of one order share their workers, the end-to-end files first: they wait for processes, and the short files fill
 * what they leave idle. Not 0: with one worker, projects of that order run after all others.
 */
const ORDER = { together: 1, after: 2 };
/** One more than there are cores: much of it waits for processes and sockets. */
const WORKERS = 3;
/** In MB: more objects of a test die before their first collection, which saves CPU time. */
const EXEC_ARGV = ['--max-semi-space-size=64'];
/** CDK's check of every template takes seconds each time; `test/long/template-check.test.ts` has it. */
process.env.CDK_VALIDATION ??= 'false';
/** A fifth of each synthesis: the stack traces of constructs and tokens. */
process.env.CDK_DISABLE_STACK_TRACE ??= '1';
process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
/** The tests do not depend on what the person who runs them has deployed. */
process.env.CRM_EXPORT_CONFIG = join(import.meta.dirname, 'test', 'support', 'config');
delete process.env.CRM_EXPORT_DEPLOYMENT;
delete process.env.CRM_CLIENT_SECRET;
delete process.env.NODE_USE_ENV_PROXY;
process.env.RECORDED_CALLS ??= join(import.meta.dirname, '.cache', 'calls', String(process.pid));

/** The tests without a local cloud. */
const WITHOUT_CLOUD = {
  env: { ...seedVariables('same'), ...clockVariables() },
  testTimeout: 120 * SECONDS,
  hookTimeout: 120 * SECONDS,
  expect: { poll: { timeout: 50 * SECONDS } },
  sequence: { groupOrder: ORDER.together },
  maxWorkers: WORKERS,
  execArgv: EXEC_ARGV,
  // Loading the SDK and CDK again for each file costs half of the time: a test puts back what it changes.
  isolate: false,
  setupFiles: ['test/support/setup.ts'],
  unstubEnvs: true,
  unstubGlobals: true,
  restoreMocks: true,
};
/** The stack deployed to a local cloud, which has the clock of the machine: minutes at most, on two cores. */
const WITH_CLOUD = {
  globalSetup: LOCAL_CLOUD,
  testTimeout: 300 * SECONDS,
  hookTimeout: 300 * SECONDS,
  sequence: { groupOrder: ORDER.together },
  maxWorkers: WORKERS,
  execArgv: EXEC_ARGV,
  isolate: false,
  // MiniStack answers 500 to whoever lists executions at the moment in which another one is started.
  env: { AWS_MAX_ATTEMPTS: '6' },
  unstubEnvs: true,
  restoreMocks: true,
};
/** These projects run after all others of the same run, which names both. */
const AFTER_THE_OTHERS = {
  sequence: { groupOrder: ORDER.after },
  testTimeout: 120 * SECONDS,
  hookTimeout: 120 * SECONDS,
};
/** In CI the seed is fixed, so this would try the cases that `npm test` and `npm run test:slow` have tried. */
const REPEATED_IN_CI = ['test/long/all-runs.test.ts'];
/**
 * Minutes each, of what few commits touch: the nightly run of `npm run test:long` has them, `.ci/run` does not. With
 * `NIGHTLY=1 CI=true npm run test:long` they run in the short form.
 */
const NIGHTLY_ONLY = [
  'test/long/{bench,clocks,excel,feed-nights,pandas,verify,workbooks}.test.ts',
  'test/long/{oauth-moto,removing-a-customer,runbook,runbook-updates,sheet-memory,versitygw}.test.ts',
];
const LEFT_OUT_IN_CI = [...REPEATED_IN_CI, ...(process.env.NIGHTLY ? [] : NIGHTLY_ONLY)];
const NO_UNIT_TESTS = [...configDefaults.exclude, 'test/e2e/**', 'test/long/**', AFTER_E2E, AFTER_SLOW_E2E];

export default defineConfig({
  test: {
    // A file of test/screens/ that is missing fails, also where the variable CI is not set. Only -u writes.
    update: 'none',
    // npm run coverage: lines of the product that the tests without a local cloud reach.
    coverage: {
      provider: 'v8',
      include: ['{bin,cli,core,lambdas,lib,transfer}/**/*.ts'],
      reporter: ['text-summary', 'html'],
      // As measured in November 2026, rounded down. Raise them with the tests; the build server checks them each night.
      thresholds: { statements: 95, branches: 92, functions: 96, lines: 96 },
    },
    reporters: ['default', ...(process.env.GITHUB_ACTIONS ? ['github-actions'] : []), new RepeatReporter()],
    projects: [
      // npm test
      { test: { ...WITHOUT_CLOUD, name: 'unit', include: ['test/**/*.test.ts'], exclude: [...NO_UNIT_TESTS, SLOW] } },
      {
        test: {
          ...WITH_CLOUD,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [...configDefaults.exclude, SLOW],
        },
      },
      { test: { ...AFTER_THE_OTHERS, name: 'permissions', include: [AFTER_E2E] } },
      // npm run test:slow
      { test: { ...WITHOUT_CLOUD, name: 'slow', include: [`test/${SLOW}`], exclude: NO_UNIT_TESTS } },
      { test: { ...WITH_CLOUD, name: 'slow-e2e', include: [`test/e2e/${SLOW}`] } },
      { test: { ...AFTER_THE_OTHERS, name: 'slow-permissions', include: [AFTER_SLOW_E2E] } },
      {
        // npm run test:long
        test: {
          name: 'long',
          globalSetup: LOCAL_CLOUD,
          include: ['test/long/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...(process.env.CI ? LEFT_OUT_IN_CI : [])],
          env: { TEST_RUNS: process.env.CI ? 'quarter' : 'all', ...seedVariables('others each time') },
          setupFiles: ['test/support/setup.ts'],
          // With the slow tests in one run (.ci/run), they share the workers.
          sequence: { groupOrder: ORDER.together },
          maxWorkers: WORKERS,
          testTimeout: 600 * SECONDS,
          // A deployment after another one that loads both cores.
          hookTimeout: 300 * SECONDS,
        },
      },
    ],
  },
});
