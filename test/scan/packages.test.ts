import { expect, test } from 'vitest';
import {
  findPackageProblems,
  type LockedPackage,
  type Manifest,
  readLockfile,
  readManifest,
} from '../../scripts/packages.ts';

function problemsOf(entry: Partial<LockedPackage>, more: Partial<Manifest> = {}, path = 'node_modules/a'): string[] {
  const sound = { version: '1.0.0', license: 'MIT', integrity: 'sha512-abc' };
  const packages = { '': { name: 'project' }, [path]: { ...sound, ...entry } };
  return findPackageProblems({ packages }, { dependencies: {}, devDependencies: {}, allowScripts: {}, ...more });
}

test('each package has one version, comes from the registry with a hash, and runs only allowed scripts', () => {
  expect(findPackageProblems(readLockfile(), readManifest())).toEqual([]);
  expect(readManifest().allowScripts).toEqual({ esbuild: true, node: true });
});

test.each<[what: string, entry: Partial<LockedPackage>, problem: string]>([
  ['another host', { resolved: 'https://example.com/a.tgz' }, 'a comes from https://example.com/a.tgz, not from'],
  ['a repository', { resolved: 'git+ssh://git@github.com/a/a.git#1' }, 'a comes from git+ssh:'],
  ['no hash', { integrity: undefined }, 'a has no sha512 hash'],
  ['a weak hash', { integrity: 'sha1-abc' }, 'a has no sha512 hash'],
  ['another package under its name', { name: 'b' }, 'a is another package, b'],
  ['a link', { link: true }, 'a is a link'],
  ['a script', { hasInstallScript: true }, 'a runs a script when it is installed'],
])('a lockfile with %s is reported', (_, entry, problem) => {
  expect(problemsOf(entry)).toEqual([expect.stringContaining(problem)]);
});

test.each(['^1.0.0', '~1.0.0', 'latest', '*', 'github:a/a'])('a package requested as %s is reported', (b) => {
  expect(problemsOf({}, { devDependencies: { b } })).toEqual([`b is requested as ${b}, not as one version`]);
});

test('licences without a condition on the source are accepted, and others are reported', () => {
  const accepted = ['MIT', '(MIT OR GPL-3.0-or-later)', 'MIT AND ISC'];
  const reported = ['GPL-3.0-only', 'AGPL-3.0', 'MIT AND GPL-3.0-only', 'UNLICENSED', '', undefined];

  const passes = (license: string | undefined) => problemsOf({ license }).length === 0;
  expect([...accepted, ...reported].filter(passes)).toEqual(accepted);
});

test('a licence is accepted by an exception for one package, in development only', () => {
  const license = 'MPL-2.0';

  expect(problemsOf({ license, dev: true }, {}, 'node_modules/lightningcss')).toEqual([]);
  expect(problemsOf({ license }, {}, 'node_modules/lightningcss')).toHaveLength(1);
  expect(problemsOf({ license, dev: true })).toHaveLength(1);
});
