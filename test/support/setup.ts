import fc from 'fast-check';
import { afterAll, vi } from 'vitest';
import { TEST_SEED } from './seeds.ts';

/** Node's own limit. Vitest's stack traces of a hundred calls would take a tenth of the time in tests with many errors. */
Error.stackTraceLimit = 10;

fc.configureGlobal({ seed: TEST_SEED });

/** Files share a worker. The configuration resets mocks before each test, but the next file is loaded before its tests. */
afterAll(() => void vi.restoreAllMocks().unstubAllEnvs().unstubAllGlobals());
