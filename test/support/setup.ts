import fc from 'fast-check';
import { TEST_SEED } from './seeds.ts';

/** A trace of a hundred calls, as Vitest wants it, takes a tenth of the tests in which errors are what happens. */
Error.stackTraceLimit = 20;

fc.configureGlobal({ seed: TEST_SEED });
