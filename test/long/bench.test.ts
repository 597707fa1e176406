import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { missingPackages } from '../../bench/files/clients.ts';
import packageJson from '../../package.json' with { type: 'json' };

const MISSING = missingPackages();
const BENCHMARKS = Object.entries(packageJson.scripts).filter(([name]) => name.startsWith('bench:'));

/** The benchmarks bind processes to a core with `taskset`, which macOS lacks. */
describe.skipIf(process.platform !== 'linux')('every benchmark prints results with --quick', () => {
  it.each(BENCHMARKS)('%s', async (name, script) => {
    const args = [...script.split(' ').slice(1), '--quick', '--json'];
    // CI runs only one of the experiments that need nginx and rclone.
    if (name === 'bench:files' && process.env.CI) args.push('--only', 'T7');
    if (name === 'bench:files' && MISSING.length > 0) {
      await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining(MISSING.join(', ')),
      });
      return;
    }

    const { stdout } = await promisify(execFile)(process.execPath, args);

    const found: { runs: unknown[] }[] = stdout
      .trimEnd()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []));
    expect(found.length).toBeGreaterThan(0);
    for (const { runs } of found) expect(runs).not.toEqual([]);
  });
});
