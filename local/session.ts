import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readConfiguration } from '../core/config/configuration.ts';
import { approveConsent } from '../sandbox/approve.ts';
import type { SandboxOptions } from '../sandbox/sandbox-settings.ts';
import { bootstrap, cdkDeploy, endVersions } from './cdk.ts';
import { type Ministack, startMinistack } from './ministack/ministack.ts';
import { clientEnvironment, LOCAL_REGION } from './ministack/ministack-environment.ts';
import { ensureMinistack } from './ministack/python.ts';
import type { OtherCrm, StartOptions } from './options.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import type { RunRecord } from './processes/run-record.ts';
import type { Screen } from './screen.ts';

/** The name of the local deployment. */
export const LOCAL_DEPLOYMENT = 'local';
/** The entity whose changes the second night shows. */
export const COMPARED = 'customers';
/** Jobs of the sandbox take this long, so that a user sees the wait loop. */
const JOB_SECONDS = 2;
/** The folder of Node 24. The functions run on the first `node` that the emulator finds. */
const NODE_BIN = dirname(process.execPath);

export interface SessionDeps {
  screen: Screen;
  record: RunRecord;
  /** Aborted when the local cloud ends, because the session cannot continue without the cloud. */
  interrupt: AbortController;
  sandboxOptions?: SandboxOptions;
}

/** A reachable local cloud. */
type Cloud = Pick<Ministack, 'endpoint' | 'env'>;

/** A running and authorized product, ready for runs. */
export type Session = Awaited<ReturnType<typeof openSession>>;

/**
 * Starts everything, visibly and in order: local cloud, CRM, the same stack as on AWS, the grant.
 * @throws EnvironmentError, ConfigurationError, RunError, CommandError
 */
export async function openSession(options: StartOptions, deps: SessionDeps) {
  const { screen, sandboxOptions = { jobSeconds: JOB_SECONDS } } = deps;
  if (options.crm) {
    // The CRM is checked first, because the later steps take a while and then wait for a person.
    const advice = 'Check --crm-url and --auth-url, and whether the CRM is up.';
    for (const url of [options.crm.baseUrl, options.crm.authUrl])
      await expectAnswer(url, `The CRM does not answer at ${url}. ${advice}`);
  }
  const cloud = await (options.endpointUrl ? existingCloud(options.endpointUrl, deps) : startCloud(deps));
  const start = async () => (await import('../sandbox/sandbox.ts')).startSandbox(sandboxOptions);
  const sandbox = options.crm ? undefined : await screen.step('Sandbox CRM', start, ({ url }) => url);
  // An open sandbox would keep this process alive.
  if (sandbox) deps.record.add({ stop: sandbox.close });
  const crm: OtherCrm | undefined = options.crm ?? sandbox;
  if (!crm) throw new Error('there is neither a CRM nor a sandbox');
  return { ...deps, target: await deploy(options, crm, cloud, deps), cloud, crm, sandbox };
}

/** Prepares the Python environment and starts the emulator in it. */
async function startCloud({ screen, record, interrupt }: SessionDeps): Promise<Cloud> {
  const { signal } = interrupt;
  const onProgress = (text: string) => screen.line(`  ${text}`);
  const install = () => ensureMinistack({ record, signal, onProgress });
  const command = await screen.step('Python environment with MiniStack', install);
  const cloud = await screen.step(
    'MiniStack, the local cloud',
    () => startMinistack({ ...command, record, nodeBin: NODE_BIN, signal }),
    ({ endpoint }) => endpoint,
  );
  const { exited, logFile } = cloud;
  const message = 'The local cloud ended unexpectedly. Start again; its log may show why.';
  void exited.then(() => interrupt.abort(new EnvironmentError(message, { logFile })));
  return cloud;
}

async function existingCloud(endpoint: string, { record: { workDir, tmpDir } }: SessionDeps): Promise<Cloud> {
  const advice = 'start the local cloud there, or leave out --endpoint-url.';
  await expectAnswer(endpoint, `Nothing answers at ${endpoint}: ${advice}`);
  return { endpoint, env: clientEnvironment({ dir: join(workDir, 'client'), tmpDir, nodeBin: NODE_BIN, endpoint }) };
}

async function expectAnswer(address: string, message: string): Promise<void> {
  await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(10_000) }).catch((cause: unknown) => {
    throw new EnvironmentError(message, { cause });
  });
}

/** Deploys the stack for the CRM in use and authorizes there. */
async function deploy(options: StartOptions, crm: OtherCrm, cloud: Cloud, deps: SessionDeps) {
  const { screen, record } = deps;
  const { signal } = deps.interrupt;
  const { workDir } = record;
  const { file, deployment } = await writeConfiguration(workDir, options, crm, cloud.endpoint);
  const context = { deployment: LOCAL_DEPLOYMENT, configuration: file };
  const authorizing = Promise.all([import('../cli/access/authorize.ts'), import('../cli/support/target.ts')]);
  await screen.step('Bootstrap stack of CDK', () => bootstrap(cloud.endpoint, signal));
  if (options.endpointUrl) await endVersions(cloud.endpoint, `crm-export-${LOCAL_DEPLOYMENT}`);
  const cdk = { record, env: cloud.env, context, outputDir: join(workDir, 'cdk.out'), signal };
  await screen.step('cdk deploy', () => cdkDeploy(cdk));
  const [{ authorize }, { connect }] = await authorizing;
  // The region of the deployment takes precedence over AWS_REGION.
  const target = await connect({ deployment: LOCAL_DEPLOYMENT, endpointUrl: cloud.endpoint, region: LOCAL_REGION });
  const { clientId, clientSecret, callback } = crm;
  const onUrl = options.crm ? (url: string) => screen.line(`Open: ${url}`) : approveConsent;
  const consent = { crm: deployment.crm, configuration: 'config/local.json', clientId, clientSecret, ...callback };
  await screen.step(
    'Authorization code flow',
    () => authorize(target, { ...consent, signal, onUrl }),
    ({ scope }) => `scopes: ${scope}`,
  );
  return target;
}

/**
 * Writes the configuration of this start: `config/local.json` with the addresses of the CRM in use. Options add to the
 * file. `--poll-seconds` is the only option that replaces values of the file.
 * @param from default: `config/local.json`
 * @returns the file and its content
 * @throws ConfigurationError
 */
export async function writeConfiguration(
  dir: string,
  options: Pick<StartOptions, 'crm' | 'entities' | 'pollSeconds' | 'secondNight' | 'tables' | 'updates'>,
  { baseUrl, authUrl }: Pick<OtherCrm, 'baseUrl' | 'authUrl'>,
  endpoint: string,
  from?: string,
) {
  const base = readConfiguration(LOCAL_DEPLOYMENT, from, endpoint);
  const { $schema: _, ...written } = JSON.parse(await readFile(base.file, 'utf8'));
  const entities = { ...written.entities };
  const add = (entity: string, settings: object) => {
    entities[entity] = { ...settings, ...entities[entity] };
  };
  if (options.tables) for (const entity of options.entities) add(entity, { tables: {} });
  if (options.secondNight && options.entities.includes(COMPARED)) add(COMPARED, { tables: {}, changes: { key: 'id' } });
  const file = join(dir, 'local.json');
  const own = {
    ...written,
    crm: { ...written.crm, baseUrl, authUrl },
    // The scope of updates matters for a real CRM only.
    customerUpdates: options.updates || (written.customerUpdates ?? !options.crm),
    polling: options.pollSeconds ? pollingOf(options.pollSeconds) : written.polling,
    entities,
  };
  await writeFile(file, `${JSON.stringify(own, undefined, 2)}\n`);
  return readConfiguration(LOCAL_DEPLOYMENT, file, endpoint);
}

function pollingOf(seconds: number) {
  const wait = { firstWaitSeconds: seconds, largestWaitSeconds: seconds, createAgainSeconds: seconds };
  // The schema allows at most 500 waits.
  return { ...wait, deadlineSeconds: Math.min(500 * seconds, 36_000) };
}
