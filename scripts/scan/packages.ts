import { readFileSync } from 'node:fs';
import * as z from 'zod';

/**
 * The rules for package.json and package-lock.json. The settings of `.npmrc` enforce most of them at `npm ci`, but npm
 * 10 does not know these settings.
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

/** Licences that require at most attribution. The lockfile lists the licence of each package. */
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

/** Licences that are accepted for development dependencies, which no function contains. */
const IN_DEVELOPMENT: { packages: RegExp; licence: string; reason: string }[] = [
  {
    packages: /^lightningcss(-|$)/,
    licence: 'MPL-2.0',
    reason: 'A part of vitest, used unchanged: the licence asks for the source of changed files only.',
  },
];

export const readLockfile = (): Lockfile => lockfileSchema.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));

export const readManifest = (): Manifest => manifestSchema.parse(JSON.parse(readFileSync('package.json', 'utf8')));

/** Problems with the sources of packages, their pinning, install scripts and licences; a line each. */
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
    // Ranges in package.json would let `npm update` change versions.
    ...ranges.map(([name, version]) => `${name} is requested as ${version}, not as one version`),
  ];
}

function originProblems(name: string, entry: LockedPackage): string[] {
  // The hash of the outer archive covers a bundled package.
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

/** Evaluates an SPDX expression of one level: one alternative (OR) or all combined parts (AND) must be allowed. */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => ALLOWED.includes(licence)));
}
