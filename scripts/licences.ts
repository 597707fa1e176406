import { installed, type LockedPackage, type Lockfile } from './lockfile.ts';

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

/** A licence that is accepted for some packages only, and why. */
export interface LicenceException {
  packages: RegExp;
  licence: string;
  /** Accepted only where the package is a development dependency, which no function carries. */
  developmentOnly: boolean;
  reason: string;
}

export const EXCEPTIONS: LicenceException[] = [
  {
    packages: /^lightningcss(-|$)/,
    licence: 'MPL-2.0',
    developmentOnly: true,
    reason: 'A part of vitest, used unchanged: the licence asks for the source of changed files only.',
  },
];

/** Packages whose licence is on no list, and exceptions that no package needs any more; a line each. */
export function findLicenceProblems(lockfile: Lockfile, exceptions = EXCEPTIONS): string[] {
  const needed = new Set<LicenceException>();
  const problems = installed(lockfile).flatMap(([name, entry]) => {
    if (isAllowed(entry.license ?? '')) return [];
    const exception = exceptions.find((candidate) => covers(candidate, name, entry));
    if (exception) needed.add(exception);
    return exception ? [] : [`${name} ${entry.version}: the licence ${entry.license ?? '(none)'} is not accepted`];
  });
  const idle = exceptions.filter((exception) => !needed.has(exception));
  return [...problems, ...idle.map(({ packages }) => `no package needs the exception for ${packages.source}`)];
}

function covers({ packages, licence, developmentOnly }: LicenceException, name: string, entry: LockedPackage): boolean {
  return packages.test(name) && entry.license === licence && (!developmentOnly || entry.dev === true);
}

/** An SPDX expression of one level: one of alternatives (OR) must be allowed, all of combined parts (AND). */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => ALLOWED.includes(licence)));
}
