import { mkdir, readFile } from 'node:fs/promises';
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
import cdkJson from '../cdk.json' with { type: 'json' };
import { clientSettings } from '../cli/support/target.ts';
import { ConfigurationError } from '../core/config/configuration.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { LOCAL_REGION } from './ministack/ministack-environment.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import { runCommand } from './processes/processes.ts';
import type { RunRecord } from './processes/run-record.ts';

const PROJECT = join(import.meta.dirname, '..');
const CLI = join(PROJECT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
const APP = join(PROJECT, 'bin', 'app.ts');
const PLAIN = ['--no-color', '--no-notices', '--no-version-reporting', '--ci', '--yes', '--progress', 'events'];
/** The template that `cdk bootstrap` deploys, from the package of the CDK CLI. */
const TEMPLATE = createRequire(import.meta.url).resolve('aws-cdk/lib/api/bootstrap/bootstrap-template.yaml');
const StackName = 'CDKToolkit';
/** The parameters that the CLI uses for an account without its own encryption key. */
const PARAMETERS = [{ ParameterKey: 'FileAssetsBucketKmsKeyId', ParameterValue: 'AWS_MANAGED_KEY' }];

/** Options of every CDK command. `env` is MiniStack's environment for clients. */
export interface CdkOptions {
  record: RunRecord;
  env: Record<string, string>;
  /** The directory of the assembly; one per run. */
  outputDir: string;
  signal?: AbortSignal | undefined;
  /** The time limit of the command: a deployment on MiniStack may hang forever. */
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
 * Runs the app as the CDK CLI does, without the CLI's second of start time. May run at the same time as `bootstrap`.
 * @throws ConfigurationError when the app refuses the configuration, EnvironmentError when it fails
 */
export async function synthesise(
  options: CdkOptions & { context: Record<string, string>; app?: string | undefined },
): Promise<void> {
  const { app = APP, context, outputDir } = options;
  await mkdir(outputDir, { recursive: true });
  // The context of cdk.json as the CDK CLI gives it. Without it CDK uses the defaults of old releases.
  const contextJson = JSON.stringify({ ...cdkJson.context, ...context });
  const settings = { CDK_CONTEXT_JSON: contextJson, CDK_VALIDATION: 'false' };
  const env = { ...options.env, CDK_OUTDIR: outputDir, ...settings };
  const { code, lines, logFile } = await runNode('synthesis', [app], PROJECT, { ...options, env });
  if (code === 0) return;
  // CDK may repeat the lines in which the app reports configuration errors.
  const texts = lines.map((line) => stripVTControlCharacters(line).trim());
  const refused = new Set(texts.filter((text) => text.startsWith('ConfigInvalid:')));
  if (refused.size > 0) throw new ConfigurationError([...refused].join('\n'));
  throw new EnvironmentError('The stack could not be synthesised. The log says why.', { logFile });
}

/** Deploys all stacks of an assembly. @throws EnvironmentError when it fails */
export async function cdkDeploy(options: CdkOptions): Promise<void> {
  const args = ['deploy', '--all', '--require-approval', 'never', '--app', options.outputDir];
  const { code, logFile } = await runNode('cdk', [CLI, ...args, ...PLAIN], undefined, options);
  if (code === 0) return;
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

async function runNode(name: string, args: string[], cwd: string | undefined, options: CdkOptions) {
  const { record, signal, withinSeconds = 300 } = options;
  const timeout = AbortSignal.timeout(withinSeconds * 1000);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const env = { ...options.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  return runCommand({ ...options, name, command: 'node', args, cwd, env, signal: either }).catch((error: unknown) => {
    if (!timeout.aborted || signal?.aborted) throw error;
    const message = `${name} did not end within ${withinSeconds} seconds and was stopped. Start again; the log shows how far it came.`;
    throw new EnvironmentError(message, { logFile: join(record.workDir, `${name}.log`), cause: error });
  });
}
