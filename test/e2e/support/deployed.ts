import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  CloudFormationClient,
  CreateStackCommand,
  DeleteStackCommand,
  UpdateStackCommand,
  waitUntilStackCreateComplete,
  waitUntilStackDeleteComplete,
  waitUntilStackUpdateComplete,
} from '@aws-sdk/client-cloudformation';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { expect, inject } from 'vitest';
import { ZipFile } from 'yazl';
import * as z from 'zod';
import { authorize } from '../../../cli/access/authorize.ts';
import { verifyPublished } from '../../../cli/data/stored-file.ts';
import { startRun } from '../../../cli/runs/executions.ts';
import { followRun } from '../../../cli/runs/follow.ts';
import type { Run } from '../../../cli/runs/run.ts';
import { clientSettings, connect, type Target } from '../../../cli/support/target.ts';
import { readConfiguration } from '../../../core/config/configuration.ts';
import type { deploymentSchema } from '../../../core/config/deployment.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { ALL_FUNCTIONS, folderOf } from '../../../core/step/steps.ts';
import { softwareVersion } from '../../../lib/export-app.ts';
import { ExportStack } from '../../../lib/export-stack.ts';
import { takeBundles } from '../../../lib/workflow/step-bundles.ts';
import type { Ministack } from '../../../local/ministack/ministack.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../../local/ministack/ministack-environment.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { approveConsent } from '../../../sandbox/approve.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox-settings.ts';
import { newApp } from '../../../scripts/synthesise.ts';

const ROOT = join(import.meta.dirname, '../../..');

type Configuration = Omit<Parameters<typeof deploymentSchema.parse>[0] & object, 'crm'>;

/** A run that fails ends soon. Waits of machines take no time here. */
const POLLING = { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 };

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
  bundles: string;
}

/** A separate stack in the local cloud, authorized at its own sandbox. */
export type Deployed = Awaited<ReturnType<typeof deployForTests>>;

/** Writes the assembly of a deployment, as synthesis does. */
export type Assemble = (name: string, configurationFile: string, outdir: string, cloud: LocalCloud) => Promise<void>;

/** Starts everything that the tests of a file need, under a name that only this file uses. */
export async function deployForTests(
  name: string,
  configuration: Configuration,
  options: SandboxOptions = {},
  assemble: Assemble = synthesise,
) {
  const cloud = inject('cloud');
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const sandbox = await startSandbox(options);
    const crm = { baseUrl: sandbox.baseUrl, authUrl: sandbox.authUrl };
    const file = join(record.workDir, `${name}.json`);
    const usual = { local: true, nightly: { at: halfADayFromNow() }, polling: POLLING };
    await writeFile(file, JSON.stringify({ ...usual, ...configuration, crm }));
    const stack = `crm-export-${name}`;
    const { clientId, clientSecret } = sandbox;
    let outputDir = '';
    let target = {} as Target;
    /** Deploys again: the same assembly or another one. */
    const deploy = async (another?: Assemble): Promise<void> => {
      if (another) outputDir = await mkdtemp(join(record.workDir, 'cdk.out-'));
      await another?.(name, file, outputDir, cloud);
      await deployAssembly(cloud.endpoint, outputDir, stack);
      target = await connect({ deployment: name, endpointUrl: cloud.endpoint });
    };
    const authorizeAgain = () =>
      authorize(target, {
        crm: readConfiguration(name, file, cloud.endpoint).deployment.crm,
        configuration: 'config/local.json',
        onUrl: approveConsent,
        onWait: () => undefined,
        clientId,
        clientSecret,
      });
    await deploy(assemble);
    await authorizeAgain();
    return {
      name,
      get target() {
        return target;
      },
      sandbox,
      cloud,
      /** The options with which a command finds it. */
      place: ['--deployment', name, '--region', LOCAL_REGION, '--endpoint-url', cloud.endpoint],
      configurationFile: file,
      /** Every token, code, verifier and client secret that passed between the product and the sandbox. */
      get issued(): ReadonlySet<string> {
        const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
        return new Set([...sandbox.grants.secrets, clientSecret, basic]);
      },
      run: async (entity: Entity, input: object = {}) => {
        const { executionArn } = await startRun(target, entity, input);
        return { ...(await followRun(target.sfn, executionArn, { everyMs: 200 })), executionArn };
      },
      /** Starts the machine with any JSON and waits for the end. */
      runRaw: async (json: unknown) => {
        const start = { stateMachineArn: target.StateMachineArn, name: `raw-${randomUUID()}` };
        const started = await target.sfn.send(new StartExecutionCommand({ ...start, input: JSON.stringify(json) }));
        return followRun(target.sfn, started.executionArn ?? '', { everyMs: 200 });
      },
      /** The manifest of a run that succeeded, which its files, pointers and bytes agree with. */
      manifestOf: (run: Run) => {
        expect(`${run.status} ${run.error} ${run.cause}`).toBe('SUCCEEDED null null');
        return verifyPublished(target, run);
      },
      authorize: authorizeAgain,
      destroy: () => destroyStack(cloud.endpoint, stack),
      deploy,
      close: async () => {
        // Its rules and functions would otherwise run as long as the cloud.
        await destroyStack(cloud.endpoint, stack);
        await sandbox.close();
        await record.close();
      },
    };
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
  useBundles(bundles);
  const app = newApp(outdir);
  const configuration = readConfiguration(name, file, endpoint);
  new ExportStack(app, `crm-export-${name}`, { configuration, softwareVersion: softwareVersion() });
  app.synth();
}

/** Makes this process deploy these bundles, without source maps: they are two thirds of the bytes, and nothing reads them. */
function useBundles(folder: string): void {
  const filesIn = (step: string) => readdirSync(join(folder, step)).map((name) => join(folder, step, name));
  const paths = ALL_FUNCTIONS.map(folderOf)
    .flatMap(filesIn)
    .filter((path) => !path.endsWith('.map'));
  takeBundles(paths.map((path) => ({ path, contents: readFileSync(path) })));
}

const WAIT = { maxWaitTime: 240, minDelay: 0.1, maxDelay: 1 };
const assetsSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.object({ path: z.string(), packaging: z.enum(['file', 'zip']) }),
      destinations: z.record(z.string(), z.object({ bucketName: z.string(), objectKey: z.string() })),
    }),
  ),
});

/**
 * Uploads the assets of an assembly and creates or updates its stack, without the CDK CLI, whose process takes almost
 * three CPU seconds for each stack. The CDK CLI itself deploys in `start.slow.test.ts`.
 * @throws Error if the stack fails
 */
async function deployAssembly(endpoint: string, outputDir: string, StackName: string): Promise<void> {
  const settings = clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION });
  const s3 = new S3Client({ ...settings, forcePathStyle: true });
  const template = `${StackName}.template.json`;
  const { files } = assetsSchema.parse(JSON.parse(readFileSync(join(outputDir, `${StackName}.assets.json`), 'utf8')));
  let TemplateURL = '';
  for (const { source, destinations } of Object.values(files)) {
    const path = join(outputDir, source.path);
    const Body = source.packaging === 'zip' ? await zipped(path) : readFileSync(path);
    for (const { bucketName, objectKey: Key } of Object.values(destinations)) {
      const Bucket = bucketName
        .replace(/\$\{AWS::AccountId\}/, LOCAL_ACCOUNT)
        .replace(/\$\{AWS::Region\}/, LOCAL_REGION);
      await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
      if (source.path === template) TemplateURL = `${endpoint}/${Bucket}/${Key}`;
    }
  }
  const client = new CloudFormationClient(settings);
  const stack = { StackName, TemplateURL, Capabilities: ['CAPABILITY_NAMED_IAM' as const] };
  const exists = await client.send(new CreateStackCommand(stack)).then(
    () => false,
    (error: Error) => {
      if (error.name !== 'AlreadyExistsException') throw error;
      return true;
    },
  );
  if (!exists) await waitUntilStackCreateComplete({ client, ...WAIT }, { StackName });
  else if (await updates(client, stack)) await waitUntilStackUpdateComplete({ client, ...WAIT }, { StackName });
}

async function destroyStack(endpoint: string, StackName: string): Promise<void> {
  const client = new CloudFormationClient(clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION }));
  await client.send(new DeleteStackCommand({ StackName }));
  await waitUntilStackDeleteComplete({ client, ...WAIT }, { StackName });
}

/** Starts an update. @returns whether it changes the stack */
async function updates(
  client: CloudFormationClient,
  stack: ConstructorParameters<typeof UpdateStackCommand>[0],
): Promise<boolean> {
  return client.send(new UpdateStackCommand(stack)).then(
    () => true,
    (error: Error) => {
      if (error.message !== 'No updates are to be performed.') throw error;
      return false;
    },
  );
}

/** Zips a folder without compression, which would take longer than sending the files. */
function zipped(folder: string): Promise<Buffer> {
  const zip = new ZipFile();
  for (const name of readdirSync(folder)) zip.addFile(join(folder, name), name, { compress: false });
  zip.end();
  return buffer(zip.outputStream);
}
