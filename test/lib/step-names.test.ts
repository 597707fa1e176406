import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ALL_FUNCTIONS, ALL_STEPS, type AnyStepName, folderOf, UPDATE_STEPS } from '../../core/step/steps.ts';

/** Folder, file, function, state, construct and test of a step have one name, so that each leads to the others. */

const workflow = globSync('lib/workflow/*.ts')
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

test('every folder of lambdas/ belongs to a function in core/step/steps.ts', () => {
  expect(readdirSync('lambdas').sort()).toEqual(ALL_FUNCTIONS.map(folderOf).sort());
});

describe.each(Object.keys(ALL_STEPS) as AnyStepName[])('%s', (step) => {
  const folder = folderOf(step);
  const name = step.charAt(0).toLowerCase() + step.slice(1);
  const wrapper = step in UPDATE_STEPS ? 'asBatchStep' : 'asStep';
  const textOf = (file: string) => readFileSync(file, 'utf8');

  test('is an exported function in its folder', () => {
    expect(textOf(`lambdas/${folder}/${folder}.ts`)).toContain(`export async function ${name}(`);
  });

  test('is the step of its handler', () => {
    expect(textOf(`lambdas/${folder}/handler.ts`)).toMatch(
      new RegExp(`export const handler = ${wrapper}\\(\\s*'${step}',\\s*${name},`),
    );
  });

  test('is created in lib/workflow', () => {
    expect(workflow).toMatch(new RegExp(`\\bstep\\(\\s*'${step}',`));
  });

  test('has a test', () => {
    expect(textOf(`test/lambdas/${folder}/${folder}.test.ts`)).toMatch(/\btest\(/);
  });
});
