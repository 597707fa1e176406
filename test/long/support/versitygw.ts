import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { freePort } from '../../../local/ministack/ports.ts';
import { startProcess } from '../../../local/processes/processes.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';
import { CACHE } from '../../support/project.ts';
import { clientOf } from '../../support/strict-store/strict-store.ts';
import { BUCKET, CREDENTIALS, REGION } from '../../support/strict-store/types.ts';

/** An independent S3 server: it must accept the same calls as the strict store, whose credentials it has. */

const VERSION = 'v1.8.0';
const PACKAGE = 'github.com/versity/versitygw/cmd/versitygw';
const BUILT_WITHIN_MS = 10 * 60_000;
const READY_WITHIN_MS = 30_000;

const exists = (file: string) => stat(file).then(Boolean, () => false);

/**
 * Builds versitygw from the Go module proxy, once per cache directory; about a minute the first time. It is installed
 * only there.
 * @returns the program; undefined without Go
 * @throws the output of `go install`, if Go exists and the build fails
 */
export async function ensureVersitygw(): Promise<string | undefined> {
  const home = join(CACHE, `versitygw-${VERSION}`);
  const program = join(home, 'versitygw');
  if (await exists(program)) return program;
  const PATH = [process.env.PATH, '/usr/local/go/bin'].join(delimiter);
  const found = await Promise.all(PATH.split(delimiter).map((folder) => exists(join(folder, 'go'))));
  if (!found.includes(true)) return undefined;
  await mkdir(CACHE, { recursive: true });
  const building = await mkdtemp(join(CACHE, 'versitygw-building-'));
  try {
    const env = { ...process.env, PATH, GOBIN: building, GOFLAGS: '-buildvcs=false', CGO_ENABLED: '0' };
    const options = { env, cwd: building, timeout: BUILT_WITHIN_MS };
    await promisify(execFile)('go', ['install', `${PACKAGE}@${VERSION}`], options);
    // Moves the build into place in one step, so that a concurrent build never sees half of it.
    await mkdir(home, { recursive: true });
    await rename(join(building, 'versitygw'), program);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return program;
}

/** Starts the server on a free port of loopback, with the bucket of the strict store. */
export async function startVersitygw(command: string) {
  const record = await openRunRecord(CACHE);
  const address = `127.0.0.1:${await freePort()}`;
  const endpoint = `http://${address}`;
  const { accessKeyId: ROOT_ACCESS_KEY_ID, secretAccessKey: ROOT_SECRET_ACCESS_KEY } = CREDENTIALS;
  const env = { HOME: record.tmpDir, ROOT_ACCESS_KEY_ID, ROOT_SECRET_ACCESS_KEY };
  // Without --keep-alive, the server closes every connection after one answer.
  const options = ['--port', address, '--region', REGION, '--health', '/health', '--keep-alive', '--quiet'];
  const args = [...options, 'posix', record.tmpDir];
  try {
    await startProcess({ name: 'versitygw', command, args, env, record });
    const answers = () =>
      fetch(`${endpoint}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    if (!(await waitUntil(answers, { withinMs: READY_WITHIN_MS }))) throw new Error('versitygw did not start.');
    const s3 = clientOf(endpoint);
    await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
    return { endpoint, s3, stop: () => record.close() };
  } catch (error) {
    await record.close();
    throw error;
  }
}
