import { deployedOf, metadataOf } from '../../../../core/config/deployed.ts';
import { deployment } from '../../../support/builders.ts';
import { type Answers, xml } from './answers.ts';

export const DEPLOYMENT = 'test';

const ACCOUNT = 'us-east-1:000000000000';
export const machineOf = (deployment: string) =>
  `arn:aws:states:${ACCOUNT}:stateMachine:crm-export-${deployment}-ExportRun`;
export const UPDATES_MACHINE = `arn:aws:states:${ACCOUNT}:stateMachine:crm-export-${DEPLOYMENT}-CustomerUpdates`;
export const arnOf = (run: string, machine = machineOf(DEPLOYMENT)) =>
  `${machine.replace(':stateMachine:', ':execution:')}:${run}`;

export const OUTPUTS = {
  StateMachineArn: machineOf(DEPLOYMENT),
  BucketName: 'bucket',
  ClientSecretId: 'arn:client',
  TokensSecretId: 'arn:tokens',
  LedgerTableName: 'ledger',
  AlarmTopicArn: 'arn:aws:sns:us-east-1:000000000000:alarms',
  SoftwareVersion: '0.2.0',
  UndeliveredStartsUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/undelivered-starts',
  TimeZone: 'UTC',
};

type Outputs = Partial<Record<string, string>>;

/** A stack with these outputs besides the common ones; `undefined` removes one. */
export function stack(outputs: Outputs = {}, status = 'UPDATE_COMPLETE'): Answers {
  return described({ ...OUTPUTS, ...outputs }, status);
}

/** A stack whose first deployment failed: it has only these outputs. */
export function halfStack(outputs: Outputs = {}): Answers {
  return described(outputs, 'ROLLBACK_COMPLETE');
}

function described(outputs: Outputs, status: string): Answers {
  const members = Object.entries(outputs).map(([key, value]) =>
    value === undefined ? '' : `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  const member = stackMember('s', status, `<Outputs>${members.join('')}</Outputs>`);
  const body = `<DescribeStacksResponse><DescribeStacksResult><Stacks>${member}</Stacks></DescribeStacksResult></DescribeStacksResponse>`;
  return { DescribeStacks: xml(body) };
}

export type Configuration = Parameters<typeof deployment>[0];

/** The template of a stack with this configuration; other settings have their defaults. */
export function configured(configuration?: Configuration): Answers {
  return template({ Metadata: metadataOf(deployedOf(deployment(configuration))), Resources: {} });
}

/** A template as CloudFormation returns it, with question marks for non-ASCII characters. */
export function template(body: object): Answers {
  const text = JSON.stringify(body).replace(/[^\0-\x7f]/gu, '?');
  const result = `<GetTemplateResult><TemplateBody><![CDATA[${text}]]></TemplateBody></GetTemplateResult>`;
  return { GetTemplate: xml(`<GetTemplateResponse>${result}</GetTemplateResponse>`) };
}

export function stackMember(name: string, status: string, more = ''): string {
  return `<member><StackName>${name}</StackName><StackStatus>${status}</StackStatus><CreationTime>2026-11-01T00:00:00Z</CreationTime>${more}</member>`;
}
