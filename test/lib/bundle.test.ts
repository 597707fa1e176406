import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { STEPS, type StepName } from '../../lambdas/shared/steps.ts';
import { exampleDeployment, synthesiseInto, type Template } from '../../scripts/definition.ts';
import { folderForAll } from './support/files.ts';

/** The code as it is deployed: bundled once, all four functions. */
describe('the bundled code', () => {
  const outdir = folderForAll();
  let template: Template;

  beforeAll(() => {
    template = synthesiseInto(outdir, exampleDeployment());
  });

  const bundleOf = (step: StepName) => {
    const functions = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    const found = functions.find(({ Properties }) => Properties.FunctionName.endsWith(`-${step}`));
    return join(outdir, `asset.${found?.Properties.Code.S3Key.replace('.zip', '')}`);
  };

  test.each(Object.keys(STEPS) as StepName[])('of %s lies beside the configuration, and nothing else does', (step) => {
    const bundle = bundleOf(step);

    expect(readdirSync(bundle).sort()).toEqual(['deployment.json', 'index.mjs', 'index.mjs.map']);
    expect(readFileSync(join(bundle, 'deployment.json'))).toEqual(readFileSync('config/example.json'));
  });

  test.each(Object.keys(STEPS) as StepName[])('of %s loads on Node, reads the configuration and answers', (step) => {
    const answer = invoke(join(bundleOf(step), 'index.mjs'), {
      input: { entity: 'leads' },
      execution: 'run-1',
      startedAt: '2026-01-01T22:30:00.000Z',
    });

    expect(answer).toMatchObject({
      outcome: 'FAILED',
      failure: { error: 'ConfigInvalid', cause: expect.stringContaining("The function's environment lacks ") },
    });
  });
});

/** Invokes a bundled handler in a process of its own, without any environment. */
function invoke(file: string, event: unknown): unknown {
  const script = `
    const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)});
    const context = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 60000 };
    process.stdout.write(JSON.stringify(await handler(${JSON.stringify(event)}, context)));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: {},
  });
  return JSON.parse(output);
}
