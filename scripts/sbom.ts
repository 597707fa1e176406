import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** Writes the list of packages as CycloneDX, from the lockfile: `npm run sbom`. */

const FILE = join('.cache', 'sbom.cdx.json');
const LARGEST_BYTES = 64 * 1024 * 1024;
const sbomSchema = z.looseObject({ bomFormat: z.literal('CycloneDX'), components: z.array(z.unknown()) });

/** @returns the packages: all of them, or with `runtimeOnly` those that a deployment needs */
export function softwareParts(runtimeOnly = false): z.infer<typeof sbomSchema> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const text = execFileSync('npm', [...args, ...(runtimeOnly ? ['--omit', 'dev'] : [])], {
    encoding: 'utf8',
    maxBuffer: LARGEST_BYTES,
  });
  return sbomSchema.parse(JSON.parse(text));
}

if (import.meta.main) {
  const sbom = softwareParts(process.argv.includes('--runtime'));
  mkdirSync('.cache', { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(sbom, undefined, 2)}\n`);
  process.stdout.write(`${FILE}: ${sbom.components.length} packages\n`);
}
