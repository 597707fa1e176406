import { readFileSync } from 'node:fs';
import * as z from 'zod';

/**
 * What package.json and package-lock.json must hold. The settings of `.npmrc` refuse most of it at `npm ci`, but npm 10 does not
 * know them.
 */

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
const lockfileSchema = z.object({ packages: z.record(z.string(), packageSchema) });
const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
  allowScripts: z.record(z.string(), z.boolean()).default({}),
});

export type LockedPackage = z.infer<typeof packageSchema>;
type Lockfile = z.infer<typeof lockfileSchema>;
export type Manifest = z.infer<typeof manifestSchema>;

const REGISTRY = 'https://registry.npmjs.org/';

/** Licences that require no more than attribution. The lockfile says which package has which. */
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
];

/** Accepted where the package is a development dependency, which no function carries. */
const IN_DEVELOPMENT: { packages: RegExp; licence: string; reason: string }[] = [
  {
    packages: /^lightningcss(-|$)/,
    licence: 'MPL-2.0',
    reason: 'A part of vitest, used unchanged: the licence asks for the source of changed files only.',
  },
];

export const readLockfile = (): Lockfile => lockfileSchema.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));

export const readManifest = (): Manifest => manifestSchema.parse(JSON.parse(readFileSync('package.json', 'utf8')));

/** What is wrong with where packages come from, how they are pinned, what they run and their licences; a line each. */
export function findPackageProblems(lockfile: Lockfile, manifest: Manifest): string[] {
  const installed = Object.entries(lockfile.packages).flatMap(([path, entry]) =>
    path === '' ? [] : [{ name: path.split('node_modules/').at(-1) ?? path, entry }],
  );
  const { dependencies, devDependencies, allowScripts } = manifest;
  const ranges = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  );
  return [
    ...installed.flatMap(({ name, entry }) =>
      [...originProblems(name, entry), ...licenceProblems(name, entry)].map((problem) => `${name} ${problem}`),
    ),
    ...installed
      .filter(({ name, entry }) => entry.hasInstallScript && !allowScripts[name])
      .map(({ name }) => `${name} runs a script when it is installed, and allowScripts does not list it`),
    // The lockfile alone would let `npm update` drift.
    ...ranges.map(([name, version]) => `${name} is requested as ${version}, not as one version`),
  ];
}

function originProblems(name: string, entry: LockedPackage): string[] {
  // What is inside another package's archive is covered by that archive's hash.
  if (entry.inBundle) return [];
  const { resolved, integrity, link, name: alias } = entry;
  return [
    ...(link ? ['is a link out of node_modules'] : []),
    ...(resolved !== undefined && !resolved.startsWith(REGISTRY)
      ? [`comes from ${resolved}, not from ${REGISTRY}`]
      : []),
    ...(integrity?.startsWith('sha512-') ? [] : ['has no sha512 hash']),
    ...(alias !== undefined && alias !== name ? [`is another package, ${alias}`] : []),
  ];
}

function licenceProblems(name: string, { license = '', dev }: LockedPackage): string[] {
  const isExcepted = IN_DEVELOPMENT.some(({ packages, licence }) => packages.test(name) && licence === license);
  return isAllowed(license) || (dev && isExcepted)
    ? []
    : [`has the licence ${license || '(none)'}, which is not accepted`];
}

/** An SPDX expression of one level: one of alternatives (OR) must be allowed, all of combined parts (AND). */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => ALLOWED.includes(licence)));
}
