import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { filesSchema } from '../../core/config/file-settings.ts';
import { streaming } from '../../lib/workflow/node-options.ts';
import { JOB } from '../child.ts';
import type { Servers } from './servers.ts';

/** A program that moves a file from the origin to the sink: a line of bash, and its environment. */
export type Client = { script: string; env: Record<string, string> };

/** The job of a client in Node.js, passed in its environment as JSON. */
export interface Job {
  source: string;
  store: string;
  bucket: string;
  key: string;
  connections: number;
}

export type Clients = ReturnType<typeof clientsFor>;

/** The defaults of DownloadFile. */
const FILES = filesSchema.parse({});

/** Commands that the comparison needs, by the names of their Debian packages. */
const PACKAGES = { curl: 'curl', rclone: 'rclone', nginx: 'nginx', awscli: 'aws', 'util-linux': 'taskset' };
/** Debian installs nginx in a folder that is only in root's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Debian packages that this machine lacks. */
export function missingPackages(): string[] {
  const exists = (command: string) => PATH.split(delimiter).some((folder) => existsSync(join(folder, command)));
  return Object.entries(PACKAGES).flatMap(([name, command]) => (exists(command) ? [] : [name]));
}

/** The AWS CLI without the shim of pyenv, whose own shell must not count against the CLI. */
function awsCommand(): string {
  const found = spawnSync('pyenv', ['which', 'aws'], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.trim() : 'aws';
}

/**
 * The programs to compare: the engine with the options of its function, with the default number of connections and with
 * 16 connections; two `curl` in a pipe as the lower bound; three other programs with their defaults.
 */
export function clientsFor(
  { certificate, sink, dir }: Servers,
  source: string,
  bundleOf: (name: 'engine' | 'lib-storage') => string,
) {
  const keys = { AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' };
  const env = { PATH, HOME: dir, LC_ALL: 'C', ...keys };
  const key = source.split('/').at(-1) ?? '';
  const get = `curl -sSf --cacert ${certificate} ${source}`;
  const awsEnv = { AWS_CA_BUNDLE: certificate, AWS_DEFAULT_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' };
  const remote = {
    RCLONE_CONFIG: '',
    RCLONE_CONFIG_SINK_TYPE: 's3',
    RCLONE_CONFIG_SINK_PROVIDER: 'Other',
    RCLONE_CONFIG_SINK_ENDPOINT: sink,
    RCLONE_CONFIG_SINK_ACCESS_KEY_ID: 'bench',
    RCLONE_CONFIG_SINK_SECRET_ACCESS_KEY: 'bench',
    RCLONE_CONFIG_SINK_REGION: 'us-east-1',
  };
  const node = (bundle: string, connections: number, more: Client['env'] = {}): Client => {
    const job: Job = { source, store: sink, bucket: 'bench', key, connections };
    const own = { NODE_EXTRA_CA_CERTS: certificate, [JOB]: JSON.stringify(job) };
    return { script: `'${process.execPath}' '${bundle}'`, env: { ...env, ...own, ...more } };
  };
  const engine = (connections: number) => node(bundleOf('engine'), connections, streaming(FILES.memoryMB.download));
  return {
    engine: engine(FILES.connections.most),
    engine16: engine(16),
    curl: { script: `${get} | curl -sSf --cacert ${certificate} -o /dev/null -T - ${sink}/bench/${key}`, env },
    aws: {
      script: `${get} | ${awsCommand()} s3 cp - s3://bench/${key} --endpoint-url ${sink}`,
      env: { ...env, ...awsEnv },
    },
    rclone: {
      script: `rclone copyurl ${source} sink:bench/${key} --ca-cert ${certificate}`,
      env: { ...env, ...remote },
    },
    libStorage: node(bundleOf('lib-storage'), 1),
  } satisfies Record<string, Client>;
}
