import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../local/ministack/ports.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';

/** An independent S3 server: it must accept the same calls as the strict store. */

const VERSION = 'v1.8.0';
const PACKAGE = 'github.com/versity/versitygw/cmd/versitygw';
const CACHE = join(import.meta.dirname, '../../..', '.cache');
const BUILT_WITHIN_MS = 10 * 60_000;
const READY_WITHIN_MS = 30_000;
const run = promisify(execFile);

/** The program, or the reason for its absence: a sentence for the name of a skipped test. */
export type Versitygw = { program: string } | { missing: string };

/** A running server that checks credentials. At first it has no bucket. */
export interface RunningVersitygw {
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Ends the server and removes everything that it stored. */
  stop: () => Promise<void>;
}

/**
 * Builds versitygw from the Go module proxy, once per cache directory; about a minute the first time. It is installed
 * only there.
 *
 * @throws the output of `go install`, if Go exists and the build fails
 */
export async function ensureVersitygw(): Promise<Versitygw> {
  const home = join(CACHE, `versitygw-${VERSION}`);
  const program = join(home, 'versitygw');
  if (await exists(program)) return { program };
  const go = await findGo();
  if (go === undefined) return { missing: 'Go is not installed, so versitygw, the second S3 server, cannot be built' };
  await mkdir(CACHE, { recursive: true });
  const building = await mkdtemp(join(CACHE, 'versitygw-building-'));
  try {
    const env = { ...process.env, GOBIN: building, GOFLAGS: '-buildvcs=false', CGO_ENABLED: '0' };
    await run(go, ['install', `${PACKAGE}@${VERSION}`], { env, cwd: building, timeout: BUILT_WITHIN_MS });
    // Moves the build into place in one step, so that a concurrent build never sees half of it.
    await mkdir(home, { recursive: true });
    await rename(join(building, 'versitygw'), program);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return { program };
}

/** Starts the server on a free port of loopback, with its own directory. */
export async function startVersitygw(program: string): Promise<RunningVersitygw> {
  const data = await mkdtemp(join(tmpdir(), 'versitygw-'));
  const port = await freePort();
  const accessKeyId = 'test-key';
  const secretAccessKey = 'test-secret';
  const address = `127.0.0.1:${port}`;
  // Without --keep-alive, the server closes every connection after one answer.
  const args = ['--port', address, '--region', 'eu-west-1', '--health', '/health', '--keep-alive', '--quiet'];
  const child = spawn(program, [...args, 'posix', data], {
    env: { HOME: data, ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit').catch(() => undefined);
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    kill();
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  const endpoint = `http://${address}`;
  let running = true;
  void ended.then(() => {
    running = false;
  });
  const ready = await waitUntil(() => !running || answers(endpoint), { withinMs: READY_WITHIN_MS });
  if (ready && running) return { endpoint, region: 'eu-west-1', accessKeyId, secretAccessKey, stop };
  await stop();
  throw new Error(`versitygw did not start on ${address}`);
}

async function answers(endpoint: string): Promise<boolean> {
  return fetch(`${endpoint}/health`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function findGo(): Promise<string | undefined> {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/go/bin'];
  for (const directory of directories.filter((path) => path !== '')) {
    if (await exists(join(directory, 'go'))) return join(directory, 'go');
  }
  return undefined;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
