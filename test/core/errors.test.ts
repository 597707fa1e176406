import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS, type ErrorName, RunError } from '../../core/errors.ts';

const NAMES = Object.keys(ERRORS) as ErrorName[];
const SOURCE = globSync('{core,lambdas}/**/*.ts')
  .filter((file) => file !== 'core/errors.ts')
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
/** The names at the places that make errors: on the line of `new RunError(` or in the statement before. */
const THROWN = new Set(
  [
    ...SOURCE.matchAll(/new RunError\(([^,]+),/g),
    // The names for the reasons of the transfer engine (`download-file/download-file.ts`).
    ...SOURCE.matchAll(/Record<Exclude<TransferReason, 'changed'>, RunErrorName> = \{([^}]+)\}/g),
    // The names in the tables of answers (`core/crm/answers.ts`).
    ...SOURCE.matchAll(/'(?:notTaken|unknown|refused|contradiction)',\s+('\w+')/g),
    // The names of what was not written (`core/table/not-written.ts`).
    ...SOURCE.matchAll(/\{\s+name: ('\w+'),\s+what: /g),
    ...SOURCE.matchAll(/const name = ([^;]+);\s+return new RunError\(name/g),
  ].flatMap(([, chosen = '']) => [...chosen.matchAll(/'(\w+)'/g)].map(([, name]) => name)),
);

test.each(NAMES.filter((name) => ERRORS[name].class !== 'machine'))('%s is thrown somewhere', (name) => {
  expect(THROWN).toContain(name);
});

test.each(NAMES.filter((name) => ERRORS[name].class === 'machine'))('no code throws %s', (name) => {
  expect(THROWN).not.toContain(name);
});

test('a RunError has the name of the error, not of its class, because a bundler may rename classes', () => {
  const error = new RunError('RateLimited', 'Too many.', { retryAfterSeconds: 5 });

  expect(error).toMatchObject({ name: 'RateLimited', transient: true, retryAfterSeconds: 5 });
});

test('the cause of a failure names the entity and the run if they are known', () => {
  const failed = new RunError('FileQuarantined', 'RUN: a word of the message.');

  expect(failed.failureOf({ entity: 'leads', execution: 'leads-1' }).cause).toMatch(/^RUN: .* leads --run leads-1\. /);
  expect(failed.failure.cause).toContain('diff ENTITY --run RUN');
});

const NO_SETTING: ErrorName[] = ['InvalidInput', 'UpdateFileInvalid', 'UpdatesIncomplete'];
const ABOUT_SETTINGS = NAMES.filter(
  (name) =>
    !NO_SETTING.includes(name) && /\b(?:raise|correct|change|space|spread|set|allow)\b/i.test(ERRORS[name].advice),
);

// A setting takes effect with the next deployment. Without one, the next run fails again.
test.each(ABOUT_SETTINGS)('the advice of %s to change a setting says to deploy', (name) => {
  expect(ERRORS[name].advice).toMatch(/\bdeploy\b/);
});
