import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';
import { appContext } from './app-context.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { ConfigurationError, EnvironmentError } from './processes/environment-error.ts';
import { type CommandResult, runCommand } from './processes/processes.ts';
import type { RunRecord } from './processes/run-record.ts';

const PROJECT = join(import.meta.dirname, '..');
const CLI = join(PROJECT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
const APP = join(PROJECT, 'bin', 'app.ts');
const PLAIN = ['--no-color', '--no-notices', '--no-version-reporting', '--ci', '--yes'];
const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/** Options of every CDK command. `env` is MiniStack's environment for clients. */
export type CdkOptions = {
  record: RunRecord;
  env: Record<string, string>;
  logFile: string;
  onLine?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** The time limit of the command: a deployment on MiniStack may hang forever. */
  withinSeconds?: number;
};

/** The app to synthesise and its output directory. */
export type SynthOptions = CdkOptions & {
  context: Record<string, string>;
  /** The directory of the assembly; one per run. */
  outputDir: string;
  /** The module that defines the app; the project's own by default. */
  app?: string | undefined;
};

/**
 * Runs the app as the CDK CLI does, without the CLI's second of start time. May run at the same time as `bootstrap`.
 * @throws ConfigurationError when the app refuses the configuration, EnvironmentError when it fails
 */
export async function synthesise(options: SynthOptions): Promise<void> {
  const { app = APP, context, outputDir, env } = options;
  await mkdir(outputDir, { recursive: true });
  const settings = { CDK_CONTEXT_JSON: JSON.stringify({ ...appContext(), ...context }), CDK_VALIDATION: 'false' };
  const environment = { ...env, CDK_OUTDIR: outputDir, ...settings };
  const result = await runNode('synthesis', [app], { ...options, cwd: PROJECT, env: environment });
  if (result.code !== 0) refuseConfiguration(result.lines);
  failUnlessDone(result, 'The stack could not be synthesised.', options);
}

/** Deploys all stacks of an assembly. @returns the stacks' outputs @throws EnvironmentError when it fails */
export async function cdkDeploy(options: CdkOptions & { outputDir: string }): Promise<Record<string, string>> {
  const { outputDir } = options;
  const outputsFile = `${outputDir}.outputs.json`;
  const output = ['--progress', 'events', '--outputs-file', outputsFile];
  const args = ['deploy', '--all', '--require-approval', 'never', '--app', outputDir, ...output];
  const result = await runCdk(args, { ...options, cwd: options.record.workDir });
  failUnlessDone(result, 'The stack could not be deployed to the local cloud (cdk deploy).', options);
  return readOutputs(outputsFile);
}

/** Destroys all stacks of an assembly. @throws EnvironmentError when it fails */
export async function cdkDestroy(options: CdkOptions & { outputDir: string }): Promise<void> {
  const args = ['destroy', '--all', '--force', '--app', options.outputDir];
  const result = await runCdk(args, { ...options, cwd: options.record.workDir });
  failUnlessDone(result, 'The stack could not be removed from the local cloud (cdk destroy).', options);
}

function runCdk(args: string[], options: CdkOptions & { cwd: string }): Promise<CommandResult> {
  return runNode(`cdk ${args[0]}`, [CLI, ...args, ...PLAIN], options);
}

function runNode(name: string, args: string[], options: CdkOptions & { cwd: string }): Promise<CommandResult> {
  const { logFile, signal, withinSeconds = 300 } = options;
  const timeout = AbortSignal.timeout(withinSeconds * 1000);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const env = { ...options.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  return runCommand({ ...options, name, command: 'node', args, env, signal: either }).catch((error: unknown) => {
    if (!timeout.aborted || signal?.aborted) throw error;
    const message = `${name} did not end within ${withinSeconds} seconds and was stopped. Start again; the log shows how far it came.`;
    throw new EnvironmentError(message, { logFile, cause: error });
  });
}

/** Reads the lines in which the app reports configuration errors. CDK may repeat them. */
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
  return Object.assign({}, ...Object.values(outputsSchema.parse(JSON.parse(await readFile(file, 'utf8')))));
}
