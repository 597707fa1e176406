import { readFileSync } from 'node:fs';

/**
 * The rules for package.json and package-lock.json. The settings of `.npmrc` enforce most of them at `npm ci`, but npm
 * 10 does not know these settings.
 */

/** A package of the lockfile. */
export interface LockedPackage {
  name?: string;
  license?: string;
  resolved?: string;
  integrity?: string;
  inBundle?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
  dev?: boolean;
}

type Lockfile = { packages: Record<string, LockedPackage> };
export type Manifest = Record<'dependencies' | 'devDependencies', Record<string, string>> & {
  allowScripts: Record<string, boolean>;
};

const REGISTRY = 'https://registry.npmjs.org/';

/** Licences that require at most attribution. The lockfile lists the licence of each package. */
const ALLOWED = [
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Python-2.0'],
  'Unlicense',
];

/**
 * MPL-2.0 is accepted for this part of vitest only. The part is used unchanged, and MPL-2.0 asks only for the source of
 * changed files. No function contains it, because it is a package for development.
 */
const MPL_IN_DEVELOPMENT = /^lightningcss(-|$)/;

export const readLockfile = (): Lockfile => JSON.parse(readFileSync('package-lock.json', 'utf8'));

export const readManifest = (): Manifest => JSON.parse(readFileSync('package.json', 'utf8'));

/** Problems with the sources of packages, their pinning, install scripts and licences; a line each. */
export function findPackageProblems({ packages }: Lockfile, manifest: Manifest): string[] {
  const { dependencies, devDependencies, allowScripts } = manifest;
  const installed = Object.entries(packages).filter(([path]) => path !== '');
  // Ranges in package.json would let `npm update` change versions.
  const ranges = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  );
  return [
    ...installed.flatMap(([path, entry]) => {
      const name = path.split('node_modules/').at(-1) ?? path;
      return [...problemsOf(name, entry, allowScripts)].map((problem) => `${name} ${problem}`);
    }),
    ...ranges.map(([name, version]) => `${name} is requested as ${version}, not as one version`),
  ];
}

function* problemsOf(name: string, entry: LockedPackage, allowScripts: Manifest['allowScripts']): Generator<string> {
  const { resolved = REGISTRY, integrity = '', name: alias = name, license = '' } = entry;
  // The hash of the outer archive covers a bundled package.
  if (!entry.inBundle) {
    if (entry.link) yield 'is a link out of node_modules';
    if (!resolved.startsWith(REGISTRY)) yield `comes from ${resolved}, not from ${REGISTRY}`;
    if (!integrity.startsWith('sha512-')) yield 'has no sha512 hash';
    if (alias !== name) yield `is another package, ${alias}`;
  }
  if (entry.hasInstallScript && !allowScripts[name]) {
    yield 'runs a script when it is installed, and allowScripts does not list it';
  }
  const isExcepted = entry.dev && license === 'MPL-2.0' && MPL_IN_DEVELOPMENT.test(name);
  if (!isAllowed(license) && !isExcepted) yield `has the licence ${license || '(none)'}, which is not accepted`;
}

/** Evaluates an SPDX expression of one level: one alternative (OR) or all combined parts (AND) must be allowed. */
function isAllowed(expression: string): boolean {
  const inner = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(inner)) return false;
  return inner.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => ALLOWED.includes(licence)));
}
