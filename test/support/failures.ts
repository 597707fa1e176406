import { expect } from 'vitest';
import { RunError, type RunErrorName } from '../../core/errors.ts';
import { CANARY } from './builders.ts';

/** The RunError that a promise ends in, under this name and free of canaries. */
export async function failureOf(promise: Promise<unknown>, name: RunErrorName): Promise<RunError> {
  const error = await promise.then(
    (value) => new Error(`nothing was thrown, the answer is ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RunError)) throw error;
  expect(error.name, error.message).toBe(name);
  expect(error.message).not.toContain(CANARY);
  return error;
}
