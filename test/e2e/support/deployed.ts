import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { authorize } from '../../../cli/authorize/authorize.ts';
import { followRun, startRun } from '../../../cli/runs/executions.ts';
import type { RunReport } from '../../../cli/runs/run-report.ts';
import { connect, type Target } from '../../../cli/support/target.ts';
import type { deploymentSchema } from '../../../core/config/deployment.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { cdkBootstrap, cdkDeploy, cdkDestroy, synthesise } from '../../../local/cdk.ts';
import { type Ministack, startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { approveConsent } from '../../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/world/settings.ts';
import { recordingNode } from './recording-node.ts';
import { startWitness } from './witness.ts';

const ROOT = join(import.meta.dirname, '../../..');

type Configuration = Omit<Parameters<typeof deploymentSchema.parse>[0] & object, 'crm'>;

/** The stack, deployed to a MiniStack of its own, authorized at a sandbox of its own. */
export interface Deployed {
  target: Target;
  sandbox: Sandbox;
  cloud: Ministack;
  /** Of the deployment `e2e`. */
  configurationFile: string;
  /** Every token, code, verifier and client secret that passed between the product and the sandbox. */
  issued: ReadonlySet<string>;
  /** Runs one entity to its end. */
  run(entity: Entity, input?: object): Promise<RunReport>;
  /** Starts the machine with any JSON and waits for the end. */
  runRaw(input: unknown): Promise<RunReport>;
  authorize(): Promise<unknown>;
  destroy(): Promise<void>;
  deploy(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Brings up everything that the end-to-end tests need. Waits of the machine take no time (`waitScale` 0), so what paces a
 * run is the number of status reads that the sandbox lets pass.
 */
export async function deployForTests(configuration: Configuration, options: SandboxOptions = {}): Promise<Deployed> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const cloud = await startMinistack({
      ...(await ensureMinistack({ record })),
      record,
      nodeBin: await recordingNode(),
      waitScale: 0,
    });
    const sandbox = await startSandbox(options);
    const witness = await startWitness(sandbox.authUrl);
    const crm = { baseUrl: sandbox.baseUrl, authUrl: witness.authUrl };
    const file = join(record.workDir, 'e2e.json');
    await writeFile(file, JSON.stringify({ local: true, ...configuration, crm }));
    const common = { record, env: cloud.env, logFile: join(record.workDir, 'cdk.log') };
    const outputDir = join(record.workDir, 'cdk.out');
    const context = { deployment: 'e2e', configuration: file };
    const deployed: Deployed = {
      sandbox,
      cloud,
      configurationFile: file,
      issued: witness.secrets,
      target: {} as Target,
      run: (entity, input = {}) => runOn(deployed.target, entity, input),
      runRaw: (input) => runRawOn(deployed.target, input),
      authorize: () => authorizeAt(deployed.target, { ...sandbox, authUrl: witness.authUrl }, configuration),
      deploy: async () => {
        await cdkDeploy({ ...common, outputDir });
        deployed.target = await connect({ deployment: 'e2e', endpointUrl: cloud.endpoint });
      },
      destroy: () => cdkDestroy({ ...common, outputDir }),
      close: async () => {
        await witness.close();
        await sandbox.close();
        await record.close();
      },
    };
    const logFile = join(record.workDir, 'synthesis.log');
    await Promise.all([cdkBootstrap(common), synthesise({ ...common, logFile, context, outputDir })]);
    await deployed.deploy();
    await deployed.authorize();
    return deployed;
  } catch (error) {
    await record.close();
    throw error;
  }
}

async function runOn(target: Target, entity: Entity, input: object): Promise<RunReport> {
  return followRun(target.sfn, entity, await startRun(target, entity, input), { everyMs: 200 });
}

async function runRawOn(target: Target, input: unknown): Promise<RunReport> {
  const started = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name: `raw-${randomUUID()}`,
      input: JSON.stringify(input),
    }),
  );
  return followRun(target.sfn, 'leads', started.executionArn ?? '', { everyMs: 200 });
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
  return authorize(target, { crm, clientId, clientSecret, onUrl: approveConsent, onWait: () => undefined });
}
