import { delimiter, join } from 'node:path';

const NODE_MODULES = join(import.meta.dirname, '../../node_modules');

/** The account of the deployment: MiniStack uses a 12-digit access key as the account number. */
export const LOCAL_ACCOUNT = '000000000000';
/** The region of the deployment. */
export const LOCAL_REGION = 'us-east-1';

/**
 * `dir`: MiniStack's state; `tmpDir`: temporary files, including the functions' code; `nodeBin`: the folder of `node`.
 */
type MinistackDirectories = { dir: string; tmpDir: string; nodeBin: string };

/** All environment variables of MiniStack. The functions inherit them, and MiniStack adds AWS_ENDPOINT_URL. */
export function serverEnvironment(
  options: MinistackDirectories & { port: number; settings: Record<string, string> },
): Record<string, string> {
  const { dir, port, settings } = options;
  return {
    ...basics(options),
    TZ: 'UTC',
    // On AWS a layer contains the native part of DuckDB. Here the functions load the native part for this machine.
    NODE_PATH: NODE_MODULES,
    GATEWAY_PORT: String(port),
    BIND_HOST: '127.0.0.1',
    STATE_DIR: join(dir, 'state'),
    S3_DATA_DIR: join(dir, 's3'),
    // Ends idle processes soon: parallel runs would otherwise leave theirs after each redeployment.
    LAMBDA_WARM_TTL_SECONDS: '30',
    // Unused listeners on fixed ports, which would make two starts at once collide.
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
    // At its start, MiniStack removes Docker containers of an older MiniStack, which may be the user's own. So Docker
    // is hidden from it.
    DOCKER_HOST: `unix://${join(dir, 'no-docker.sock')}`,
    ...settings,
  };
}

/**
 * The whole environment for programs that use MiniStack as AWS. It inherits no profile, credentials or proxy of the
 * user, so that no call leaves the machine. The CDK CLI caches accounts by access key in CDK_HOME.
 */
export function clientEnvironment(options: MinistackDirectories & { endpoint: string }): Record<string, string> {
  const { dir, endpoint } = options;
  return {
    ...basics(options),
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: LOCAL_ACCOUNT,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_REGION: LOCAL_REGION,
    AWS_DEFAULT_REGION: LOCAL_REGION,
    AWS_CONFIG_FILE: join(dir, 'no-aws-config'),
    AWS_SHARED_CREDENTIALS_FILE: join(dir, 'no-aws-credentials'),
    AWS_EC2_METADATA_DISABLED: 'true',
    CDK_HOME: join(dir, 'cdk-home'),
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    NO_COLOR: '1',
  };
}

function basics({ dir, tmpDir, nodeBin }: MinistackDirectories): Record<string, string> {
  return {
    PATH: [nodeBin, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    HOME: join(dir, 'home'),
    TMPDIR: tmpDir,
    LANG: 'C.UTF-8',
  };
}
