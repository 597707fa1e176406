import fc from 'fast-check';
import { TEST_SEED } from './seeds.ts';

/** Node's own limit. Vitest's stack traces of a hundred calls would take a tenth of the time in tests with many errors. */
Error.stackTraceLimit = 10;

fc.configureGlobal({ seed: TEST_SEED });
