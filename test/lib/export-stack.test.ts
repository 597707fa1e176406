import { join } from 'node:path';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../cli/support/text-table.ts';
import { deployedBy, deployedOf } from '../../core/config/deployed.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { offsetsNow } from '../../core/config/timing.ts';
import { MAILER, RECORDER, STEPS, type StepName } from '../../core/step/steps.ts';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';
import { allOf, allowedIn, listed, oneOf, rightsOf, statementsOf } from './support/template.ts';

const SCREENS = join(import.meta.dirname, '../screens');
const json = synthesise();
const template = Template.fromJSON(json);
/** Steps that exist only with tables and feeds: `test/lib/workflow/tables.test.ts`. */
const OPTIONAL: StepName[] = ['WriteTable', 'WriteChanges'];
const steps = (Object.keys(STEPS) as StepName[]).filter((step) => !OPTIONAL.includes(step));
const invoked = [...steps, RECORDER];
const names = [...invoked, MAILER];

const all = (type: string, from = json) => allOf(from, type);
const only = (type: string, prefix?: string) => oneOf(json, type, prefix);

/** The template of the example deployment with other values. */
function templateWith(values: Record<string, unknown>) {
  return synthesise(exampleDeployment(values));
}

describe('the functions', () => {
  const functions = all('AWS::Lambda::Function');

  test('are one for each step, named after it, one that records nights, and one that mails', () => {
    expect(functions.map(([, { Properties }]) => Properties.FunctionName).sort()).toEqual(
      names.map((name) => `crm-export-example-${name}`).sort(),
    );
    expect(functions.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual([...names].sort());
  });

  test('are those of the stored table', async () => {
    const columns = ['function', 'seconds', 'MB', 'environment'];
    const rows = functions.map(
      ([
        ,
        {
          Properties: { FunctionName, Timeout, MemorySize, Environment },
        },
      ]) => {
        const variables = Object.entries(Environment.Variables).map(([name, value]) => `${name}=${resolved(value)}`);
        return [FunctionName, String(Timeout), String(MemorySize), variables.toSorted().join(' ')];
      },
    );
    await expect(`${textTable(columns, rows.toSorted())}\n`).toMatchFileSnapshot(join(SCREENS, 'functions.txt'));
    for (const [, { Properties }] of functions)
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        TracingConfig: { Mode: 'Active' },
      });
  });

  test.each([
    [60, 350],
    [600, 890],
  ])('leave CreateExport 290 seconds beside an answer that may take %i seconds', (createTimeoutSeconds, seconds) => {
    const { crm } = exampleDeployment();
    const timeouts = allOf(templateWith({ crm: { ...crm, createTimeoutSeconds } }), 'AWS::Lambda::Function')
      .filter(([id]) => id.startsWith('CreateExport'))
      .map(([, { Properties }]) => Properties.Timeout);

    expect(timeouts).toEqual([seconds]);
  });

  test('have a role each', () => {
    const roles = functions.map(([, { Properties }]) => resolved(Properties.Role));

    expect(new Set(roles).size).toBe(names.length);
    for (const [, { Properties }] of all('AWS::IAM::Role'))
      expect(Properties, 'no managed policy brings wildcards').not.toHaveProperty('ManagedPolicyArns');
  });

  test('have a log group each, which keeps lines as long as configured and goes with the stack', () => {
    const groups = functions.map(([, { Properties }]) => resolved(Properties.LoggingConfig.LogGroup));

    expect(new Set(groups).size).toBe(names.length);
    for (const group of groups) {
      expect(json.Resources[group]).toMatchObject({ DeletionPolicy: 'Delete', Properties: { RetentionInDays: 365 } });
    }
  });

  test('that stream have the memory that is configured, and room outside of the heap', () => {
    const other = templateWith({ files: { memoryMB: { download: 1024, publish: 3008 } } });
    const of = (step: string) =>
      all('AWS::Lambda::Function', other).find(([, { Properties }]) => Properties.FunctionName.endsWith(step))?.[1]
        .Properties;

    expect([of('DownloadFile')?.MemorySize, of('PublishFile')?.MemorySize]).toEqual([1024, 3008]);
    expect(of('DownloadFile')?.Environment.Variables.NODE_OPTIONS).toContain('--max-old-space-size=832 ');
    expect(of('PublishFile')?.Environment.Variables.NODE_OPTIONS).toContain('--max-old-space-size=2816 ');
  });

  test('keep their log lines as many days as the configuration says', () => {
    const groups = all('AWS::Logs::LogGroup', templateWith({ logRetentionDays: 3 }));

    expect(groups.map(([, { Properties }]) => Properties.RetentionInDays)).toEqual([3, 3, 3, 3, 3, 3, 3]);
  });
});

describe('the rights', () => {
  test('of every identity name each action and each resource; what knows no resources stands alone', () => {
    const unnamed = /^(xray:(Put|Get)|logs:.*(LogDelivery|LogDeliveries|ResourcePolic|DescribeLogGroups))/;
    const statements = all('AWS::IAM::Policy').flatMap(([, policy]) => statementsOf(policy));
    const [everywhere, somewhere] = [
      statements.filter(({ Resource }) => Resource === '*'),
      statements.filter(({ Resource }) => Resource !== '*'),
    ];

    expect(somewhere.length).toBeGreaterThan(everywhere.length);
    for (const { Action } of everywhere) for (const action of listed(Action)) expect(action).toMatch(unnamed);
    for (const { Action, Resource } of somewhere) {
      expect(listed(Action).join()).not.toContain('*');
      expect(listed(Resource).map(resolved).join()).not.toContain('*');
    }
    for (const statement of statements) expect(statement).not.toHaveProperty('NotAction');
    for (const statement of statements) expect(statement).not.toHaveProperty('NotResource');
    for (const [, role] of all('AWS::IAM::Role')) expect(role.Properties).not.toHaveProperty('Policies');
  });

  test('of the machine are to invoke the five aliases, to log and to trace', () => {
    const granted = rightsOf(json, 'ExportRunMachineRole');

    expect(granted.filter((right) => !right.endsWith(' *'))).toEqual(
      [...invoked].sort().map((step) => expect.stringMatching(`^lambda:InvokeFunction ${step}Live`)),
    );
    expect(granted.filter((right) => right.endsWith(' *')).map((right) => right.split(':')[0])).toEqual([
      ...Array(8).fill('logs'),
      ...Array(4).fill('xray'),
    ]);
  });

  test('EventBridge has its role for rules of this account only', () => {
    const [role] = Object.entries(json.Resources).flatMap(([id, { Properties }]) =>
      id.startsWith('NightlyStartRole') && Properties?.AssumeRolePolicyDocument ? [Properties] : [],
    );
    expect(role?.AssumeRolePolicyDocument).toMatchObject({
      Statement: [
        {
          Principal: { Service: 'events.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        },
      ],
    });
  });

  test('secrets say in their descriptions whose they are', () => {
    const descriptions = Object.values(json.Resources)
      .filter(({ Type }) => Type === 'AWS::SecretsManager::Secret')
      .map(({ Properties }) => String(Properties?.Description));
    expect(descriptions).toHaveLength(2);
    for (const description of descriptions) expect(description).toMatch(/^crm-export-\w+: the OAuth /);
  });

  test('of the rules are to start the machine', () => {
    expect(rightsOf(json, 'NightlyStartRole')).toEqual([
      expect.stringMatching('^states:StartExecution ExportRunMachine'),
    ]);
  });

  test('to the tokens belong to the steps that call the CRM, and only those', () => {
    const withTokens = steps.filter((step) => rightsOf(json, `${step}Role`, /^secrets/).length > 0);

    expect(withTokens).toEqual(['CreateExport', 'CheckStatus', 'DownloadFile']);
    expect(rightsOf(json, 'CheckStatusRole', /^secrets/)).toEqual([
      expect.stringMatching('^secretsmanager:GetSecretValue TokensOAuthClient'),
      expect.stringMatching('^secretsmanager:GetSecretValue TokensOAuthTokens'),
      expect.stringMatching('^secretsmanager:PutSecretValue TokensOAuthTokens'),
    ]);
  });
});

describe('the bucket', () => {
  const [bucketId, bucket] = only('AWS::S3::Bucket', 'ExportsBucket');
  const [, policy] = only('AWS::S3::BucketPolicy', 'ExportsBucketPolicy');

  test('is closed to the public and versioned, and survives the stack without a name of its own', () => {
    expect(bucket).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    expect(bucket.Properties).not.toHaveProperty('BucketName');
    expect(bucket.Properties).toMatchObject({
      VersioningConfiguration: { Status: 'Enabled' },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    });
  });

  test('removes incomplete uploads, runs, pointers, noncurrent versions and delete markers', () => {
    expect(bucket.Properties.LifecycleConfiguration.Rules).toEqual(lifecycle(90));
  });

  test('keeps runs and the pointers to them as many days as the configuration says', () => {
    const [, kept] = oneOf(templateWith({ retentionDays: 12 }), 'AWS::S3::Bucket', 'ExportsBucket');

    expect(kept.Properties.LifecycleConfiguration.Rules).toEqual(lifecycle(12));
  });

  test('announces its objects to EventBridge and to nobody else, by a property of its own', () => {
    expect(bucket.Properties.NotificationConfiguration).toEqual({
      EventBridgeConfiguration: { EventBridgeEnabled: true },
    });
  });

  test('refuses everything that does not come by TLS 1.2 or later', () => {
    const denied = statementsOf(policy).filter(({ Effect, Action }) => Effect === 'Deny' && Action === 's3:*');
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
      'CreateExport s3:GetObject /published/*',
      'CreateExport s3:GetObject /runs/*/_manifest.json',
      'CreateExport s3:ListBucket  {"StringLike":{"s3:prefix":"published/*"}}',
      'DownloadFile s3:AbortMultipartUpload /runs/*',
      'DownloadFile s3:GetObject /runs/*',
      'DownloadFile s3:ListMultipartUploadParts /runs/*',
      'DownloadFile s3:PutObject /runs/*',
      'MailFailedRuns s3:GetObject /published/entity=*/latest.json',
      'MailFailedRuns s3:ListBucket  {"StringLike":{"s3:prefix":"published/entity=*/latest.json"}}',
      'PublishFile s3:GetObject /published/*',
      'PublishFile s3:GetObject /runs/*',
      'PublishFile s3:ListBucket ',
      'PublishFile s3:PutObject /published/*',
      'PublishFile s3:PutObject /runs/*/_manifest.json',
      'PublishFile s3:PutObject /runs/*/_release.json',
      'RecordNight s3:GetObject /nights/since.json',
      'RecordNight s3:GetObject /published/*',
      'RecordNight s3:GetObject /runs/*/_manifest.json',
      'RecordNight s3:GetObject /tables/*',
      'RecordNight s3:ListBucket ',
      'RecordNight s3:PutObject /nights/since.json',
      'RecordNight s3:PutObject /published/nights/*',
    ]);
  });
});

describe('the secrets', () => {
  const secrets = all('AWS::SecretsManager::Secret');

  test('are two, without a value, without a generated one and without a name', () => {
    expect(secrets.length).toBe(2);
    for (const [id, { Properties }] of secrets)
      expect(Object.keys(Properties), id).toEqual(['Description', 'KmsKeyId']);
  });

  test('survive the stack', () => {
    for (const [, secret] of secrets) {
      expect(secret).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    }
  });
});

describe('the ledger of the grant', () => {
  const [tableId, { Properties: table }] = only('AWS::DynamoDB::GlobalTable');

  test('stays the same table from release to release: with two, a generation could be claimed twice', () => {
    expect(tableId).toBe('TokensLedger523DB22B');
  });

  test('is a table without a name, in one Region, paid by use, that forgets by time and can be restored', () => {
    expect(table).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
    expect(table.Replicas).toMatchObject([{ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }]);
    expect(table.TableName).toBeUndefined();
  });

  test('is read and updated by the three functions that call the CRM, and by nobody else', () => {
    const rights = all('AWS::IAM::Policy').flatMap(([id, policy]) =>
      statementsOf(policy)
        .flatMap(({ Action }) => listed(Action))
        .map(String)
        .filter((action) => action.startsWith('dynamodb:'))
        .map((action) => `${id.replace(/Role.*/, '')} ${action}`),
    );

    expect(rights.toSorted()).toEqual(
      ['CheckStatus', 'CreateExport', 'DownloadFile'].map((step) => `${step} dynamodb:UpdateItem`),
    );
  });
});

describe('the rules', () => {
  const nightlyRules = (from = json) => all('AWS::Events::Rule', from).filter(([id]) => /^Nightly(?!Check)/.test(id));
  const ruleOf = (entity: Entity, from = json) => {
    const found = nightlyRules(from).find(([, { Properties }]) => Properties.Name.endsWith(`-${entity}`));
    if (!found) throw new Error(`no rule starts ${entity}`);
    return found[1].Properties;
  };

  test('are those of the stored table', async () => {
    const columns = ['rule', 'state', 'schedule', 'target', 'input', 'tried', 'undelivered'];
    const rows = all('AWS::Events::Rule').map(([id, { Properties }]) => {
      const { State, ScheduleExpression, EventPattern, Targets } = Properties;
      const [{ Arn, InputTransformer, RetryPolicy, DeadLetterConfig }] = Targets;
      const when = ScheduleExpression ?? EventPattern.detail.status.join(' ');
      const { MaximumEventAgeInSeconds: age, MaximumRetryAttempts: times } = RetryPolicy ?? {};
      const tried = age ? `${times} times in ${age} s` : '';
      const [target, queue] = [resolved(Arn), resolved(DeadLetterConfig.Arn)];
      return [id, State, when, target, InputTransformer?.InputTemplate ?? '', tried, queue];
    });
    await expect(`${textTable(columns, rows.toSorted())}\n`).toMatchFileSnapshot(join(SCREENS, 'rules.txt'));
    const late = templateWith({ timeZone: 'UTC', nightly: { at: '23:50', spreadMinutes: 7 } });
    expect(ruleOf('workflows', late).ScheduleExpression).toBe('cron(4 0 * * ? *)');
  });

  test('of local starts are as many: each fires at every time in UTC that its start can have', () => {
    const nightly = { at: '01:50', spreadMinutes: 7 };
    const local = templateWith({ timeZone: 'Asia/Jerusalem', nightly, entities: { meetings: { at: '04:00' } } });

    const expressions = nightlyRules(local).map(([, { Properties }]) => Properties.ScheduleExpression);
    expect(expressions).toHaveLength(ENTITIES.length);
    expect(expressions.slice(0, 7)).toEqual([
      'cron(50 22,23 * * ? *)',
      'cron(57 22,23 * * ? *)',
      'cron(4 0,23 * * ? *)',
      'cron(11 0,23 * * ? *)',
      'cron(18 0,23 * * ? *)',
      'cron(0 1,2 * * ? *)',
      'cron(32 0,23 * * ? *)',
    ]);
  });

  test('take a schedule of the entity in place of the night', () => {
    const own = templateWith({ entities: { leads: { schedule: 'rate(1 minute)' } } });

    expect(ruleOf('leads', own).ScheduleExpression).toBe('rate(1 minute)');
    expect(ruleOf('agent-numbers', own).ScheduleExpression, 'the others keep their places').toBe(
      'cron(37 21,22 * * ? *)',
    );
  });

  test('are there but off for an entity that is not enabled', () => {
    const off = templateWith({ entities: { meetings: { enabled: false } } });

    expect(ruleOf('meetings', off).State).toBe('DISABLED');
    expect(ruleOf('leads', off).State).toBe('ENABLED');
  });
});

describe('the queue of undelivered starts', () => {
  const [queueId, queue] = only('AWS::SQS::Queue', 'Nightly');
  const [, policy] = only('AWS::SQS::QueuePolicy', 'Nightly');

  test('keeps a start for two weeks', () => {
    expect(queue.Properties).toMatchObject({ MessageRetentionPeriod: 14 * 86_400 });
  });

  test('refuses what does not come by TLS, and takes starts from the rules only', () => {
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
      'AlarmTopicArn',
      'BucketName',
      'ClientSecretId',
      'KeptOnDestroy',
      'LedgerTableName',
      'SoftwareVersion',
      'StateMachineArn',
      'TimeZone',
      'TokensSecretId',
      'UndeliveredStartsUrl',
    ]);
    template.hasOutput('StateMachineArn', { Value: { Ref: Match.stringLikeRegexp('^ExportRunMachine') } });
  });

  test('tells its configuration in ASCII', () => {
    const { timeZone } = exampleDeployment();
    const told = { ...exampleDeployment(), zoneOffsets: offsetsNow(timeZone) };
    expect(deployedBy(json.Metadata)).toEqual(deployedOf(told));
    expect(JSON.stringify(json.Metadata)).toMatch(/^[\x20-\x7e]+$/);
  });

  /** The handles of a template with these values. They change with settings that are only in the functions' code. */
  const changingIn = (changes: Record<string, unknown>) =>
    all('AWS::CloudFormation::WaitConditionHandle', templateWith(changes)).map(([id]) => id);
  const { crm, alarms } = exampleDeployment();

  test.each([
    ['scopes', { crm: { ...crm, scopes: ['openid'] } }],
    ['the way in which a client proves who it is', { crm: { ...crm, clientAuthentication: 'post' } }],
    ['whether null is allowed', { updates: { allowNull: true } }],
    ['a plan', { entities: { leads: { columns: ['id'] } } }],
    ['filters', { entities: { leads: { filters: [{ field: 'a' }] } } }],
    ['hours of freshness', { alarms: { ...alarms, freshnessHours: 168 } }],
    ['whether alarms mail somebody else', { alarms: { ...alarms, email: ['other@example.com'] } }],
    ['the address at which alarms are explained', { alarms: { ...alarms, runbookUrl: 'https://runbook.example.com' } }],
  ])('changes a resource with %s, for metadata alone are no update', (_, changes) => {
    expect(changingIn(changes)).toHaveLength(1);
    expect(changingIn(changes)).not.toEqual(changingIn({}));
  });

  test('says what stays when it is destroyed, and names all of it', () => {
    const kept = Object.entries(json.Resources).filter(([, { DeletionPolicy = '' }]) =>
      DeletionPolicy.startsWith('Retain'),
    );
    const said = resolved(json.Outputs.KeptOnDestroy?.Value);

    expect(kept.map(([, { Type }]) => Type.split('::').at(-1)).toSorted()).toEqual([
      'Bucket',
      'Bucket',
      'BucketPolicy',
      'BucketPolicy',
      'Key',
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

  test('logs every event of the machine without what passes between the states, and traces it', () => {
    const { Properties } = only('AWS::StepFunctions::StateMachine')[1];
    const [groupId, group] = only('AWS::Logs::LogGroup', 'ExportRun');

    expect(Properties.TracingConfiguration).toEqual({ Enabled: true });
    expect(Properties.LoggingConfiguration).toMatchObject({ Level: 'ALL', IncludeExecutionData: false });
    expect(Properties.LoggingConfiguration.Destinations).toEqual([
      { CloudWatchLogsLogGroup: { LogGroupArn: { 'Fn::GetAtt': [groupId, 'Arn'] } } },
    ]);
    expect(group.Properties).toMatchObject({
      LogGroupName: '/aws/vendedlogs/states/crm-export-example-ExportRun',
      RetentionInDays: 365,
    });
  });

  test('is far below the limits of a template', () => {
    expect(Object.keys(json.Resources).length).toBeLessThan(250);
    expect(JSON.stringify(json).length).toBeLessThan(500_000);
  });

  test('makes nothing that hangs or is refused in the local cloud', () => {
    const refused = [
      'AWS::CloudWatch::CompositeAlarm',
      'AWS::Logs::QueryDefinition',
      'Custom::',
      'AWS::CloudFormation::',
    ];
    for (const [id, { Type }] of Object.entries(json.Resources)) {
      // The handle exists at once and delays no resource.
      if (Type === 'AWS::CloudFormation::WaitConditionHandle') continue;
      for (const prefix of refused) expect(Type.startsWith(prefix), id).toBe(false);
    }
  });
});

function lifecycle(days: number) {
  return [
    { Id: 'IncompleteUploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } },
    { Id: 'Runs', Status: 'Enabled', Prefix: 'runs/', ExpirationInDays: days },
    { Id: 'Pointers', Status: 'Enabled', Prefix: 'published/', ExpirationInDays: days },
    { Id: 'Tables', Status: 'Enabled', Prefix: 'tables/', ExpirationInDays: days },
    { Id: 'Changes', Status: 'Enabled', Prefix: 'changes/', ExpirationInDays: days },
    { Id: 'Updates', Status: 'Enabled', Prefix: 'updates/', ExpirationInDays: 30 },
    {
      Id: 'NoncurrentVersions',
      Status: 'Enabled',
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
      ExpiredObjectDeleteMarker: true,
    },
  ];
}
