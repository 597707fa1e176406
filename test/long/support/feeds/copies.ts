import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The result of one run of the recipe. */
export interface Ran {
  /** `null`: killed. */
  status: number | null;
  /** Its final output. */
  said: string;
  lines: number;
}

/**
 * `docs/recipes/copy_feeds.py`, which keeps a copy of leads, against an S3-compatible server.
 * @param dir the folder for the script and the copies
 */
export function openCopies(python: string, endpoint: string, dir: string) {
  const script = join(dir, 'copy.py');
  copyFileSync('docs/recipes/copy_feeds.py', script);
  const own = { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
  const env = { PATH: process.env.PATH, TZ: 'Asia/Jerusalem', AWS_DEFAULT_REGION: 'eu-west-1', ...own };
  const child = spawn(python, ['-I', join(import.meta.dirname, 'copies.py'), script], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** @param killAt the number of lines after which it is killed; `null`: never */
    run: async (file: string, killAt: number | null = null): Promise<Ran> => {
      child.stdin.write(`${JSON.stringify({ args: ['exports', 'leads', file], killAt })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error('the process that keeps copies has ended');
      return JSON.parse(value);
    },
    close: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

export type Copies = ReturnType<typeof openCopies>;
