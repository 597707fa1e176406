import { describe, expect, test } from 'vitest';
import { UPDATE_STEPS } from '../../../core/step/steps.ts';
import { updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { allOf, listed, oneOf, rightsOf, statementsOf } from '../support/template.ts';

const json = synthesise(updatingDeployment());
const steps = Object.keys(UPDATE_STEPS);
const all = (type: string, from = json) => allOf(from, type);

/** The roles of a principal: CDK merges equal statements of several roles. */
function principalsOf(principal: { AWS: unknown }): string[] {
  return listed(principal.AWS).map(resolved);
}

function inBucket(prefix: string): string[] {
  return statementsOf(oneOf(json, 'AWS::S3::BucketPolicy', 'ExportsBucketPolicy')[1])
    .filter(
      ({ Effect, Principal }) => Effect === 'Allow' && principalsOf(Principal).some((role) => role.startsWith(prefix)),
    )
    .flatMap(({ Action, Resource }) =>
      listed(Action).flatMap((action) =>
        listed(Resource).map((resource) => `${action} ${resolved(resource).replace(/^\w+\.Arn/, '')}`),
      ),
    )
    .sort();
}

test('nothing of it is there unless the configuration asks for it', () => {
  const without = synthesise();

  expect(all('AWS::StepFunctions::StateMachine', without)).toHaveLength(1);
  expect(all('AWS::Lambda::Function', without)).toHaveLength(6);
  expect(without.Outputs).not.toHaveProperty('UpdatesStateMachineArn');
});

test('it is three functions and a standard machine, found by an output', () => {
  const functions = all('AWS::Lambda::Function').filter(([id]) => steps.some((step) => id.startsWith(step)));

  expect(functions.map(([, { Properties }]) => Properties.FunctionName).sort()).toEqual(
    steps.map((step) => `crm-export-example-${step}`).sort(),
  );
  for (const [, { Properties }] of functions) {
    expect(Properties).toMatchObject({ Timeout: 900, Description: expect.stringContaining('CustomerUpdates') });
  }
  const machine = all('AWS::StepFunctions::StateMachine').find(([id]) => id.startsWith('CustomerUpdates'));
  expect(machine?.[1].Properties.StateMachineName).toBe('crm-export-example-CustomerUpdates');
  expect(machine?.[1].Properties.StateMachineType ?? 'STANDARD').toBe('STANDARD');
  expect(resolved(json.Outputs.UpdatesStateMachineArn?.Value)).toBe(machine?.[0]);
});

describe('the rights', () => {
  test('of the machine: its functions, and executions of its own name', () => {
    // Child names exist only after a start, so the ARN ends in a star, as in AWS's documents.
    expect(rightsOf(json, 'CustomerUpdatesMachineRole', /^(lambda|states):/)).toEqual([
      expect.stringMatching(/^lambda:InvokeFunction ApplyChunkLive/),
      expect.stringMatching(/^lambda:InvokeFunction SummarizeBatchLive/),
      expect.stringMatching(/^lambda:InvokeFunction ValidateBatchLive/),
      'states:DescribeExecution execution:NAME:*',
      'states:RedriveExecution execution:NAME/ApplyChunks:*',
      expect.stringMatching(/^states:StartExecution CustomerUpdatesMachine/),
      'states:StopExecution execution:NAME:*',
    ]);
    expect(inBucket('CustomerUpdatesMachineRole')).toEqual(['s3:GetObject /updates/*/chunks.jsonl']);
  });

  test.each([
    ['ValidateBatch', ['s3:PutObject /updates/*/_started.json', 's3:PutObject /updates/*/chunks.jsonl']],
    [
      'ApplyChunk',
      ['s3:PutObject /updates/*/failures/*', 's3:PutObject /updates/*/results/*', 's3:PutObject /updates/*/stop.json'],
    ],
    [
      'SummarizeBatch',
      [
        's3:AbortMultipartUpload /updates/*/result.jsonl',
        's3:PutObject /updates/*/_manifest.json',
        's3:PutObject /updates/*/result.jsonl',
        's3:PutObject /updates/*/stop.json',
      ],
    ],
  ])('of %s in the bucket: to read updates/, to list, and to write what is its own', (step, written) => {
    expect(inBucket(`${step}Role`)).toEqual(['s3:GetObject /updates/*', 's3:ListBucket ', ...written].sort());
  });

  test('to list without a condition: AWS promises 404 for what is absent to whoever may list the bucket', () => {
    const [, policy] = oneOf(json, 'AWS::S3::BucketPolicy', 'ExportsBucketPolicy');
    const listing = statementsOf(policy).filter(
      ({ Action, Principal }) =>
        listed(Action).includes('s3:ListBucket') &&
        principalsOf(Principal).some((role) => steps.some((step) => role.startsWith(`${step}Role`))),
    );

    expect(listing.length).toBeGreaterThan(0);
    for (const statement of listing) expect(statement).not.toHaveProperty('Condition');
  });

  test('to the tokens: ApplyChunk alone', () => {
    const withTokens = steps.filter((step) => rightsOf(json, `${step}Role`, /^secrets/).length > 0);

    expect(withTokens).toEqual(['ApplyChunk']);
  });
});

test('each function is given the ids of what it uses, and nothing else', () => {
  const variables = Object.fromEntries(
    all('AWS::Lambda::Function').map(([, { Properties }]) => [
      Properties.FunctionName.split('-').at(-1),
      Object.keys(Properties.Environment.Variables).sort(),
    ]),
  );

  expect(variables).toMatchObject({
    ValidateBatch: ['BUCKET_NAME', 'DEPLOYMENT', 'NODE_OPTIONS', 'SOFTWARE_VERSION'],
    ApplyChunk: ['BUCKET_NAME', 'CLIENT_SECRET_ID', 'DEPLOYMENT', 'LEDGER_TABLE', 'TOKENS_SECRET_ID', 'URL_SUFFIX'],
    SummarizeBatch: ['BUCKET_NAME', 'DEPLOYMENT'],
  });
});

test('batches are kept as long as their own setting says', () => {
  const template = synthesise(updatingDeployment({ updates: { retentionDays: 11 } }));
  const [, bucket] = oneOf(template, 'AWS::S3::Bucket', 'ExportsBucket');
  const rules: { Id: string }[] = bucket.Properties.LifecycleConfiguration.Rules;

  expect(rules.find(({ Id }) => Id === 'Updates')).toMatchObject({ Prefix: 'updates/', ExpirationInDays: 11 });
});
