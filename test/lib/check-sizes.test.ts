import { describe, expect, test } from 'vitest';
import { ALL_STEPS, STEPS, UPDATE_STEPS } from '../../core/step/steps.ts';
import { findProblems } from '../../scripts/check-sizes.ts';
import { tree } from './support/files.ts';

const lines = (count: number) => 'export {};\n'.repeat(count);

/** A tree in which all rules hold. */
function goodTree(): Record<string, string> {
  const files: Record<string, string> = {
    'lib/workflow/export-steps.ts': Object.keys(STEPS)
      .map((step) => `step('${step}', short);\n`)
      .join(''),
    'lib/workflow/export-workflow.ts': Object.keys(STEPS)
      .map((step) => `stepTask(this, '${step}', 'comment');\n`)
      .join(''),
    'lib/workflow/customer-updates.ts': Object.keys(UPDATE_STEPS)
      .map((step) => `step('${step}', 512);\n`)
      .join(''),
    'lib/workflow/customer-update-workflow.ts': Object.keys(UPDATE_STEPS)
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
  ])('%s that reads %j is reported', (file, text, problem) => {
    expect(problemsWith({ [file]: text })).toEqual([`${file}: ${problem}`]);
  });

  test('a construct and a state of another name are reported', () => {
    const renamed = (file: string) => goodTree()[file]?.replace("'CheckStatus'", "'Check'");

    expect(
      problemsWith({
        'lib/workflow/export-steps.ts': renamed('lib/workflow/export-steps.ts'),
        'lib/workflow/export-workflow.ts': renamed('lib/workflow/export-workflow.ts'),
      }),
    ).toEqual([
      'lib/workflow/export-steps.ts: makes no function with the construct id CheckStatus',
      'lib/workflow/export-workflow.ts: has no state CheckStatus',
    ]);
  });

  test('a folder that belongs to no step is reported', () => {
    expect(problemsWith({ 'lambdas/check/check.ts': lines(1) })).toEqual([
      'lambdas/check: is the folder of no step in core/step/steps.ts',
    ]);
  });
});

describe('imports', () => {
  test.each([
    ['bin/app.ts', '../cli/main.ts', 'cli/main.ts', 'bin imports lib and core only'],
    ['lib/tokens.ts', '../cli/main.ts', 'cli/main.ts', 'lib imports core only'],
    [
      'lib/tokens.ts',
      '../lambdas/check-status/check-status.ts',
      'lambdas/check-status/check-status.ts',
      'lib imports core only',
    ],
    ['core/a.ts', '../lib/tokens.ts', 'lib/tokens.ts', 'core imports transfer only'],
    [
      'core/a.ts',
      '../lambdas/check-status/check-status.ts',
      'lambdas/check-status/check-status.ts',
      'core imports transfer only',
    ],
    ['transfer/a.js', '../core/errors.ts', 'core/errors.ts', 'transfer imports nothing else of the project'],
    ['transfer/a.ts', '../core/errors.ts', 'core/errors.ts', 'transfer imports nothing else of the project'],
    ['cli/list.ts', '../local/start.ts', 'local/start.ts', 'cli imports core and transfer only'],
    [
      'cli/list.ts',
      '../lambdas/check-status/check-status.ts',
      'lambdas/check-status/check-status.ts',
      'cli imports core and transfer only',
    ],
    [
      'core/a.ts',
      '../transfer/store/client.ts',
      'transfer/store/client.ts',
      'files outside of transfer import transfer/index.ts only',
    ],
    ['local/start.ts', '../test/support/a.ts', 'test/support/a.ts', 'no source imports tests'],
    ...['lib/tokens.ts', 'sandbox/main.ts', 'local/start.ts', 'cli/main.ts', 'bench/run.ts'].map((file) => [
      'lambdas/check-status/more.ts',
      `../../${file}`,
      file,
      'a step imports its own folder, core and transfer only',
    ]),
    [
      'lambdas/check-status/more.ts',
      '../create-export/request.ts',
      'lambdas/create-export/request.ts',
      'a step imports its own folder, core and transfer only',
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
    ['bin/app.ts', '../core/config/configuration.ts'],
    ['lib/tokens.ts', '../core/step/steps.ts'],
    ['lib/tokens.ts', './config.ts'],
    ['lambdas/create-export/request.ts', './input.ts'],
    ['lambdas/create-export/request.ts', '../../core/crm/client.ts'],
    ['core/crm/client.ts', '../log/log.ts'],
    ['core/storage/fast-read.ts', '../../transfer/index.ts'],
    ['local/start.ts', '../cli/target.ts'],
    ['test/transfer/call.test.ts', '../../transfer/store/client.ts'],
  ])('%s may import %s', (file, specifier) => {
    expect(problemsWith({ [file]: `import { a } from '${specifier}';\n` })).toEqual([]);
  });
});

describe('folders', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`cli/runs/a${index}.ts`, lines(1)]));

  test('have at most 20 source files', () => {
    expect(problemsWith(many(20))).toEqual([]);

    expect(problemsWith(many(21))).toEqual(['cli/runs: has 21 source files, at most 20 are allowed']);
  });

  test('that import each other are reported', () => {
    const problems = problemsWith({
      'core/crm/a.ts': "import { b } from '../oauth/b.ts';\n",
      'core/oauth/c.ts': "import type { D } from '../crm/d.ts';\n",
    });

    expect(problems).toEqual([
      'core/crm/a.ts: imports core/oauth/b.ts, but core/oauth/c.ts imports core/crm/d.ts: no two folders import each other',
    ]);
  });

  test('that import each other through a folder below are reported', () => {
    const problems = problemsWith({
      'cli/data/a.ts': "import { b } from '../runs/b.ts';\n",
      'cli/runs/list/c.ts': "import { d } from '../../data/d.ts';\n",
    });

    expect(problems).toEqual([
      'cli/data/a.ts: imports cli/runs/b.ts, but cli/runs/list/c.ts imports cli/data/d.ts: no two folders import each other',
    ]);
  });

  test('may not take a value beside a type from the folder above that uses them', () => {
    const both = "import type { A } from '../a.ts';\nimport { a } from '../a.ts';\n";

    expect(
      problemsWith({ 'cli/runs/a.ts': "import { b } from './show/b.ts';\n", 'cli/runs/show/c.ts': both }),
    ).toHaveLength(1);
  });

  test('may take types, and nothing else, from the folder above that uses them', () => {
    const parent = { 'cli/runs/a.ts': "import { b } from './show/b.ts';\n" };

    expect(problemsWith({ ...parent, 'cli/runs/show/c.ts': "import type { A } from '../a.ts';\n" })).toEqual([]);

    expect(problemsWith({ ...parent, 'cli/runs/show/c.ts': "import { a } from '../a.ts';\n" })).toHaveLength(1);
  });
});
