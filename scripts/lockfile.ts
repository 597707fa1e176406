import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** What package.json and package-lock.json must hold; lockfile-lint skips entries that name no address. */

const packageSchema = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  license: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  inBundle: z.boolean().optional(),
  link: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  dev: z.boolean().optional(),
});
const lockfileSchema = z.object({ lockfileVersion: z.int(), packages: z.record(z.string(), packageSchema) });
const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
  allowScripts: z.record(z.string(), z.boolean()).default({}),
});

export type LockedPackage = z.infer<typeof packageSchema>;
export type Lockfile = z.infer<typeof lockfileSchema>;
export type Manifest = z.infer<typeof manifestSchema>;

const REGISTRY = 'https://registry.npmjs.org/';
const WHERE = 'package-lock.json';

export function readLockfile(root = '.'): Lockfile {
  return lockfileSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
}

export function readManifest(root = '.'): Manifest {
  return manifestSchema.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
}

/** The packages of a lockfile with the names that they are installed under; the project itself is none of them. */
export function installed({ packages }: Lockfile): [name: string, entry: LockedPackage][] {
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => [path.split('node_modules/').at(-1) ?? path, entry]);
}

/** What is wrong with where packages come from, how they are pinned and what they run; a line each, empty when all holds. */
export function findLockfileProblems(lockfile: Lockfile, manifest: Manifest): string[] {
  return [
    ...(lockfile.lockfileVersion < 3 ? [`${WHERE}: is of version ${lockfile.lockfileVersion}, not 3`] : []),
    ...installed(lockfile).flatMap(([name, entry]) => originProblems(name, entry)),
    ...pinProblems(manifest),
    ...scriptProblems(lockfile, manifest),
  ];
}

function originProblems(name: string, entry: LockedPackage): string[] {
  // What is inside another package's archive is covered by that archive's hash.
  if (entry.inBundle) return [];
  const problems = [];
  if (entry.link) problems.push('is a link out of node_modules');
  if (entry.resolved !== undefined && !entry.resolved.startsWith(REGISTRY))
    problems.push(`comes from ${entry.resolved}, not from ${REGISTRY}`);
  if (!entry.integrity?.startsWith('sha512-')) problems.push('has no sha512 hash');
  if (entry.name !== undefined && entry.name !== name) problems.push(`is another package, ${entry.name}`);
  return problems.map((problem) => `${WHERE}: ${name} ${problem}`);
}

/** Direct dependencies are pinned to one version: the lockfile alone would let `npm update` drift. */
function pinProblems({ dependencies, devDependencies }: Manifest): string[] {
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `package.json: ${name} is requested as ${version}, not as one version`);
}

function scriptProblems(lockfile: Lockfile, { allowScripts }: Manifest): string[] {
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  const running = installed(lockfile).flatMap(([name, entry]) => (entry.hasInstallScript ? [name] : []));
  return [
    ...running
      .filter((name) => !allowed.includes(name))
      .map((name) => `${WHERE}: ${name} runs a script when it is installed, and allowScripts does not list it`),
    ...allowed
      .filter((name) => !running.includes(name))
      .map((name) => `package.json: allowScripts lists ${name}, which runs none`),
  ];
}
