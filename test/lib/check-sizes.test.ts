import { describe, expect, test } from 'vitest';
import { ALL_STEPS, STEPS, UPDATE_STEPS } from '../../lambdas/shared/steps.ts';
import { findProblems } from '../../scripts/check-sizes.ts';
import { tree } from './support/files.ts';

const lines = (count: number) => 'export {};\n'.repeat(count);

/** A tree in which all rules hold. */
function goodTree(): Record<string, string> {
  const files: Record<string, string> = {
    'lib/export-steps.ts': Object.keys(STEPS)
      .map((step) => `step('${step}', short);\n`)
      .join(''),
    'lib/export-workflow.ts': Object.keys(STEPS)
      .map((step) => `stepTask(this, '${step}', 'comment');\n`)
      .join(''),
    'lib/customer-updates.ts': Object.keys(UPDATE_STEPS)
      .map((step) => `step('${step}', 512);\n`)
      .join(''),
    'lib/customer-update-workflow.ts': Object.keys(UPDATE_STEPS)
      .map((step) => `stepTask(this, '${step}', 'comment');\n`)
      .join(''),
  };
  for (const step of Object.keys(ALL_STEPS)) {
    const wrapper = step in UPDATE_STEPS ? 'asBatchStep' : 'asStep';
    const folder = step.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
    const name = `${step[0]?.toLowerCase()}${step.slice(1)}`;
    files[`lambdas/${folder}/${folder}.ts`] = `export async function ${name}() {}\n`;
    files[`lambdas/${folder}/handler.ts`] = `export const handler = ${wrapper}('${step}', ${name}, () => ({}));\n`;
    files[`test/lambdas/${folder}/${folder}.test.ts`] = `test('holds', () => {});\n`;
  }
  return files;
}

/** The problems of the good tree with some files changed; `undefined` removes one. */
function problemsWith(changes: Record<string, string | undefined>): string[] {
  const files = Object.entries({ ...goodTree(), ...changes }).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined;
  });
  return findProblems(tree(Object.fromEntries(files)));
}

test('a tree in which all rules hold has no problem', () => {
  expect(problemsWith({})).toEqual([]);
});

test('this project has no problem', () => {
  expect(findProblems('.')).toEqual([]);
});

describe('sizes', () => {
  test.each([
    ['local/start.ts', 250],
    ['test/local/start.test.ts', 600],
  ])('%s has at most %i lines', (file, most) => {
    expect(problemsWith({ [file]: lines(most) })).toEqual([]);
    expect(problemsWith({ [file]: lines(most + 1) })).toEqual([
      `${file}: has ${most + 1} lines, at most ${most} are allowed`,
    ]);
  });

  test('the stack has at most 80 lines', () => {
    expect(problemsWith({ 'lib/export-stack.ts': lines(80) })).toEqual([]);

    expect(problemsWith({ 'lib/export-stack.ts': lines(81) })).toEqual([
      'lib/export-stack.ts: has 81 lines, at most 80 are allowed',
    ]);
  });
});

describe('names', () => {
  test.each<[file: string, text: string | undefined, problem: string]>([
    ['lambdas/check-status/check-status.ts', undefined, 'is missing'],
    ['lambdas/check-status/handler.ts', undefined, 'is missing'],
    ['test/lambdas/check-status/check-status.test.ts', undefined, 'is missing'],
    ['test/lambdas/check-status/check-status.test.ts', 'export {};\n', 'has no test'],
    ['lambdas/check-status/check-status.ts', 'export async function check() {}\n', 'exports no function checkStatus'],
    [
      'lambdas/check-status/handler.ts',
      "export const handler = asStep('CreateExport', checkStatus, () => ({}));\n",
      "exports no handler made by asStep('CheckStatus', checkStatus, …)",
    ],
  ])('%s that reads %j is told', (file, text, problem) => {
    expect(problemsWith({ [file]: text })).toEqual([`${file}: ${problem}`]);
  });

  test('a construct and a state of another name are told', () => {
    const renamed = (file: string) => goodTree()[file]?.replace("'CheckStatus'", "'Check'");

    expect(
      problemsWith({
        'lib/export-steps.ts': renamed('lib/export-steps.ts'),
        'lib/export-workflow.ts': renamed('lib/export-workflow.ts'),
      }),
    ).toEqual([
      'lib/export-steps.ts: makes no function with the construct id CheckStatus',
      'lib/export-workflow.ts: has no state CheckStatus',
    ]);
  });

  test('a folder that belongs to no step is told', () => {
    expect(problemsWith({ 'lambdas/check/check.ts': lines(1) })).toEqual([
      'lambdas/check: is the folder of no step in lambdas/shared/steps.ts',
    ]);
  });
});

describe('imports', () => {
  test.each([
    ['bin/app.ts', '../lambdas/shared/steps.ts', 'lambdas/shared/steps.ts', 'bin imports lib only'],
    ['lib/tokens.ts', '../cli/main.ts', 'cli/main.ts', 'lib imports lambdas/shared only'],
    [
      'lib/tokens.ts',
      '../lambdas/check-status/check-status.ts',
      'lambdas/check-status/check-status.ts',
      'lib imports lambdas/shared only',
    ],
    [
      'lambdas/shared/a.ts',
      '../../lib/config.ts',
      'lib/config.ts',
      'lambdas/shared imports nothing else of the project',
    ],
    [
      'lambdas/shared/a.ts',
      '../check-status/check-status.ts',
      'lambdas/check-status/check-status.ts',
      'lambdas/shared imports nothing else of the project',
    ],
    ['local/start.ts', '../test/support/a.ts', 'test/support/a.ts', 'no source imports tests'],
    ...['lib/config.ts', 'sandbox/main.ts', 'local/start.ts', 'cli/main.ts', 'bench/run.ts'].map((file) => [
      'lambdas/check-status/more.ts',
      `../../${file}`,
      file,
      'a step imports its own folder and lambdas/shared only',
    ]),
    [
      'lambdas/check-status/more.ts',
      '../create-export/request.ts',
      'lambdas/create-export/request.ts',
      'a step imports its own folder and lambdas/shared only',
    ],
  ])('%s does not import %s', (file, specifier, imported, rule) => {
    const problem = `${file}: imports ${imported}, but ${rule}`;

    expect(problemsWith({ [file]: `import { a } from '${specifier}';\n` })).toEqual([problem]);
    expect(problemsWith({ [file]: `import type {\n  A,\n} from '${specifier}';\n` })).toEqual([problem]);
    expect(problemsWith({ [file]: `export * from '${specifier}';\n` })).toEqual([problem]);
    expect(problemsWith({ [file]: `await import('${specifier}');\n` })).toEqual([problem]);
    expect(problemsWith({ [file]: `import '${specifier}';\n` })).toEqual([problem]);
  });

  test.each([
    ['bin/app.ts', '../lib/config.ts'],
    ['lib/config.ts', '../lambdas/shared/steps.ts'],
    ['lib/config.ts', './tokens.ts'],
    ['lambdas/create-export/request.ts', './input.ts'],
    ['lambdas/create-export/request.ts', '../shared/crm/client.ts'],
    ['lambdas/shared/crm/client.ts', '../log.ts'],
    ['local/start.ts', '../cli/target.ts'],
    ['test/lib/config.test.ts', '../../lib/config.ts'],
  ])('%s may import %s', (file, specifier) => {
    expect(problemsWith({ [file]: `import { a } from '${specifier}';\n` })).toEqual([]);
  });
});
