import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../local/ministack/ports.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { makeCertificate } from '../support/certificate.ts';
import { nginxConf, type Places } from './nginx-conf.ts';

/** The rate of one connection to the slow origin. */
const BYTES_PER_SECOND = 20_000_000;
/** The servers' core; the client has another to itself. */
const SERVER_CORE = '1';

/** A request as nginx has logged it. */
export interface Call {
  /** Number of the connection that it came on. */
  connection: string;
  method: string;
  status: number;
  /** Bytes of the request's line, head and body. */
  bytes: number;
  path: string;
}

export interface Servers extends Places {
  certificate: string;
  origin: string;
  slow: string;
  sink: string;
  /** The requests to both ends since the last call. */
  calls(): { origin: Call[]; sink: Call[] };
  stop(): Promise<void>;
}

/** Starts both ends on free ports of loopback. @throws EnvironmentError when they do not come up */
export async function startServers(dir: string): Promise<Servers> {
  const ports = { origin: await freePort(), slow: await freePort(), sink: await freePort() };
  mkdirSync(join(dir, 'files', 'bench'), { recursive: true });
  makeCertificate(join(dir, 'cert.pem'), join(dir, 'key.pem'));
  writeFileSync(join(dir, 'nginx.conf'), nginxConf({ dir, ports }));
  const sockets = ['sink.sock', 'slow.sock'].map((name) => join(dir, name));
  const world = ['python3', join(import.meta.dirname, 'world.py'), ...sockets, join(dir, 'files')];
  const children = [
    startPinned([...world, String(BYTES_PER_SECOND)]),
    startPinned(['nginx', '-p', dir, '-c', join(dir, 'nginx.conf'), '-g', 'daemon off;']),
  ];
  process.once('exit', () => {
    for (const child of children) child.kill();
  });
  const stop = async () => {
    await Promise.all(children.map(async (child) => child.exitCode ?? (child.kill() && once(child, 'exit'))));
  };
  const up = () => [...sockets, join(dir, 'nginx.pid')].every((file) => existsSync(file));
  if (!(await waitUntil(up, { withinMs: 10_000 }))) {
    await stop();
    throw new EnvironmentError('The servers of the benchmark did not start.', { logFile: join(dir, 'error.log') });
  }
  const https = (port: number) => `https://127.0.0.1:${port}`;
  return {
    dir,
    ports,
    stop,
    certificate: join(dir, 'cert.pem'),
    origin: https(ports.origin),
    slow: https(ports.slow),
    sink: https(ports.sink),
    calls: () => ({ origin: takeCalls(join(dir, 'origin.log')), sink: takeCalls(join(dir, 'sink.log')) }),
  };
}

function startPinned(command: string[]) {
  return spawn('taskset', ['-c', SERVER_CORE, ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
}

function takeCalls(log: string): Call[] {
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  writeFileSync(log, '');
  return lines.map((line) => {
    const [connection = '', method = '', status, bytes, path = ''] = line.split(' ');
    return { connection, method, status: Number(status), bytes: Number(bytes), path };
  });
}
