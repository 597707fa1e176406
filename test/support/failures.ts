import { expect } from 'vitest';
import { RunError, type RunErrorName } from '../../core/errors.ts';
import { CANARY } from './builders.ts';

/** The RunError of a rejected promise. It must have this name and contain no canary. */
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
