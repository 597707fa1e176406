import { join } from 'node:path';
import { authorize } from '../cli/authorize.ts';
import { connect, type Target } from '../cli/target.ts';
import { approveConsent } from '../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import type { SandboxOptions } from '../sandbox/settings.ts';
import { cdkBootstrap, cdkDeploy } from './cdk.ts';
import { type Cloud, existingCloud, startCloud } from './cloud.ts';
import { LOCAL_DEPLOYMENT, writeConfiguration } from './configuration.ts';
import type { OtherCrm, StartOptions } from './options.ts';
import type { RunRecord } from './run-record.ts';
import type { Screen } from './screen.ts';

/** Everything up and authorized: runs can be started. */
export interface Session {
  cloud: Cloud;
  crm: OtherCrm;
  configurationFile: string;
  target: Target;
  /** The CRM of this process, unless another is used. */
  sandbox: Sandbox | undefined;
  /** Ends what runs in this process; the processes beside it end with the record of the start. */
  close: () => Promise<void>;
}

export interface SessionDeps {
  screen: Screen;
  record: RunRecord;
  signal: AbortSignal;
  sandboxOptions?: SandboxOptions;
}

/** The jobs of the sandbox take this long, so that the wait loop is seen at work. */
const JOB_SECONDS = 2;

/**
 * Brings everything up, visibly and in order: local cloud, CRM, the very same stack as on AWS, the grant.
 * @throws EnvironmentError, ConfigurationError, RunError, CommandError
 */
export async function openSession(options: StartOptions, deps: SessionDeps): Promise<Session> {
  const { screen, record, signal, sandboxOptions = { jobSeconds: JOB_SECONDS } } = deps;
  const cloud = options.endpointUrl
    ? await existingCloud(options.endpointUrl, record)
    : await startCloud(screen, record, signal);
  const sandbox = options.crm
    ? undefined
    : await screen.step(
        'Sandbox CRM',
        () => startSandbox(sandboxOptions),
        (it) => it.url,
      );
  const crm = options.crm ?? (sandbox && crmOf(sandbox));
  if (!crm) throw new Error('there is neither a CRM nor a sandbox');
  const configuration = await writeConfiguration(record.workDir, {
    crm: { baseUrl: crm.url, authUrl: crm.authUrl },
    pollSeconds: options.pollSeconds,
    endpoint: cloud.endpoint,
  });
  await deploy(configuration.file, cloud, { screen, record, signal });
  const target = await connect({ deployment: LOCAL_DEPLOYMENT, endpointUrl: cloud.endpoint });
  const { clientId, clientSecret } = crm;
  const onUrl = sandbox ? approveConsent : (url: string) => screen.line(`Open: ${url}`);
  const consent = { crm: configuration.deployment.crm, clientId, clientSecret, signal, onUrl };
  const scopes = ({ scope }: { scope: string }) => `scopes: ${scope}`;
  await screen.step('Authorization code flow', () => authorize(target, consent), scopes);
  return { cloud, crm, configurationFile: configuration.file, target, sandbox, close: async () => sandbox?.close() };
}

function crmOf({ baseUrl: url, authUrl, clientId, clientSecret }: Sandbox): OtherCrm {
  return { url, authUrl, clientId, clientSecret };
}

async function deploy(
  configurationFile: string,
  { env }: Cloud,
  { screen, record, signal }: SessionDeps,
): Promise<void> {
  const common = { record, env, logFile: join(record.workDir, 'cdk.log'), signal };
  await screen.step('cdk bootstrap', () => cdkBootstrap(common));
  const context = { deployment: LOCAL_DEPLOYMENT, configuration: configurationFile };
  await screen.step('cdk deploy', () => cdkDeploy({ ...common, context, outputDir: join(record.workDir, 'cdk.out') }));
}
