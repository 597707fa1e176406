import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { type Deployment, deploymentSchema } from '../../lambdas/shared/deployment.ts';
import { ENTITIES, type Entity } from '../../lambdas/shared/entities.ts';
import { STEPS, type StepName } from '../../lambdas/shared/steps.ts';
import { exampleDeployment, type Resource, resolved, synthesise } from '../../scripts/definition.ts';

const json = synthesise();
const template = Template.fromJSON(json);
const steps = Object.keys(STEPS) as StepName[];

/** Resources of a type, by their logical ids. */
function all(type: string, from = json): [id: string, resource: Resource][] {
  return Object.entries(from.Resources).filter(([, { Type }]) => Type === type);
}

function only(type: string): [id: string, resource: Resource] {
  const [first, ...more] = all(type);
  if (!first || more.length > 0) throw new Error(`there is not exactly one ${type}`);
  return first;
}

/** The example deployment with other values. */
function templateWith(values: Record<string, unknown>) {
  const deployment: Deployment = deploymentSchema.parse({ ...exampleDeployment(), ...values });
  return synthesise(deployment);
}

// biome-ignore lint/suspicious/noExplicitAny: a statement of a policy, as CloudFormation writes it.
type Statement = any;

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
const statementsOf = (policy: Resource): Statement[] => policy.Properties.PolicyDocument.Statement;

describe('the functions', () => {
  const functions = all('AWS::Lambda::Function');

  test('are one for each step, named after it', () => {
    expect(functions.map(([, { Properties }]) => Properties.FunctionName).sort()).toEqual(
      steps.map((step) => `crm-export-example-${step}`).sort(),
    );
    expect(functions.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual([...steps].sort());
  });

  test.each(functions)('%s runs on Node 24 and arm64, with memory and a time limit', (_, { Properties }) => {
    expect(Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: expect.any(Number),
      Timeout: expect.any(Number),
      Handler: 'index.handler',
    });
    expect(Properties.Timeout).toBeLessThanOrEqual(900);
  });

  test('have a role each', () => {
    const roles = functions.map(([, { Properties }]) => resolved(Properties.Role));

    expect(new Set(roles).size).toBe(steps.length);
    for (const [, { Properties }] of all('AWS::IAM::Role'))
      expect(Properties, 'no managed policy brings wildcards').not.toHaveProperty('ManagedPolicyArns');
  });

  test('have a log group each, which keeps lines as long as configured and goes with the stack', () => {
    const groups = functions.map(([, { Properties }]) => resolved(Properties.LoggingConfig.LogGroup));

    expect(new Set(groups).size).toBe(steps.length);
    for (const group of groups) {
      expect(json.Resources[group]).toMatchObject({ DeletionPolicy: 'Delete', Properties: { RetentionInDays: 30 } });
    }
    for (const [id] of all('AWS::Logs::LogGroup')) expect(groups).toContain(id);
  });

  test('are given the ids of what they use, and nothing that is secret', () => {
    const oauth = ['DEPLOYMENT', 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID', 'LEDGER_TABLE'];
    const allowed = [...oauth, 'BUCKET_NAME', 'NODE_OPTIONS', 'SOFTWARE_VERSION'];
    for (const [id, { Properties }] of functions) {
      for (const name of Object.keys(Properties.Environment.Variables)) expect(allowed, id).toContain(name);
    }
  });

  test('keep their log lines as many days as the configuration says', () => {
    const groups = all('AWS::Logs::LogGroup', templateWith({ logRetentionDays: 3 }));

    expect(groups.map(([, { Properties }]) => Properties.RetentionInDays)).toEqual([3, 3, 3, 3]);
  });
});

describe('the rights', () => {
  test('of every identity name each action and each resource, without a wildcard', () => {
    const policies = all('AWS::IAM::Policy');

    expect(policies.length).toBeGreaterThan(0);
    for (const [id, policy] of policies) {
      for (const { Action, Resource, NotAction, NotResource } of statementsOf(policy)) {
        for (const action of listed(Action)) expect(action, id).not.toContain('*');
        for (const resource of listed(Resource)) expect(resolved(resource), id).not.toContain('*');
        expect([NotAction, NotResource], id).toEqual([undefined, undefined]);
      }
    }
    for (const [, role] of all('AWS::IAM::Role')) expect(role.Properties).not.toHaveProperty('Policies');
  });

  test('of the machine are to invoke the four aliases', () => {
    const granted = rightsOf('ExportRunMachineRole');

    expect(granted.sort()).toEqual(
      [...steps].sort().map((step) => expect.stringMatching(`^lambda:InvokeFunction ${step}Live`)),
    );
  });

  test('of the rules are to start the machine', () => {
    expect(rightsOf('NightlyStartRole')).toEqual([expect.stringMatching('^states:StartExecution ExportRunMachine')]);
  });

  test('to the tokens belong to the steps that call the service, and only those', () => {
    const withTokens = steps.filter((step) => rightsOf(`${step}Role`).some((right) => right.startsWith('secrets')));

    expect(withTokens).toEqual(['CreateExport', 'CheckStatus', 'DownloadFile']);
    expect(rightsOf('CheckStatusRole').filter((right) => right.startsWith('secrets'))).toEqual([
      expect.stringMatching('^secretsmanager:GetSecretValue TokensOAuthClient'),
      expect.stringMatching('^secretsmanager:GetSecretValue TokensOAuthTokens'),
      expect.stringMatching('^secretsmanager:PutSecretValue TokensOAuthTokens'),
    ]);
  });
});

describe('the bucket', () => {
  const [bucketId, bucket] = only('AWS::S3::Bucket');
  const [, policy] = only('AWS::S3::BucketPolicy');

  test('is closed to the public, versioned and encrypted, and survives the stack without a name of its own', () => {
    expect(bucket).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    expect(bucket.Properties).not.toHaveProperty('BucketName');
    template.hasResourceProperties('AWS::S3::Bucket', {
      VersioningConfiguration: { Status: 'Enabled' },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
    });
  });

  test('removes incomplete uploads, runs, pointers, noncurrent versions and delete markers', () => {
    expect(bucket.Properties.LifecycleConfiguration.Rules).toEqual(lifecycle(90));
  });

  test('keeps runs and the pointers to them as many days as the configuration says', () => {
    const [first] = all('AWS::S3::Bucket', templateWith({ retentionDays: 12 }));

    expect(first?.[1].Properties.LifecycleConfiguration.Rules).toEqual(lifecycle(12));
  });

  test('refuses everything that does not come by TLS 1.2 or later', () => {
    const denied = statementsOf(policy).filter(({ Effect }) => Effect === 'Deny');
    const everything = { Action: 's3:*', Principal: { AWS: '*' } };

    expect(denied).toMatchObject([
      { ...everything, Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
      { ...everything, Condition: { NumericLessThan: { 's3:TlsVersion': 1.2 } } },
    ]);
    for (const { Resource } of denied)
      expect(listed(Resource).map(resolved)).toEqual([`${bucketId}.Arn`, `${bucketId}.Arn/*`]);
  });

  test('gives each step its own prefixes and actions, and no one else anything', () => {
    expect(allowedIn(policy, bucketId)).toEqual([
      'DownloadFile s3:AbortMultipartUpload /runs/*',
      'DownloadFile s3:GetObject /runs/*',
      'DownloadFile s3:ListMultipartUploadParts /runs/*',
      'DownloadFile s3:PutObject /runs/*',
      'PublishFile s3:GetObject /published/*',
      'PublishFile s3:GetObject /runs/*',
      'PublishFile s3:ListBucket ',
      'PublishFile s3:PutObject /published/*',
      'PublishFile s3:PutObject /runs/*/_manifest.json',
    ]);
  });
});

describe('the secrets', () => {
  const secrets = all('AWS::SecretsManager::Secret');

  test('are two, without a value, without a generated one and without a name', () => {
    expect(secrets.length).toBe(2);
    for (const [id, { Properties }] of secrets) expect(Object.keys(Properties), id).toEqual(['Description']);
  });

  test('survive the stack', () => {
    for (const [, secret] of secrets) {
      expect(secret).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    }
  });
});

describe('the ledger of the grant', () => {
  const { Properties: table } = only('AWS::DynamoDB::GlobalTable')[1];

  test('is a table without a name, paid by use, that forgets by time, can be restored, and is encrypted', () => {
    expect(table).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      SSESpecification: { SSEEnabled: true },
    });
    expect(table.Replicas[0].PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
    expect(table.TableName).toBeUndefined();
  });

  test('is read and updated by the three functions that call the service, and by nobody else', () => {
    const rights = all('AWS::IAM::Policy').flatMap(([id, policy]) =>
      statementsOf(policy)
        .flatMap(({ Action }) => listed(Action))
        .map(String)
        .filter((action) => action.startsWith('dynamodb:'))
        .map((action) => `${id.replace(/Role.*/, '')} ${action}`),
    );

    expect(rights.toSorted()).toEqual(
      ['CheckStatus', 'CreateExport', 'DownloadFile'].flatMap((step) => [
        `${step} dynamodb:GetItem`,
        `${step} dynamodb:UpdateItem`,
      ]),
    );
  });
});

describe('the rules', () => {
  const rules = all('AWS::Events::Rule');
  const ruleOf = (entity: Entity, from = json) => {
    const found = all('AWS::Events::Rule', from).find(([, { Properties }]) => Properties.Name.endsWith(`-${entity}`));
    if (!found) throw new Error(`no rule starts ${entity}`);
    return found[1].Properties;
  };

  test('are one for each entity, seven minutes apart, over midnight too', () => {
    expect(rules.length).toBe(7);
    expect(ENTITIES.map((entity) => ruleOf(entity).ScheduleExpression)).toEqual(
      ['30 22', '37 22', '44 22', '51 22', '58 22', '5 23', '12 23'].map((at) => `cron(${at} * * ? *)`),
    );
    const late = templateWith({ nightly: { startUtc: '23:50', spreadMinutes: 7 } });
    expect(ruleOf('workflows', late).ScheduleExpression).toBe('cron(4 0 * * ? *)');
  });

  test.each(ENTITIES)('start the machine with the input of %s, and with the time they were due', (entity) => {
    const { Targets, State } = ruleOf(entity);

    expect(State).toBe('ENABLED');
    expect(Targets).toHaveLength(1);
    expect(Targets[0].InputTransformer).toEqual({
      InputPathsMap: { time: '$.time' },
      InputTemplate: `{"entity":"${entity}","scheduledFor":<time>}`,
    });
    expect(resolved(Targets[0].Arn)).toBe(only('AWS::StepFunctions::StateMachine')[0]);
  });

  test('try for two hours at most, and leave an undelivered start in the queue', () => {
    const [queueId] = only('AWS::SQS::Queue');
    for (const [, { Properties }] of rules) {
      const [target] = Properties.Targets;
      expect(target.RetryPolicy).toEqual({ MaximumEventAgeInSeconds: 7200, MaximumRetryAttempts: 8 });
      expect(resolved(target.DeadLetterConfig.Arn)).toBe(`${queueId}.Arn`);
    }
  });

  test('take a schedule of the entity in place of the night', () => {
    const own = templateWith({ entities: { leads: { schedule: 'rate(1 minute)' } } });

    expect(ruleOf('leads', own).ScheduleExpression).toBe('rate(1 minute)');
    expect(ruleOf('agent-numbers', own).ScheduleExpression, 'the others keep their places').toBe('cron(37 22 * * ? *)');
  });

  test('are there but off for an entity that is not enabled', () => {
    const off = templateWith({ entities: { meetings: { enabled: false } } });

    expect(ruleOf('meetings', off).State).toBe('DISABLED');
    expect(ruleOf('leads', off).State).toBe('ENABLED');
  });
});

describe('the queue of undelivered starts', () => {
  const [queueId, queue] = only('AWS::SQS::Queue');
  const [, policy] = only('AWS::SQS::QueuePolicy');

  test('is encrypted and keeps a start for two weeks', () => {
    expect(queue.Properties).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 14 * 86_400 });
  });

  test('refuses what does not come by TLS, and takes starts from the seven rules only', () => {
    const [denied, ...allowed] = statementsOf(policy);

    expect(denied).toMatchObject({
      Effect: 'Deny',
      Action: 'sqs:*',
      Principal: { AWS: '*' },
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      Resource: { 'Fn::GetAtt': [queueId, 'Arn'] },
    });
    expect(allowed.map(({ Condition }) => resolved(Condition.ArnEquals['aws:SourceArn'])).sort()).toEqual(
      all('AWS::Events::Rule')
        .map(([id]) => `${id}.Arn`)
        .sort(),
    );
    for (const { Effect, Action } of allowed) expect([Effect, Action]).toEqual(['Allow', 'sqs:SendMessage']);
  });
});

describe('the stack', () => {
  test("has the outputs that the operator's command finds it by", () => {
    expect(Object.keys(json.Outputs).sort()).toEqual([
      'BucketName',
      'ClientSecretId',
      'KeptOnDestroy',
      'LedgerTableName',
      'StateMachineArn',
      'TokensSecretId',
      'UndeliveredStartsUrl',
    ]);
    template.hasOutput('StateMachineArn', { Value: { Ref: Match.stringLikeRegexp('^ExportRunMachine') } });
  });

  test('says what stays when it is destroyed, and names all of it', () => {
    const kept = Object.entries(json.Resources).filter(
      ([, { DeletionPolicy }]) => DeletionPolicy === 'RetainExceptOnCreate',
    );
    const said = resolved(json.Outputs.KeptOnDestroy?.Value);

    expect(kept.map(([, { Type }]) => Type.split('::').at(-1)).toSorted()).toEqual([
      'Bucket',
      'BucketPolicy',
      'Secret',
      'Secret',
    ]);
    for (const [id, { Type }] of kept) if (!Type.endsWith('Policy')) expect(said).toContain(id);
  });

  test('has one standard machine, whose name is not that of another deployment', () => {
    const { Properties } = only('AWS::StepFunctions::StateMachine')[1];

    expect(Properties.StateMachineName).toBe('crm-export-example-ExportRun');
    expect(Properties.StateMachineType ?? 'STANDARD').toBe('STANDARD');
  });

  test('makes nothing that hangs or is refused in the local cloud', () => {
    const refused = [
      'AWS::CloudWatch::CompositeAlarm',
      'AWS::Logs::QueryDefinition',
      'Custom::',
      'AWS::CloudFormation::',
    ];
    for (const [id, { Type }] of Object.entries(json.Resources)) {
      for (const prefix of refused) expect(Type.startsWith(prefix), id).toBe(false);
    }
  });
});

/** What a role may do: "action resource", in the order of the template. */
function rightsOf(roleId: string): string[] {
  const ofRole = all('AWS::IAM::Policy').filter(([, { Properties }]) =>
    Properties.Roles.some((role: unknown) => resolved(role).startsWith(roleId)),
  );
  return ofRole.flatMap(([, policy]) =>
    statementsOf(policy).flatMap(({ Action, Resource }) =>
      listed(Action).flatMap((action) => listed(Resource).map((resource) => `${action} ${resolved(resource)}`)),
    ),
  );
}

/** What a bucket's policy allows: "step action keys condition", sorted. */
function allowedIn(policy: Resource, bucketId: string): string[] {
  return statementsOf(policy)
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Action, Principal, Resource, Condition }) =>
      listed(Action).flatMap((action) =>
        listed(Resource).map((resource) => {
          const who = resolved(Principal.AWS).replace(/Role[0-9A-F]{8}\.Arn$/, '');
          const keys = resolved(resource).replace(`${bucketId}.Arn`, '');
          return `${who} ${action} ${keys}${Condition ? ` ${JSON.stringify(Condition)}` : ''}`;
        }),
      ),
    )
    .sort();
}

function lifecycle(days: number) {
  return [
    { Id: 'IncompleteUploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } },
    { Id: 'Runs', Status: 'Enabled', Prefix: 'runs/', ExpirationInDays: days },
    { Id: 'Pointers', Status: 'Enabled', Prefix: 'published/', ExpirationInDays: days },
    { Id: 'Updates', Status: 'Enabled', Prefix: 'updates/', ExpirationInDays: 30 },
    {
      Id: 'NoncurrentVersions',
      Status: 'Enabled',
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
      ExpiredObjectDeleteMarker: true,
    },
  ];
}
