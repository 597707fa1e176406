import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { Assemble } from '../../e2e/support/deployed.ts';

const FIXTURE = join(import.meta.dirname, '..', 'fixtures', 'release.tar.br');

/**
 * The assembly of the fixture's release (`test/long/fixtures/README.md`), with the addresses of a CRM in its functions.
 * The deployment is called `upgrade`. Bundles keep their names despite the new addresses, so a cloud has only one. The
 * template still has the old addresses: commands that read it cannot reach the CRM.
 */
export const fixtureRelease: Assemble = async (_, configurationFile, outdir) => {
  unpackFixture(outdir);
  const { crm } = JSON.parse(await readFile(configurationFile, 'utf8'));
  await changeSettings(outdir, (bundled) => ({ ...bundled, crm: { ...bundled.crm, ...crm } }));
};

/** Writes the assembly as it was synthesised. */
export function unpackFixture(outdir: string): void {
  execFileSync('tar', ['-xf', '-', '-C', outdir], { input: brotliDecompressSync(readFileSync(FIXTURE)) });
}

interface Bundled {
  crm: object;
}

async function changeSettings(outdir: string, change: (bundled: Bundled) => object): Promise<void> {
  for (const bundle of (await readdir(outdir)).filter((name) => name.startsWith('asset.'))) {
    const file = join(outdir, bundle, 'deployment.json');
    await writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, 'utf8')))));
  }
}
