import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deploymentSchema } from '../../core/config/deployment.ts';
import { ExportStack } from '../../lib/export-stack.ts';
import { newApp } from '../../scripts/synthesise.ts';
import type { Template } from '../../scripts/template.ts';
import { unpackFixture } from '../long/support/fixture-release.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';

/**
 * Compares the templates of this release and of the fixture's release. A deployment replaces a resource whose logical
 * id or type changes: its data is lost, and its name is taken.
 */

const NAME = 'crm-export-upgrade';
const [EARLIER, NOW] = templates();

function templates(): [earlier: Template, now: Template] {
  const dir = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    unpackFixture(dir);
    const earlier = JSON.parse(readFileSync(join(dir, `${NAME}.template.json`), 'utf8'));
    const app = newApp(dir, { 'aws:cdk:bundling-stacks': [] });
    const deployment = deploymentSchema.parse({
      local: true,
      crm: { baseUrl: `${DEAD_ADDRESS}/api/v1`, authUrl: `${DEAD_ADDRESS}/auth` },
      customerUpdates: true,
      updates: { concurrency: 1, maxRate: 1000 },
    });
    // Ids of permissions contain the name of the stack.
    const configuration = { name: 'upgrade', file: 'config/upgrade.json', deployment };
    const stack = new ExportStack(app, NAME, { configuration, softwareVersion: '0.0.0' });
    return [earlier, app.synth().getStackArtifact(stack.artifactId).template];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test('every resource of the last release stays, except versions, alarms, dashboard and wait handles', () => {
  const gone = Object.entries(EARLIER.Resources).filter(([id, { Type }]) => NOW.Resources[id]?.Type !== Type);

  const types = new Set(gone.map(([, { Type }]) => Type));
  const mayGo = ['AWS::Lambda::Version', 'AWS::CloudWatch::Alarm', 'AWS::CloudWatch::Dashboard'];
  expect([...mayGo, 'AWS::CloudFormation::WaitConditionHandle']).toEqual(expect.arrayContaining([...types]));
});

/** Properties that CloudFormation updates in place ("Update requires: No interruption" in its resource reference). */
const CHANGED_IN_PLACE: Record<string, string[]> = {
  'AWS::S3::Bucket': ['LifecycleConfiguration', 'NotificationConfiguration'],
  'AWS::KMS::Key': ['KeyPolicy'],
  'AWS::SecretsManager::Secret': ['Description'],
  // The key's name: the CDK changed it from ARN to id and back (aws-cdk 35144, 35568), in the same tables.
  'AWS::DynamoDB::GlobalTable': ['Replicas'],
  'AWS::SQS::Queue': [],
  'AWS::SNS::Topic': [],
  'AWS::Logs::LogGroup': [],
  'AWS::StepFunctions::StateMachine': ['DefinitionString'],
};

test.each(Object.entries(CHANGED_IN_PLACE))('no %s is replaced, or loses its deletion policy', (type, inPlace) => {
  const resources = Object.entries(EARLIER.Resources).filter(([, { Type }]) => Type === type);

  expect(resources.length).toBeGreaterThan(0);
  for (const [id, { Properties: then = {}, ...earlier }] of resources) {
    const { Properties: now = {}, DeletionPolicy, UpdateReplacePolicy } = NOW.Resources[id] ?? {};
    const names = [...new Set([...Object.keys(then), ...Object.keys(now)])];
    const differing = names.filter((name) => JSON.stringify(then[name]) !== JSON.stringify(now[name]));
    expect({ id, differing: differing.filter((name) => !inPlace.includes(name)) }).toEqual({ id, differing: [] });
    expect([DeletionPolicy, UpdateReplacePolicy]).toEqual([earlier.DeletionPolicy, earlier.UpdateReplacePolicy]);
  }
});

test('every output by which the command finds a deployment stays', () => {
  expect(Object.keys(NOW.Outputs)).toEqual(expect.arrayContaining(Object.keys(EARLIER.Outputs)));
});
