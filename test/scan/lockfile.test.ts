import { describe, expect, test } from 'vitest';
import { findLicenceProblems, type LicenceException } from '../../scripts/licences.ts';
import {
  findLockfileProblems,
  type LockedPackage,
  type Lockfile,
  type Manifest,
  readLockfile,
  readManifest,
} from '../../scripts/lockfile.ts';

const sound = { version: '1.0.0', license: 'MIT', integrity: 'sha512-abc' };

function lockfile(entry: Partial<LockedPackage>, path = 'node_modules/a'): Lockfile {
  return { lockfileVersion: 3, packages: { '': { name: 'project' }, [path]: { ...sound, ...entry } } };
}

function manifest(values: Partial<Manifest> = {}): Manifest {
  return { dependencies: { a: '1.0.0' }, devDependencies: {}, allowScripts: {}, ...values };
}

describe('this project', () => {
  test('takes every package from the registry, by its hash, at one version, and runs listed install scripts only', () => {
    expect(findLockfileProblems(readLockfile(), readManifest())).toEqual([]);
  });

  test('has packages of accepted licences only', () => {
    expect(findLicenceProblems(readLockfile())).toEqual([]);
  });

  test('lets two packages run a script when they are installed', () => {
    expect(readManifest().allowScripts).toEqual({ esbuild: true, node: true });
  });
});

describe('a lockfile', () => {
  test.each<[what: string, entry: Partial<LockedPackage>, problem: string]>([
    ['another host', { resolved: 'https://example.com/a.tgz' }, 'a comes from https://example.com/a.tgz, not from'],
    ['plain http', { resolved: 'http://registry.npmjs.org/a.tgz' }, 'a comes from http://registry.npmjs.org/a.tgz'],
    ['a repository', { resolved: 'git+ssh://git@github.com/a/a.git#1' }, 'a comes from git+ssh:'],
    ['no hash', { integrity: undefined }, 'a has no sha512 hash'],
    ['a weak hash', { integrity: 'sha1-abc' }, 'a has no sha512 hash'],
    ['another package under its name', { name: 'b' }, 'a is another package, b'],
    ['a link', { link: true }, 'a is a link'],
    ['a script', { hasInstallScript: true }, 'a runs a script when it is installed'],
  ])('with %s is reported', (_, entry, problem) => {
    const problems = findLockfileProblems(lockfile(entry), manifest());

    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test('may leave out the address, and the hash of what lies inside of another package', () => {
    expect(findLockfileProblems(lockfile({}), manifest())).toEqual([]);
    expect(findLockfileProblems(lockfile({ integrity: undefined, inBundle: true }), manifest())).toEqual([]);
  });

  test('of an old version is reported', () => {
    expect(findLockfileProblems({ ...lockfile({}), lockfileVersion: 2 }, manifest())).toHaveLength(1);
  });
});

describe('package.json', () => {
  test.each(['^1.0.0', '~1.0.0', 'latest', '*', 'github:a/a'])(
    'that asks for a package as %s is reported',
    (version) => {
      expect(findLockfileProblems(lockfile({}), manifest({ devDependencies: { b: version } }))).toEqual([
        `package.json: b is requested as ${version}, not as one version`,
      ]);
    },
  );

  test('may ask for a version with a suffix', () => {
    expect(findLockfileProblems(lockfile({}), manifest({ devDependencies: { b: '1.5.5-r.5' } }))).toEqual([]);
  });

  test('that allows the script of a package which has none is reported', () => {
    const allowing = manifest({ allowScripts: { a: true } });

    expect(findLockfileProblems(lockfile({}), allowing)).toHaveLength(1);
    expect(findLockfileProblems(lockfile({ hasInstallScript: true }), allowing)).toEqual([]);
  });
});

describe('a licence', () => {
  const exception: LicenceException = {
    packages: /^a$/,
    licence: 'MPL-2.0',
    developmentOnly: true,
    reason: 'used unchanged',
  };

  test.each(['MIT', '(MIT OR GPL-3.0-or-later)', 'MIT AND ISC'])('%s is accepted', (license) => {
    expect(findLicenceProblems(lockfile({ license }), [])).toEqual([]);
  });

  test.each(['GPL-3.0-only', 'AGPL-3.0', 'MIT AND GPL-3.0-only', 'UNLICENSED', '', undefined])(
    '%s is reported',
    (license) => {
      expect(findLicenceProblems(lockfile({ license }), [])).toHaveLength(1);
    },
  );

  test('is accepted by an exception for this package, in development only', () => {
    expect(findLicenceProblems(lockfile({ license: 'MPL-2.0', dev: true }), [exception])).toEqual([]);
    expect(findLicenceProblems(lockfile({ license: 'MPL-2.0' }), [exception])).toHaveLength(2);
    expect(
      findLicenceProblems(lockfile({ license: 'MPL-2.0', dev: true }, 'node_modules/b'), [exception]),
    ).toHaveLength(2);
  });

  test('needs no exception that no package needs', () => {
    expect(findLicenceProblems(lockfile({}), [exception])).toEqual(['no package needs the exception for ^a$']);
  });
});
