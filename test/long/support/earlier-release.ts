import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { Assemble } from '../../e2e/support/deployed.ts';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');

/**
 * The assembly of an earlier release (`test/long/fixtures/README.md`) with the addresses of a CRM. The deployment is called
 * `upgrade`, and bundles keep the names that they had with other addresses: there is one in a cloud.
 */
export function earlierRelease(release: string): Assemble {
  return async (_, configurationFile, outdir) => {
    unpackRelease(release, outdir);
    const { crm } = JSON.parse(await readFile(configurationFile, 'utf8'));
    for (const bundle of (await readdir(outdir)).filter((name) => name.startsWith('asset.'))) {
      const file = join(outdir, bundle, 'deployment.json');
      const bundled = JSON.parse(await readFile(file, 'utf8'));
      await writeFile(file, JSON.stringify({ ...bundled, crm: { ...bundled.crm, ...crm } }));
    }
  };
}

/** Writes the assembly of a release as it was synthesised. */
export function unpackRelease(release: string, outdir: string): void {
  const archive = readFileSync(join(FIXTURES, `release-${release}.tar.br`));
  execFileSync('tar', ['-xf', '-', '-C', outdir], { input: brotliDecompressSync(archive) });
}
