import { delimiter, join } from 'node:path';

const NODE_MODULES = join(import.meta.dirname, '../../node_modules');

/** The account in which everything is deployed: MiniStack takes a 12-digit access key for the account's number. */
export const LOCAL_ACCOUNT = '000000000000';
/** The region in which everything is deployed. */
export const LOCAL_REGION = 'us-east-1';

/**
 * `dir`: its own, for state; `tmpDir`: for temporary files, the functions' code among them; `nodeBin`: where `node` is.
 */
export type MinistackDirectories = { dir: string; tmpDir: string; nodeBin: string };

/** MiniStack's whole environment, which the functions inherit. MiniStack itself adds AWS_ENDPOINT_URL for them. */
export function serverEnvironment(
  options: MinistackDirectories & {
    port: number;
    word: string;
    waitScale?: number | undefined;
    enforceRights?: boolean | undefined;
  },
): Record<string, string> {
  const { dir, port, word, waitScale, enforceRights } = options;
  return {
    ...basics(options),
    TZ: 'UTC',
    // On AWS a layer has the native part of DuckDB; here functions find that of this machine.
    NODE_PATH: NODE_MODULES,
    GATEWAY_PORT: String(port),
    BIND_HOST: '127.0.0.1',
    MINISTACK_EDITION: word,
    STATE_DIR: join(dir, 'state'),
    S3_DATA_DIR: join(dir, 's3'),
    // Each redeployment would leave the processes that a night of seven runs at once has needed.
    LAMBDA_WARM_TTL_SECONDS: '30',
    // Listeners on fixed ports that we do not use, and which two starts at once would fight for.
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
    // MiniStack removes containers from Docker at its start that an older MiniStack, the user's own perhaps, left: hide
    // Docker.
    DOCKER_HOST: `unix://${join(dir, 'no-docker.sock')}`,
    ...(waitScale === undefined ? {} : { SFN_WAIT_SCALE: String(waitScale) }),
    ...(enforceRights ? { AUTH: 'true' } : {}),
  };
}

/**
 * The whole environment for programs that use MiniStack as AWS, made from nothing: no profile, credentials or proxy of the
 * user's leads anything elsewhere. The CDK CLI keeps a cache of accounts by access key in CDK_HOME.
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
