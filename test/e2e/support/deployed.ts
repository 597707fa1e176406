import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { inject } from 'vitest';
import { authorize } from '../../../cli/access/authorize.ts';
import { startRun } from '../../../cli/runs/executions.ts';
import { followRun } from '../../../cli/runs/follow.ts';
import type { Run } from '../../../cli/runs/run.ts';
import { connect, type Target } from '../../../cli/support/target.ts';
import { readConfiguration } from '../../../core/config/configuration.ts';
import type { deploymentSchema } from '../../../core/config/deployment.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { softwareVersion } from '../../../lib/export-app.ts';
import { ExportStack } from '../../../lib/export-stack.ts';
import type { Ministack } from '../../../local/ministack/ministack.ts';
import { LOCAL_REGION } from '../../../local/ministack/ministack-environment.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { approveConsent } from '../../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import { newApp } from '../../../scripts/synthesise.ts';
import { useKeptBundles } from './bundles.ts';
import { deployAssembly, destroyStack } from './deploy-assembly.ts';
import { startWitness } from './witness.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CREDENTIALS = { accessKeyId: '000000000000', secretAccessKey: 'local' };

type Configuration = Omit<Parameters<typeof deploymentSchema.parse>[0] & object, 'crm'>;

const HALF_A_DAY_MS = 12 * 60 * 60_000;

/**
 * A time as `HH:MM`. The local cloud's rules fire, so a night during a test would start unexpected runs. A night that
 * would cross midnight starts after it: otherwise its starts would have two dates.
 */
function halfADayFromNow(): string {
  const time = new Date(Date.now() + HALF_A_DAY_MS).toISOString().slice(11, 16);
  return time < '22:30' ? time : '00:30';
}

/** The local cloud of a test run: `inject('cloud')`. All files share it, so each file uses its own names there. */
export interface LocalCloud extends Pick<Ministack, 'endpoint' | 'env' | 'pid' | 'logFile'> {
  /** The folder of the bundled functions. */
  bundles: string;
}

/** A separate stack in the local cloud, authorized at its own sandbox. */
export interface Deployed {
  /** The name of the deployment. */
  name: string;
  target: Target;
  sandbox: Sandbox;
  cloud: LocalCloud;
  /** For tests that invoke or throttle functions, which no command does. */
  lambda: LambdaClient;
  /** The options with which a command finds it. */
  place: string[];
  configurationFile: string;
  /** Every token, code, verifier and client secret that passed between the product and the sandbox. */
  issued: ReadonlySet<string>;
  /** Runs one entity to its end. */
  run(entity: Entity, input?: object): Promise<EndedRun>;
  /** Starts the machine with any JSON and waits for the end. */
  runRaw(input: unknown): Promise<Run>;
  authorize(): Promise<unknown>;
  /** The folder of the deployed assembly. */
  assembly(): string;
  destroy(): Promise<void>;
  /** Deploys again: the same assembly or another one. */
  deploy(assemble?: Assemble): Promise<void>;
  close(): Promise<void>;
}

/** Writes the assembly of a deployment, as synthesis does. */
export type Assemble = (name: string, configurationFile: string, outdir: string, cloud: LocalCloud) => Promise<void>;

/**
 * Starts everything that the tests of a file need, under a name that only this file uses.
 * @param cloud default: the cloud that all files share
 */
export async function deployForTests(
  name: string,
  configuration: Configuration,
  options: SandboxOptions = {},
  assemble: Assemble = synthesise,
  cloud: LocalCloud = inject('cloud'),
): Promise<Deployed> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const sandbox = await startSandbox(options);
    const witness = await startWitness(sandbox.authUrl);
    const crm = { baseUrl: sandbox.baseUrl, authUrl: witness.authUrl };
    const file = join(record.workDir, `${name}.json`);
    await writeFile(file, JSON.stringify({ local: true, nightly: { at: halfADayFromNow() }, ...configuration, crm }));
    let outputDir = '';
    const stack = `crm-export-${name}`;
    const deployed: Deployed = {
      name,
      sandbox,
      cloud,
      lambda: new LambdaClient({ endpoint: cloud.endpoint, region: LOCAL_REGION, credentials: CREDENTIALS }),
      place: ['--deployment', name, '--region', LOCAL_REGION, '--endpoint-url', cloud.endpoint],
      configurationFile: file,
      issued: witness.secrets,
      target: {} as Target,
      run: (entity, input = {}) => runOn(deployed.target, entity, input),
      runRaw: (input) => runRawOn(deployed.target, input),
      authorize: () => authorizeAt(deployed.target, { ...sandbox, authUrl: witness.authUrl }, configuration),
      deploy: async (another) => {
        if (another) outputDir = await mkdtemp(join(record.workDir, 'cdk.out-'));
        await another?.(name, file, outputDir, cloud);
        await deployAssembly(cloud.endpoint, outputDir, stack);
        deployed.target = await connect({ deployment: name, endpointUrl: cloud.endpoint });
      },
      assembly: () => outputDir,
      destroy: () => destroyStack(cloud.endpoint, stack),
      close: async () => {
        // Its rules and functions would otherwise run as long as the cloud.
        await destroyStack(cloud.endpoint, stack);
        await witness.close();
        await sandbox.close();
        await record.close();
      },
    };
    await deployed.deploy(assemble);
    await deployed.authorize();
    return deployed;
  } catch (error) {
    await record.close();
    throw error;
  }
}

/**
 * Synthesises like `bin/app.ts`, in this process, with the bundles of this test run: the library is loaded once for all
 * files.
 */
export async function synthesise(
  name: string,
  file: string,
  outdir: string,
  { endpoint, bundles }: LocalCloud,
): Promise<void> {
  useKeptBundles(bundles);
  const app = newApp(outdir);
  const configuration = readConfiguration(name, file, endpoint);
  new ExportStack(app, `crm-export-${name}`, { configuration, softwareVersion: softwareVersion() });
  app.synth();
}

type EndedRun = Run & { executionArn: string };

async function runOn(target: Target, entity: Entity, input: object): Promise<EndedRun> {
  const { executionArn } = await startRun(target, entity, input);
  return { ...(await followRun(target.sfn, executionArn, { everyMs: 200 })), executionArn };
}

async function runRawOn(target: Target, input: unknown): Promise<Run> {
  const started = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name: `raw-${randomUUID()}`,
      input: JSON.stringify(input),
    }),
  );
  return followRun(target.sfn, started.executionArn ?? '', { everyMs: 200 });
}

async function authorizeAt(
  target: Target,
  { authUrl, baseUrl, clientId, clientSecret }: Sandbox,
  configuration: object,
): Promise<unknown> {
  const updates = 'customerUpdates' in configuration && configuration.customerUpdates === true;
  const scopes = ['openid', 'profile', 'global:export', ...(updates ? ['customers:update'] : [])];
  const fields = { operatorField: 'filtersOperator', emailField: 'sendEmail', fileHosts: [], createTimeoutSeconds: 60 };
  const crm = { baseUrl, authUrl, scopes, clientAuthentication: 'basic' as const, ...fields };
  const consent = { crm, configuration: 'config/local.json', onUrl: approveConsent };
  return authorize(target, { ...consent, clientId, clientSecret, onWait: () => undefined });
}
