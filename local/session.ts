import { join } from 'node:path';
import type { Target } from '../cli/support/target.ts';
import { approveConsent } from '../sandbox/approve.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SandboxOptions } from '../sandbox/sandbox-settings.ts';
import { cdkDeploy, synthesise } from './cdk.ts';
import { type Cloud, existingCloud, startCloud } from './cloud.ts';
import { LOCAL_DEPLOYMENT, writeConfiguration } from './local-configuration.ts';
import { LOCAL_REGION } from './ministack/ministack-environment.ts';
import type { OtherCrm, StartOptions } from './options.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import type { RunRecord } from './processes/run-record.ts';
import type { Screen } from './screen.ts';

/** A running and authorized product, ready for runs. */
export interface Session {
  cloud: Cloud;
  crm: OtherCrm;
  target: Target;
  /** Whether customers can be updated. */
  updates: boolean;
  /** The deployed configuration: `config/local.json` with the addresses of this start. */
  configurationFile: string;
  /** The sandbox CRM of this process, unless another CRM is used. */
  sandbox: Sandbox | undefined;
  /** Ends the parts in this process. The record of the start ends the other processes. */
  close: () => Promise<void>;
}

type SessionDeps = { screen: Screen; record: RunRecord; signal: AbortSignal; sandboxOptions?: SandboxOptions };

/** Jobs of the sandbox take this long, so that a user sees the wait loop. */
const JOB_SECONDS = 2;

/**
 * Starts everything, visibly and in order: local cloud, CRM, the same stack as on AWS, the grant.
 * @throws EnvironmentError, ConfigurationError, RunError, CommandError
 */
export async function openSession(options: StartOptions, deps: SessionDeps): Promise<Session> {
  const { screen, record, signal, sandboxOptions = { jobSeconds: JOB_SECONDS } } = deps;
  if (options.crm) await expectAnswers([options.crm.url, options.crm.authUrl]);
  // Modules that load while other parts start cost no time.
  const [cloud, { startSandbox }] = await Promise.all([
    options.endpointUrl ? existingCloud(options.endpointUrl, record) : startCloud(screen, record, signal),
    import('../sandbox/sandbox.ts'),
  ]);
  const sandbox = options.crm ? undefined : await screen.step('Sandbox CRM', () => startSandbox(sandboxOptions), urlOf);
  try {
    return await prepare(options, cloud, sandbox, deps);
  } catch (error) {
    // An open sandbox would keep this process alive.
    await sandbox?.close();
    throw error;
  }
}

/** Deploys the stack for the CRM in use and authorizes there. */
async function prepare(
  options: StartOptions,
  cloud: Cloud,
  sandbox: Sandbox | undefined,
  deps: SessionDeps,
): Promise<Session> {
  const { screen, record, signal } = deps;
  const crm = options.crm ?? (sandbox && crmOf(sandbox));
  if (!crm) throw new Error('there is neither a CRM nor a sandbox');
  const configuration = await writeConfiguration(record.workDir, {
    options,
    crm: { baseUrl: crm.url, authUrl: crm.authUrl },
    endpoint: cloud.endpoint,
  });
  const [{ authorize }, { connect }] = await Promise.all([
    import('../cli/access/authorize-flow.ts'),
    import('../cli/support/target.ts'),
    deploy(configuration.file, cloud, deps),
  ]);
  // The region of the deployment takes precedence over AWS_REGION.
  const place = { endpointUrl: cloud.endpoint, region: LOCAL_REGION };
  const target = await connect({ deployment: LOCAL_DEPLOYMENT, ...place });
  const { clientId, clientSecret, callback } = crm;
  const onUrl = sandbox ? approveConsent : (url: string) => screen.line(`Open: ${url}`);
  const consent = { crm: configuration.deployment.crm, clientId, clientSecret, ...callback, signal, onUrl };
  const scopes = ({ scope }: { scope: string }) => `scopes: ${scope}`;
  await screen.step('Authorization code flow', () => authorize(target, consent), scopes);
  const updates = configuration.deployment.customerUpdates;
  return {
    cloud,
    crm,
    target,
    updates,
    configurationFile: configuration.file,
    sandbox,
    close: async () => sandbox?.close(),
  };
}

/** Checks the addresses first: the later steps take a while and end with waiting for a person. */
async function expectAnswers(addresses: string[]): Promise<void> {
  for (const address of addresses) {
    await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(10_000) }).catch((error: unknown) => {
      const advice = 'Check --crm-url and --auth-url, and whether the CRM is up.';
      throw new EnvironmentError(`The CRM does not answer at ${address}. ${advice}`, { cause: error });
    });
  }
}

function urlOf({ url }: { url: string }): string {
  return url;
}

function crmOf({ baseUrl: url, authUrl, clientId, clientSecret }: Sandbox): OtherCrm {
  return { url, authUrl, clientId, clientSecret };
}

async function deploy(
  configurationFile: string,
  { endpoint, env }: Cloud,
  { screen, record, signal }: SessionDeps,
): Promise<void> {
  const common = { record, env, logFile: join(record.workDir, 'cdk.log'), signal };
  const context = { deployment: LOCAL_DEPLOYMENT, configuration: configurationFile };
  const outputDir = join(record.workDir, 'cdk.out');
  const synthesis = { ...common, logFile: join(record.workDir, 'synthesis.log'), context, outputDir };
  await screen.step('Bootstrap stack of CDK, and synthesis beside it', async () => {
    const bootstrapped = async () => (await import('./bootstrap.ts')).bootstrap(endpoint, signal);
    await Promise.all([synthesise(synthesis), bootstrapped()]);
  });
  await screen.step('cdk deploy', () => cdkDeploy({ ...common, outputDir }));
}
