import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { type Deployment, deploymentSchema } from '../core/config/deployment.ts';
import { ExportStack } from '../lib/export-stack.ts';
import { appContext } from '../local/app-context.ts';

/** A resource of a CloudFormation template. */
export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shapes, different for every type.
  Properties?: any;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
  DependsOn?: string[];
}

export interface Template {
  Metadata?: Record<string, unknown>;
  Parameters?: Record<string, { Type: string; Default: string }>;
  Rules?: Record<string, unknown>;
  Resources: Record<string, Resource>;
  Outputs: Record<string, { Value: unknown }>;
}

/** The part of the Amazon States Language that the machine uses. */
export interface State {
  Type: 'Pass' | 'Task' | 'Choice' | 'Wait' | 'Succeed' | 'Fail' | 'Map';
  Comment?: string;
  Next?: string;
  Default?: string;
  Choices?: { Variable: string; StringEquals?: string; IsPresent?: boolean; Next: string }[];
  Retry?: Retrier[];
  Catch?: { ErrorEquals: string[]; ResultPath: string | null; Next: string }[];
  Resource?: string;
  Parameters?: Record<string, unknown>;
  OutputPath?: string;
  SecondsPath?: string;
  Error?: string;
  ErrorPath?: string;
  Cause?: string;
  CausePath?: string;
  /** What each child of a Map runs, and how the children are started. */
  ItemProcessor?: Definition & { ProcessorConfig: { Mode: string; ExecutionType: string } };
  ItemReader?: { Resource: string; ReaderConfig: Record<string, unknown>; Parameters: Record<string, unknown> };
  ItemSelector?: Record<string, unknown>;
  MaxConcurrency?: number;
  ToleratedFailurePercentage?: number;
  Label?: string;
  ResultPath?: string | null;
}

export interface Retrier {
  ErrorEquals: string[];
  IntervalSeconds: number;
  MaxAttempts: number;
  BackoffRate: number;
  MaxDelaySeconds: number;
  JitterStrategy: string;
}

export interface Definition {
  Comment?: string;
  StartAt: string;
  TimeoutSeconds?: number;
  States: Record<string, State>;
}

/** `config/example.json`, checked. @param values in place of those of the file */
export function exampleDeployment(values: Record<string, unknown> = {}): Deployment {
  return deploymentSchema.parse({ ...JSON.parse(readFileSync('config/example.json', 'utf8')), ...values });
}

const synthesised = new Map<string, Template>();

/** The stack of a deployment as CloudFormation gets it, the caller's own copy; the functions' code is not bundled. */
export function synthesise(deployment: Deployment = exampleDeployment()): Template {
  const key = JSON.stringify(deployment);
  const template = synthesised.get(key) ?? synthesiseOnce(deployment);
  synthesised.set(key, template);
  return structuredClone(template);
}

function synthesiseOnce(deployment: Deployment): Template {
  const outdir = mkdtempSync(join(tmpdir(), 'synthesised-'));
  try {
    return synthesiseInto(outdir, deployment, { 'aws:cdk:bundling-stacks': [] });
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/**
 * Synthesises the stack and writes the assembly to a folder: with the bundled code of the functions, unless the context
 * turns it off.
 */
export function synthesiseInto(
  outdir: string,
  deployment: Deployment,
  context: Record<string, unknown> = {},
): Template {
  const app = newApp(outdir, context);
  const configuration = { name: 'example', file: 'config/example.json', deployment };
  const stack = new ExportStack(app, 'crm-export-example', { configuration, softwareVersion: '0.0.0' });
  return app.synth().getStackArtifact(stack.artifactId).template;
}

/** An app as the CDK CLI runs it. @param context more than `cdk.json` gives */
export function newApp(outdir: string, context: Record<string, unknown> = {}): App {
  return new App({ outdir, analyticsReporting: false, context: { ...appContext(), ...context } });
}

/** The definition of a machine of a template, with every reference written out as the id that it names. */
export function definitionOf(template: Template, name: 'ExportRun' | 'CustomerUpdates' = 'ExportRun'): Definition {
  const machine = Object.entries(template.Resources).find(
    ([id, { Type }]) => Type === 'AWS::StepFunctions::StateMachine' && id.startsWith(name),
  );
  if (!machine) throw new Error(`the template has no state machine ${name}`);
  return JSON.parse(resolved(machine[1].Properties.DefinitionString));
}

/** The example deployment, with updates of customers switched on. */
export function updatingDeployment(values: Record<string, unknown> = {}): Deployment {
  return exampleDeployment({ customerUpdates: true, ...values });
}

/** The request names these columns, so that all columns of the table are known. */
const COLUMNS = ['id', 'idNumber'];

/** The example deployment, whose leads become tables. */
export function tableDeployment(tables: Record<string, unknown> = {}): Deployment {
  return exampleDeployment({ entities: { leads: { columns: COLUMNS, tables } } });
}

/** The same, which tell what has changed as well. */
export function feedDeployment(): Deployment {
  return exampleDeployment({ entities: { leads: { columns: COLUMNS, tables: {}, changes: { key: 'id' } } } });
}

/** One of each kind: an account, a role with a path, an organization. */
const READERS = [
  { principal: '444455556666', entities: 'all', of: ['tables'] },
  { principal: 'arn:aws:iam::777788889999:role/data/analyst', entities: ['leads'], of: ['tables', 'files'] },
  { principal: { organization: 'o-a1b2c3d4e5' }, entities: ['leads', 'contacts'], of: ['files'] },
];

/** All that a configuration can switch on: updates of customers, tables with a hashed column, feeds of changes, the dashboard, readers in other accounts. */
export function fullDeployment(values: Record<string, unknown> = {}): Deployment {
  const leads = { columns: COLUMNS, tables: { hash: ['idNumber'] }, changes: { key: 'id' } };
  return updatingDeployment({ entities: { leads }, dashboard: true, readers: READERS, ...values });
}

/** A network as a configuration names it. */
export const NETWORK = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};

/** The text behind Fn::Join and Ref. */
export function resolved(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) {
    if ('Ref' in value) return value.Ref === 'AWS::Partition' ? 'aws' : String(value.Ref);
    if ('Fn::GetAtt' in value && Array.isArray(value['Fn::GetAtt'])) return value['Fn::GetAtt'].join('.');
    if ('Fn::Join' in value && Array.isArray(value['Fn::Join'])) {
      const separator: string = value['Fn::Join'][0];
      const parts: unknown[] = value['Fn::Join'][1];
      return parts.map(resolved).join(separator);
    }
  }
  throw new Error(`no text behind ${JSON.stringify(value)}`);
}
