import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { filesSchema } from '../../core/config/file-settings.ts';
import { streaming } from '../../lib/workflow/node-options.ts';
import { JOB } from '../child.ts';
import type { Servers } from './servers.ts';

/** A program that moves a file from the origin to the sink: a line of bash, and its environment. */
export interface Client {
  name: string;
  script: string;
  env: Record<string, string>;
}

/** The job of a client in Node.js, passed in its environment as JSON. */
export interface Job {
  source: string;
  store: string;
  bucket: string;
  key: string;
  connections: { initial: number; most: number };
}

/** The default memory of DownloadFile. */
const MEMORY_MB = filesSchema.parse({}).memoryMB.download;

/** Commands that the comparison needs, with the names of their Debian packages. */
const PACKAGES = {
  curl: 'curl',
  rclone: 'rclone',
  nginx: 'nginx',
  aws: 'awscli',
  python3: 'python3',
  openssl: 'openssl',
  taskset: 'util-linux',
};

/** Debian packages that this machine lacks. */
export function missingPackages(): string[] {
  return Object.entries(PACKAGES).flatMap(([command, name]) => (findCommand(command) ? [] : [name]));
}

/** Debian installs nginx in a folder that is only in root's PATH. */
function findCommand(command: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}

/** The AWS CLI without the shim of pyenv, whose own shell must not count against the CLI. */
function awsCommand(): string {
  const found = findCommand('aws') ?? 'aws';
  return found.includes('/shims/') ? execFileSync('pyenv', ['which', 'aws'], { encoding: 'utf8' }).trim() : found;
}

/** The first line of each program's version output. */
export function versions(): Record<string, string> {
  const first = (command: string, args: string[]) =>
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')[0]
      ?.trim() ?? '';
  return {
    node: process.version,
    curl: first('curl', ['--version']).split(' ').slice(0, 2).join(' '),
    rclone: first('rclone', ['version']),
    aws: first(awsCommand(), ['--version']).split(' ')[0] ?? '',
  };
}

const KEYS = { AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' };

function environment(servers: Servers): Record<string, string> {
  return { PATH: `${process.env.PATH}:/usr/sbin`, HOME: servers.dir, LC_ALL: 'C', ...KEYS };
}

/** The lower bound and the three programs of the targets, each with its defaults. @param libStorage the bundle */
export function peers(servers: Servers, source: string, libStorage: string): Client[] {
  const { certificate, sink } = servers;
  const env = environment(servers);
  const key = source.split('/').at(-1);
  const get = `curl -sSf --cacert ${certificate} ${source}`;
  const put = `curl -sSf --cacert ${certificate} -o /dev/null -T - ${sink}/bench/${key}`;
  const aws = `${awsCommand()} s3 cp - s3://bench/${key} --endpoint-url ${sink}`;
  const awsEnv = { AWS_CA_BUNDLE: certificate, AWS_DEFAULT_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' };
  const copy = `rclone copyurl ${source} sink:bench/${key} --ca-cert ${certificate}`;
  const remote = {
    RCLONE_CONFIG: '',
    RCLONE_CONFIG_SINK_TYPE: 's3',
    RCLONE_CONFIG_SINK_PROVIDER: 'Other',
    RCLONE_CONFIG_SINK_ENDPOINT: sink,
    RCLONE_CONFIG_SINK_ACCESS_KEY_ID: 'bench',
    RCLONE_CONFIG_SINK_SECRET_ACCESS_KEY: 'bench',
    RCLONE_CONFIG_SINK_REGION: 'us-east-1',
  };
  return [
    { name: 'curl | curl -T -', script: `${get} | ${put}`, env },
    { name: 'curl | aws s3 cp -', script: `${get} | ${aws}`, env: { ...env, ...awsEnv } },
    { name: 'rclone copyurl', script: copy, env: { ...env, ...remote } },
    nodeClient('lib-storage Upload', libStorage, servers, { source, connections: { initial: 1, most: 1 } }),
  ];
}

/** The engine from its bundle, with the options of its function and by default its number of connections. */
export function engine(
  servers: Servers,
  source: string,
  bundle: string,
  connections = { initial: 4, most: 8 },
): Client {
  const { initial, most } = connections;
  const name = `engine n=${initial}${most > initial ? `-${most}` : ''}`;
  const client = nodeClient(name, bundle, servers, { source, connections });
  return { ...client, env: { ...client.env, ...streaming(MEMORY_MB) } };
}

function nodeClient(name: string, bundle: string, servers: Servers, how: Pick<Job, 'source' | 'connections'>): Client {
  const job: Job = { ...how, store: servers.sink, bucket: 'bench', key: how.source.split('/').at(-1) ?? '' };
  const env = { ...environment(servers), NODE_EXTRA_CA_CERTS: servers.certificate, [JOB]: JSON.stringify(job) };
  return { name, script: `'${process.execPath}' '${bundle}'`, env };
}
