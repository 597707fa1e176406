import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App } from 'aws-cdk-lib';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type FunctionName,
  MACHINE_VERSION,
  MAILER,
  RECORDER,
  STEPS,
  type StepName,
  UPDATE_STEPS,
  type UpdateStepName,
} from '../../core/step/steps.ts';
import { ExportStack } from '../../lib/export-stack.ts';
import { bundleAhead } from '../../lib/workflow/step-bundles.ts';
import { exampleDeployment, fullDeployment } from '../../scripts/deployments.ts';
import { synthesiseInto } from '../../scripts/synthesise.ts';
import type { Template } from '../../scripts/template.ts';
import { folderForAll, tree } from './support/files.ts';
import { oneOf } from './support/template.ts';

/** Every byte is read and compiled before a step starts, at every cold start. */
const LARGEST_BUNDLE = 480_000;
/** Their start time is not critical: one start a night for each entity, or long work with the SDK, zip, XML or DuckDB. */
const LARGEST: Partial<Record<FunctionName, number>> = {
  CreateExport: 620_000,
  PublishFile: 610_000,
  WriteTable: 850_000,
  WriteChanges: 850_000,
};

const FUNCTIONS = [...(Object.keys(STEPS) as StepName[]), RECORDER, MAILER];

/** The deployed code, bundled once. */
describe('the bundled code', () => {
  const outdir = folderForAll();
  let template: Template;

  beforeAll(async () => {
    await bundleAhead();
    template = synthesiseInto(outdir, fullDeployment({ local: true }));
  });

  const sourcesOf = (step: FunctionName) =>
    JSON.parse(readFileSync(join(bundleOf(step), 'index.mjs.map'), 'utf8')).sources;
  const bundleOf = (step: FunctionName) => {
    const [, { Properties }] = oneOf(template, 'AWS::Lambda::Function', `${step}Function`);
    return join(outdir, `asset.${Properties.Code.S3Key.replace('.zip', '')}`);
  };

  test.each(FUNCTIONS)('of %s is in a folder with its source map and the configuration only', (step) => {
    const bundle = bundleOf(step);

    expect(readdirSync(bundle).sort()).toEqual(['deployment.json', 'index.mjs', 'index.mjs.map']);
    const known = JSON.parse(readFileSync(join(bundle, 'deployment.json'), 'utf8'));
    expect(known).toEqual({ ...fullDeployment({ local: true }), zoneOffsets: [120, 180] });
  });

  test.each(Object.keys(STEPS) as StepName[])('of %s loads on Node, reads the configuration and answers', (step) => {
    const { stdout, stderr } = invoke(bundleOf(step));

    const [logged, answer] = [stderr, stdout].map((text) => JSON.parse(text));
    expect(logged).toMatchObject({ level: 'ERROR', message: 'answered', step, error: 'ConfigInvalid' });
    expect(answer).toMatchObject({
      outcome: 'FAILED',
      failure: { error: 'ConfigInvalid', cause: expect.stringMatching(/ lacks /) },
    });
  });

  test.each(FUNCTIONS)('of %s is small enough to start fast', (step) => {
    expect(statSync(join(bundleOf(step), 'index.mjs')).size).toBeLessThanOrEqual(LARGEST[step] ?? LARGEST_BUNDLE);
  });

  const OF_OAUTH = /core\/oauth\/|client-(dynamodb|secrets-manager)/;
  test.each<[of: readonly FunctionName[], never: RegExp, why: string]>([
    [FUNCTIONS, /credential-provider-|nested-clients/, 'credentials come only from its environment'],
    [FUNCTIONS, /zod\/v4\/classic\/|config\/deployment\.ts$/, 'zod/mini is enough, and the configuration is checked'],
    [
      Object.keys(UPDATE_STEPS) as UpdateStepName[],
      /core\/step\/(states|export-run)\.ts$/,
      'they are of the other machine',
    ],
    [['PublishFile', 'ValidateBatch', 'SummarizeBatch'], OF_OAUTH, 'they do not call the CRM'],
    [['PublishFile'], /core\/table\/|hyparquet|csv-parse/, 'it writes no table'],
    [['WriteTable'], /core\/oauth\/(?!secrets)|client-dynamodb/, 'it refreshes no grant'],
  ])('of %s has no source that matches %s: %s', (steps, never) => {
    for (const step of steps) expect(sourcesOf(step), step).not.toContainEqual(expect.stringMatching(never));
  });

  test('of two deployments in one assembly has the configuration of each', () => {
    const example = exampleDeployment();
    const deployments = [example, { ...example, retentionDays: example.retentionDays + 1 }];
    const app = new App({ outdir: tree({}), analyticsReporting: false });

    const codes = deployments.map((deployment, index) => {
      const configuration = { name: `deployment-${index}`, file: 'config/example.json', deployment };
      const stack = new ExportStack(app, configuration.name, { configuration, softwareVersion: '0.0.0' });
      const code = stack.node.findAll().find((child) => child instanceof Asset);
      return readFileSync(join(app.outdir, code?.assetPath ?? '', 'deployment.json'), 'utf8');
    });

    expect(codes.map((text) => JSON.parse(text))).toMatchObject(JSON.parse(JSON.stringify(deployments)));
  });

  test('logs a crash with positions in the sources', () => {
    const folder = tree({});
    cpSync(bundleOf('CheckStatus'), folder, { recursive: true });
    rmSync(join(folder, 'deployment.json'));

    const { stderr } = invoke(folder);

    const { frames } = JSON.parse(stderr.slice(0, stderr.indexOf('\n')));
    expect(frames).toContainEqual(expect.stringMatching(/^at .*core\/aws\/env\.ts:\d+:\d+\)?$/));
  });
});

/** Invokes the handler of a bundle in its own process with an empty environment. */
function invoke(bundle: string): { stdout: string; stderr: string } {
  const event = {
    machineVersion: MACHINE_VERSION,
    input: { entity: 'leads' },
    execution: 'run-1',
    startedAt: '2026-01-01T22:30:00.000Z',
  };
  const script = `
    const { handler } = await import(${JSON.stringify(pathToFileURL(join(bundle, 'index.mjs')).href)});
    const context = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 60000 };
    process.stdout.write(JSON.stringify(await handler(${JSON.stringify(event)}, context)));
  `;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8', env: {} });
}
