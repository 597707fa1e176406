import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';
import { ConfigurationError, EnvironmentError } from './environment-error.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from './ministack-environment.ts';
import { type CommandResult, runCommand } from './run-command.ts';
import type { RunRecord } from './run-record.ts';

const PROJECT = join(import.meta.dirname, '..');
const CLI = join(PROJECT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
const PLAIN = ['--no-color', '--no-notices', '--no-version-reporting', '--ci', '--yes'];
const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/** What every CDK command needs. `env` is MiniStack's environment for clients. */
export type CdkOptions = {
  record: RunRecord;
  env: Record<string, string>;
  logFile: string;
  onLine?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Given up after this many seconds; a deployment of MiniStack's can hang for ever. */
  withinSeconds?: number;
};

/** What to deploy, and where to write. `app` is a command or an assembly directory, by default what cdk.json says. */
export type DeployOptions = CdkOptions & {
  context: Record<string, string>;
  /** Where the assembly is written; one per run. */
  outputDir: string;
  app?: string | undefined;
  /** The project's root unless told otherwise. */
  cwd?: string | undefined;
};

/**
 * Prepares the account for CDK deployments.
 *
 * @throws EnvironmentError when it fails
 */
export async function cdkBootstrap(options: CdkOptions): Promise<void> {
  const target = `aws://${LOCAL_ACCOUNT}/${LOCAL_REGION}`;
  // Away from the project's cdk.json: with it the CLI would run the whole app first, for nothing.
  const result = await runCdk(['bootstrap', target], { ...options, cwd: options.record.workDir });
  failUnlessDone(result, 'The local cloud could not be prepared for the deployment (cdk bootstrap).', options);
}

/**
 * Deploys all stacks of the app.
 *
 * @returns the stacks' outputs
 * @throws ConfigurationError when the app refuses the configuration, EnvironmentError when the deployment fails
 */
export async function cdkDeploy(options: DeployOptions): Promise<Record<string, string>> {
  const { app, context, outputDir, cwd = PROJECT } = options;
  const outputsFile = `${outputDir}.outputs.json`;
  await mkdir(dirname(outputDir), { recursive: true });
  const output = ['--progress', 'events', '--output', outputDir, '--outputs-file', outputsFile];
  const args = ['deploy', '--all', '--require-approval', 'never', ...output];
  const settings = Object.entries(context).flatMap(([key, value]) => ['--context', `${key}=${value}`]);
  const result = await runCdk([...args, ...settings, ...(app ? ['--app', app] : [])], { ...options, cwd });
  if (result.code !== 0) refuseConfiguration(result.lines);
  failUnlessDone(result, 'The stack could not be deployed to the local cloud (cdk deploy).', options);
  return readOutputs(outputsFile);
}

/**
 * Destroys all stacks of an assembly that `cdkDeploy` wrote.
 *
 * @throws EnvironmentError when it fails
 */
export async function cdkDestroy(options: CdkOptions & { outputDir: string }): Promise<void> {
  const args = ['destroy', '--all', '--force', '--app', options.outputDir];
  const result = await runCdk(args, { ...options, cwd: options.record.workDir });
  failUnlessDone(result, 'The stack could not be removed from the local cloud (cdk destroy).', options);
}

function runCdk(args: string[], options: CdkOptions & { cwd: string }): Promise<CommandResult> {
  const { record, env, logFile, onLine, signal, cwd, withinSeconds = 300 } = options;
  const timeout = AbortSignal.timeout(withinSeconds * 1000);
  const command = { name: `cdk ${args[0]}`, command: 'node', args: [CLI, ...args, ...PLAIN] };
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  return runCommand({ ...command, env, cwd, logFile, record, onLine, signal: either }).catch((error: unknown) => {
    if (!timeout.aborted || signal?.aborted) throw error;
    const message = `The CDK command (${args[0]}) did not end within ${withinSeconds} seconds and was stopped. Start again; the log shows how far it came.`;
    throw new EnvironmentError(message, { logFile, cause: error });
  });
}

/** The app names what is wrong with the configuration in lines of its own; CDK may repeat them. */
function refuseConfiguration(lines: string[]): void {
  const refused = lines
    .map((line) => stripVTControlCharacters(line).trim())
    .filter((line) => line.startsWith('ConfigInvalid:'));
  if (refused.length > 0) throw new ConfigurationError([...new Set(refused)].join('\n'));
}

function failUnlessDone({ code }: CommandResult, sentence: string, { logFile }: CdkOptions): void {
  if (code !== 0) throw new EnvironmentError(`${sentence} The log says why.`, { logFile });
}

async function readOutputs(file: string): Promise<Record<string, string>> {
  const stacks = outputsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  return Object.assign({}, ...Object.values(stacks));
}
