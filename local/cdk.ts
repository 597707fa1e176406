import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  AlreadyExistsException,
  CloudFormationClient,
  CreateStackCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import {
  DeleteFunctionCommand,
  LambdaClient,
  ListAliasesCommand,
  ListVersionsByFunctionCommand,
  paginateListFunctions,
  UpdateAliasCommand,
} from '@aws-sdk/client-lambda';
import { clientSettings } from '../cli/support/target.ts';
import { ConfigurationError } from '../core/config/configuration.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { LOCAL_REGION } from './ministack/ministack-environment.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import { runCommand } from './processes/processes.ts';
import type { RunRecord } from './processes/run-record.ts';

const PROJECT = join(import.meta.dirname, '..');
const CLI = join(PROJECT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
const PLAIN = ['--no-color', '--no-notices', '--no-version-reporting', '--ci', '--yes', '--progress', 'events'];
/** The template that `cdk bootstrap` deploys, from the package of the CDK CLI. */
const TEMPLATE = createRequire(import.meta.url).resolve('aws-cdk/lib/api/bootstrap/bootstrap-template.yaml');
const StackName = 'CDKToolkit';
/** The parameters that the CLI uses for an account without its own encryption key. */
const PARAMETERS = [{ ParameterKey: 'FileAssetsBucketKmsKeyId', ParameterValue: 'AWS_MANAGED_KEY' }];

/** `env` is MiniStack's environment for clients. */
export interface CdkOptions {
  record: RunRecord;
  env: Record<string, string>;
  context: Record<string, string>;
  /** The directory of the assembly; one per run. */
  outputDir: string;
  signal?: AbortSignal | undefined;
  /** A deployment on MiniStack may hang forever. */
  withinSeconds?: number;
}

/**
 * Prepares the account of a local cloud for CDK deployments, if needed. The CDK CLI would take a second to start.
 * @throws EnvironmentError when it fails
 */
export async function bootstrap(endpoint: string, signal?: AbortSignal): Promise<void> {
  const client = new CloudFormationClient(clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION }));
  const options = { ...(signal && { abortSignal: signal }) };
  try {
    const TemplateBody = await readFile(TEMPLATE, 'utf8');
    const stack = { StackName, TemplateBody, Parameters: PARAMETERS, Capabilities: ['CAPABILITY_NAMED_IAM' as const] };
    await client.send(new CreateStackCommand(stack), options);
    await waitUntilStackCreateComplete(
      { client, maxWaitTime: 60, minDelay: 0.1, maxDelay: 1, ...options },
      { StackName },
    );
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof AlreadyExistsException) return;
    const why = cause instanceof Error ? cause.message : cause;
    const message = `The local cloud could not be prepared for the deployment: its CloudFormation made no stack ${StackName}: ${why}`;
    throw new EnvironmentError(message, { cause });
  } finally {
    client.destroy();
  }
}

/**
 * Synthesises the app and deploys all its stacks.
 * @throws ConfigurationError when the app refuses the configuration, EnvironmentError when the deployment fails
 */
export async function cdkDeploy({ context, outputDir, withinSeconds = 300, ...options }: CdkOptions): Promise<void> {
  const settings = Object.entries(context).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = [CLI, 'deploy', '--all', '--require-approval', 'never', '--output', outputDir, ...settings, ...PLAIN];
  const env = { ...options.env, NODE_COMPILE_CACHE: COMPILE_CACHE, CDK_VALIDATION: 'false' };
  const command = { ...options, name: 'cdk', command: 'node', args, cwd: PROJECT, env, withinSeconds };
  const { code, lines, logFile } = await runCommand(command);
  if (code === 0) return;
  // CDK may repeat the lines in which the app reports configuration errors.
  const refused = new Set(
    lines.flatMap((line) => /^ConfigInvalid: (.+)/.exec(stripVTControlCharacters(line).trim())?.[1] ?? []),
  );
  if (refused.size > 0) throw new ConfigurationError([...refused].join('\n'));
  const message = 'The stack could not be deployed to the local cloud (cdk deploy). The log says why.';
  throw new EnvironmentError(message, { logFile });
}

/**
 * Ends the processes of the deployed functions, before another deployment. MiniStack keeps one for each version that
 * has run, even after its CloudFormation has deleted the version: only a call of Lambda ends it. Until the deployment
 * moves the aliases to new versions, the aliases name the same code as `$LATEST`.
 */
export async function endVersions(endpoint: string, stack: string): Promise<void> {
  const client = new LambdaClient(clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION }));
  for await (const { Functions = [] } of paginateListFunctions({ client }, {})) {
    for (const { FunctionName = '' } of Functions.filter((one) => one.FunctionName?.startsWith(`${stack}-`))) {
      const { Aliases = [] } = await client.send(new ListAliasesCommand({ FunctionName }));
      for (const { Name } of Aliases)
        await client.send(new UpdateAliasCommand({ FunctionName, Name, FunctionVersion: LATEST }));
      const { Versions = [] } = await client.send(new ListVersionsByFunctionCommand({ FunctionName }));
      for (const { Version } of Versions.filter((one) => one.Version !== LATEST))
        await client.send(new DeleteFunctionCommand({ FunctionName, Qualifier: Version }));
    }
  }
  client.destroy();
}

const LATEST = '$LATEST';
